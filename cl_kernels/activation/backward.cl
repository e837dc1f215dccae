/*
 * Gradient of an activation: dx = dy · activation'(x), element by element. dx may be x or dy.
 *
 * backward_dense, backward_strided: as in forward.cl, with views x, dy and dx.
 *
 * TENON_VW: lanes of a vector.
 *
 * TENON_DTYPE, TENON_STREAM, TENON_VECTORS, TENON_ACT_BUILD: see common/types.clh,
 * common/stream.clh and common/activation.clh.
 */
#ifndef TENON_VW
#define TENON_VW 4
#endif
#include "common/derivative.clh"
#include "activation/elementwise.clh"

#if TENON_GPU

TENON_INLINE void block(const int vectors, const int whole, const span *s, long i,
                        __global const data_t *x, __global const data_t *dy, __global data_t *dx,
                        const activation_args *activation)
{
    acc_v v[TENON_VECTORS], gradient[TENON_VECTORS];
    load_vectors(vectors, whole, s, x, i, 1, v);
    load_vectors(vectors, whole, s, dy, i, 1, gradient);
    FOR_VECTORS(k, vectors)
    {
        v[k] = gradient[k] * derivative_v(v[k], activation);
    }
    store_vectors(vectors, whole, s, dx, i, 1, v, 1);
}

TENON_INLINE void dense(const span *s, __global const data_t *x, __global const data_t *dy,
                        __global data_t *dx, const activation_args *activation){
    EACH_BLOCK(s, is_vectorizable(x, 1) && is_vectorizable(dy, 1) && is_vectorizable(dx, 1),
               block(vectors, whole, s, i, x, dy, dx, activation))}

#else

TENON_INLINE void dense(const span *s, __global const data_t *x, __global const data_t *dy,
                        __global data_t *dx, const activation_args *activation)
{
    long i = s->first;
    for (; i + TENON_VW <= s->last; i += TENON_VW) {
        acc_v slope = derivative_v(load_data_v(x, i), activation);
        stream_data_v(dx, i, load_data_v(dy, i) * slope, dx != x && dx != dy);
    }
    for (; i < s->last; i++) {
        acc_t slope = derivative(load_data(x, i), activation);
        store_data(dx, i, load_data(dy, i) * slope);
    }
}

#endif

TENON_VECTOR_KERNEL void backward_dense(__global const data_t *x, __global const data_t *dy,
                                        __global data_t *dx, const elementwise_args args)
{
    const activation_args activation = make_activation(&args);
    const span s = dense_span(&args);
    dense(&s, x + args.offset[0], dy + args.offset[1], dx + args.offset[2], &activation);
}

TENON_VECTOR_KERNEL void backward_strided(__global const data_t *x, __global const data_t *dy,
                                          __global data_t *dx, const elementwise_args args)
{
    const activation_args activation = make_activation(&args);
    const int inner = args.rank - 1;
    long row = (long)get_global_id(1), first = (long)get_global_id(0) * args.chunk;
    long last = min(first + args.chunk, entry_of(args.shape, inner));
    x += row_start(&args, 0, row);
    dy += row_start(&args, 1, row);
    dx += row_start(&args, 2, row);
    const long x_step = entry_of(args.stride[0], inner), dy_step = entry_of(args.stride[1], inner),
               dx_step = entry_of(args.stride[2], inner);
    for (long i = first; i < last; i++) {
        acc_t slope = derivative(load_data(x, i * x_step), &activation);
        acc_t gradient = load_data(dy, i * dy_step);
        store_data(dx, i * dx_step, gradient * slope);
    }
}
