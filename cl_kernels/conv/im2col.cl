/*
 * Unfolds images into columns, any strides on both sides.
 *
 * im2col_rows: a work-item writes args.run elements along q, for one channel, tap, row and image;
 * the one to use where q is contiguous. Global size: {ceil(q / run) * o * p, c * t * r * s, images}.
 *
 * im2col_channels: a work-item writes args.run elements along c, for one tap, pixel and image; the
 * one to use where c is contiguous. Global size: {ceil(c / run) * t * r * s, o * p * q, images}.
 *
 * TENON_DTYPE: see common/types.clh.
 */
#include "conv/window.clh"

__kernel void im2col_rows(__global const data_t *x, __global data_t *col, const im2col_args args)
{
    const conv_window v = args.window;
    long line = (long)get_global_id(0), row = (long)get_global_id(1), n = (long)get_global_id(2);
    long q0 = cut_index(&line, (v.out[2] + args.run - 1) / args.run) * args.run;
    long q1 = min(q0 + args.run, v.out[2]);
    long p = cut_index(&line, v.out[1]), o = line;
    long s = cut_index(&row, v.filter[2]), r = cut_index(&row, v.filter[1]);
    long t = cut_index(&row, v.filter[0]), c = row;
    long d = under_tap(&v, 0, o, t), h = under_tap(&v, 1, p, r), w0 = under_tap(&v, 2, 0, s);
    x += args.x_offset + n * args.x_stride[0] + c * args.x_stride[1] + d * args.x_stride[2] +
         h * args.x_stride[3];
    col += args.col_offset + n * args.col_stride[0] + c * args.col_stride[1] +
           t * args.col_stride[2] + r * args.col_stride[3] + s * args.col_stride[4] +
           o * args.col_stride[5] + p * args.col_stride[6];
    if (!inside(&v, 0, d) || !inside(&v, 1, h)) {
        for (long q = q0; q < q1; q++) {
            store_data(col, q * args.col_stride[7], 0);
        }
        return;
    }
    if (v.step[2] == 1 && args.x_stride[4] == 1 && args.col_stride[7] == 1) {
        /* The common case, with no multiplication and no test in its middle. */
        long low = clamp(-w0, q0, q1), high = clamp(v.size[2] - w0, low, q1);
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
        long w = q * v.step[2] + w0;
        acc_t value = 0;
        if (inside(&v, 2, w)) {
            value = load_data(x, w * args.x_stride[4]);
        }
        store_data(col, q * args.col_stride[7], value);
    }
}

__kernel void im2col_channels(__global const data_t *x, __global data_t *col,
                              const im2col_args args)
{
    const conv_window v = args.window;
    long tap = (long)get_global_id(0), pixel = (long)get_global_id(1), n = (long)get_global_id(2);
    long c0 = cut_index(&tap, (args.c + args.run - 1) / args.run) * args.run;
    long c1 = min(c0 + args.run, args.c);
    long s = cut_index(&tap, v.filter[2]), r = cut_index(&tap, v.filter[1]), t = tap;
    long q = cut_index(&pixel, v.out[2]), p = cut_index(&pixel, v.out[1]), o = pixel;
    long d = under_tap(&v, 0, o, t), h = under_tap(&v, 1, p, r), w = under_tap(&v, 2, q, s);
    int in_image = inside(&v, 0, d) && inside(&v, 1, h) && inside(&v, 2, w);
    x += args.x_offset + n * args.x_stride[0] + d * args.x_stride[2] + h * args.x_stride[3] +
         w * args.x_stride[4];
    col += args.col_offset + n * args.col_stride[0] + t * args.col_stride[2] +
           r * args.col_stride[3] + s * args.col_stride[4] + o * args.col_stride[5] +
           p * args.col_stride[6] + q * args.col_stride[7];
    if (!in_image) {
        for (long c = c0; c < c1; c++) {
            store_data(col, c * args.col_stride[1], 0);
        }
    } else if (args.x_stride[1] == 1 && args.col_stride[1] == 1) {
        for (long c = c0; c < c1; c++) {
            store_data(col, c, load_data(x, c));
        }
    } else {
        for (long c = c0; c < c1; c++) {
            store_data(col, c * args.col_stride[1], load_data(x, c * args.x_stride[1]));
        }
    }
}
