/*
 * Unfolds images of bytes into the rows of a matrix, one for each pixel of the output. The padding
 * holds the zero point of x.
 *
 * A work-item writes args.run taps of one row. Global size: {ceil(taps / run), o * p * q, images}.
 * TENON_DTYPE: see common/types.clh; it is not used.
 */
#include "conv/int8/args.h"
#include "conv/window.clh"

/* A tap of the row's pixel, and the position of the pixel's first tap. */
typedef struct unfolded {
    long c, t, r, s;
    long out[3];
} unfolded;

/* Returns the element of x in channel 0 under tap (t, r, s), or -1 in the padding. */
TENON_INLINE long element_at(const conv_int8_columns_args *args, const unfolded *u)
{
    const conv_window *v = &args->window;
    const long d = under_tap(v, 0, u->out[0], u->t), h = under_tap(v, 1, u->out[1], u->r),
               w = under_tap(v, 2, u->out[2], u->s);
    return inside(v, 0, d) && inside(v, 1, h) && inside(v, 2, w)
               ? d * args->x_stride[2] + h * args->x_stride[3] + w * args->x_stride[4]
               : -1;
}

/* Goes to the next tap of a filter; returns true after the last one, at which it begins again. */
TENON_INLINE int next_tap(const conv_window *v, unfolded *u)
{
    if (++u->s < v->filter[2]) {
        return 0;
    }
    u->s = 0;
    if (++u->r < v->filter[1]) {
        return 0;
    }
    u->r = 0;
    if (++u->t < v->filter[0]) {
        return 0;
    }
    u->t = 0;
    return 1;
}

/* Writes `count` elements, all channels of a tap after the other, from channel u->c on. */
TENON_INLINE void write_channels(__global const uchar *x, __global uchar *col,
                                 const conv_int8_columns_args *args, unfolded *u, long count,
                                 uchar padding)
{
    while (count > 0) {
        const long run = min(args->channels - u->c, count), at = element_at(args, u);
        __global const uchar *from = x + max(at, 0L) + u->c * args->x_stride[1];
        if (at < 0) {
            for (long c = 0; c < run; c++) {
                col[c] = padding;
            }
        } else if (args->x_stride[1] == 1) {
            for (long c = 0; c < run; c++) {
                col[c] = from[c];
            }
        } else {
            for (long c = 0; c < run; c++) {
                col[c] = from[c * args->x_stride[1]];
            }
        }
        col += run;
        count -= run;
        u->c = 0;
        next_tap(&args->window, u);
    }
}

/* Writes `count` elements, all taps of a channel after the other. */
TENON_INLINE void write_taps(__global const uchar *x, __global uchar *col,
                             const conv_int8_columns_args *args, unfolded *u, long count,
                             uchar padding)
{
    for (long i = 0; i < count; i++) {
        const long at = element_at(args, u);
        col[i] = at < 0 ? padding : x[max(at, 0L) + u->c * args->x_stride[1]];
        if (next_tap(&args->window, u)) {
            u->c++;
        }
    }
}

TENON_KERNEL void conv_int8_columns(__global const uchar *x, __global uchar *col,
                                    __global const uchar *zero, const conv_int8_columns_args args)
{
    const conv_window *v = &args.window;
    const long pixels = v->out[0] * v->out[1] * v->out[2];
    const long first = (long)get_global_id(0) * args.run, n = (long)get_global_id(2);
    const long count = min(args.run, args.taps - first);
    long pixel = (long)get_global_id(1), tap = first;
    unfolded u;
    x += args.x_offset + n * args.x_stride[0];
    col += args.col_offset + (n * pixels + pixel) * args.taps + first;
    const uchar padding = args.has_zero ? zero[args.zero_offset] : 0;
    u.out[2] = cut_index(&pixel, v->out[2]);
    u.out[1] = cut_index(&pixel, v->out[1]);
    u.out[0] = pixel;
    u.c = args.channel_last ? cut_index(&tap, args.channels) : 0;
    u.s = cut_index(&tap, v->filter[2]);
    u.r = cut_index(&tap, v->filter[1]);
    u.t = args.channel_last ? tap : cut_index(&tap, v->filter[0]);
    if (args.channel_last) {
        write_channels(x, col, &args, &u, count, padding);
    } else {
        u.c = tap;
        write_taps(x, col, &args, &u, count, padding);
    }
}
