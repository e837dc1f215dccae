/*
 * Gradient of a convolution's filters, with one work-item per element of dw: any strides, any
 * device, no workspace.
 *
 * Vectors lie along the last dimension of the outputs. Each lane is summed separately over all
 * rows, and the lanes are added at the end: the order of additions depends only on TENON_VW and the
 * sizes.
 *
 * Global size: {channels of a group * taps, filters}, the first rounded up to a multiple of the
 * local size. TENON_VW, TENON_DTYPE, TENON_HW_FMA: see common/types.clh.
 */
#ifndef TENON_VW
#define TENON_VW 4
#endif
#include "common/rows.clh"
#include "conv/gradient_args.h"
#include "conv/window.clh"

/* Adds dy times the zeros of the padding: NaN for an infinity. */
TENON_INLINE acc_t sum_padding(__global const data_t *y, long stride, long first, long last,
                               acc_t sum)
{
    for (long q = first; q < last; q++) {
        sum += zero_times(load_data(y, q * stride));
    }
    return sum;
}

/* Computes the range [low, high) of outputs along the last dimension whose tap s is in the
 * image. */
TENON_INLINE void inner_outputs(const conv_window *v, long s, long *low, long *high)
{
    long begin = under_tap(v, 2, 0, s), room = v->size[2] - begin;
    *low = begin < 0 ? (-begin + v->stride[2] - 1) / v->stride[2] : 0;
    *high = room > 0 ? (room + v->stride[2] - 1) / v->stride[2] : 0;
    *low = min(*low, v->out[2]);
    *high = max(min(*high, v->out[2]), *low);
}

typedef struct filter_sum {
    acc_v lanes;
    acc_t rest;
} filter_sum;

TENON_INLINE void add_row(__global const data_t *x, __global const data_t *y,
                          const conv_filter_args *args, long low, long high, filter_sum *sum)
{
    const long x_stride = args->window.stride[2] * args->x_stride[4], y_stride = args->y_stride[4];
    long q = low;
    for (; q + TENON_VW <= high; q += TENON_VW) {
        sum->lanes = TENON_FMA(load_lanes(x, q * x_stride, x_stride, TENON_VW),
                               load_lanes(y, q * y_stride, y_stride, TENON_VW), sum->lanes);
    }
    for (; q < high; q++) {
        sum->rest = TENON_FMA(load_data(x, q * x_stride), load_data(y, q * y_stride), sum->rest);
    }
}

/* Adds all outputs of an image; x and y point to the channel and the filter. */
TENON_INLINE void add_image(__global const data_t *x, __global const data_t *y,
                            const conv_filter_args *args, const long *tap, filter_sum *sum)
{
    const conv_window *v = &args->window;
    long low, high;
    inner_outputs(v, tap[2], &low, &high);
    x += under_tap(v, 2, 0, tap[2]) * args->x_stride[4];
    for (long o = 0; o < v->out[0]; o++) {
        for (long p = 0; p < v->out[1]; p++) {
            long d = under_tap(v, 0, o, tap[0]), h = under_tap(v, 1, p, tap[1]);
            __global const data_t *row = y + o * args->y_stride[2] + p * args->y_stride[3];
            if (!inside(v, 0, d) || !inside(v, 1, h)) {
                sum->rest = sum_padding(row, args->y_stride[4], 0, v->out[2], sum->rest);
                continue;
            }
            sum->rest = sum_padding(row, args->y_stride[4], 0, low, sum->rest);
            add_row(x + d * args->x_stride[2] + h * args->x_stride[3], row, args, low, high, sum);
            sum->rest = sum_padding(row, args->y_stride[4], high, v->out[2], sum->rest);
        }
    }
}

TENON_VECTOR_KERNEL void conv_backward_filter(__global const data_t *x, __global const data_t *y,
                                              __global data_t *dw, const conv_filter_args args)
{
    const conv_window *v = &args.window;
    long number = (long)get_global_id(0), k = (long)get_global_id(1), tap[3];
    tap[2] = cut_index(&number, v->filter[2]);
    tap[1] = cut_index(&number, v->filter[1]);
    tap[0] = cut_index(&number, v->filter[0]);
    const long c = number;
    if (c >= args.group_channels) {
        return;
    }
    x += args.x_offset + (k / args.group_filters * args.group_channels + c) * args.x_stride[1];
    y += args.y_offset + k * args.y_stride[1];
    filter_sum sum;
    sum.lanes = splat(0);
    sum.rest = 0;
    for (long n = 0; n < args.n; n++) {
        add_image(x + n * args.x_stride[0], y + n * args.y_stride[0], &args, tap, &sum);
    }
    acc_t result = sum.rest + sum_of_lanes(sum.lanes);
    dw += args.w_offset + k * args.w_stride[0] + c * args.w_stride[1] + tap[0] * args.w_stride[2] +
          tap[1] * args.w_stride[3] + tap[2] * args.w_stride[4];
    if (args.adds) {
        result += TENON_FROM_BITS(args.beta) * load_data(dw, 0);
    }
    store_data(dw, 0, result);
}
