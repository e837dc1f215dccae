/*
 * Gradient of the cross-entropy of each row x of the logits. With m the greatest element of the
 * row, p = exp(x - m) / (sum of exp(x - m)) and f = args.scale times the row's dloss, dx = p f, and
 * (p - 1) f at the label. A label that is not a valid class gives a row of NaN. dx may be x: the
 * element at the label is read before anything is written, and written last.
 *
 * cross_entropy_rows, cross_entropy_columns: see common/rows.clh, with its global sizes. Tensors:
 * logits; without the axis labels, dloss (absent without CROSS_ENTROPY_HAS_DLOSS); dlogits.
 *
 * TENON_VW: lanes of a vector.
 *
 * TENON_DTYPE: see common/types.clh.
 */
#ifndef TENON_VW
#define TENON_VW 4
#endif
#include "loss/cross_entropy.clh"

/* Returns f, 0 for an ignored label, or NaN for an invalid one. */
TENON_INLINE acc_t factor_of(const rows_args *args, __global const data_t *dloss, long at,
                             long label)
{
    if (is_ignored(args, label)) {
        return 0;
    }
    if (!is_class(args, label)) {
        return NAN;
    }
    acc_t scale = TENON_FROM_BITS(args->scale);
    return args->flag & CROSS_ENTROPY_HAS_DLOSS ? scale * load_data(dloss, at) : scale;
}

/* Returns the gradient at the label, 0 if the label is invalid. */
TENON_INLINE acc_t gradient_at_label(__global const data_t *x, long at, const rows_args *args,
                                     long label, acc_t most, acc_t sum, acc_t factor)
{
    return is_class(args, label)
               ? (math_exp_falling(load_data(x, at + label * args->axis[0]) - most) / sum - 1) *
                     factor
               : 0;
}

TENON_INLINE void write_row(__global const data_t *x, long xa, __global data_t *dx, long da,
                            const rows_args *args, acc_t most, acc_t sum, acc_t factor)
{
    const long xs = args->axis[0], ds = args->axis[3];
    long i = 0;
    for (; i + TENON_VW <= args->size; i += TENON_VW) {
        acc_v p =
            math_exp_falling_v(load_lanes(x, xa + i * xs, xs, TENON_VW) - splat(most)) / splat(sum);
        store_lanes(dx, da + i * ds, ds, TENON_VW, p * splat(factor));
    }
    for (; i < args->size; i++) {
        acc_t p = math_exp_falling(load_data(x, xa + i * xs) - most) / sum;
        store_data(dx, da + i * ds, p * factor);
    }
}

TENON_VECTOR_KERNEL void cross_entropy_rows(__global const data_t *x, __global const int *labels,
                                            __global const data_t *dloss, __global data_t *dx,
                                            const rows_args args)
{
    long first = (long)get_global_id(0) * args.chunk;
    long last = min(first + args.chunk, args.count);
    for (long row = first; row < last; row++) {
        long at[TENON_ROWS_VIEWS];
        row_begin(&args, args.rank, row, at);
        long label = labels[at[1]];
        if (is_ignored(&args, label)) {
            for (long i = 0; i < args.size; i++) {
                store_data(dx, at[3] + i * args.axis[3], 0);
            }
            continue;
        }
        acc_t factor = factor_of(&args, dloss, at[2], label);
        acc_t most = row_greatest(x, at[0], args.axis[0], args.size);
        acc_t sum = row_sum_exp(x, at[0], args.axis[0], args.size, most);
        acc_t here = gradient_at_label(x, at[0], &args, label, most, sum, factor);
        write_row(x, at[0], dx, at[3], &args, most, sum, factor);
        if (is_class(&args, label)) {
            store_data(dx, at[3] + label * args.axis[3], here);
        }
    }
}

/* Writes TENON_VW rows that begin at x[xa] and dx[da]; `live` is 0 in the lanes of ignored rows. */
TENON_INLINE void write_columns(__global const data_t *x, long xa, __global data_t *dx, long da,
                                const rows_args *args, int lanes, acc_v most, acc_v sum,
                                acc_v factor, acc_v live)
{
    const long xs = entry_of(args->stride[0], args->rank - 1),
               ds = entry_of(args->stride[3], args->rank - 1);
    for (long i = 0; i < args->size; i++) {
        acc_v p = math_exp_falling_v(load_lanes(x, xa + i * args->axis[0], xs, lanes) - most) / sum;
        store_lanes(dx, da + i * args->axis[3], ds, lanes,
                    live != splat(0) ? p * factor : splat(0));
    }
}

TENON_VECTOR_KERNEL void cross_entropy_columns(__global const data_t *x, __global const int *labels,
                                               __global const data_t *dloss, __global data_t *dx,
                                               const rows_args args)
{
    const int inner = args.rank - 1;
    const long xs = entry_of(args.stride[0], inner), ls = entry_of(args.stride[1], inner);
    const long fs = entry_of(args.stride[2], inner), ds = entry_of(args.stride[3], inner);
    long first = (long)get_global_id(0) * args.chunk;
    long last = min(first + args.chunk, entry_of(args.shape, inner));
    long at[TENON_ROWS_VIEWS];
    row_begin(&args, inner, (long)get_global_id(1), at);
    for (long c = first; c < last; c += TENON_VW) {
        int lanes = (int)min((long)TENON_VW, last - c);
        long xa = at[0] + c * xs, da = at[3] + c * ds, label[TENON_VW];
        acc_t most[TENON_VW], sum[TENON_VW], factor[TENON_VW], live[TENON_VW], here[TENON_VW];
        acc_v most_v = columns_greatest(x, xa, args.axis[0], args.size, xs, lanes);
        acc_v sum_v = columns_sum_exp(x, xa, args.axis[0], args.size, xs, lanes, most_v);
        TENON_VSTORE(most_v, 0, most);
        TENON_VSTORE(sum_v, 0, sum);
        TENON_VSTORE(splat(0), 0, factor);
        TENON_VSTORE(splat(0), 0, live);
        EACH_LANE(l, lanes)
        {
            label[l] = labels[at[1] + (c + l) * ls];
            live[l] = is_ignored(&args, label[l]) ? 0 : 1;
            factor[l] = factor_of(&args, dloss, at[2] + (c + l) * fs, label[l]);
            here[l] =
                gradient_at_label(x, xa + l * xs, &args, label[l], most[l], sum[l], factor[l]);
        }
        write_columns(x, xa, dx, da, &args, lanes, most_v, sum_v, TENON_VLOAD(0, factor),
                      TENON_VLOAD(0, live));
        EACH_LANE(l, lanes)
        {
            if (live[l] != 0 && is_class(&args, label[l])) {
                store_data(dx, da + l * ds + label[l] * args.axis[3], here[l]);
            }
        }
    }
}
