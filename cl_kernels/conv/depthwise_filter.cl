/*
 * The gradient of a depthwise convolution's filters, dw[k] = sum of dy[n, k] times what each tap
 * meets in x[n, k / share], cut into args.parts parts. Sums are added in an order that follows from
 * the sizes, the macros and the parts alone.
 *
 * conv_depthwise_filter_rows: for CPUs, vectors along w; the image is brought into local memory as
 *   in conv/depthwise_tile.clh. A work-item does one filter of one part.
 *   Global size: {filters, parts}; units are tiles.
 * conv_depthwise_filter_channels: for CPUs, vectors along channels, which are contiguous, with
 *   share 1. A work-item does TENON_VW filters of one part.
 *   Global size: {ceil(filters / TENON_VW), parts}; units are rows of dy.
 * conv_depthwise_filter_points: for any device: a work-group of TENON_ITEMS does one filter of one
 *   part. Global size: {TENON_ITEMS, filters, parts}, local size: {TENON_ITEMS, 1, 1}; units are
 *   pixels of dy.
 * conv_depthwise_filter_finish: adds up the parts of an element. Global size: {elements of dw}.
 *
 * Where there is one part, the first three write dw and there is no second launch.
 *
 * TENON_TAPS:     3 or 5: the window is a square of that size; 0: any, of TENON_MOST_TAPS at most
 *                 for the kernels with vectors.
 * TENON_CHANNELS: 1 builds the kernel along channels instead of that along rows.
 * TENON_ROWS:     rows of dy that are taken at once.
 * TENON_TILE:     elements of a tile in local memory.
 * TENON_VW:       lanes of a vector; 1 builds the kernel without vectors.
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
#ifndef TENON_MOST_TAPS
#define TENON_MOST_TAPS 128
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

/* The sum of a part. */
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

__kernel void conv_depthwise_filter_finish(__global const acc_t *sums, __global data_t *dw,
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
/* What tap (r, s) of output `out` meets in a channel of x. */
TENON_INLINE acc_t under(__global const data_t *x, const depthwise_filter_args *args,
                         const long *out, long r, long s)
{
    const conv_window *v = &args->window;
    long d = under_tap(v, 0, out[0], 0), h = under_tap(v, 1, out[1], r),
         w = under_tap(v, 2, out[2], s);
    if (!inside(v, 0, d) || !inside(v, 1, h) || !inside(v, 2, w)) {
        return 0;
    }
    return load_data(x, d * args->x_stride[2] + h * args->x_stride[3] + w * args->x_stride[4]);
}

/* Adds up what the work-items have, halves to halves; the first has the sum. */
TENON_INLINE acc_t sum_items(__local acc_t *sums, acc_t own)
{
    const int item = (int)get_local_id(0);
    sums[item] = own;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int rest = TENON_ITEMS / 2; rest > 0; rest /= 2) {
        if (item < rest) {
            sums[item] += sums[item + rest];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    acc_t sum = sums[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    return sum;
}

/* Taps in one go through the pixels: all, or one. */
#define TAPS_AT_ONCE (TENON_TAPS ? TENON_TAPS * TENON_TAPS : 1)

__kernel __attribute__((reqd_work_group_size(TENON_ITEMS, 1, 1))) void
conv_depthwise_filter_points(__global const data_t *x, __global const data_t *y,
                             __global acc_t *sums, __global data_t *dw,
                             const depthwise_filter_args args)
{
    __local acc_t shared[TENON_ITEMS];
    const conv_window *v = &args.window;
    const long k = (long)get_global_id(1), part = (long)get_global_id(2);
    const long last = min((part + 1) * args.chunk, (long)args.units);
    x += args.x_offset + k / args.share * args.x_stride[1];
    y += args.y_offset + k * args.y_stride[1];
    for (long first_tap = 0; first_tap < TAPS(&args); first_tap += TAPS_AT_ONCE) {
        acc_t sum[TAPS_AT_ONCE];
        for (int i = 0; i < TAPS_AT_ONCE; i++) {
            sum[i] = 0;
        }
        for (long unit = part * args.chunk + (long)get_local_id(0); unit < last;
             unit += TENON_ITEMS) {
            long n = unit, out[3];
            for (int d = 2; d >= 0; d--) {
                out[d] = cut_index(&n, v->out[d]);
            }
            acc_t gradient =
                load_data(y, n * args.y_stride[0] + out[0] * args.y_stride[2] +
                                 out[1] * args.y_stride[3] + out[2] * args.y_stride[4]);
            for (int i = 0; i < TAPS_AT_ONCE; i++) {
                long tap = first_tap + i;
                acc_t value = under(x + n * args.x_stride[0], &args, out, tap / TAPS_W(&args),
                                    tap % TAPS_W(&args));
                sum[i] = TENON_FMA(value, gradient, sum[i]);
            }
        }
        for (int i = 0; i < TAPS_AT_ONCE; i++) {
            acc_t total = sum_items(shared, sum[i]);
            if (get_local_id(0) == 0) {
                write_sum(sums, dw, &args, part, k, first_tap + i, total);
            }
        }
    }
}
#else

/* Sums of a tap in the lanes of a vector; private where the window's size is a constant. */
#if TENON_TAPS
#define DECLARE_SUMS(name) acc_v name[TENON_TAPS * TENON_TAPS]
#define TAP_SUMS           acc_v *
#else
#define DECLARE_SUMS(name) __local acc_v name[TENON_MOST_TAPS]
#define TAP_SUMS           __local acc_v *
#endif

TENON_INLINE void clear_sums(TAP_SUMS sum, const depthwise_filter_args *args)
{
#pragma unroll
    for (long i = 0; i < TAPS(args); i++) {
        sum[i] = splat(0);
    }
}

/* A row or a tile of dy: where it is. */
typedef struct span {
    long n, at[3];
} span;

#if TENON_CHANNELS
/* TENON_VW channels of one row of dy; x and y begin with them, and with the image. */
TENON_INLINE void add_channels(__global const data_t *x, __global const data_t *y,
                               const depthwise_filter_args *args, const span *at, int lanes,
                               TAP_SUMS sum)
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

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
conv_depthwise_filter_channels(__global const data_t *x, __global const data_t *y,
                               __global acc_t *sums, __global data_t *dw,
                               const depthwise_filter_args args)
{
    DECLARE_SUMS(sum);
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
#include "conv/depthwise_filter_rows.clh"
#endif
#endif
