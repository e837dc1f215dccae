/*
 * The gradient of the bias: the sum of dy over images and pixels for each channel. Computes
 * args.parts partial sums, each over args.chunk lines (a line is the last dimension of dy), and
 * then adds them in order.
 *
 * conv_bias_rows: a work-item handles one channel of one part, in vectors along q. Global size:
 *   {channels, parts}.
 * conv_bias_channels: a work-item handles TENON_VW channels of one part, in vectors along the
 *   channels. Global size: {ceil(channels / TENON_VW), parts}.
 * conv_bias_finish: a work-item adds the parts of a channel. Global size: {channels}.
 *
 * With a single part, the first two kernels write db and conv_bias_finish is not launched.
 * TENON_VW, TENON_GPU, TENON_DTYPE: see common/types.clh.
 */
#ifndef TENON_VW
#define TENON_VW 4
#endif
#include "common/rows.clh"
#include "conv/gradient_args.h"

TENON_INLINE long line_of(const conv_bias_args *args, long line)
{
    long p = line % args->out[1], rest = line / args->out[1];
    return rest / args->out[0] * args->y_stride[0] + rest % args->out[0] * args->y_stride[2] +
           p * args->y_stride[3];
}

TENON_INLINE void write(__global data_t *db, const conv_bias_args *args, long k, acc_t sum)
{
    long at = args->b_offset + k * args->b_stride;
    if (args->adds) {
        sum += TENON_FROM_BITS(args->beta) * load_data(db, at);
    }
    store_data(db, at, sum);
}

TENON_VECTOR_KERNEL void conv_bias_rows(__global const data_t *y, __global acc_t *sums,
                                        __global data_t *db, const conv_bias_args args)
{
    const long k = (long)get_global_id(0), part = (long)get_global_id(1), stride = args.y_stride[4];
    const long last = min((part + 1) * args.chunk, args.lines);
    y += args.y_offset + k * args.y_stride[1];
    acc_v lanes = splat(0);
    acc_t sum = 0;
    for (long line = part * args.chunk; line < last; line++) {
        long q = 0, at = line_of(&args, line);
        for (; q + TENON_VW <= args.out[2]; q += TENON_VW) {
            lanes += load_lanes(y, at + q * stride, stride, TENON_VW);
        }
        for (; q < args.out[2]; q++) {
            sum += load_data(y, at + q * stride);
        }
    }
    sum += sum_of_lanes(lanes);
    if (args.parts > 1) {
        sums[args.sum_offset + part * args.k + k] = sum;
    } else {
        write(db, &args, k, sum);
    }
}

TENON_VECTOR_KERNEL void conv_bias_channels(__global const data_t *y, __global acc_t *sums,
                                            __global data_t *db, const conv_bias_args args)
{
    const long first = (long)get_global_id(0) * TENON_VW, part = (long)get_global_id(1);
    const long last = min((part + 1) * args.chunk, args.lines), stride = args.y_stride[1];
    const int width = (int)min(args.k - first, (long)TENON_VW);
    y += args.y_offset + first * stride;
    acc_v sum = splat(0);
    for (long line = part * args.chunk; line < last; line++) {
        long at = line_of(&args, line);
        for (long q = 0; q < args.out[2]; q++) {
            sum += load_lanes(y, at + q * args.y_stride[4], stride, width);
        }
    }
    acc_t x[TENON_VW];
    TENON_VSTORE(sum, 0, x);
    EACH_LANE(l, width)
    {
        if (args.parts > 1) {
            sums[args.sum_offset + part * args.k + first + l] = x[l];
        } else {
            write(db, &args, first + l, x[l]);
        }
    }
}

TENON_KERNEL void conv_bias_finish(__global const acc_t *sums, __global data_t *db,
                                   const conv_bias_args args)
{
    const long k = (long)get_global_id(0);
    acc_t sum = 0;
    for (long part = 0; part < args.parts; part++) {
        sum += sums[args.sum_offset + part * args.k + k];
    }
    write(db, &args, k, sum);
}
