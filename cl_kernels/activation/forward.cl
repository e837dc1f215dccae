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
 * TENON_DTYPE, TENON_STREAM, TENON_ACT_BUILD: see common/types.clh and common/activation.clh.
 */
#ifndef TENON_VW
#define TENON_VW 4
#endif
#include "activation/elementwise.clh"

TENON_VECTOR_KERNEL void forward_dense(__global const data_t *x, __global data_t *y,
                                       const elementwise_args args)
{
    const activation_args activation = make_activation(&args);
    long first = (long)get_global_id(0) * args.chunk;
    long last = min(first + args.chunk, args.elements);
    x += args.offset[0];
    y += args.offset[1];
    for (; first + TENON_VW <= last; first += TENON_VW) {
        stream_data_v(y, first, activate_v(load_data_v(x, first), &activation), y != x);
    }
    for (; first < last; first++) {
        store_data(y, first, activate(load_data(x, first), &activation));
    }
}

TENON_VECTOR_KERNEL void forward_strided(__global const data_t *x, __global data_t *y,
                                         const elementwise_args args)
{
    const activation_args activation = make_activation(&args);
    const int inner = args.rank - 1;
    long row = (long)get_global_id(1), first = (long)get_global_id(0) * args.chunk;
    long last = min(first + args.chunk, args.shape[inner]);
    x += row_start(&args, 0, row);
    y += row_start(&args, 1, row);
    for (long i = first; i < last; i++) {
        acc_t value = load_data(x, i * args.stride[0][inner]);
        store_data(y, i * args.stride[1][inner], activate(value, &activation));
    }
}
