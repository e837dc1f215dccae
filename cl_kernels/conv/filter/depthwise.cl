/*
 * Gradient of a depthwise convolution's filters: dw[k] is the sum of dy[n, k] times the elements of
 * x[n, k / share] under each tap, split into args.parts parts. The order of additions depends only
 * on the sizes, the macros and the number of parts.
 *
 * conv_depthwise_filter_rows: for CPUs, vectors along w; the image is copied to private memory as
 *   in conv/depthwise_tile.clh. A work-item computes one filter of one part. Global size: {filters,
 *   parts}; units are tiles.
 * conv_depthwise_filter_channels: for CPUs, vectors along channels, which are contiguous; share is
 *   1. A work-item computes TENON_VW filters of one part. Global size: {ceil(filters / TENON_VW),
 *   parts}; units are rows of dy.
 * conv_depthwise_filter_items: for GPUs. A work-group of TENON_ITEMS computes args.lanes filters of
 *   one part. Global size: {ceil(filters / lanes) * TENON_ITEMS, parts}, local size: {TENON_ITEMS,
 *   1}; units are columns of TENON_ROWS elements of dy, or single elements without TENON_STEP.
 * conv_depthwise_filter_finish: adds the parts of an element. Global size: {elements of dw}.
 *
 * With a single part, the first three kernels write dw and there is no second launch.
 *
 * TENON_TAPS: 3 or 5: the window is a square of that size. 0: any window; for the kernels with
 *   vectors with at most TENON_MAX_TAPS taps.
 * TENON_CHANNELS: 1 builds the kernel along channels instead of the one along rows.
 * TENON_ROWS: rows of dy that are processed at once.
 * TENON_STEP: 1 or 2, with TENON_TAPS and without vectors: the stride of a window without dilation.
 *   0: any window.
 * TENON_ITEMS: work-items per work-group without vectors, a power of two.
 * TENON_TILE: elements of a tile.
 * TENON_VW: lanes of a vector; 1 builds the kernel without vectors.
 *
 * TENON_DTYPE, TENON_HW_FMA: see common/types.clh.
 */
#ifndef TENON_TAPS
#define TENON_TAPS 3
#endif
#ifndef TENON_CHANNELS
#define TENON_CHANNELS 0
#endif
#ifndef TENON_ROWS
#define TENON_ROWS 4
#endif
#ifndef TENON_TILE
#define TENON_TILE 2048
#endif
#ifndef TENON_MAX_TAPS
#define TENON_MAX_TAPS 128
#endif
#ifndef TENON_STEP
#define TENON_STEP 1
#endif
#ifndef TENON_ITEMS
#define TENON_ITEMS 64
#endif
#ifndef TENON_VW
#define TENON_VW 4
#endif
#if TENON_VW == 1
#undef TENON_VW
#endif
#include "common/types.clh"
#include "conv/depthwise_args.h"
#include "conv/window.clh"
#ifdef TENON_VW
#include "conv/depthwise_tile.clh"
#include "gemm/lanes.clh"
#endif

#if TENON_TAPS
#define TAPS_H(args) TENON_TAPS
#define TAPS_W(args) TENON_TAPS
#else
#define TAPS_H(args) (args)->window.filter[1]
#define TAPS_W(args) (args)->window.filter[2]
#endif
#define TAPS(args) (TAPS_H(args) * TAPS_W(args))

TENON_INLINE void write_element(__global data_t *dw, const depthwise_filter_args *args, long k,
                                long tap, acc_t sum)
{
    long width = TAPS_W(args);
    dw += args->w_offset + k * args->w_stride[0] + tap / width * args->w_stride[3] +
          tap % width * args->w_stride[4];
    if (args->adds) {
        sum += TENON_FROM_BITS(args->beta) * load_data(dw, 0);
    }
    store_data(dw, 0, sum);
}

/* Stores the sum of a part. */
TENON_INLINE void write_sum(__global acc_t *sums, __global data_t *dw,
                            const depthwise_filter_args *args, long part, long k, long tap,
                            acc_t sum)
{
    if (args->parts > 1) {
        sums[args->sum_offset + (part * args->filters + k) * TAPS(args) + tap] = sum;
    } else {
        write_element(dw, args, k, tap, sum);
    }
}

TENON_KERNEL void conv_depthwise_filter_finish(__global const acc_t *sums, __global data_t *dw,
                                               const depthwise_filter_args args)
{
    const long element = (long)get_global_id(0), taps = TAPS(&args);
    acc_t sum = 0;
    for (long part = 0; part < args.parts; part++) {
        sum += sums[args.sum_offset + part * args.filters * taps + element];
    }
    write_element(dw, &args, element / taps, element % taps, sum);
}

#if !defined(TENON_VW)
#include "conv/filter/depthwise_items.clh"
#else

/* Sums of each tap, in the lanes of a vector. */
#if TENON_TAPS
#define MOST_SUMS (TENON_TAPS * TENON_TAPS)
#else
#define MOST_SUMS TENON_MAX_TAPS
#endif

TENON_INLINE void clear_sums(acc_v *sum, const depthwise_filter_args *args)
{
#pragma unroll
    for (long i = 0; i < TAPS(args); i++) {
        sum[i] = splat(0);
    }
}

/* Position of a row or a tile of dy. */
typedef struct span {
    long n, at[3];
} span;

#if TENON_CHANNELS
/* Adds TENON_VW channels of one row of dy; x and y point to these channels of the image. */
TENON_INLINE void add_channels(__global const data_t *x, __global const data_t *y,
                               const depthwise_filter_args *args, const span *at, int lanes,
                               acc_v *sum)
{
    const conv_window *v = &args->window;
    const tenon_i64 *x_stride = args->x_stride;
    const long d = under_tap(v, 0, at->at[0], 0);
    for (long q = 0; q < v->out[2]; q++) {
        acc_v gradient = load_lanes(y, q * args->y_stride[4], 1, lanes);
        for (long r = 0; r < TAPS_H(args); r++) {
            long h = under_tap(v, 1, at->at[1], r);
            for (long s = 0; s < TAPS_W(args); s++) {
                long w = under_tap(v, 2, q, s);
                acc_v value = splat(0);
                if (inside(v, 0, d) && inside(v, 1, h) && inside(v, 2, w)) {
                    value = load_lanes(x, d * x_stride[2] + h * x_stride[3] + w * x_stride[4], 1,
                                       lanes);
                }
                sum[r * TAPS_W(args) + s] = TENON_FMA(value, gradient, sum[r * TAPS_W(args) + s]);
            }
        }
    }
}

TENON_VECTOR_KERNEL __attribute__((reqd_work_group_size(1, 1, 1))) void
conv_depthwise_filter_channels(__global const data_t *x, __global const data_t *y,
                               __global acc_t *sums, __global data_t *dw,
                               const depthwise_filter_args args)
{
    acc_v sum[MOST_SUMS];
    const long k = (long)get_global_id(0) * TENON_VW, part = (long)get_global_id(1);
    const long last = min((part + 1) * args.chunk, (long)args.units);
    const int lanes = (int)min(args.filters - k, (long)TENON_VW);
    clear_sums(sum, &args);
    for (long unit = part * args.chunk; unit < last; unit++) {
        long rest = unit;
        span at;
        at.at[1] = cut_index(&rest, args.window.out[1]);
        at.at[0] = cut_index(&rest, args.window.out[0]);
        at.n = rest;
        add_channels(x + args.x_offset + at.n * args.x_stride[0] + k,
                     y + args.y_offset + at.n * args.y_stride[0] + k + at.at[0] * args.y_stride[2] +
                         at.at[1] * args.y_stride[3],
                     &args, &at, lanes, sum);
    }
    for (long i = 0; i < TAPS(&args); i++) {
        acc_t lane[TENON_VW];
        TENON_VSTORE(sum[i], 0, lane);
        for (int l = 0; l < lanes; l++) {
            write_sum(sums, dw, &args, part, k + l, i, lane[l]);
        }
    }
}
#else
#include "conv/filter/depthwise_rows.clh"
#endif
#endif
