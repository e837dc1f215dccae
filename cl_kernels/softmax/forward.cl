/*
 * Softmax along an axis, or with args.flag log-softmax. y may be x: a work-item reads an element of
 * its rows for the last time before it writes it.
 *
 * forward_rows, forward_columns: see common/rows.clh, with its global sizes. Tensors: x, y.
 *
 * With m the greatest element of a row, the result is exp(x - m) / sum of exp(x - m), or (x - m) -
 * log(that sum). m ignores NaNs, but they propagate through the sum. If the output has the
 * accumulator type, it holds the exponentials until their sum is known.
 *
 * TENON_VW: lanes of a vector.
 *
 * TENON_DTYPE: see common/types.clh.
 */
#ifndef TENON_VW
#define TENON_VW 4
#endif
#include "common/rows.clh"
#if TENON_MASKS
#include "softmax/short_rows.clh"
#endif

TENON_INLINE void log_row(__global const data_t *x, __global data_t *y, const rows_args *args,
                          const long *at, acc_t most)
{
    const long xs = args->axis[0], ys = args->axis[1];
    acc_t shift = log(row_sum_exp(x, at[0], xs, args->size, most));
    long i = 0;
    for (; i + TENON_VW <= args->size; i += TENON_VW) {
        acc_v v = load_lanes(x, at[0] + i * xs, xs, TENON_VW);
        store_lanes(y, at[1] + i * ys, ys, TENON_VW, v - splat(most) - splat(shift));
    }
    for (; i < args->size; i++) {
        store_data(y, at[1] + i * ys, load_data(x, at[0] + i * xs) - most - shift);
    }
}

#if TENON_DATA_IS_ACC
TENON_INLINE acc_t write_exp(__global const data_t *x, __global data_t *y, const rows_args *args,
                             const long *at, acc_t most)
{
    const long xs = args->axis[0], ys = args->axis[1];
    acc_v sums = splat(0);
    long i = 0;
    for (; i + TENON_VW <= args->size; i += TENON_VW) {
        acc_v e = math_exp_falling_v(load_lanes(x, at[0] + i * xs, xs, TENON_VW) - splat(most));
        store_lanes(y, at[1] + i * ys, ys, TENON_VW, e);
        sums += e;
    }
    acc_t sum = sum_of_lanes(sums);
    for (; i < args->size; i++) {
        acc_t e = math_exp_falling(load_data(x, at[0] + i * xs) - most);
        store_data(y, at[1] + i * ys, e);
        sum += e;
    }
    return sum;
}
#endif

TENON_INLINE void softmax_row(__global const data_t *x, __global data_t *y, const rows_args *args,
                              const long *at, acc_t most)
{
    const long xs = args->axis[0], ys = args->axis[1];
    long i = 0;
#if TENON_DATA_IS_ACC
    acc_t sum = write_exp(x, y, args, at, most);
    for (; i + TENON_VW <= args->size; i += TENON_VW) {
        acc_v e = load_lanes(y, at[1] + i * ys, ys, TENON_VW);
        store_lanes(y, at[1] + i * ys, ys, TENON_VW, e / splat(sum));
    }
    for (; i < args->size; i++) {
        store_data(y, at[1] + i * ys, load_data(y, at[1] + i * ys) / sum);
    }
#else
    acc_t sum = row_sum_exp(x, at[0], xs, args->size, most);
    for (; i + TENON_VW <= args->size; i += TENON_VW) {
        acc_v e = math_exp_falling_v(load_lanes(x, at[0] + i * xs, xs, TENON_VW) - splat(most));
        store_lanes(y, at[1] + i * ys, ys, TENON_VW, e / splat(sum));
    }
    for (; i < args->size; i++) {
        store_data(y, at[1] + i * ys, math_exp_falling(load_data(x, at[0] + i * xs) - most) / sum);
    }
#endif
}

TENON_VECTOR_KERNEL void forward_rows(__global const data_t *x, __global data_t *y,
                                      const rows_args args)
{
    long first = (long)get_global_id(0) * args.chunk;
    long last = min(first + args.chunk, args.count);
#if TENON_MASKS
    if (args.axis[0] == 1 && args.axis[1] == 1 && args.size <= SHORT_VECTORS * TENON_VW) {
        for (long row = first; row < last; row += TENON_VW) {
            short_rows(x, y, &args, row, min(row + TENON_VW, last));
        }
        return;
    }
#endif
    for (long row = first; row < last; row++) {
        long at[TENON_ROWS_VIEWS];
        row_begin(&args, args.rank, row, at);
        acc_t most = row_greatest(x, at[0], args.axis[0], args.size);
        if (args.flag) {
            log_row(x, y, &args, at, most);
        } else {
            softmax_row(x, y, &args, at, most);
        }
    }
}

/* Computes TENON_VW rows that begin at x[xa] and y[ya]. */
TENON_INLINE void columns(__global const data_t *x, long xa, __global data_t *y, long ya,
                          const rows_args *args, int lanes)
{
    const long xs = entry_of(args->stride[0], args->rank - 1),
               ys = entry_of(args->stride[1], args->rank - 1);
    const long xt = args->axis[0], yt = args->axis[1];
    acc_v most = columns_greatest(x, xa, xt, args->size, xs, lanes);
#if TENON_DATA_IS_ACC
    if (!args->flag) {
        acc_v sum = splat(0);
        for (long i = 0; i < args->size; i++) {
            acc_v e = math_exp_falling_v(load_lanes(x, xa + i * xt, xs, lanes) - most);
            store_lanes(y, ya + i * yt, ys, lanes, e);
            sum += e;
        }
        for (long i = 0; i < args->size; i++) {
            acc_v e = load_lanes(y, ya + i * yt, ys, lanes);
            store_lanes(y, ya + i * yt, ys, lanes, e / sum);
        }
        return;
    }
#endif
    acc_v sum = columns_sum_exp(x, xa, xt, args->size, xs, lanes, most);
    acc_v shift = args->flag ? log(sum) : splat(0);
    for (long i = 0; i < args->size; i++) {
        acc_v v = load_lanes(x, xa + i * xt, xs, lanes) - most;
        store_lanes(y, ya + i * yt, ys, lanes,
                    args->flag ? v - shift : math_exp_falling_v(v) / sum);
    }
}

TENON_VECTOR_KERNEL void forward_columns(__global const data_t *x, __global data_t *y,
                                         const rows_args args)
{
    const int inner = args.rank - 1;
    long first = (long)get_global_id(0) * args.chunk;
    long last = min(first + args.chunk, entry_of(args.shape, inner));
    long at[TENON_ROWS_VIEWS];
    row_begin(&args, inner, (long)get_global_id(1), at);
    for (long c = first; c < last; c += TENON_VW) {
        columns(x, at[0] + c * entry_of(args.stride[0], inner), y,
                at[1] + c * entry_of(args.stride[1], inner), &args,
                (int)min((long)TENON_VW, last - c));
    }
}
