/*
 * Cross-entropy loss = log(sum of exp(x - m)) - (x[label] - m) of each row x of the logits, where m
 * is its greatest element. A label that is not a valid class gives NaN, and no logit is read for
 * it.
 *
 * cross_entropy_rows, cross_entropy_columns: see common/rows.clh, with its global sizes. Tensors:
 * logits, and without the axis labels, loss.
 *
 * TENON_VW: lanes of a vector.
 *
 * TENON_DTYPE: see common/types.clh.
 */
#ifndef TENON_VW
#define TENON_VW 4
#endif
#include "loss/cross_entropy.clh"

TENON_INLINE acc_t loss_of(__global const data_t *x, long at, const rows_args *args, long label,
                           acc_t most, acc_t sum)
{
    if (is_ignored(args, label)) {
        return 0;
    }
    return is_class(args, label) ? log(sum) - (load_data(x, at + label * args->axis[0]) - most)
                                 : (acc_t)NAN;
}

TENON_VECTOR_KERNEL void cross_entropy_rows(__global const data_t *x, __global const int *labels,
                                            __global data_t *loss, const rows_args args)
{
    long first = (long)get_global_id(0) * args.chunk;
    long last = min(first + args.chunk, args.count);
    for (long row = first; row < last; row++) {
        long at[TENON_ROWS_VIEWS];
        row_begin(&args, args.rank, row, at);
        acc_t most = row_greatest(x, at[0], args.axis[0], args.size);
        acc_t sum = row_sum_exp(x, at[0], args.axis[0], args.size, most);
        store_data(loss, at[2], loss_of(x, at[0], &args, labels[at[1]], most, sum));
    }
}

TENON_VECTOR_KERNEL void cross_entropy_columns(__global const data_t *x, __global const int *labels,
                                               __global data_t *loss, const rows_args args)
{
    const int inner = args.rank - 1;
    const long xs = entry_of(args.stride[0], inner);
    long first = (long)get_global_id(0) * args.chunk;
    long last = min(first + args.chunk, entry_of(args.shape, inner));
    long at[TENON_ROWS_VIEWS];
    row_begin(&args, inner, (long)get_global_id(1), at);
    for (long c = first; c < last; c += TENON_VW) {
        int lanes = (int)min((long)TENON_VW, last - c);
        long xa = at[0] + c * xs;
        acc_t most[TENON_VW], sum[TENON_VW];
        acc_v most_v = columns_greatest(x, xa, args.axis[0], args.size, xs, lanes);
        TENON_VSTORE(most_v, 0, most);
        TENON_VSTORE(columns_sum_exp(x, xa, args.axis[0], args.size, xs, lanes, most_v), 0, sum);
        EACH_LANE(l, lanes)
        {
            long label = labels[at[1] + (c + l) * entry_of(args.stride[1], inner)];
            store_data(loss, at[2] + (c + l) * entry_of(args.stride[2], inner),
                       loss_of(x, xa + l * xs, &args, label, most[l], sum[l]));
        }
    }
}
