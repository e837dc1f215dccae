/*
 * The gradient of a convolution's filters for CPUs: dy times the image's columns, which are never
 * made. A work-group has some channels and some filters of a group, and a slice of the outputs,
 * which it goes through in bands. Of each band it packs its channels of the image, padded, with the
 * channels of a position as neighbours: so a vector of columns lies at one offset from where the
 * filter is laid, whichever its tap, and is loaded where it is multiplied.
 *
 * A "run" is the taps whose channels are neighbours in a packed row: those along w, if there is no
 * dilation, otherwise one. Each run is cut into vectors, the last of which may pick up what comes
 * next in lanes that are never stored. Sums of a work-group stay in local memory until its last
 * band, in acc_t, and are then written to dw, or where the slices' sums are added up.
 *
 * Global size: {blocks of channels * groups, blocks of filters, slices}, local size {1, 1, 1}.
 *
 * TENON_VW, TENON_DTYPE, TENON_HW_FMA   see common/types.clh
 * TENON_MR, TENON_NV   filters, and vectors of columns, of the register tile
 * TENON_Y_IN_PLACE     1: dy is broadcast from where it lies; 0: it is converted first
 * TENON_BLOCK          elements of local memory for the packed image, and for the sums
 * TENON_PIXELS         the most pixels of a band
 */
#ifndef TENON_VW
#define TENON_VW 16
#endif
#ifndef TENON_MR
#define TENON_MR 8
#endif
#ifndef TENON_NV
#define TENON_NV 3
#endif
#ifndef TENON_Y_IN_PLACE
#define TENON_Y_IN_PLACE 1
#endif
#ifndef TENON_BLOCK
#define TENON_BLOCK 16384
#endif
#ifndef TENON_PIXELS
#define TENON_PIXELS 512
#endif
#include "common/turn.clh"
#include "conv/gradient_args.h"
#include "conv/window.clh"

#if TENON_Y_IN_PLACE
typedef __global const data_t *tile_y;
#define TILE_LOAD_Y(y, step, i) load_data(y, (i) * (step))
#define PACKED_Y_SIZE           1
#else
typedef __local const acc_t *tile_y;
#define TILE_LOAD_Y(y, step, i) ((y)[i])
#define PACKED_Y_SIZE           (TENON_PIXELS * TENON_MR)
#endif

/* What a work-group does, and where it is. */
typedef struct filter_block {
    long channel, filter; /* the first ones, counted over all groups for x and dy */
    int channels, filters;
    int run;     /* elements of a run */
    int vectors; /* of a run */
    int runs;
} filter_block;

/* Where each pixel of a band lies, in the packed image and in what dy is read from. */
typedef struct pixel_table {
    long y[TENON_PIXELS];
    int x[TENON_PIXELS];
} pixel_table;

typedef struct band {
    long image, o, p, q; /* the first ones */
    int images, lines, width;
} band;

TENON_INLINE filter_block find_block(const conv_filter_packed_args *args)
{
    const long blocks = (args->group_channels + args->channels - 1) / args->channels;
    const long number = (long)get_global_id(0), group = number / blocks;
    const long channel = (number - group * blocks) * args->channels;
    const long filter = (long)get_global_id(1) * args->filters;
    filter_block b;
    b.channels = (int)min(args->channels, args->group_channels - channel);
    b.filters = (int)min(args->filters, args->group_filters - filter);
    b.channel = group * args->group_channels + channel;
    b.filter = group * args->group_filters + filter;
    b.run = b.channels * (int)args->run;
    b.vectors = (b.run + TENON_VW - 1) / TENON_VW;
    b.runs = (int)(args->filter[0] * args->filter[1] * (args->filter[2] / args->run));
    return b;
}

TENON_INLINE band find_band(const conv_filter_packed_args *args, long number)
{
    band b;
    b.q = cut_index(&number, args->blocks[3]) * args->width;
    b.p = cut_index(&number, args->blocks[2]) * args->lines;
    b.o = cut_index(&number, args->blocks[1]);
    b.image = number * args->images;
    b.images = (int)min(args->images, args->n - b.image);
    b.lines = (int)min(args->lines, args->out[1] - b.p);
    b.width = (int)min(args->width, args->out[2] - b.q);
    return b;
}

TENON_INLINE void clear(__local acc_t *to, int count)
{
    for (int i = 0; i < count; i++) {
        to[i] = 0;
    }
}

/* VW neighbours, or every second of twice as many. */
TENON_INLINE acc_v load_stepping(__global const data_t *x, long at, int step)
{
    const acc_v low = load_data_v(x, at);
    if (step == 1) {
        return low;
    }
    const acc_v high = load_data_v(x, at + TENON_VW);
    acc_v even = low;
    even.lo = low.even;
    even.hi = high.even;
    return even;
}

/* VW channels of `lanes` positions, which are `step` elements of x apart: 1 or 2. */
TENON_INLINE void pack_square(__local acc_t *to, int channels, __global const data_t *x, long at,
                              int step, long channel, int lanes, long span)
{
    acc_v v[TENON_VW];
    if (at + (TENON_VW - 1) * channel + step * TENON_VW <= span) {
#pragma unroll
        for (int l = 0; l < TENON_VW; l++) {
            v[l] = load_stepping(x, at + l * channel, step);
        }
    } else {
        for (int l = 0; l < TENON_VW; l++) {
            v[l] = load_lanes(x, at + l * channel, step, min(lanes, TENON_VW));
        }
    }
    turn_square(v);
    if (lanes >= TENON_VW) {
#pragma unroll
        for (int l = 0; l < TENON_VW; l++) {
            TENON_VSTORE(v[l], 0, to + l * channels);
        }
    } else {
        for (int l = 0; l < lanes; l++) {
            TENON_VSTORE(v[l], 0, to + l * channels);
        }
    }
}

/* `count` positions from element `at` on, `step` elements apart. */
TENON_INLINE void pack_positions(__local acc_t *to, int channels, __global const data_t *x, long at,
                                 long step, long channel, int count, long span)
{
    int c = 0;
    if (step == 1 || step == 2) {
        for (; c + TENON_VW <= channels; c += TENON_VW) {
            for (int j = 0; j < count; j += TENON_VW) {
                pack_square(to + j * channels + c, channels, x, at + c * channel + j * step,
                            (int)step, channel, count - j, span);
            }
        }
    } else if (channel == 1) {
        for (int j = 0; j < count; j++) {
            for (c = 0; c + TENON_VW <= channels; c += TENON_VW) {
                TENON_VSTORE(load_data_v(x, at + j * step + c), 0, to + j * channels + c);
            }
        }
    }
    for (; c < channels; c++) {
        for (int j = 0; j < count; j++) {
            to[j * channels + c] = load_data(x, at + c * channel + j * step);
        }
    }
}

/* A row: what of it lies in the image, between zeros. */
TENON_INLINE void pack_row(__local acc_t *to, int channels, __global const data_t *x, long at,
                           const conv_filter_packed_args *args, long first, int count)
{
    const long skip = args->skip[2], room = args->size[2] - first;
    const int low = (int)min((long)count, first < 0 ? (skip - 1 - first) / skip : 0);
    const int end = (int)clamp(room > 0 ? (room + skip - 1) / skip : 0, (long)low, (long)count);
    clear(to, low * channels);
    pack_positions(to + low * channels, channels, x, at + (first + low * skip) * args->x_stride[4],
                   skip * args->x_stride[4], args->x_stride[1], end - low, args->x_span);
    clear(to + end * channels, (count - end) * channels);
}

/* The positions that the filter meets along a dimension from so many outputs. */
TENON_INLINE int reach(const conv_filter_packed_args *args, int d, int outputs)
{
    return (int)((outputs - 1) * args->step[d] + (args->filter[d] - 1) * args->dilation[d]) + 1;
}

TENON_INLINE void pack_band(__local acc_t *to, __global const data_t *x,
                            const conv_filter_packed_args *args, const filter_block *b,
                            const band *of)
{
    const int rows = reach(args, 1, of->lines), count = reach(args, 2, of->width);
    const long row_size = args->pitch * b->channels;
    const long h0 = of->p * args->step[1] * args->skip[1] + args->start[1];
    const long w0 = of->q * args->step[2] * args->skip[2] + args->start[2];
    for (int n = 0; n < of->images; n++) {
        const long image = (of->image + n) * args->x_stride[0] + b->channel * args->x_stride[1];
        for (int t = 0; t < args->filter[0]; t++) {
            const long d = of->o * args->step[0] + args->start[0] + t * args->dilation[0];
            for (int row = 0; row < rows; row++) {
                const long h = h0 + row * args->skip[1];
                __local acc_t *out = to + row * row_size;
                if (d < 0 || d >= args->size[0] || h < 0 || h >= args->size[1]) {
                    clear(out, count * b->channels);
                } else {
                    pack_row(out, b->channels, x,
                             image + d * args->x_stride[2] + h * args->x_stride[3], args, w0,
                             count);
                }
            }
            to += args->rows * row_size;
        }
    }
}

/* Where vector `vector` of the columns lies in the packed image, under the band's first output. */
TENON_INLINE long vector_offset(const conv_filter_packed_args *args, const filter_block *b,
                                int vector)
{
    const int run = vector / b->vectors;
    const long across = args->filter[2] / args->run;
    const long s = run % across, tr = run / across;
    const long r = tr % args->filter[1], t = tr / args->filter[1];
    return ((t * args->rows + r * args->dilation[1]) * args->pitch + s * args->dilation[2]) *
               b->channels +
           (vector - run * b->vectors) * TENON_VW;
}

TENON_INLINE int find_pixels(__local pixel_table *table, const conv_filter_packed_args *args,
                             const filter_block *b, const band *of)
{
    int i = 0;
    for (int n = 0; n < of->images; n++) {
        for (int p = 0; p < of->lines; p++) {
            const int row = n * (int)(args->filter[0] * args->rows) + p * (int)args->step[1];
            for (int q = 0; q < of->width; q++, i++) {
                table->x[i] = (row * (int)args->pitch + q * (int)args->step[2]) * b->channels;
#if TENON_Y_IN_PLACE
                table->y[i] = n * args->y_stride[0] + p * args->y_stride[3] + q * args->y_stride[4];
#else
                table->y[i] = i * TENON_MR;
#endif
            }
        }
    }
    return i;
}

#if !TENON_Y_IN_PLACE
/* `rows` filters of dy in a band, pixel by pixel. */
TENON_INLINE void pack_y(__local acc_t *to, __global const data_t *y,
                         const conv_filter_packed_args *args, const band *of, int rows)
{
    for (int n = 0; n < of->images; n++) {
        for (int p = 0; p < of->lines; p++) {
            __global const data_t *line = y + n * args->y_stride[0] + p * args->y_stride[3];
            for (int q = 0; q < of->width; q++) {
                for (int i = 0; i < rows; i++) {
                    to[i] = load_data(line, q * args->y_stride[4] + i * args->y_stride[1]);
                }
                to += TENON_MR;
            }
        }
    }
}
#endif

TENON_INLINE void sum_pixel(const int rows, acc_v sum[TENON_MR][TENON_NV], tile_y y, long y_row,
                            __local const acc_t *x, const long *at)
{
    acc_v column[TENON_NV];
#pragma unroll
    for (int v = 0; v < TENON_NV; v++) {
        column[v] = TENON_VLOAD(0, x + at[v]);
    }
#pragma unroll
    for (int i = 0; i < rows; i++) {
        acc_v yi = splat(TILE_LOAD_Y(y, y_row, i));
#pragma unroll
        for (int v = 0; v < TENON_NV; v++) {
            sum[i][v] = TENON_FMA(yi, column[v], sum[i][v]);
        }
    }
}

/* to[i * pitch + v] (+)= the band's sum for filter i and vector v. `rows` is a constant wherever
 * this is inlined. A single loop, whose pixels are looked up: with one for each dimension the
 * compiler keeps the sums in memory. */
TENON_INLINE void sum_band(const int rows, int stored, tile_y y, long y_row,
                           __local const acc_t *x, __local const pixel_table *table, int pixels,
                           const long *at, __local acc_v *to, int pitch, int adds)
{
    acc_v sum[TENON_MR][TENON_NV];
#pragma unroll
    for (int i = 0; i < rows; i++) {
#pragma unroll
        for (int v = 0; v < TENON_NV; v++) {
            sum[i][v] = splat(0);
        }
    }
    for (int n = 0; n < pixels; n++) {
        sum_pixel(rows, sum, y + table->y[n], y_row, x + table->x[n], at);
    }
#pragma unroll
    for (int i = 0; i < rows; i++) {
        if (i < stored) {
#pragma unroll
            for (int v = 0; v < TENON_NV; v++) {
                to[i * pitch + v] = adds ? to[i * pitch + v] + sum[i][v] : sum[i][v];
            }
        }
    }
}

/* All filters and columns of a band that has been packed: whole tiles of filters, then pairs, of
 * which the last may be the same filter twice. */
TENON_INLINE void multiply_band(__global const data_t *y, __local acc_t *packed_y,
                                __local const acc_t *x, const conv_filter_packed_args *args,
                                const filter_block *b, const band *of,
                                __local const pixel_table *table, int pixels,
                                __local acc_v *sums, int adds)
{
    const int count = b->runs * b->vectors;
    const int pitch = (count + TENON_NV - 1) / TENON_NV * TENON_NV;
    y += of->image * args->y_stride[0] + b->filter * args->y_stride[1] + of->o * args->y_stride[2] +
         of->p * args->y_stride[3] + of->q * args->y_stride[4];
    for (int m = 0; m < b->filters;) {
        const int left = b->filters - m, rows = left >= TENON_MR ? TENON_MR : min(left, 2);
        const long y_row = rows == 1 ? 0 : args->y_stride[1];
#if TENON_Y_IN_PLACE
        tile_y from = y + m * args->y_stride[1];
#else
        tile_y from = packed_y;
        pack_y(packed_y, y + m * args->y_stride[1], args, of, rows);
#endif
        for (int v = 0; v < count; v += TENON_NV) {
            __local acc_v *to = sums + m * pitch + v;
            long at[TENON_NV];
            for (int i = 0; i < TENON_NV; i++) {
                at[i] = vector_offset(args, b, min(v + i, count - 1));
            }
            if (rows == TENON_MR) {
                sum_band(TENON_MR, TENON_MR, from, y_row, x, table, pixels, at, to, pitch, adds);
            } else {
                sum_band(2, rows, from, y_row, x, table, pixels, at, to, pitch, adds);
            }
        }
        m += rows;
    }
}

/* Where the sums of a filter go. */
typedef struct filter_target {
    __global data_t *w;
    __global acc_t *sums; /* of a slice; */
    int is_slice;         /* otherwise w */
    int adds;
    acc_t beta;
} filter_target;

TENON_INLINE void put(const filter_target *to, long at, acc_t sum)
{
    if (to->is_slice) {
        to->sums[at] = sum;
    } else {
        store_data(to->w, at, to->adds ? sum + to->beta * load_data(to->w, at) : sum);
    }
}

/* VW neighbours. */
TENON_INLINE void put_v(const filter_target *to, long at, acc_v sum)
{
    if (to->is_slice) {
        TENON_VSTORE(sum, 0, to->sums + at);
    } else {
        if (to->adds) {
            sum += splat(to->beta) * load_data_v(to->w, at);
        }
        store_data_v(to->w, at, sum);
    }
}

/* Where a tap's sums are: those of a channel block are neighbours. */
TENON_INLINE int tap_offset(const conv_filter_packed_args *args, const filter_block *b, int tap)
{
    const int run = tap / (int)args->run, s = tap - run * (int)args->run;
    return run * b->vectors * TENON_VW + s * b->channels;
}

/* Channels are neighbours in what is written. */
TENON_INLINE void write_channels(const filter_target *to, long at, __local const acc_t *sums,
                                 int channels)
{
    int c = 0;
    for (; c + TENON_VW <= channels; c += TENON_VW) {
        put_v(to, at + c, TENON_VLOAD(0, sums + c));
    }
    for (; c < channels; c++) {
        put(to, at + c, sums[c]);
    }
}

/* Taps are, and after a channel's the next one's: VW taps of VW channels are turned at once. A vector
 * of fewer taps overwrites the beginning of the next channel, so such vectors are written before all
 * others, in the order of the channels. What is there before must not be needed. */
TENON_INLINE void write_taps(const filter_target *to, long at, __local const acc_t *sums,
                             const conv_filter_packed_args *args, const filter_block *b, int taps,
                             int first, int count)
{
    for (int c = 0; c < b->channels; c += TENON_VW) {
        acc_v x[TENON_VW];
        const int lanes = min(TENON_VW, b->channels - c);
        for (int i = 0; i < TENON_VW; i++) {
            const int tap = first + min(i, count - 1);
            x[i] = TENON_VLOAD(0, sums + tap_offset(args, b, tap) + c);
        }
        turn_square(x);
        for (int l = 0; l < lanes; l++) {
            const long line = at + (long)(c + l) * taps + first;
            if (count == TENON_VW || c + l + 1 < b->channels) {
                put_v(to, line, x[l]);
            } else {
                const acc_t *lane = (const acc_t *)&x[l];
                for (int i = 0; i < count; i++) {
                    put(to, line + i, lane[i]);
                }
            }
        }
    }
}

TENON_INLINE void write_filter(const filter_target *to, long at, __local const acc_t *sums,
                               const conv_filter_packed_args *args, const filter_block *b)
{
    const int taps = (int)(args->filter[0] * args->filter[1] * args->filter[2]);
    if (args->taps_join && taps >= TENON_VW / 2 && (to->is_slice || !to->adds)) {
        const int whole = taps / TENON_VW * TENON_VW;
        if (whole < taps) {
            write_taps(to, at, sums, args, b, taps, whole, taps - whole);
        }
        for (int first = 0; first < whole; first += TENON_VW) {
            write_taps(to, at, sums, args, b, taps, first, TENON_VW);
        }
        return;
    }
    for (int tap = 0; tap < taps; tap++) {
        __local const acc_t *from = sums + tap_offset(args, b, tap);
        long number = tap;
        long to_tap = at + cut_index(&number, args->filter[2]) * args->to_stride[4];
        to_tap += cut_index(&number, args->filter[1]) * args->to_stride[3];
        to_tap += number * args->to_stride[2];
        if (args->to_stride[1] == 1) {
            write_channels(to, to_tap, from, b->channels);
        } else {
            for (int c = 0; c < b->channels; c++) {
                put(to, to_tap + c * args->to_stride[1], from[c]);
            }
        }
    }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
conv_filter_packed(__global const data_t *x, __global const data_t *y, __global data_t *dw,
                   __global acc_t *slices, const conv_filter_packed_args args)
{
    __local acc_v packed_x[TENON_BLOCK / TENON_VW + 1]; /* the last vector may reach beyond */
    __local acc_v sums[TENON_BLOCK / TENON_VW + 1];
    __local acc_t packed_y[PACKED_Y_SIZE];
    __local pixel_table table;
    const filter_block b = find_block(&args);
    const long slice = (long)get_global_id(2), first = slice * args.bands;
    const long all = args.blocks[0] * args.blocks[1] * args.blocks[2] * args.blocks[3];
    const long end = min(all, first + args.bands);
    packed_x[TENON_BLOCK / TENON_VW] = splat(0);
    for (long number = first; number < end; number++) {
        const band of = find_band(&args, number);
        pack_band((__local acc_t *)packed_x, x + args.x_offset, &args, &b, &of);
        const int pixels = find_pixels(&table, &args, &b, &of);
        multiply_band(y + args.y_offset, packed_y, (__local const acc_t *)packed_x, &args, &b, &of,
                      &table, pixels, sums, number > first);
    }
    const filter_target to = {dw + args.w_offset, slices + args.sum_offset + slice * args.slice,
                              args.slice != 0, args.adds, TENON_FROM_BITS(args.beta)};
    const int count = b.runs * b.vectors;
    const int pitch = (count + TENON_NV - 1) / TENON_NV * TENON_VW * TENON_NV;
    const long channel = b.channel % args.group_channels;
    for (int k = 0; k < b.filters; k++) {
        write_filter(&to, (b.filter + k) * args.to_stride[0] + channel * args.to_stride[1],
                     (__local const acc_t *)sums + k * pitch, &args, &b);
    }
}
