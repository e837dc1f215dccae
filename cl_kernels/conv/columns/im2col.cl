/*
 * Unfolds images into columns (im2col); any strides on both sides.
 *
 * im2col_rows: a work-item writes args.run elements along q of args.lines lines (o, p), for one
 *   channel, tap and image. For columns that are contiguous along q. Global size: {ceil(q / run) *
 *   ceil(o * p / lines), c * t * r * s, images}.
 * im2col_channels: a work-item writes args.run elements along c of args.lines pixels (o, p, q), for
 *   one tap and image. For columns that are contiguous along c. Global size: {ceil(c / run) * t * r
 *   * s, ceil(o * p * q / lines), images}.
 *
 * TENON_DTYPE: see common/types.clh.
 */
#include "conv/window.clh"

/* Writes elements [q0, q1) of a line. x is the image's row, and its element w is under q = 0. */
TENON_INLINE void unfold_line(__global const data_t *x, __global data_t *col, int in_image,
                              const im2col_args *args, long w, long q0, long q1)
{
    const conv_window *v = &args->window;
    const long x_stride = args->x_stride[4], col_stride = args->col_stride[7];
    if (!in_image) {
        for (long q = q0; q < q1; q++) {
            store_data(col, q * col_stride, 0);
        }
        return;
    }
    if (v->stride[2] == 1 && x_stride == 1 && col_stride == 1) {
        /* The common case, without multiplications or tests in the inner loop. */
        long low = clamp(-w, q0, q1), high = clamp(v->size[2] - w, low, q1);
        for (long q = q0; q < low; q++) {
            store_data(col, q, 0);
        }
        for (long q = low; q < high; q++) {
            store_data(col, q, load_data(x, w + q));
        }
        for (long q = high; q < q1; q++) {
            store_data(col, q, 0);
        }
        return;
    }
    for (long q = q0; q < q1; q++) {
        long at = q * v->stride[2] + w;
        acc_t value = 0;
        if (inside(v, 2, at)) {
            value = load_data(x, at * x_stride);
        }
        store_data(col, q * col_stride, value);
    }
}

TENON_KERNEL void im2col_rows(__global const data_t *x, __global data_t *col,
                              const im2col_args args)
{
    const conv_window v = args.window;
    long group = (long)get_global_id(0), row = (long)get_global_id(1), n = (long)get_global_id(2);
    long q0 = cut_index(&group, (v.out[2] + args.run - 1) / args.run) * args.run;
    long q1 = min(q0 + args.run, v.out[2]);
    long s = cut_index(&row, v.filter[2]), r = cut_index(&row, v.filter[1]);
    long t = cut_index(&row, v.filter[0]), c = row;
    long line = group * args.lines, left = min(args.lines, v.out[0] * v.out[1] - line);
    long p = cut_index(&line, v.out[1]), o = line;
    x += args.x_offset + n * args.x_stride[0] + c * args.x_stride[1];
    col += args.col_offset + n * args.col_stride[0] + c * args.col_stride[1] +
           t * args.col_stride[2] + r * args.col_stride[3] + s * args.col_stride[4];
    for (; left > 0; left--) {
        long d = under_tap(&v, 0, o, t), h = under_tap(&v, 1, p, r);
        unfold_line(x + d * args.x_stride[2] + h * args.x_stride[3],
                    col + o * args.col_stride[5] + p * args.col_stride[6],
                    inside(&v, 0, d) && inside(&v, 1, h), &args, under_tap(&v, 2, 0, s), q0, q1);
        if (++p == v.out[1]) {
            p = 0;
            o++;
        }
    }
}

/* Writes channels [c0, c1) of a pixel. */
TENON_INLINE void unfold_pixel(__global const data_t *x, __global data_t *col, int in_image,
                               const im2col_args *args, long c0, long c1)
{
    const long x_stride = args->x_stride[1], col_stride = args->col_stride[1];
    if (!in_image) {
        for (long c = c0; c < c1; c++) {
            store_data(col, c * col_stride, 0);
        }
    } else if (x_stride == 1 && col_stride == 1) {
        for (long c = c0; c < c1; c++) {
            store_data(col, c, load_data(x, c));
        }
    } else {
        for (long c = c0; c < c1; c++) {
            store_data(col, c * col_stride, load_data(x, c * x_stride));
        }
    }
}

TENON_KERNEL void im2col_channels(__global const data_t *x, __global data_t *col,
                                  const im2col_args args)
{
    const conv_window v = args.window;
    long tap = (long)get_global_id(0), n = (long)get_global_id(2);
    long pixel = (long)get_global_id(1) * args.lines;
    long left = min(args.lines, v.out[0] * v.out[1] * v.out[2] - pixel);
    long c0 = cut_index(&tap, (args.c + args.run - 1) / args.run) * args.run;
    long c1 = min(c0 + args.run, args.c);
    long s = cut_index(&tap, v.filter[2]), r = cut_index(&tap, v.filter[1]), t = tap;
    long q = cut_index(&pixel, v.out[2]), p = cut_index(&pixel, v.out[1]), o = pixel;
    x += args.x_offset + n * args.x_stride[0];
    col += args.col_offset + n * args.col_stride[0] + t * args.col_stride[2] +
           r * args.col_stride[3] + s * args.col_stride[4];
    for (; left > 0; left--) {
        long d = under_tap(&v, 0, o, t), h = under_tap(&v, 1, p, r), w = under_tap(&v, 2, q, s);
        unfold_pixel(x + d * args.x_stride[2] + h * args.x_stride[3] + w * args.x_stride[4],
                     col + o * args.col_stride[5] + p * args.col_stride[6] + q * args.col_stride[7],
                     inside(&v, 0, d) && inside(&v, 1, h) && inside(&v, 2, w), &args, c0, c1);
        if (++q == v.out[2]) {
            q = 0;
            if (++p == v.out[1]) {
                p = 0;
                o++;
            }
        }
    }
}
