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

/* Copies the elements of a line, each of which has its own tuple. */
TENON_INLINE void pick_elements(__global const element_t *x, __global const index_t *tuples,
                                __global element_t *y, const walk *w, const gather_args *args)
{
    const long xs = args->walk.step[0], is = args->walk.step[1], ys = args->walk.step[2];
    const element_t missing = (element_t)args->missing;
#if TENON_GPU
    for (long i = w->first; i < w->last; i++) {
        const long from = selection(tuples, i * is, &args->tuple);
        y[i * ys] = from >= 0 ? x[i * xs + from] : missing;
    }
#else
    for (long first = w->first; first < w->last; first += TUPLES) {
        long from[TUPLES];
        const int count = (int)min((long)TUPLES, w->last - first);
        selections(tuples + first * is, is, count, &args->tuple, from);
        for (int l = 0; l < count; l++) {
            const long i = first + l;
            const element_t value = x[i * xs + max(from[l], 0L)];
            y[i * ys] = from[l] >= 0 ? value : missing;
        }
    }
#endif
}

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
            pick_elements(x + w.at[0], indices + w.at[1], line, &w, &args);
        }
    }
}
