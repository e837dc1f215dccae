/*
 * y = activation(x), element by element. y may be x.
 *
 * forward_dense: both are contiguous. A work-item covers args.chunk elements, a multiple of
 * TENON_VW. Global size: {ceil(elements / chunk)}.
 *
 * forward_strided: any strides. A work-item covers args.chunk elements along the last dimension.
 *   Global size: {ceil(shape[rank - 1] / chunk), product of the other sizes}.
 *
 * TENON_VW: lanes of a vector.
 * TENON_DTYPE, TENON_ACT_BUILD: see common/types.clh and common/activation.clh.
 */
#ifndef TENON_VW
#define TENON_VW 4
#endif
#include "activation/args.h"
#include "common/activation.clh"

TENON_INLINE activation_args make_activation(const forward_args *args)
{
    activation_args activation;
    activation.kind = args->activation;
    activation.alpha = TENON_FROM_BITS(args->alpha);
    activation.beta = TENON_FROM_BITS(args->beta);
    return activation;
}

__kernel void forward_dense(__global const data_t *x, __global data_t *y, const forward_args args)
{
    const activation_args activation = make_activation(&args);
    long first = (long)get_global_id(0) * args.chunk;
    long last = min(first + args.chunk, args.elements);
    x += args.x_offset;
    y += args.y_offset;
    for (; first + TENON_VW <= last; first += TENON_VW) {
        store_data_v(y, first, activate_v(load_data_v(x, first), &activation));
    }
    for (; first < last; first++) {
        store_data(y, first, activate(load_data(x, first), &activation));
    }
}

__kernel void forward_strided(__global const data_t *x, __global data_t *y, const forward_args args)
{
    const activation_args activation = make_activation(&args);
    const int inner = args.rank - 1;
    long rest = (long)get_global_id(1), first = (long)get_global_id(0) * args.chunk;
    long last = min(first + args.chunk, args.shape[inner]);
    long x_at = args.x_offset, y_at = args.y_offset;
    for (int d = inner - 1; d >= 0; d--) {
        long index = rest % args.shape[d];
        rest /= args.shape[d];
        x_at += index * args.x_stride[d];
        y_at += index * args.y_stride[d];
    }
    for (long i = first; i < last; i++) {
        acc_t value = load_data(x, x_at + i * args.x_stride[inner]);
        store_data(y, y_at + i * args.y_stride[inner], activate(value, &activation));
    }
}
