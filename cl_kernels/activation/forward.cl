/*
 * Activation: y = activation(x), element by element. y may be x.
 *
 * forward_dense: both are contiguous. A work-item handles args.chunk elements, a multiple of
 *   TENON_VW; on a GPU, its share of their vectors. Global size: {ceil(elements / chunk) · parts}.
 * forward_strided: any strides. A work-item handles args.chunk elements along the last dimension.
 *   Global size: {ceil(shape[rank - 1] / chunk), product of the other sizes}.
 *
 * TENON_VW: lanes of a vector.
 *
 * TENON_DTYPE, TENON_STREAM, TENON_VECTORS, TENON_ACT_BUILD: see common/types.clh,
 * common/stream.clh and common/activation.clh.
 */
#ifndef TENON_VW
#define TENON_VW 4
#endif
#include "activation/elementwise.clh"

#if TENON_GPU

TENON_INLINE void block(const int vectors, const int whole, const span *s, long i,
                        __global const data_t *x, __global data_t *y,
                        const activation_args *activation)
{
    acc_v v[TENON_VECTORS];
    load_vectors(vectors, whole, s, x, i, 1, v);
    FOR_VECTORS(k, vectors)
    {
        v[k] = activate_v(v[k], activation);
    }
    store_vectors(vectors, whole, s, y, i, 1, v, 1);
}

TENON_INLINE void dense(const span *s, __global const data_t *x, __global data_t *y,
                        const activation_args *activation){
    EACH_BLOCK(s, is_vectorizable(x, 1) && is_vectorizable(y, 1),
               block(vectors, whole, s, i, x, y, activation))}

#else

TENON_INLINE void dense(const span *s, __global const data_t *x, __global data_t *y,
                        const activation_args *activation)
{
    long i = s->first;
    for (; i + TENON_VW <= s->last; i += TENON_VW) {
        stream_data_v(y, i, activate_v(load_data_v(x, i), activation), y != x);
    }
    for (; i < s->last; i++) {
        store_data(y, i, activate(load_data(x, i), activation));
    }
}

#endif

/* clang-format alternates between two ways to break this declaration. */
/* clang-format off */
TENON_VECTOR_KERNEL void forward_dense(__global const data_t *x, __global data_t *y,
                                       const elementwise_args args)
/* clang-format on */
{
    const activation_args activation = make_activation(&args);
    const span s = dense_span(&args);
    dense(&s, x + args.offset[0], y + args.offset[1], &activation);
}

TENON_VECTOR_KERNEL void forward_strided(__global const data_t *x, __global data_t *y,
                                         const elementwise_args args)
{
    const activation_args activation = make_activation(&args);
    const int inner = args.rank - 1;
    long row = (long)get_global_id(1), first = (long)get_global_id(0) * args.chunk;
    long last = min(first + args.chunk, entry_of(args.shape, inner));
    x += row_start(&args, 0, row);
    y += row_start(&args, 1, row);
    const long x_step = entry_of(args.stride[0], inner), y_step = entry_of(args.stride[1], inner);
    for (long i = first; i < last; i++) {
        acc_t value = load_data(x, i * x_step);
        store_data(y, i * y_step, activate(value, &activation));
    }
}
