/*
 * Sets y to zeros. A work-item handles a piece of some lines (common/walk.clh, with its global
 * size).
 *
 * TENON_COPY_SIZE, TENON_VW: see common/element.clh.
 */
#include "common/element.clh"

#include "common/walk.clh"

#include "gather/args.h"

TENON_KERNEL void zero(__global element_t *y, const gather_zero_args args)
{
    walk w;
    walk_begin(&w, &args.walk, 1);
    EACH_ROW(&w, &args.walk, 1)
    {
        fill_line(y + w.at[0], args.walk.step[0], w.first, w.last, 0);
    }
}
