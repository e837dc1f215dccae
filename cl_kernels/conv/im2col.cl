/*
 * Unfolds images into columns, any strides on both sides.
 *
 * im2col_rows: a work-item writes args.run elements along q, for one channel, tap, row and image;
 * the one to use where q is contiguous. Global size: {ceil(q / run) * p, c * r * s, images}.
 *
 * im2col_channels: a work-item writes args.run elements along c, for one tap, pixel and image; the
 * one to use where c is contiguous. Global size: {ceil(c / run) * r * s, p * q, images}.
 *
 * TENON_DTYPE: see common/types.clh.
 */
#include "common/types.clh"
#include "conv/args.h"

/* Whether the tap lies in the image along one dimension, and not in the padding. */
TENON_INLINE int inside(long at, long size)
{
    return at >= 0 && at < size;
}

__kernel void im2col_rows(__global const data_t *x, __global data_t *col, const im2col_args args)
{
    const conv_window v = args.window;
    long runs = (v.q + args.run - 1) / args.run;
    long p = (long)get_global_id(0) / runs, q0 = (long)get_global_id(0) % runs * args.run;
    long q1 = min(q0 + args.run, v.q);
    long row = (long)get_global_id(1), n = (long)get_global_id(2);
    long s = row % v.s, r = row / v.s % v.r, c = row / (v.s * v.r);
    long h = p * v.stride_h + v.h_start + r * v.dilation_h;
    long w0 = v.w_start + s * v.dilation_w;
    x += args.x_offset + n * args.x_n + c * args.x_c + h * args.x_h;
    col += args.col_offset + n * args.col_n + c * args.col_c + r * args.col_r + s * args.col_s +
           p * args.col_p;
    if (!inside(h, v.h)) {
        for (long q = q0; q < q1; q++) {
            store_data(col, q * args.col_q, 0);
        }
        return;
    }
    if (v.stride_w == 1 && args.x_w == 1 && args.col_q == 1) {
        /* The common case, with no multiplication and no test in its middle. */
        long low = clamp(-w0, q0, q1), high = clamp(v.w - w0, low, q1);
        for (long q = q0; q < low; q++) {
            store_data(col, q, 0);
        }
        for (long q = low; q < high; q++) {
            store_data(col, q, load_data(x, w0 + q));
        }
        for (long q = high; q < q1; q++) {
            store_data(col, q, 0);
        }
        return;
    }
    for (long q = q0; q < q1; q++) {
        long w = q * v.stride_w + w0;
        acc_t value = 0;
        if (inside(w, v.w)) {
            value = load_data(x, w * args.x_w);
        }
        store_data(col, q * args.col_q, value);
    }
}

__kernel void im2col_channels(__global const data_t *x, __global data_t *col,
                              const im2col_args args)
{
    const conv_window v = args.window;
    long runs = (args.c + args.run - 1) / args.run;
    long tap = (long)get_global_id(0) / runs, c0 = (long)get_global_id(0) % runs * args.run;
    long c1 = min(c0 + args.run, args.c);
    long pixel = (long)get_global_id(1), n = (long)get_global_id(2);
    long s = tap % v.s, r = tap / v.s, q = pixel % v.q, p = pixel / v.q;
    long h = p * v.stride_h + v.h_start + r * v.dilation_h;
    long w = q * v.stride_w + v.w_start + s * v.dilation_w;
    int in_image = inside(h, v.h) && inside(w, v.w);
    x += args.x_offset + n * args.x_n + h * args.x_h + w * args.x_w;
    col += args.col_offset + n * args.col_n + r * args.col_r + s * args.col_s + p * args.col_p +
           q * args.col_q;
    if (!in_image) {
        for (long c = c0; c < c1; c++) {
            store_data(col, c * args.col_c, 0);
        }
    } else if (args.x_c == 1 && args.col_c == 1) {
        for (long c = c0; c < c1; c++) {
            store_data(col, c, load_data(x, c));
        }
    } else {
        for (long c = c0; c < c1; c++) {
            store_data(col, c * args.col_c, load_data(x, c * args.x_c));
        }
    }
}
