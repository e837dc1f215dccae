/*
 * Depthwise convolution of i8 or u8 on CPUs: each result channel is computed from one image channel
 * by a window of up to two dimensions. Sums are floats, which are exact: with at most
 * DEPTHWISE_TAPS taps they are below 2^24.
 *
 * conv_int8_depthwise_channels: vectors along channels, which are contiguous in x and y; a group
 *   has one filter. A work-item computes args.run rows of results of VW channels. Global size:
 *   {ceil(units / run), ceil(channels / VW)}; a unit is a row.
 * conv_int8_depthwise_rows: vectors along w, any layout. A work-item computes args.run tiles of
 *   results, from the image's part under each, which it converts. Global size: {ceil(units / run)};
 *   a unit is a tile.
 *
 * TENON_TAPS, TENON_STEP: the window is a square of TAPS, 3 or 5, without dilation, and with this
 *   stride, 1 or 2, and rows of results along channels are computed four at a time; 0: any window.
 * TENON_TILE: floats of a tile.
 * TENON_VW, TENON_DTYPE and others: see gemm/int8.clh.
 */
#ifndef TENON_VW
#define TENON_VW 16
#endif
#ifndef TENON_TAPS
#define TENON_TAPS 3
#endif
#ifndef TENON_STEP
#define TENON_STEP 1
#endif
#ifndef TENON_TILE
#define TENON_TILE 4096
#endif
/* Adjacent results, and the columns of the image under them. */
#define TENON_MR 4
#if TENON_TAPS == 5
#define TENON_NV TENON_CAT(COLUMNS_5_, TENON_STEP)
#else
#define TENON_NV TENON_CAT(COLUMNS_3_, TENON_STEP)
#endif
#define COLUMNS_3_1 6
#define COLUMNS_3_2 9
#define COLUMNS_5_1 8
#define COLUMNS_5_2 11

#include "gemm/int8.clh"

#include "conv/int8/args.h"
#include "conv/window.clh"
#include "gemm/cpu_unroll.clh"

#define TAPS_H(args) (TENON_TAPS ? TENON_TAPS : (args)->window.filter[1])
#define TAPS_W(args) (TENON_TAPS ? TENON_TAPS : (args)->window.filter[2])

/* Operands that both kernels read. The value of a byte x of the image is (x ^ code) - zero. */
typedef struct images {
    __global const uchar *x, *w, *zero_w;
    int8_epilogue e;
    int code, zero;
    bool plain; /* y receives the sums themselves */
} images;

#define TAKE_IMAGES(args)                                                                          \
    take_images(a, b, MAKE_INT8_EPILOGUE(&(args)->product, 0), zero_a, zero_b, args)
TENON_INLINE images take_images(__global const uchar *x, __global const uchar *w,
                                const int8_epilogue e, __global const uchar *zero_x,
                                __global const uchar *zero_w, const conv_int8_args *args)
{
    const int sign = args->product.a_sign;
    images o;
    o.x = x + args->product.gemm.a_offset;
    o.w = w + args->product.gemm.b_offset;
    o.zero_w = zero_w;
    o.e = e;
    o.code = sign;
    o.zero = sign + zero_point(zero_x, &args->product, INT8_ZERO_A, 0, 0, sign);
    o.plain = stores_sums(&e, &args->product);
    return o;
}

/* A row of results of an image. */
typedef struct line {
    long n, out[2];
} line;

TENON_INLINE line line_at(const conv_window *v, long number)
{
    line l;
    l.out[1] = cut_index(&number, v->out[1]);
    l.out[0] = cut_index(&number, v->out[0]);
    l.n = number;
    return l;
}

/* Returns the sum of floats as an integer. */
TENON_INLINE uint_v whole_sum(acc_v sum)
{
    return TENON_TO_UINT_V(TENON_TO_INT_V(sum));
}

/* Converts bytes, without the zero point. */
TENON_INLINE acc_v byte_floats(uchar_v x, int code)
{
    return TENON_TO_ACC_V(TENON_TO_INT_V(x ^ (uchar_v)((uchar)code)));
}

/* Along channels. */

/* VW channels from k on. */
typedef struct channels {
    long k;
    int lanes;
    acc_v line[TENON_TAPS + 1]; /* sums of the taps of each row, if they are unrolled */
    acc_v tap[DEPTHWISE_TAPS];
} channels;

TENON_INLINE void take_channels(const images *o, const conv_int8_args *args, channels *c)
{
    const int sign = args->product.b_sign;
    const acc_v zero = TENON_TO_ACC_V(
        zero_points(o->zero_w, &args->product, INT8_ZERO_B, 0, c->k, c->lanes, sign));
    for (long i = 0; i < TAPS_H(args) * TAPS_W(args); i++) {
        const long at = c->k * args->w_stride[0] + i / TAPS_W(args) * args->w_stride[3] +
                        i % TAPS_W(args) * args->w_stride[4];
        c->tap[i] =
            TENON_TO_ACC_V(byte_values(load_bytes(o->w, at, args->w_stride[0], c->lanes), sign)) -
            zero;
    }
#if TENON_TAPS
    for (int r = 0; r < TENON_TAPS; r++) {
        c->line[r] = splat(0);
        for (int s = 0; s < TENON_TAPS; s++) {
            c->line[r] += c->tap[r * TENON_TAPS + s];
        }
    }
#endif
}

/* Returns the sum of one result per channel, of which some taps may be in the padding. x points to
 * the channels of the plane. */
TENON_INLINE acc_v sum_pixel(__global const uchar *x, const images *o, const conv_int8_args *args,
                             const channels *c, long row, long column)
{
    const conv_window *v = &args->window;
    acc_v sum = splat(0);
    for (long r = 0; r < TAPS_H(args); r++) {
        const long h = under_tap(v, 1, row, r);
        for (long s = 0; s < TAPS_W(args) && inside(v, 1, h); s++) {
            const long w = under_tap(v, 2, column, s);
            if (inside(v, 2, w)) {
                const uchar_v bytes =
                    load_bytes(x, h * args->x_stride[3] + w * args->x_stride[4], 1, c->lanes);
                sum = TENON_FMA(byte_floats(bytes, o->code) - splat(o->zero),
                                c->tap[r * TAPS_W(args) + s], sum);
            }
        }
    }
    return sum;
}

TENON_INLINE void store_pixel(const images *o, const conv_int8_args *args, const channels *c,
                              const line *l, long column, acc_v sum)
{
    int8_epilogue e = o->e;
    e.d_start += l->n * args->y_stride[0] + l->out[0] * args->y_stride[2] +
                 l->out[1] * args->y_stride[3] + column * args->y_stride[4];
    e.c_start += l->n * args->c_stride[0] + l->out[0] * args->c_stride[2] +
                 l->out[1] * args->c_stride[3] + column * args->c_stride[4];
    if (o->plain && c->lanes == TENON_VW) {
        TENON_VSTORE(TENON_TO_INT_V(sum), 0, (__global int *)e.d + e.d_start + c->k);
    } else {
        int8_store_v(&e, &args->product, 0, c->k, c->lanes, 0, whole_sum(sum));
    }
}

#if TENON_TAPS
/* Computes four results, of which rows [top, bottom) of the taps are within the image. x points to
 * their first tap. */
TENON_INLINE void store_four(__global const uchar *x, const images *o, const conv_int8_args *args,
                             const channels *c, const line *l, long column, long top, long bottom)
{
    acc_v sum[TENON_MR], all = splat(0);
    TILE_EACH_ROW(TENON_MR, sum[i] = splat(0));
    for (long r = top; r < bottom; r++) {
        __global const uchar *from = x + r * args->x_stride[3];
        const acc_v *tap = c->tap + r * TENON_TAPS;
        TILE_EACH_VECTOR(const acc_v value = byte_floats(
                             load_bytes(from, v * args->x_stride[4], 1, c->lanes), o->code);
                         TILE_EACH_ROW(
                             TENON_MR, if (v >= i * TENON_STEP && v < i * TENON_STEP + TENON_TAPS) {
                                 enum { s = v >= i * TENON_STEP ? v - i * TENON_STEP : 0 };
                                 sum[i] = TENON_FMA(value, tap[s], sum[i]);
                             }));
        all += c->line[r];
    }
    all *= splat(o->zero);
    TILE_EACH_ROW(TENON_MR, store_pixel(o, args, c, l, column + i, sum[i] - all));
}
#endif

/* Computes a row of results. */
TENON_INLINE void do_line(const images *o, const conv_int8_args *args, const channels *c,
                          const line *l)
{
    const conv_window *v = &args->window;
    const long plane = under_tap(v, 0, l->out[0], 0);
    __global const uchar *x = o->x + l->n * args->x_stride[0] + c->k + plane * args->x_stride[2];
#if TENON_TAPS
    const long h = under_tap(v, 1, l->out[1], 0), top = max(0L, -h),
               bottom = min((long)TENON_TAPS, v->size[1] - h);
#endif
    for (long q = 0; q < v->out[2];) {
#if TENON_TAPS
        const long w = under_tap(v, 2, q, 0);
        if (inside(v, 0, plane) && q + TENON_MR <= v->out[2] && w >= 0 &&
            w + (TENON_MR - 1) * TENON_STEP + TENON_TAPS <= v->size[2]) {
            store_four(x + h * args->x_stride[3] + w * args->x_stride[4], o, args, c, l, q, top,
                       bottom);
            q += TENON_MR;
            continue;
        }
#endif
        store_pixel(o, args, c, l, q,
                    inside(v, 0, plane) ? sum_pixel(x, o, args, c, l->out[1], q) : splat(0));
        q++;
    }
}

TENON_FUNCTION void do_lines(const images *o, const conv_int8_args *args, long first, long end,
                             long k)
{
    channels c;
    c.k = k;
    c.lanes = (int)min(args->group_filters - k, (long)TENON_VW);
    take_channels(o, args, &c);
    for (long unit = first; unit < end; unit++) {
        const line l = line_at(&args->window, unit);
        do_line(o, args, &c, &l);
    }
}

TENON_VECTOR_KERNEL __attribute__((reqd_work_group_size(1, 1, 1))) void
conv_int8_depthwise_channels(INT8_POINTERS, const conv_int8_depthwise_args args)
{
    const images o = TAKE_IMAGES(&args.conv);
    const long first = get_global_id(0) * args.run;
    do_lines(&o, &args.conv, first, min(first + args.run, (long)args.units),
             get_global_id(1) * TENON_VW);
}

/* Along rows. */

/* A tile of results of a channel. */
typedef struct tile {
    line first;
    long k, column;
    long rows, columns;
} tile;

/* Converts the elements of a row under a tile, from column `start` of the image on, to `count`
 * floats; those of the padding are 0. */
TENON_INLINE void convert_row(acc_t *out, __global const uchar *x, const images *o,
                              const conv_int8_args *args, long start, long count, bool exists)
{
    const long step = args->x_stride[4];
    const long low = exists ? clamp(-start, 0L, count) : count;
    const long high = exists ? clamp(args->window.size[2] - start, low, count) : count;
    long i = 0;
    for (; i < low; i++) {
        out[i] = 0;
    }
    for (; step == 1 && i + TENON_VW <= high; i += TENON_VW) {
        TENON_VSTORE(byte_floats(TENON_VLOAD(0, x + start + i), o->code) - splat(o->zero), 0,
                     out + i);
    }
    for (; i < high; i++) {
        out[i] = (acc_t)((x[(start + i) * step] ^ o->code) - o->zero);
    }
    for (; i < count; i++) {
        out[i] = 0;
    }
}

/* Splits a row into the phases of a tile. */
TENON_INLINE void split_row(acc_t *out, const acc_t *row, const conv_int8_depthwise_args *args)
{
    const long step = args->conv.window.stride[2], phase = args->tile.phase;
    for (long i = 0; step == 2 && i < phase; i += TENON_VW) {
        const acc_v low = TENON_VLOAD(0, row + 2 * i), high = TENON_VLOAD(1, row + 2 * i);
        acc_v even = low, odd = low;
        even.lo = low.even;
        even.hi = high.even;
        odd.lo = low.odd;
        odd.hi = high.odd;
        TENON_VSTORE(even, 0, out + i);
        TENON_VSTORE(odd, 0, out + phase + i);
    }
    for (long f = 0; step > 2 && f < step; f++) {
        for (long i = 0; i < phase; i++) {
            out[f * phase + i] = row[i * step + f];
        }
    }
}

/* Fills the part of the image under a tile. */
TENON_INLINE void fill_tile(acc_t *out, acc_t *row, const images *o,
                            const conv_int8_depthwise_args *args, const tile *t)
{
    const conv_int8_args *a = &args->conv;
    const conv_window *v = &a->window;
    const long plane = under_tap(v, 0, t->first.out[0], 0);
    const long start = under_tap(v, 2, t->column, 0), top = under_tap(v, 1, t->first.out[1], 0);
    const long count = (t->rows - 1) * v->stride[1] + (v->filter[1] - 1) * v->dilation[1] + 1;
    __global const uchar *x = o->x + t->first.n * a->x_stride[0] +
                              t->k / a->group_filters * a->x_stride[1] + plane * a->x_stride[2];
    for (long r = 0; r < count; r++) {
        const long h = top + r;
        acc_t *to = out + r * args->tile.pitch;
        const bool splits = v->stride[2] > 1;
        convert_row(splits ? row : to, x + h * a->x_stride[3], o, a, start, args->tile.pitch,
                    inside(v, 0, plane) && inside(v, 1, h));
        if (splits) {
            split_row(to, row, args);
        }
    }
}

/* Rows of results that are summed at once, in registers. */
#define SUM_ROWS 4

/* Computes the sums of VW adjacent results in SUM_ROWS rows. Rows after number `last` repeat it. */
TENON_INLINE void sum_rows(const acc_t *part, const acc_t *tap, const long *at,
                           const conv_int8_depthwise_args *args, long last, acc_v sum[SUM_ROWS])
{
    const conv_window *v = &args->conv.window;
    const long down = v->dilation[1] * args->tile.pitch;
    const acc_t *row[SUM_ROWS];
    acc_v total[SUM_ROWS];
#pragma unroll
    for (int i = 0; i < SUM_ROWS; i++) {
        row[i] = part + min((long)i, last) * v->stride[1] * args->tile.pitch;
        total[i] = splat(0);
    }
    for (long r = 0; r < TAPS_H(&args->conv); r++) {
        for (long s = 0; s < TAPS_W(&args->conv); s++) {
            const long from = r * down + at[s];
            const acc_v factor = splat(tap[r * TAPS_W(&args->conv) + s]);
#pragma unroll
            for (int i = 0; i < SUM_ROWS; i++) {
                total[i] = TENON_FMA(TENON_VLOAD(0, row[i] + from), factor, total[i]);
            }
        }
    }
#pragma unroll
    for (int i = 0; i < SUM_ROWS; i++) {
        sum[i] = total[i];
    }
}

/* Stores the sums of a tile's rows from number `first` on, from column q on. */
TENON_INLINE void store_rows(const images *o, const conv_int8_depthwise_args *args, const tile *t,
                             long first, long q, const acc_v sum[SUM_ROWS])
{
    const conv_int8_args *a = &args->conv;
    const long rows = min(t->rows - first, (long)SUM_ROWS);
    const int lanes = (int)min(t->columns - q, (long)TENON_VW);
    int8_epilogue e = o->e;
    const long row = t->first.out[1] + first;
    e.d_start += t->first.n * a->y_stride[0] + t->first.out[0] * a->y_stride[2] +
                 row * a->y_stride[3] + t->column * a->y_stride[4];
    e.c_start += t->first.n * a->c_stride[0] + t->first.out[0] * a->c_stride[2] +
                 row * a->c_stride[3] + t->column * a->c_stride[4];
#pragma unroll 1
    for (int i = 0; i < rows; i++) {
        int8_store_v(&e, &a->product, t->k, q, lanes, 0, whole_sum(sum[i]));
        e.d_start += a->y_stride[3];
        e.c_start += a->c_stride[3];
    }
}

/* Computes and stores the results of a tile. */
TENON_INLINE void do_tile(const acc_t *part, const images *o, const conv_int8_depthwise_args *args,
                          const tile *t)
{
    const conv_int8_args *a = &args->conv;
    const conv_window *v = &a->window;
    acc_t tap[DEPTHWISE_TAPS];
    long at[DEPTHWISE_TAPS];
    const int sign = a->product.b_sign;
    const int zero = zero_point(o->zero_w, &a->product, INT8_ZERO_B, t->k, 0, sign);
    for (long s = 0; s < TAPS_W(a); s++) {
        const long shift = s * v->dilation[2];
        at[s] = shift % v->stride[2] * args->tile.phase + shift / v->stride[2];
        for (long r = 0; r < TAPS_H(a); r++) {
            const uchar byte =
                o->w[t->k * a->w_stride[0] + r * a->w_stride[3] + s * a->w_stride[4]];
            tap[r * TAPS_W(a) + s] = (acc_t)(byte_value(byte, sign) - zero);
        }
    }
    for (long r = 0; r < t->rows; r += SUM_ROWS) {
        for (long q = 0; q < t->columns; q += TENON_VW) {
            acc_v sum[SUM_ROWS];
            sum_rows(part + r * v->stride[1] * args->tile.pitch + q, tap, at, args, t->rows - 1 - r,
                     sum);
            store_rows(o, args, t, r, q, sum);
        }
    }
}

TENON_FUNCTION void do_tiles(const images *o, const conv_int8_depthwise_args *args, long first,
                             long end)
{
    const conv_window *v = &args->conv.window;
    const tenon_i64 filters = args->filters;
    acc_t part[TENON_TILE + 2 * TENON_VW], row[TENON_TILE + 2 * TENON_VW];
    for (long unit = first; unit < end; unit++) {
        long rest = unit;
        tile t;
        t.column = cut_index(&rest, args->across) * args->tile.columns;
        t.first.out[1] = cut_index(&rest, args->down) * args->tile.rows;
        t.first.out[0] = cut_index(&rest, v->out[0]);
        t.k = cut_index(&rest, filters);
        t.first.n = rest;
        t.rows = min(v->out[1] - t.first.out[1], (long)args->tile.rows);
        t.columns = min(v->out[2] - t.column, (long)args->tile.columns);
        fill_tile(part, row, o, args, &t);
        do_tile(part, o, args, &t);
    }
}

TENON_VECTOR_KERNEL __attribute__((reqd_work_group_size(1, 1, 1))) void
conv_int8_depthwise_rows(INT8_POINTERS, const conv_int8_depthwise_args args)
{
    const images o = TAKE_IMAGES(&args.conv);
    const long first = get_global_id(0) * args.run;
    do_tiles(&o, &args, first, min(first + args.run, (long)args.units));
}
