/*
 * Gather: y[a, i, b] = x[a, indices[i], b], also with indices that depend on a and b, or with
 * tuples of indices. A work-item handles a piece of some lines along the last dimension of y's
 * index space (common/walk.clh, with its global size). If all elements of a line share an index, a
 * line of x is copied; otherwise single elements are.
 *
 * TENON_COPY_SIZE, TENON_VW: see common/element.clh. TENON_INDEX, TENON_TUPLE: see
 * gather/tuple.clh.
 */
#include "common/element.clh"

#include "common/walk.clh"
#include "gather/tuple.clh"

TENON_KERNEL void forward(__global const element_t *x, __global const index_t *indices,
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
            const long from = selection(indices, w.at[1], &args.tuple);
            if (from >= 0) {
                copy_line(x + w.at[0] + from, xs, line, ys, w.first, w.last);
            } else {
                fill_line(line, ys, w.first, w.last, missing);
            }
        } else {
            for (long i = w.first; i < w.last; i++) {
                const long from = selection(indices, w.at[1] + i * is, &args.tuple);
                line[i * ys] = from >= 0 ? x[w.at[0] + i * xs + from] : missing;
            }
        }
    }
}
