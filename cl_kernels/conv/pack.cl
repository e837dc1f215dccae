/*
 * Copies between a strided tensor of up to five dimensions and a dense row-major array of acc_t.
 *
 * conv_pack: packed = tensor.
 * conv_unpack: tensor = the sum of args.parts packed arrays, in order, + beta * tensor.
 *
 * A work-item handles args.run elements along the last dimension. Global size: {ceil(shape[4] /
 * run), the product of shape[0 .. 3]}. TENON_VW, TENON_DTYPE: see common/types.clh.
 */
#ifndef TENON_VW
#define TENON_VW 4
#endif
#include "common/types.clh"
#include "conv/gradient_args.h"

TENON_INLINE long row_of(const conv_pack_args *args, long row)
{
    long at = args->tensor_offset;
    for (int d = 3; d >= 0; d--) {
        at += row % args->shape[d] * args->stride[d];
        row /= args->shape[d];
    }
    return at;
}

TENON_VECTOR_KERNEL void conv_pack(__global const data_t *tensor, __global acc_t *packed,
                                   const conv_pack_args args)
{
    const long row = (long)get_global_id(1), stride = args.stride[4];
    long i = (long)get_global_id(0) * args.run;
    const long end = min(i + args.run, args.shape[4]);
    tensor += row_of(&args, row);
    packed += args.packed_offset + row * args.shape[4];
    for (; i + TENON_VW <= end; i += TENON_VW) {
        TENON_VSTORE(load_lanes(tensor, i * stride, stride, TENON_VW), 0, packed + i);
    }
    for (; i < end; i++) {
        packed[i] = load_data(tensor, i * stride);
    }
}

TENON_KERNEL void conv_unpack(__global data_t *tensor, __global const acc_t *packed,
                              const conv_pack_args args)
{
    const long row = (long)get_global_id(1), stride = args.stride[4];
    const long first = (long)get_global_id(0) * args.run;
    tensor += row_of(&args, row);
    packed += args.packed_offset + row * args.shape[4];
    for (long i = first; i < min(first + args.run, args.shape[4]); i++) {
        acc_t result = packed[i];
        for (long part = 1; part < args.parts; part++) {
            result += packed[i + part * args.part];
        }
        if (args.adds) {
            result += TENON_FROM_BITS(args.beta) * load_data(tensor, i * stride);
        }
        store_data(tensor, i * stride, result);
    }
}
