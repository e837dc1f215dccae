/*
 * dx = dy · activation'(x), element by element. dx may be x or dy.
 *
 * backward_dense, backward_strided: as in forward.cl, with views x, dy and dx.
 *
 * TENON_VW: lanes of a vector.
 * TENON_DTYPE, TENON_STREAM, TENON_ACT_BUILD: see common/types.clh and common/activation.clh.
 */
#ifndef TENON_VW
#define TENON_VW 4
#endif
#include "common/derivative.clh"
#include "activation/elementwise.clh"

TENON_VECTOR_KERNEL void backward_dense(__global const data_t *x, __global const data_t *dy,
                                        __global data_t *dx, const elementwise_args args)
{
    const activation_args activation = make_activation(&args);
    long first = (long)get_global_id(0) * args.chunk;
    long last = min(first + args.chunk, args.elements);
    x += args.offset[0];
    dy += args.offset[1];
    dx += args.offset[2];
    for (; first + TENON_VW <= last; first += TENON_VW) {
        acc_v slope = derivative_v(load_data_v(x, first), &activation);
        stream_data_v(dx, first, load_data_v(dy, first) * slope, dx != x && dx != dy);
    }
    for (; first < last; first++) {
        acc_t slope = derivative(load_data(x, first), &activation);
        store_data(dx, first, load_data(dy, first) * slope);
    }
}

TENON_VECTOR_KERNEL void backward_strided(__global const data_t *x, __global const data_t *dy,
                                          __global data_t *dx, const elementwise_args args)
{
    const activation_args activation = make_activation(&args);
    const int inner = args.rank - 1;
    long row = (long)get_global_id(1), first = (long)get_global_id(0) * args.chunk;
    long last = min(first + args.chunk, args.shape[inner]);
    x += row_start(&args, 0, row);
    dy += row_start(&args, 1, row);
    dx += row_start(&args, 2, row);
    for (long i = first; i < last; i++) {
        acc_t slope = derivative(load_data(x, i * args.stride[0][inner]), &activation);
        acc_t gradient = load_data(dy, i * args.stride[1][inner]);
        store_data(dx, i * args.stride[2][inner], gradient * slope);
    }
}
