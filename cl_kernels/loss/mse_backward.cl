/*
 * Gradient of the mean squared error: dx = args.scale · dloss · (x - t), element by element.
 * Without MSE_HAS_DLOSS in args.flag, dloss is 1. dx may be x or t.
 *
 * mse_rows, mse_columns: see common/rows.clh, with its global sizes. Tensors: x, t, dloss, dx.
 *
 * TENON_VW: lanes of a vector.
 *
 * TENON_DTYPE: see common/types.clh.
 */
#ifndef TENON_VW
#define TENON_VW 4
#endif
#include "common/rows.clh"
#include "loss/flags.h"

/* Offsets of a vector in each tensor, and the strides of its lanes. */
typedef struct vector_at {
    long at[TENON_ROWS_VIEWS], stride[TENON_ROWS_VIEWS];
} vector_at;

TENON_INLINE void gradient(__global const data_t *x, __global const data_t *t,
                           __global const data_t *dloss, __global data_t *dx, const rows_args *args,
                           const vector_at *v, int lanes)
{
    acc_v factor = splat(TENON_FROM_BITS(args->scale));
    if (args->flag & MSE_HAS_DLOSS) {
        factor *= v->stride[2] == 0 ? splat(load_data(dloss, v->at[2]))
                                    : load_lanes(dloss, v->at[2], v->stride[2], lanes);
    }
    acc_v d =
        load_lanes(x, v->at[0], v->stride[0], lanes) - load_lanes(t, v->at[1], v->stride[1], lanes);
    store_lanes(dx, v->at[3], v->stride[3], lanes, factor * d);
}

TENON_VECTOR_KERNEL void mse_rows(__global const data_t *x, __global const data_t *t,
                                  __global const data_t *dloss, __global data_t *dx,
                                  const rows_args args)
{
    long first = (long)get_global_id(0) * args.chunk;
    long last = min(first + args.chunk, (long)args.count);
    vector_at v;
    TENON_UNROLL
    for (int i = 0; i < TENON_ROWS_VIEWS; i++) {
        v.stride[i] = args.axis[i];
    }
    for (long row = first; row < last; row++) {
        row_begin(&args, args.rank, row, v.at);
        for (long i = 0; i < args.size; i += TENON_VW) {
            gradient(x, t, dloss, dx, &args, &v, (int)min((long)TENON_VW, args.size - i));
            TENON_UNROLL
            for (int k = 0; k < TENON_ROWS_VIEWS; k++) {
                v.at[k] += TENON_VW * v.stride[k];
            }
        }
    }
}

/* Requires an axis of size 1. */
TENON_VECTOR_KERNEL void mse_columns(__global const data_t *x, __global const data_t *t,
                                     __global const data_t *dloss, __global data_t *dx,
                                     const rows_args args)
{
    const int inner = args.rank - 1;
    long first = (long)get_global_id(0) * args.chunk;
    long last = min(first + args.chunk, (long)entry_of(args.shape, inner));
    vector_at v;
    row_begin(&args, inner, (long)get_global_id(1), v.at);
    TENON_UNROLL
    for (int i = 0; i < TENON_ROWS_VIEWS; i++) {
        v.stride[i] = entry_of(args.stride[i], inner);
        v.at[i] += first * v.stride[i];
    }
    for (long c = first; c < last; c += TENON_VW) {
        gradient(x, t, dloss, dx, &args, &v, (int)min((long)TENON_VW, last - c));
        TENON_UNROLL
        for (int i = 0; i < TENON_ROWS_VIEWS; i++) {
            v.at[i] += TENON_VW * v.stride[i];
        }
    }
}
