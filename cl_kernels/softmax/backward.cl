/*
 * Gradient of softmax along an axis, from its result y: dx = y (dy - sum of y dy); with args.flag
 * the gradient of log-softmax with result y: dx = dy - exp(y) (sum of dy). dx may be y or dy: a
 * work-item reads an element of its rows for the last time before it writes it.
 *
 * backward_rows, backward_columns: see common/rows.clh, with its global sizes. Tensors: y, dy, dx.
 *
 * TENON_VW: lanes of a vector.
 *
 * TENON_DTYPE: see common/types.clh.
 */
#ifndef TENON_VW
#define TENON_VW 4
#endif
#include "common/rows.clh"

#define TENON_DEFINE_STEPS(product, gradient, exp_of, type)                                        \
    TENON_INLINE type product(type y, type dy, type sum, int is_log)                               \
    {                                                                                              \
        return is_log ? sum + dy : TENON_FMA(y, dy, sum);                                          \
    }                                                                                              \
    TENON_INLINE type gradient(type y, type dy, type sum, int is_log)                              \
    {                                                                                              \
        return is_log ? dy - exp_of(y) * sum : y * (dy - sum);                                     \
    }
TENON_DEFINE_STEPS(add_product, gradient_of, math_exp, acc_t)
TENON_DEFINE_STEPS(add_product_v, gradient_of_v, math_exp_v, acc_v)

TENON_INLINE acc_t row_sum(__global const data_t *y, __global const data_t *dy,
                           const rows_args *args, const long *at)
{
    const long ys = args->axis[0], ds = args->axis[1];
    acc_v sums = splat(0);
    long i = 0;
    for (; i + TENON_VW <= args->size; i += TENON_VW) {
        sums = add_product_v(load_lanes(y, at[0] + i * ys, ys, TENON_VW),
                             load_lanes(dy, at[1] + i * ds, ds, TENON_VW), sums, args->flag);
    }
#if TENON_MASKS
    if (i < args->size && ys == 1 && ds == 1) { /* lanes past the end add 0 */
        const int lanes = (int)(args->size - i);
        sums = add_product_v(load_part(y + at[0] + i, lanes, 0),
                             load_part(dy + at[1] + i, lanes, 0), sums, args->flag);
        i = args->size;
    }
#endif
    acc_t sum = sum_of_lanes(sums);
    for (; i < args->size; i++) {
        sum = add_product(load_data(y, at[0] + i * ys), load_data(dy, at[1] + i * ds), sum,
                          args->flag);
    }
    return sum;
}

TENON_VECTOR_KERNEL void backward_rows(__global const data_t *y, __global const data_t *dy,
                                       __global data_t *dx, const rows_args args)
{
    const long ys = args.axis[0], ds = args.axis[1], xs = args.axis[2];
    long first = (long)get_global_id(0) * args.chunk;
    long last = min(first + args.chunk, args.count);
    for (long row = first; row < last; row++) {
        long at[TENON_ROWS_VIEWS], i = 0;
        row_begin(&args, args.rank, row, at);
        acc_t sum = row_sum(y, dy, &args, at);
        for (; i + TENON_VW <= args.size; i += TENON_VW) {
            acc_v g =
                gradient_of_v(load_lanes(y, at[0] + i * ys, ys, TENON_VW),
                              load_lanes(dy, at[1] + i * ds, ds, TENON_VW), splat(sum), args.flag);
            store_lanes(dx, at[2] + i * xs, xs, TENON_VW, g);
        }
#if TENON_MASKS
        if (i < args.size && ys == 1 && ds == 1 && xs == 1) {
            const int lanes = (int)(args.size - i);
            const acc_v g =
                gradient_of_v(load_part(y + at[0] + i, lanes, 0),
                              load_part(dy + at[1] + i, lanes, 0), splat(sum), args.flag);
            store_part(dx + at[2] + i, lanes, g);
            i = args.size;
        }
#endif
        for (; i < args.size; i++) {
            acc_t g = gradient_of(load_data(y, at[0] + i * ys), load_data(dy, at[1] + i * ds), sum,
                                  args.flag);
            store_data(dx, at[2] + i * xs, g);
        }
    }
}

TENON_VECTOR_KERNEL void backward_columns(__global const data_t *y, __global const data_t *dy,
                                          __global data_t *dx, const rows_args args)
{
    const int inner = args.rank - 1;
    const long ys = entry_of(args.stride[0], inner), ds = entry_of(args.stride[1], inner),
               xs = entry_of(args.stride[2], inner);
    long first = (long)get_global_id(0) * args.chunk;
    long last = min(first + args.chunk, entry_of(args.shape, inner));
    long at[TENON_ROWS_VIEWS];
    row_begin(&args, inner, (long)get_global_id(1), at);
    for (long c = first; c < last; c += TENON_VW) {
        int lanes = (int)min((long)TENON_VW, last - c);
        acc_v sum = splat(0);
        for (long i = 0; i < args.size; i++) {
            sum = add_product_v(load_lanes(y, at[0] + c * ys + i * args.axis[0], ys, lanes),
                                load_lanes(dy, at[1] + c * ds + i * args.axis[1], ds, lanes), sum,
                                args.flag);
        }
        for (long i = 0; i < args.size; i++) {
            acc_v g = gradient_of_v(load_lanes(y, at[0] + c * ys + i * args.axis[0], ys, lanes),
                                    load_lanes(dy, at[1] + c * ds + i * args.axis[1], ds, lanes),
                                    sum, args.flag);
            store_lanes(dx, at[2] + c * xs + i * args.axis[2], xs, lanes, g);
        }
    }
}
