/*
 * Gradient of a convolution's filters for CPUs: dy times the image's columns, which are not
 * materialized.
 *
 * A work-group handles some channels and some filters of a group, and a slice of the outputs, which
 * it processes in bands. For each band it packs its channels of the image, padded, with the
 * channels of a position contiguous. A vector of columns then has a constant offset from the
 * filter's position, whichever its tap, and is loaded where it is multiplied.
 *
 * A run is a sequence of taps whose channels are contiguous in a packed row: all taps along w if
 * there is no dilation, otherwise one. Each run is divided into vectors. The last vector may read
 * past the run, in lanes that are never stored. The sums of a work-group stay in local memory, in
 * acc_t, until its last band. They are then written to dw, or to the workspace in which the slices
 * are added.
 *
 * Global size: {blocks of channels * groups, blocks of filters, slices}, local size {1, 1, 1}.
 *
 * TENON_VW, TENON_DTYPE, TENON_HW_FMA: see common/types.clh.
 * TENON_MR, TENON_NV: filters, and vectors of columns, of the register tile.
 * TENON_Y_IN_PLACE: 1: dy is broadcast directly from memory; 0: it is converted first.
 * TENON_BLOCK: elements of local memory for the packed image, and for the sums.
 * TENON_PIXELS: the maximum number of pixels of a band.
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
#include "conv/filter/implicit_packed_write.clh"

#if TENON_Y_IN_PLACE
typedef __global const data_t *tile_y;
#define TILE_LOAD_Y(y, stride, i) load_data(y, (i) * (stride))
#define PACKED_Y_SIZE             1
#else
typedef __local const acc_t *tile_y;
#define TILE_LOAD_Y(y, stride, i) ((y)[i])
#define PACKED_Y_SIZE             (TENON_PIXELS * TENON_MR)
#endif

/* Offsets of each pixel of a band, in the packed image and in dy or its converted copy. */
typedef struct pixel_table {
    long y[TENON_PIXELS];
    int x[TENON_PIXELS];
} pixel_table;

TENON_INLINE int find_pixels(__local pixel_table *table, const conv_filter_packed_args *args,
                             const filter_block *b, const band *of)
{
    int i = 0;
    for (int n = 0; n < of->images; n++) {
        for (int p = 0; p < of->lines; p++) {
            const int row = n * (int)(args->filter[0] * args->rows) + p * (int)args->stride[1];
            for (int q = 0; q < of->width; q++, i++) {
                table->x[i] = (row * (int)args->pitch + q * (int)args->stride[2]) * b->channels;
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
/* Packs `rows` filters of dy in a band, pixel by pixel. */
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

/* to[i * pitch + v] (+)= the band's sum for filter i and vector v. `rows` is a constant in every
 * inlined copy. A single loop with a table of pixels: with one loop per dimension the compiler
 * keeps the sums in memory. */
TENON_INLINE void sum_band(const int rows, int stored, tile_y y, long y_row, __local const acc_t *x,
                           __local const pixel_table *table, int pixels, const long *at,
                           __local acc_v *to, int pitch, int adds)
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

/* Multiplies all filters and columns of a packed band: full tiles of filters, then pairs; the
 * last pair may consist of the same filter twice. */
TENON_LOCAL_FUNCTION void multiply_band(__global const data_t *y, __local acc_t *packed_y,
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

TENON_VECTOR_KERNEL __attribute__((reqd_work_group_size(1, 1, 1))) void
conv_filter_packed(__global const data_t *x, __global const data_t *y, __global data_t *dw,
                   __global acc_t *slices, const conv_filter_packed_args args)
{
    __local acc_v packed_x[TENON_BLOCK / TENON_VW + 1]; /* room for the last vector */
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
