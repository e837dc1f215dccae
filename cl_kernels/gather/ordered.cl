/*
 * Scatter on CPUs: a work-item applies all tuples, in order, to its part of y, a piece of some
 * lines along the last dimension of the batches and columns (common/walk.clh). Work-items that
 * share a part of y apply the tuples that select different offsets. Global size: that of the walk,
 * and the number of ranges of offsets.
 *
 * TENON_BITS, TENON_DTYPE or TENON_COPY_SIZE, TENON_VW: see gather/value.clh.
 * TENON_INDEX, TENON_TUPLE: see gather/tuple.clh.
 */
#include "gather/value.clh"

#include "common/walk.clh"
#include "gather/tuple.clh"

/* Returns the offset of tuple `i` in the indices (view 0) or the updates (view 1). */
TENON_INLINE long tuple_at(const scatter_ordered_args *args, int view, long i)
{
    long at = 0;
    for (int d = args->rank - 1; d > 0; d--) {
        at += i % args->shape[d] * args->stride[view][d];
        i /= args->shape[d];
    }
    return at + i * args->stride[view][0];
}

/* Combines elements [first, last) of a line. */
TENON_INLINE void combine_line(__global stored_t *y, long ys, __global const stored_t *updates,
                               long us, const walk *w, int op, value_t sign)
{
    long c = w->first;
    if (ys == 1 && us == 1) {
        for (; c + TENON_VW <= w->last; c += TENON_VW) {
            store_values(y, c, 1, TENON_VW,
                         combine_v(op, sign, load_values(y, c, 1, TENON_VW),
                                   load_values(updates, c, 1, TENON_VW)));
        }
    }
    for (; c < w->last; c++) {
        store_value(y, c * ys,
                    combine(op, sign, load_value(y, c * ys), load_value(updates, c * us)));
    }
}

/* Combines element c of a line with the element of y that `to` selects. */
TENON_INLINE void combine_element(__global stored_t *y, __global const stored_t *updates, long c,
                                  long to, const scatter_ordered_args *args)
{
    const long at = c * args->walk.step[0] + to;
    store_value(y, at,
                combine(args->op, (value_t)args->sign, load_value(y, at),
                        load_value(updates, c * args->walk.step[1])));
}

/* Combines elements of a line, each of which has its own tuple. Those that other work-items apply
 * are excluded first, without branches, which processors could not predict. */
TENON_INLINE void combine_elements(__global stored_t *y, __global const stored_t *updates,
                                   __global const index_t *tuples, const walk *w, long low,
                                   const scatter_ordered_args *args)
{
    const long is = args->walk.step[2], high = low + args->range;
    const bool is_shared = get_global_size(1) > 1;
    for (long first = w->first; first < w->last; first += TUPLES) {
        long to[TUPLES];
        uchar from[TUPLES];
        const int all = (int)min((long)TUPLES, w->last - first);
        int count = 0;
        selections(tuples + first * is, is, all, &args->tuple, to);
        if (!is_shared) {
            for (int l = 0; l < all; l++) {
                if (to[l] >= 0) {
                    combine_element(y, updates, first + l, to[l], args);
                }
            }
            continue;
        }
        for (int l = 0; l < all; l++) {
            const long own = to[l];
            from[count] = (uchar)l;
            to[count] = own;
            count += own >= low && own < high;
        }
        for (int l = 0; l < count; l++) {
            combine_element(y, updates, first + from[l], to[l], args);
        }
    }
}

TENON_KERNEL void ordered(__global const stored_t *updates, __global const index_t *indices,
                          __global stored_t *y, const scatter_ordered_args args)
{
    const long ys = args.walk.step[0], us = args.walk.step[1], is = args.walk.step[2];
    const long low = (long)get_global_id(1) * args.range, high = low + args.range;
    const value_t sign = (value_t)args.sign;
    walk w;
    walk_begin(&w, &args.walk, 3);
    EACH_ROW(&w, &args.walk, 3)
    {
        for (long i = 0; i < args.count; i++) {
            __global const index_t *tuple = indices + w.at[2] + tuple_at(&args, 0, i);
            __global const stored_t *from = updates + w.at[1] + tuple_at(&args, 1, i);
            if (is == 0) {
                const long to = selection(tuple, 0, &args.tuple);
                if (to >= low && to < high) {
                    combine_line(y + w.at[0] + to, ys, from, us, &w, args.op, sign);
                }
                continue;
            }
            combine_elements(y + w.at[0], from, tuple, &w, low, &args);
        }
    }
}
