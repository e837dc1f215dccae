/*
 * Depthwise convolution: each result channel comes from an image channel of its own,
 *
 *   y[n, k] = act(alpha * (x[n, k / share] convolved with w[k]) + beta * c + bias),
 *
 * or run backwards from `members` of them, of images that are spread by the convolution's step,
 * with filters that are reversed (their strides are negative).
 *
 * conv_depthwise_rows: for CPUs, vectors along w. A work-item does args.run tiles of a channel's
 *   results, one after the other; TENON_ROWS rows of a tile are computed at once.
 *   Global size: {ceil(units / run)}, a unit being a tile.
 * conv_depthwise_channels: for CPUs, vectors along channels, which are contiguous in x and y, with
 *   share and members 1. A work-item does args.run rows of results of TENON_VW channels.
 *   Global size: {ceil(units / run), ceil(channels / TENON_VW)}, a unit being a row.
 * conv_depthwise_points: for any device, without vectors: a work-item does TENON_ROWS results, one
 *   below the other. Global size: {w of y, ceil(h of y / TENON_ROWS), images * channels * d of y},
 *   the first rounded up as the local size requires.
 *
 * TENON_TAPS:     3 or 5: the window is a square of that size, and its loops are unrolled; 0: any, of
 *                 TENON_MOST_TAPS taps at most for vectors along channels.
 * TENON_CHANNELS: 1 builds the kernel along channels instead of that along rows.
 * TENON_SPREAD:   1 where the image's rows lie apart, so that some of the tile hold nothing.
 * TENON_ROWS:     see above.
 * TENON_TILE:     elements of a tile in local memory.
 * TENON_VW:       lanes of a vector; 1 builds the kernel without vectors.
 * TENON_DTYPE, TENON_HW_FMA, TENON_ACT_BUILD: see common/types.clh and common/activation.clh.
 */
#ifndef TENON_TAPS
#define TENON_TAPS 3
#endif
#ifndef TENON_CHANNELS
#define TENON_CHANNELS 0
#endif
#ifndef TENON_SPREAD
#define TENON_SPREAD 1
#endif
#ifndef TENON_MOST_TAPS
#define TENON_MOST_TAPS 128
#endif
#ifndef TENON_ROWS
#define TENON_ROWS 4
#endif
#ifndef TENON_TILE
#define TENON_TILE 2048
#endif
#ifndef TENON_VW
#define TENON_VW 4
#endif
#if TENON_VW == 1
#undef TENON_VW
#endif
#include "common/activation.clh"
#ifdef TENON_VW
#include "conv/depthwise.clh"
#endif
#include "conv/depthwise_args.h"
#include "conv/window.clh"

/* The window's sizes along h and w, constants where they can be. */
#if TENON_TAPS
#define TAPS_H(args) TENON_TAPS
#define TAPS_W(args) TENON_TAPS
#else
#define TAPS_H(args) (args)->conv.window.filter[1]
#define TAPS_W(args) (args)->conv.window.filter[2]
#endif

/* A pixel of a result channel. */
typedef struct place {
    long n, k, at[3];
} place;

TENON_INLINE long place_in(const tenon_i64 *stride, const place *p)
{
    return p->n * stride[0] + p->k * stride[1] + p->at[0] * stride[2] + p->at[1] * stride[3] +
           p->at[2] * stride[4];
}

/* The row or column of the image under one of the window's, which tap `tap` of output `out` meets
 * along dimension d: -1 in the padding, -2 between elements that are spread. */
TENON_INLINE long image_index(const depthwise_args *args, int d, long out, long tap)
{
    const conv_window *v = &args->conv.window;
    long at = under_tap(v, d, out, tap), spread = args->spread[d];
    if (spread > 1) {
        long whole = spread == 2 ? at >> 1 : at / spread;
        if (whole * spread != at) {
            return -2;
        }
        at = whole;
    }
    return inside(v, d, at) ? at : -1;
}

/* Whether a tap that meets such an index has a product: the padding's zeros are multiplied forward,
 * where an infinite filter element makes a NaN of them, and do not exist backwards. */
TENON_INLINE int has_product(const depthwise_args *args, long index)
{
    return index >= 0 || !args->backwards;
}

/* The sum of one result, without any preparation; x and w are the tensors' first elements. */
TENON_INLINE acc_t sum_point(__global const data_t *x, __global const data_t *w,
                             const depthwise_args *args, const place *p)
{
    const conv_args *a = &args->conv;
    long d = image_index(args, 0, p->at[0], 0);
    acc_t sum = 0;
    if (!has_product(args, d)) {
        return sum;
    }
    for (long m = 0; m < args->members; m++) {
        long filter = p->k * args->members + m, channel = filter / args->share;
        for (long r = 0; r < TAPS_H(args); r++) {
            long h = image_index(args, 1, p->at[1], r);
            if (!has_product(args, h)) {
                continue;
            }
            for (long s = 0; s < TAPS_W(args); s++) {
                long column = image_index(args, 2, p->at[2], s);
                acc_t value = 0;
                if (!has_product(args, column)) {
                    continue;
                }
                if (d >= 0 && h >= 0 && column >= 0) {
                    value = load_data(x, p->n * a->x_stride[0] + channel * a->x_stride[1] +
                                             d * a->x_stride[2] + h * a->x_stride[3] +
                                             column * a->x_stride[4]);
                }
                acc_t tap =
                    load_data(w, filter * a->w_stride[0] + r * a->w_stride[3] + s * a->w_stride[4]);
                sum = TENON_FMA(value, tap, sum);
            }
        }
    }
    return sum;
}

/* The operands, from their first elements on. */
typedef struct operands {
    __global const data_t *x, *w, *c, *bias;
    __global data_t *y;
    activation_args activation;
} operands;

TENON_INLINE operands take_operands(__global const data_t *x, __global const data_t *w,
                                    __global const data_t *c, __global const data_t *bias,
                                    __global data_t *y, const conv_args *a)
{
    operands o;
    o.x = x + a->x_offset;
    o.w = w + a->w_offset;
    o.c = c + a->c_offset;
    o.bias = bias + a->bias_offset;
    o.y = y + a->y_offset;
    o.activation.kind = a->activation;
    o.activation.alpha = TENON_FROM_BITS(a->act_alpha);
    o.activation.beta = TENON_FROM_BITS(a->act_beta);
    return o;
}

TENON_INLINE void store_point(const operands *o, const conv_args *a, const place *p, acc_t sum)
{
    acc_t result = TENON_FROM_BITS(a->alpha) * sum;
    if (a->flags & CONV_HAS_C) {
        result += TENON_FROM_BITS(a->beta) * load_data(o->c, place_in(a->c_stride, p));
    }
    if (a->flags & CONV_HAS_BIAS) {
        result += load_data(o->bias, p->k * a->bias_k);
    }
    store_data(o->y, place_in(a->y_stride, p), activate(result, &o->activation));
}

#ifndef TENON_VW
__kernel void conv_depthwise_points(__global const data_t *x, __global const data_t *w,
                                    __global const data_t *c, __global const data_t *bias,
                                    __global data_t *y, const depthwise_args args)
{
    const conv_args *a = &args.conv;
    const operands o = take_operands(x, w, c, bias, y, a);
    long plane = (long)get_global_id(2), first = (long)get_global_id(1) * TENON_ROWS;
    place p;
    p.at[2] = (long)get_global_id(0);
    p.at[0] = cut_index(&plane, a->window.out[0]);
    p.k = cut_index(&plane, args.channels);
    p.n = plane;
    if (p.at[2] >= a->window.out[2]) {
        return;
    }
    for (p.at[1] = first; p.at[1] < min(first + TENON_ROWS, (long)a->window.out[1]); p.at[1]++) {
        store_point(&o, a, &p, sum_point(o.x, o.w, &args, &p));
    }
}

#else
/* The first `lanes` of a vector, where y's dimension d is contiguous in as few pieces as may be. */
TENON_INLINE void store_some(__global data_t *y, long at, long stride, int lanes, acc_v v)
{
#if TENON_STORES_ACC && TENON_VW > 2
    if (stride == 1 && lanes < TENON_VW) {
        acc_t x[TENON_VW];
        int l = 0;
        TENON_VSTORE(v, 0, x);
#if TENON_VW > 8
        if (lanes & 8) {
            vstore8(vload8(0, x), 0, y + at);
            l = 8;
        }
#endif
#if TENON_VW > 4
        if (lanes & 4) {
            vstore4(vload4(0, x + l), 0, y + at + l);
            l += 4;
        }
#endif
        if (lanes & 2) {
            vstore2(vload2(0, x + l), 0, y + at + l);
            l += 2;
        }
        if (lanes & 1) {
            y[at + l] = x[l];
        }
        return;
    }
#endif
    store_lanes(y, at, stride, lanes, v);
}

#if !TENON_CHANNELS
/* Infinite and NaN filter elements must not meet the zeros that stand for what does not exist. */
TENON_INLINE int filter_is_finite(__global const data_t *w, const depthwise_args *args, long k)
{
    const tenon_i64 *stride = args->conv.w_stride;
    acc_t zero = 0;
    for (long m = 0; m < args->members; m++) {
        for (long r = 0; r < TAPS_H(args); r++) {
            for (long s = 0; s < TAPS_W(args); s++) {
                zero += 0 * load_data(w, (k * args->members + m) * stride[0] + r * stride[3] +
                                             s * stride[4]);
            }
        }
    }
    return zero == 0;
}

#if TENON_TAPS
/* The taps of a filter. */
TENON_INLINE void load_square(__global const data_t *w, const tenon_i64 *stride, acc_t *tap)
{
#pragma unroll
    for (int i = 0; i < TENON_TAPS * TENON_TAPS; i++) {
        tap[i] = load_data(w, i / TENON_TAPS * stride[3] + i % TENON_TAPS * stride[4]);
    }
}

/* Which rows of the tile hold something, from row `at` under the window on: a bit for each of those
 * that add_square() goes through. */
TENON_INLINE int rows_that_count(long spread, long at)
{
    if (spread == 1) {
        return -1;
    }
    int counts = 0;
    long rest = at % spread; /* has the sign of `at` */
    for (long i = rest > 0 ? spread - rest : -rest; i < TENON_ROWS + TENON_TAPS; i += spread) {
        counts |= 1 << i;
    }
    return counts;
}

/* Adds a member's taps to TENON_ROWS rows of results, `down` rows of the tile apart; that must be a
 * constant. Each of the tile's vectors is read once. Rows whose bit in `counts` is not set hold nothing.
 */
TENON_INLINE void add_square(__local const acc_t *tile, const acc_t *tap, const long *column,
                             long pitch, int down, int counts, acc_v *sum)
{
#pragma unroll
    for (int i = 0; i < (TENON_ROWS - 1) * down + TENON_TAPS; i++) {
        if (TENON_SPREAD && !(counts >> i & 1)) {
            continue;
        }
#pragma unroll
        for (int s = 0; s < TENON_TAPS; s++) {
            acc_v x = TENON_VLOAD(0, tile + i * pitch + column[s]);
#pragma unroll
            for (int r = 0; r < TENON_TAPS; r++) {
                int row = i - r;
                if (row >= 0 && row % down == 0 && row / down < TENON_ROWS) {
                    sum[row / down] = TENON_FMA(x, splat(tap[r * TENON_TAPS + s]), sum[row / down]);
                }
            }
        }
    }
}
#endif

/* The same for any window, step and dilation; row `at` under the window is the tile's first. */
TENON_INLINE void add_window(__local const acc_t *tile, __global const data_t *w,
                             const depthwise_args *args, long at, acc_v *sum)
{
    const conv_window *v = &args->conv.window;
    const depthwise_tile *t = &args->tile;
    const tenon_i64 *stride = args->conv.w_stride;
    for (long r = 0; r < TAPS_H(args); r++) {
        tap_column column = first_column();
        for (long s = 0; s < TAPS_W(args); s++) {
            acc_v tap = splat(load_data(w, r * stride[3] + s * stride[4]));
            for (int i = 0; i < TENON_ROWS; i++) {
                long row = i * v->step[1] + r * v->dilation[1];
                if (!TENON_SPREAD || row_counts(args->spread[1], at + row)) {
                    sum[i] =
                        TENON_FMA(TENON_VLOAD(0, tile + row * t->pitch + column.at), tap, sum[i]);
                }
            }
            next_column(&column, t, v->step[2]);
        }
    }
}

TENON_INLINE depthwise_image image_of(const operands *o, const depthwise_args *args)
{
    const conv_args *a = &args->conv;
    depthwise_image image;
    image.x = o->x;
    image.height = a->window.size[1];
    image.width = a->window.size[2];
    image.row = a->x_stride[3];
    image.column = a->x_stride[4];
    image.height_spread = args->spread[1];
    image.width_spread = args->spread[2];
    image.span = args->x_span;
    return image;
}

/* Brings what is under the tile at p into local memory. */
TENON_INLINE void fill_members(__local acc_t *tile, const operands *o, const depthwise_args *args,
                               const place *p, long rows)
{
    const conv_args *a = &args->conv;
    const conv_window *v = &a->window;
    const long d = image_index(args, 0, p->at[0], 0);
    const long under = ((rows + TENON_ROWS - 1) / TENON_ROWS * TENON_ROWS - 1) * v->step[1] +
                       (TAPS_H(args) - 1) * v->dilation[1] + 1;
    depthwise_image image = image_of(o, args);
    for (long m = 0; m < args->members; m++) {
        long channel = (p->k * args->members + m) / args->share;
        image.at = p->n * a->x_stride[0] + channel * a->x_stride[1] + d * a->x_stride[2];
        fill_tile(tile + m * args->tile.member, &image, d >= 0, &args->tile, v->step[2], under,
                  under_tap(v, 1, p->at[1], 0), under_tap(v, 2, p->at[2], 0));
    }
}

/* Where results go, and what is added to them: the first element of a tile. */
typedef struct results {
    long y, c;
} results;

/* TENON_ROWS vectors, `rows` and `lanes` of which there are, from row i and column j of a tile on. */
TENON_INLINE void store_rows(const operands *o, const conv_args *a, const results *at, acc_t bias,
                             long i, long j, long rows, int lanes, const acc_v *sum)
{
    const long y_row = a->y_stride[3], y_column = a->y_stride[4];
    const acc_v alpha = splat(TENON_FROM_BITS(a->alpha));
#pragma unroll
    for (int r = 0; r < TENON_ROWS; r++) {
        if (r < rows) {
            acc_v result = alpha * sum[r];
            if (a->flags & CONV_HAS_C) {
                result += splat(TENON_FROM_BITS(a->beta)) *
                          load_lanes(o->c, at->c + (i + r) * a->c_stride[3] + j * a->c_stride[4],
                                     a->c_stride[4], lanes);
            }
            if (a->flags & CONV_HAS_BIAS) {
                result += splat(bias);
            }
            store_some(o->y, at->y + (i + r) * y_row + j * y_column, y_column, lanes,
                       activate_v(result, &o->activation));
        }
    }
}

/* Adds all members' taps to TENON_ROWS vectors, whose row under the window is `at`. */
TENON_INLINE void sum_members(__local const acc_t *tile, const operands *o,
                              const depthwise_args *args, long k, long at, acc_v *sum)
{
    for (long m = 0; m < args->members; m++, tile += args->tile.member) {
        add_window(tile, o->w + (k * args->members + m) * args->conv.w_stride[0], args, at, sum);
    }
}

#if TENON_TAPS
/* A tile's sums where its rows lie `down` apart, which must be a constant. */
TENON_INLINE void do_squares(__local const acc_t *tile, const operands *o,
                             const depthwise_args *args, int down, const place *p, long rows,
                             long columns, const results *at, acc_t bias)
{
    const conv_args *a = &args->conv;
    const long pitch = args->tile.pitch;
    long column[TENON_TAPS];
    acc_t tap[TENON_TAPS * TENON_TAPS];
    find_columns(&args->tile, a->window.step[2], TENON_TAPS, column);
    load_square(o->w + p->k * args->members * a->w_stride[0], a->w_stride, tap);
    for (long i = 0; i < rows; i += TENON_ROWS) {
        const int counts =
            rows_that_count(args->spread[1], under_tap(&a->window, 1, p->at[1] + i, 0));
        for (long j = 0; j < columns; j += TENON_VW) {
            acc_v sum[TENON_ROWS];
            for (int r = 0; r < TENON_ROWS; r++) {
                sum[r] = splat(0);
            }
            add_square(tile + i * down * pitch + j, tap, column, pitch, down, counts, sum);
            store_rows(o, a, at, bias, i, j, rows - i, (int)min(columns - j, (long)TENON_VW), sum);
        }
    }
}
#endif

/* The same for any window, step and dilation, and any number of members. */
TENON_INLINE void do_windows(__local const acc_t *tile, const operands *o,
                             const depthwise_args *args, const place *p, long rows, long columns,
                             const results *at, acc_t bias)
{
    const conv_window *v = &args->conv.window;
    for (long i = 0; i < rows; i += TENON_ROWS) {
        for (long j = 0; j < columns; j += TENON_VW) {
            acc_v sum[TENON_ROWS];
            for (int r = 0; r < TENON_ROWS; r++) {
                sum[r] = splat(0);
            }
            sum_members(tile + i * v->step[1] * args->tile.pitch + j, o, args, p->k,
                        under_tap(v, 1, p->at[1] + i, 0), sum);
            store_rows(o, &args->conv, at, bias, i, j, rows - i,
                       (int)min(columns - j, (long)TENON_VW), sum);
        }
    }
}

/* A tile of results, the first of them at p. */
TENON_INLINE void do_tile(__local acc_t *tile, const operands *o, const depthwise_args *args,
                          const place *p)
{
    const conv_args *a = &args->conv;
    const conv_window *v = &a->window;
    const long rows = min((long)args->tile.rows, v->out[1] - p->at[1]);
    const long columns = min((long)args->tile.columns, v->out[2] - p->at[2]);
    const acc_t bias = a->flags & CONV_HAS_BIAS ? load_data(o->bias, p->k * a->bias_k) : 0;
    results at;
    at.y = place_in(a->y_stride, p);
    at.c = place_in(a->c_stride, p);
    fill_members(tile, o, args, p, rows);
#if TENON_TAPS
    if (args->members == 1 && v->dilation[1] == 1 && v->step[1] == 1) {
        do_squares(tile, o, args, 1, p, rows, columns, &at, bias);
        return;
    }
#if !TENON_SPREAD
    if (args->members == 1 && v->dilation[1] == 1 && v->step[1] == 2) {
        do_squares(tile, o, args, 2, p, rows, columns, &at, bias);
        return;
    }
#endif
#endif
    do_windows(tile, o, args, p, rows, columns, &at, bias);
}

TENON_INLINE void do_points(const operands *o, const depthwise_args *args, const place *p)
{
    const conv_window *v = &args->conv.window;
    const long last_row = min(p->at[1] + args->tile.rows, (long)v->out[1]);
    const long last_column = min(p->at[2] + args->tile.columns, (long)v->out[2]);
    place at = *p;
    for (at.at[1] = p->at[1]; at.at[1] < last_row; at.at[1]++) {
        for (at.at[2] = p->at[2]; at.at[2] < last_column; at.at[2]++) {
            store_point(o, &args->conv, &at, sum_point(o->x, o->w, args, &at));
        }
    }
}

/* Where tile number `unit` begins: tiles go along rows first. */
TENON_INLINE place tile_place(const depthwise_args *args, long unit)
{
    const conv_window *v = &args->conv.window;
    const depthwise_tile *t = &args->tile;
    place p;
    p.at[2] = cut_index(&unit, (v->out[2] + t->columns - 1) / t->columns) * t->columns;
    p.at[1] = cut_index(&unit, (v->out[1] + t->rows - 1) / t->rows) * t->rows;
    p.at[0] = cut_index(&unit, v->out[0]);
    p.k = cut_index(&unit, args->channels);
    p.n = unit;
    return p;
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
conv_depthwise_rows(__global const data_t *x, __global const data_t *w, __global const data_t *c,
                    __global const data_t *bias, __global data_t *y, const depthwise_args args)
{
    __local acc_t tile[TENON_TILE];
    const operands o = take_operands(x, w, c, bias, y, &args.conv);
    const long first = (long)get_global_id(0) * args.run;
    for (long unit = first; unit < min(first + args.run, (long)args.units); unit++) {
        const place p = tile_place(&args, unit);
        if (args.backwards && !filter_is_finite(o.w, &args, p.k)) {
            do_points(&o, &args, &p);
        } else {
            do_tile(tile, &o, &args, &p);
        }
    }
}
#else

/* One result of each of so many channels, from p on. */
TENON_INLINE void store_pixel(const operands *o, const conv_args *a, const place *p, int lanes,
                              acc_v sum)
{
    acc_v result = splat(TENON_FROM_BITS(a->alpha)) * sum;
    if (a->flags & CONV_HAS_C) {
        result += splat(TENON_FROM_BITS(a->beta)) *
                  load_lanes(o->c, place_in(a->c_stride, p), a->c_stride[1], lanes);
    }
    if (a->flags & CONV_HAS_BIAS) {
        result += load_lanes(o->bias, p->k * a->bias_k, a->bias_k, lanes);
    }
    store_some(o->y, place_in(a->y_stride, p), a->y_stride[1], lanes,
               activate_v(result, &o->activation));
}

/* One result of each channel, near the image's border or of a spread image. */
TENON_INLINE acc_v sum_pixel(__global const data_t *x, const acc_v *tap, const depthwise_args *args,
                             const place *p, int lanes)
{
    const tenon_i64 *stride = args->conv.x_stride;
    const long d = image_index(args, 0, p->at[0], 0);
    acc_v sum = splat(0);
    if (!has_product(args, d)) {
        return sum;
    }
    for (long r = 0; r < TAPS_H(args); r++) {
        long h = image_index(args, 1, p->at[1], r);
        for (long s = 0; s < TAPS_W(args) && has_product(args, h); s++) {
            long column = image_index(args, 2, p->at[2], s);
            if (!has_product(args, column)) {
                continue;
            }
            acc_v value = splat(0);
            if (d >= 0 && h >= 0 && column >= 0) {
                value = load_lanes(x, d * stride[2] + h * stride[3] + column * stride[4], 1, lanes);
            }
            sum = TENON_FMA(value, tap[r * TAPS_W(args) + s], sum);
        }
    }
    return sum;
}

/* The same where all taps are within an image that is not spread; x is at the first of them. */
TENON_INLINE acc_v sum_inner_pixel(__global const data_t *x, const acc_v *tap,
                                   const depthwise_args *args, int lanes)
{
    const conv_window *v = &args->conv.window;
    const long row = v->dilation[1] * args->conv.x_stride[3],
               column = v->dilation[2] * args->conv.x_stride[4];
    acc_v sum = splat(0);
    for (long r = 0; r < TAPS_H(args); r++) {
        for (long s = 0; s < TAPS_W(args); s++) {
            sum = TENON_FMA(load_lanes(x, r * row + s * column, 1, lanes),
                            tap[r * TAPS_W(args) + s], sum);
        }
    }
    return sum;
}

/* The outputs along dimension d whose taps all lie within the image. */
TENON_INLINE int all_inside(const depthwise_args *args, int d, long out)
{
    const conv_window *v = &args->conv.window;
    long first = under_tap(v, d, out, 0), last = under_tap(v, d, out, v->filter[d] - 1);
    return args->spread[d] == 1 && first >= 0 && last < v->size[d];
}

/* A row of results; x is at its image and channels. */
TENON_INLINE void do_row(__global const data_t *x, const operands *o, const depthwise_args *args,
                         const acc_v *tap, place *p, int lanes)
{
    const conv_window *v = &args->conv.window;
    const tenon_i64 *stride = args->conv.x_stride;
    const int inner_row = all_inside(args, 0, p->at[0]) && all_inside(args, 1, p->at[1]);
    const long row =
        under_tap(v, 0, p->at[0], 0) * stride[2] + under_tap(v, 1, p->at[1], 0) * stride[3];
    for (p->at[2] = 0; p->at[2] < v->out[2]; p->at[2]++) {
        acc_v sum = inner_row && all_inside(args, 2, p->at[2])
                        ? sum_inner_pixel(x + row + under_tap(v, 2, p->at[2], 0) * stride[4], tap,
                                          args, lanes)
                        : sum_pixel(x, tap, args, p, lanes);
        store_pixel(o, &args->conv, p, lanes, sum);
    }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
conv_depthwise_channels(__global const data_t *x, __global const data_t *w,
                        __global const data_t *c, __global const data_t *bias, __global data_t *y,
                        const depthwise_args args)
{
    acc_v tap[TENON_TAPS ? TENON_TAPS * TENON_TAPS : TENON_MOST_TAPS];
    const conv_args *a = &args.conv;
    const operands o = take_operands(x, w, c, bias, y, a);
    const long first = (long)get_global_id(0) * args.run;
    place p;
    p.k = (long)get_global_id(1) * TENON_VW;
    const int lanes = (int)min(args.channels - p.k, (long)TENON_VW);
    for (long i = 0; i < TAPS_H(&args) * TAPS_W(&args); i++) {
        tap[i] = load_lanes(o.w,
                            p.k * a->w_stride[0] + i / TAPS_W(&args) * a->w_stride[3] +
                                i % TAPS_W(&args) * a->w_stride[4],
                            a->w_stride[0], lanes);
    }
    for (long unit = first; unit < min(first + args.run, (long)args.units); unit++) {
        long rest = unit;
        p.at[1] = cut_index(&rest, a->window.out[1]);
        p.at[0] = cut_index(&rest, a->window.out[0]);
        p.n = rest;
        do_row(o.x + p.n * a->x_stride[0] + p.k, &o, &args, tap, &p, lanes);
    }
}
#endif
#endif
