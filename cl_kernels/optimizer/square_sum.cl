/*
 * The sum of the squares of a tensor's elements.
 *
 * square_sum: views x and the sums. Each work-item adds up pieces of x's lines (common/lines.clh),
 *   any strides, and leaves the sum in the element of its number.
 * square_sum_add: work-item i adds the elements [i · each, min((i + 1) · each, count)) of `sums` in
 *   their order, and leaves the result in element i of `total`. Global size: at least {items}.
 *
 * args.flags: bit 0 to add to what the output holds. Partial sums wait in a workspace.
 *
 * TENON_VW, TENON_DTYPE: see common/types.clh.
 */
#ifndef TENON_VW
#define TENON_VW 4
#endif
#include "common/lines.clh"
#include "common/rows.clh"

#define ADD 1

TENON_INLINE void leave(__global acc_t *sums, const lines_args *args, long item, acc_t sum)
{
    if (item < args->items) {
        long at = args->offset[1] + item;
        sums[at] = (args->flags & ADD) != 0 ? sums[at] + sum : sum;
    }
}

TENON_VECTOR_KERNEL void square_sum(__global const data_t *x, __global acc_t *sums,
                                    const lines_args args)
{
    const long stride = args.stride[0][args.rank - 1];
    acc_v total = splat(0);
    lines w;
    for (lines_begin(&w, &args, 1); w.left > 0; lines_next(&w, &args, 1)) {
        for (long i = w.first; i < w.last; i += TENON_VW) {
            const int lanes = (int)min(w.last - i, (long)TENON_VW);
            acc_v v = load_lanes(x, w.at[0] + i * stride, stride, lanes);
            total = TENON_FMA(v, v, total);
        }
    }
    leave(sums, &args, (long)get_global_id(0), sum_of_lanes(total));
}

TENON_KERNEL void square_sum_add(__global const acc_t *sums, __global acc_t *total,
                                 const lines_args args)
{
    const long item = (long)get_global_id(0), first = item * args.each;
    const long last = min(first + args.each, (long)args.count);
    acc_t sum = 0;
    for (long i = first; i < last; i++) {
        sum += sums[args.offset[0] + i];
    }
    leave(total, &args, item, sum);
}
