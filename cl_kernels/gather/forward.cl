/*
 * Gather: y[a, i, b] = x[a, indices[i], b]. A work-item handles a piece of some lines along the
 * last dimension of y's index space (common/walk.clh, with its global size). If all elements of a
 * line share an index, a line of x is copied; otherwise single elements are.
 *
 * TENON_COPY_SIZE, TENON_VW: see common/element.clh.
 */
#include "common/element.clh"

#include "common/walk.clh"

#include "gather/args.h"

TENON_INLINE bool in_table(int index, const gather_args *args)
{
    return index >= 0 && index < args->size;
}

TENON_KERNEL void forward(__global const element_t *x, __global const int *indices,
                          __global element_t *y, const gather_args args)
{
    const long xs = args.walk.step[0], is = args.walk.step[1], ys = args.walk.step[2];
    const element_t missing = (element_t)args.missing;
    walk w;
    walk_begin(&w, &args.walk, 3);
    EACH_ROW(&w, &args.walk, 3)
    {
        __global element_t *line = y + w.at[2];
        if (is == 0) {
            int index = indices[w.at[1]];
            if (in_table(index, &args)) {
                copy_line(x + w.at[0] + index * args.step, xs, line, ys, w.first, w.last);
            } else {
                fill_line(line, ys, w.first, w.last, missing);
            }
        } else {
            for (long i = w.first; i < w.last; i++) {
                int index = indices[w.at[1] + i * is];
                line[i * ys] =
                    in_table(index, &args) ? x[w.at[0] + i * xs + index * args.step] : missing;
            }
        }
    }
}
