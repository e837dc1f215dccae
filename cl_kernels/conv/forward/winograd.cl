/*
 * Winograd convolution for CPUs: 3 x 3 filters, stride and dilation 1 (conv/forward/winograd.clh).
 *
 * A work-group processes sets of tiles. It transforms the image part under the tiles of a set, for
 * all channels. Then, panel by panel, it multiplies each point's matrix, tiles by channels, by that
 * point's channels by filters, and transforms the products of the panel back. The transformed image
 * and the products are in a slice of the workspace that the work-group reuses for every set, to
 * keep them in its cache. The filters are transformed before, to `u`, by a separate launch of the
 * same kernel (one kernel to compile), or when they are packed. If no other work-group needs the
 * same filters, they are transformed on the fly instead, some channels at a time.
 *
 * Vectors lie along channels, and along filters. Images that are contiguous along w are transposed
 * square by square, on load and on store, through `patch`: the pixels that a run of tiles of one
 * row reads or writes, with a vector per pixel.
 *
 * Global size: {slices, parts of the panels, groups}, or for filters only {panels, blocks of
 * channels, groups}; local size {1, 1, 1}.
 *
 * TENON_MR: tiles that are multiplied at once: MR * NV accumulators.
 *
 * Other macros: see conv/forward/winograd.clh, common/types.clh and common/activation.clh.
 */
#ifndef TENON_MR
#define TENON_MR 6
#endif
#include "conv/forward/winograd_filter.clh"

#include "common/activation.clh"
#include "conv/forward/winograd_tiles.clh"

#define PAIR 2 /* rows of the remaining tiles */

/* Adds the products of one channel of `rows` tiles and a panel of filters. */
TENON_INLINE void multiply_step(const int rows, acc_v sum[TENON_MR][TENON_NV],
                                __global const acc_t *v, long v_row, __global const acc_t *u)
{
    acc_v filter[TENON_NV];
#pragma unroll
    for (int j = 0; j < TENON_NV; j++) {
        filter[j] = TENON_VLOAD(j, u);
    }
#pragma unroll
    for (int i = 0; i < rows; i++) {
        const acc_v pixel = splat(v[i * v_row]);
#pragma unroll
        for (int j = 0; j < TENON_NV; j++) {
            sum[i][j] = TENON_FMA(pixel, filter[j], sum[i][j]);
        }
    }
}

/* m[tile][lane] = the sum over the channels of v[tile][c] * u[c][lane], plus the previous m if
 * `adds`. `rows` is a constant in every inlined copy. */
TENON_INLINE void multiply_rows(const int rows, __global const acc_t *v, long v_row,
                                __global const acc_t *u, long channels, int adds, __global acc_t *m)
{
    acc_v sum[TENON_MR][TENON_NV];
#pragma unroll
    for (int i = 0; i < rows; i++) {
#pragma unroll
        for (int j = 0; j < TENON_NV; j++) {
            sum[i][j] = splat(0);
            if (adds) {
                sum[i][j] = TENON_VLOAD(j, m + i * PANEL);
            }
        }
    }
    long c = 0;
    for (; c + 2 <= channels; c += 2) { /* unrolled by hand: see gemm/cpu_tile.clh */
        multiply_step(rows, sum, v + c, v_row, u + c * PANEL);
        multiply_step(rows, sum, v + c + 1, v_row, u + (c + 1) * PANEL);
    }
    if (c < channels) {
        multiply_step(rows, sum, v + c, v_row, u + c * PANEL);
    }
#pragma unroll
    for (int i = 0; i < rows; i++) {
#pragma unroll
        for (int j = 0; j < TENON_NV; j++) {
            TENON_VSTORE(sum[i][j], j, m + i * PANEL);
        }
    }
}

/* Computes the products of one point: full register tiles, then pairs. A single row is computed
 * as a pair of the same row; m has room for the second. */
TENON_FUNCTION void multiply_point(__global const acc_t *v, long v_row, __global const acc_t *u,
                                   long channels, int tiles, int adds, __global acc_t *m)
{
    int t = 0;
    for (; t + TENON_MR <= tiles; t += TENON_MR) {
        multiply_rows(TENON_MR, v + t * v_row, v_row, u, channels, adds, m + t * PANEL);
    }
    for (; t < tiles; t += PAIR) {
        multiply_rows(PAIR, v + t * v_row, t + 1 < tiles ? v_row : 0, u, channels, adds,
                      m + t * PANEL);
    }
}

/* Transforms a tile's products to its outputs. */
TENON_INLINE void transform_back(__global const acc_t *m, long point, __local acc_v *patch)
{
    acc_v half_way[TENON_TILE * SIDE], column[SIDE], row[TENON_TILE];
#pragma unroll
    for (int j = 0; j < SIDE; j++) {
#pragma unroll
        for (int i = 0; i < SIDE; i++) {
            column[i] = TENON_VLOAD(0, m + (i * SIDE + j) * point);
        }
        transform_output(column, 1, half_way + j, SIDE);
    }
#pragma unroll
    for (int i = 0; i < TENON_TILE; i++) {
        transform_output(half_way + i * SIDE, 1, row, 1);
#pragma unroll
        for (int j = 0; j < TENON_TILE; j++) {
            patch[i * PATCH_COLS + j] = row[j];
        }
    }
}

/* Offsets of a vector's first lane in y, c and the bias, and their steps from lane to lane. */
typedef struct output_place {
    long y, c, bias, y_stride, c_step, bias_step;
} output_place;

/* Stores the first lanes of a vector to consecutive elements, in as few vector stores as
 * possible. */
TENON_INLINE void store_leading(__global data_t *y, long at, int lanes, acc_v x)
{
#if TENON_DATA_IS_ACC
    acc_t lane[TENON_VW];
    int l = 0;
    TENON_VSTORE(x, 0, lane);
#if TENON_VW > 8
    if (lanes & 8) {
        vstore8(vload8(0, lane), 0, y + at);
        l = 8;
    }
#endif
#if TENON_VW > 4
    if (lanes & 4) {
        vstore4(vload4(0, lane + l), 0, y + at + l);
        l += 4;
    }
#endif
    for (; l < lanes; l++) {
        y[at + l] = lane[l];
    }
#else
    store_lanes(y, at, 1, lanes, x);
#endif
}

/* y = act(alpha * product + beta * c + bias) */
TENON_INLINE void store_output(__global const data_t *c, __global const data_t *bias,
                               __global data_t *y, const conv_args *args, const output_place *place,
                               int lanes, acc_v product)
{
    activation_args activation;
    acc_v result = splat(TENON_FROM_BITS(args->alpha)) * product;
    activation.kind = args->activation;
    activation.alpha = TENON_FROM_BITS(args->act_alpha);
    activation.beta = TENON_FROM_BITS(args->act_beta);
    if (args->flags & CONV_HAS_C) {
        result = TENON_FMA(splat(TENON_FROM_BITS(args->beta)),
                           load_lanes(c, place->c, place->c_step, lanes), result);
    }
    if (args->flags & CONV_HAS_BIAS) {
        result += load_lanes(bias, place->bias, place->bias_step, lanes);
    }
    result = activate_v(result, &activation);
    if (place->y_stride == 1 && lanes < TENON_VW) {
        store_leading(y, place->y, lanes, result);
    } else {
        store_lanes(y, place->y, place->y_stride, lanes, result);
    }
}

/* Stores columns of a row of the patch, filter by filter, to an output that is contiguous along
 * w. */
TENON_INLINE void transpose_out(__local const acc_v *row, __global const data_t *c,
                                __global const data_t *bias, __global data_t *y,
                                const conv_args *args, output_place place, int columns, int filters)
{
    for (int b = 0; b < columns; b += TENON_VW) {
        acc_v square[TENON_VW];
#pragma unroll
        for (int j = 0; j < TENON_VW; j++) {
            square[j] = row[b + j];
        }
        transpose_square(square);
        for (int l = 0; l < filters; l++) {
            const output_place at = {place.y + b + l * args->y_stride[1],
                                     place.c + b * args->c_stride[4] + l * args->c_stride[1],
                                     place.bias + l * args->bias_k,
                                     1,
                                     args->c_stride[4],
                                     0};
            store_output(c, bias, y, args, &at, min(columns - b, TENON_VW), square[l]);
        }
    }
}

/* Stores the same pixel by pixel, to any output. */
TENON_INLINE void gather_out(__local const acc_v *row, __global const data_t *c,
                             __global const data_t *bias, __global data_t *y, const conv_args *args,
                             output_place place, int columns, int filters)
{
    place.y_stride = args->y_stride[1];
    place.c_step = args->c_stride[1];
    place.bias_step = args->bias_k;
    for (int j = 0; j < columns; j++) {
        store_output(c, bias, y, args, &place, filters, row[j]);
        place.y += args->y_stride[4];
        place.c += args->c_stride[4];
    }
}

/* Stores a run of tiles, for the filters from `k` on, counted over all groups. */
TENON_INLINE void store_patch(__local acc_v patch[SIDE][PATCH_COLS], __global const data_t *c,
                              __global const data_t *bias, __global data_t *y,
                              const conv_args *args, const tile_run *run, long k, int filters)
{
    const long p = run->y * TENON_TILE, q = run->x * TENON_TILE;
    const int rows = (int)min((long)TENON_TILE, args->window.out[1] - p);
    const int columns = (int)min((long)run->count * TENON_TILE, args->window.out[2] - q);
    for (int i = 0; i < rows; i++) {
        const output_place place = {
            args->y_offset + run->n * args->y_stride[0] + k * args->y_stride[1] +
                (p + i) * args->y_stride[3] + q * args->y_stride[4],
            args->c_offset + run->n * args->c_stride[0] + k * args->c_stride[1] +
                (p + i) * args->c_stride[3] + q * args->c_stride[4],
            args->bias_offset + k * args->bias_k,
            0,
            0,
            0};
        if (args->y_stride[4] == 1) {
            transpose_out(patch[i], c, bias, y, args, place, columns, filters);
        } else {
            gather_out(patch[i], c, bias, y, args, place, columns, filters);
        }
    }
}

/* Transforms a panel's products and stores the outputs. */
TENON_LOCAL_FUNCTION void finish_set(__global const acc_t *m, __global const data_t *c,
                                     __global const data_t *bias, __global data_t *y,
                                     const winograd_args *args, long first, int tiles, long group,
                                     long panel, __local acc_v patch[SIDE][PATCH_COLS])
{
    const long filters = args->conv.group_filters;
    for (int t = 0; t < tiles;) {
        const tile_run run = next_run(args, first + t, t, tiles - t);
        for (int j = 0; j < TENON_NV; j++) {
            const long k = panel * PANEL + j * TENON_VW;
            if (k < filters) {
                for (int i = 0; i < run.count; i++) {
                    transform_back(m + (run.first + i) * PANEL + j * TENON_VW, args->m_point,
                                   &patch[0][i * TENON_TILE]);
                }
                store_patch(patch, c, bias, y, &args->conv, &run, group * filters + k,
                            (int)min(filters - k, (long)TENON_VW));
            }
        }
        t += run.count;
    }
}

/* Computes the products of a set with one panel; for filters only, transforms the panel in
 * channels [c0, c1). */
TENON_INLINE void multiply_set(__global const data_t *w, __global acc_t *u,
                               const winograd_args *args, __global acc_t *slice, int tiles,
                               long group, long panel, long c0, long c1)
{
    __global acc_t *m = slice + args->m;
    u += group * args->u_group + panel * args->u_panel + c0 * PANEL;
    if (args->own_u) {
        u = slice + args->own_u;
    }
    for (long c = c0; c < c1; c += args->block) {
        const long count = min((long)args->block, c1 - c);
        if (args->own_u || args->filters_only) {
            transform_filters(w, &args->filters, group, panel, c, c + count, u, args->u_point);
        }
        for (int e = 0; e < POINTS && !args->filters_only; e++) {
            multiply_point(slice + e * args->v_point + c, args->v_row, u + e * args->u_point, count,
                           tiles, c > 0, m + e * args->m_point);
        }
    }
}

TENON_VECTOR_KERNEL __attribute__((reqd_work_group_size(1, 1, 1))) void
conv_winograd(__global const data_t *x, __global const data_t *w, __global const data_t *c,
              __global const data_t *bias, __global data_t *y, __global acc_t *u,
              __global acc_t *work, const winograd_args args)
{
    __local acc_v patch[SIDE][PATCH_COLS];
    const long number = (long)get_global_id(0), slices = (long)get_global_size(0);
    const long part = (long)get_global_id(1), group = (long)get_global_id(2);
    const int alone = args.filters_only != 0;
    const long channels = args.conv.group_channels, c0 = alone ? part * args.block : 0;
    const long c1 = alone ? min(c0 + args.block, channels) : channels;
    const long p0 = alone ? number : part * args.part;
    const long p1 = alone ? number + 1 : min(p0 + args.part, (long)args.panels);
    u += args.u_offset;
    __global acc_t *slice =
        work + args.work_offset + args.slices +
        ((group * (long)get_global_size(1) + part) * slices + number) * args.slice;
    for (long first = alone ? 0 : number * args.set_tiles; first < args.all_tiles;
         first += slices * args.set_tiles) {
        const int tiles = (int)min((long)args.set_tiles, args.all_tiles - first);
        if (!alone) {
            transform_set(x + args.conv.x_offset, &args, first, tiles, group, patch, slice);
        }
        for (long p = p0; p < p1; p++) {
            multiply_set(w + args.conv.w_offset, u, &args, slice, tiles, group, p, c0, c1);
            if (!alone) {
                finish_set(slice + args.m, c, bias, y, &args, first, tiles, group, p, patch);
            }
        }
    }
}
