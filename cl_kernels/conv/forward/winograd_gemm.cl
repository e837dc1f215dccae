/*
 * Transforms of the Winograd convolution (conv/forward/winograd_transforms.clh) around a matrix
 * product for each point, for GPUs. 3 x 3 filters, stride and dilation 1.
 *
 * conv_winograd_filter_points: u from w. A work-item transforms one filter of one channel;
 *   neighboring work-items have neighboring channels.
 * conv_winograd_tile_points: v from x. A work-item transforms one tile of one channel; neighboring
 *   work-items have tiles or channels, whichever are contiguous in v.
 * conv_winograd_outputs: y from m, with the epilogue. A work-item computes one tile of one filter;
 *   neighboring work-items have tiles or filters, whichever are contiguous in m.
 *
 * Global size: one dimension, one work-item per such pair, at most 2^31 - 1. Local size: any.
 * TENON_DTYPE, TENON_HW_FMA, TENON_ACT_BUILD, TENON_TILE: see common/types.clh,
 * common/activation.clh and conv/forward/winograd_transforms.clh.
 */
#include "common/activation.clh"
#include "conv/forward/winograd_gemm_args.h"
#include "conv/forward/winograd_transforms.clh"

#define TAPS 9

TENON_KERNEL void conv_winograd_filter_points(__global const data_t *w, __global acc_t *work,
                                              const winograd_gemm_args args)
{
    const uint item = (uint)get_global_id(0), channels = (uint)args.conv.group_channels;
    const uint filter = item / channels, channel = item - filter * channels;
    const tenon_i64 *stride = args.conv.w_stride;
    acc_t tap[TAPS], half_way[3 * SIDE], row[SIDE];
    if (filter >= (uint)args.filters) {
        return;
    }
    w += args.conv.w_offset + filter * stride[0] + channel * stride[1];
    work += args.work_offset + item;
#pragma unroll
    for (int i = 0; i < TAPS; i++) {
        tap[i] = load_data(w, i / 3 * stride[3] + i % 3 * stride[4]);
    }
#pragma unroll
    for (int s = 0; s < 3; s++) {
        transform_filter(tap + s, 3, half_way + s, 3);
    }
#pragma unroll
    for (int i = 0; i < SIDE; i++) {
        transform_filter(half_way + 3 * i, 1, row, 1);
#pragma unroll
        for (int j = 0; j < SIDE; j++) {
            work[(i * SIDE + j) * args.u_point] = row[j];
        }
    }
}

/* A work-item's row and tile of one of the matrices. */
typedef struct tile_place {
    uint row, tile, n, y, x; /* position of the tile: image, and index along h and w */
    long at;                 /* offset of the element in the first point's matrix */
} tile_place;

TENON_INLINE tile_place find_tile(const winograd_gemm_args *args, const winograd_matrix *matrix)
{
    const uint item = (uint)get_global_id(0), tiles = (uint)args->count;
    tile_place p;
    if (matrix->tile == 1) {
        p.row = item / tiles;
        p.tile = item - p.row * tiles;
    } else {
        const uint rows = (uint)matrix->tile;
        p.tile = item / rows;
        p.row = item - p.tile * rows;
    }
    const uint number = (uint)args->first + p.tile, line = number / (uint)args->tiles[1];
    p.x = number - line * (uint)args->tiles[1];
    p.n = line / (uint)args->tiles[0];
    p.y = line - p.n * (uint)args->tiles[0];
    p.at = args->work_offset + matrix->at + p.row * matrix->row + p.tile * matrix->tile;
    return p;
}

TENON_KERNEL void conv_winograd_tile_points(__global const data_t *x, __global acc_t *work,
                                            const winograd_gemm_args args)
{
    const tile_place p = find_tile(&args, &args.v);
    const tenon_i64 *stride = args.conv.x_stride, *size = args.conv.window.size;
    const long h = (long)p.y * TENON_TILE + args.conv.window.start[1],
               w = (long)p.x * TENON_TILE + args.conv.window.start[2];
    acc_t tile[POINTS], half_way[POINTS], row[SIDE];
    if (p.row >= (uint)args.channels || p.tile >= (uint)args.count) {
        return;
    }
    work += p.at;
    x += args.conv.x_offset + p.n * stride[0] + p.row * stride[1] + h * stride[3] + w * stride[4];
#pragma unroll
    for (int i = 0; i < SIDE; i++) {
        const int is_row = h + i >= 0 && h + i < size[1];
#pragma unroll
        for (int j = 0; j < SIDE; j++) {
            tile[i * SIDE + j] = 0;
            if (is_row && w + j >= 0 && w + j < size[2]) {
                tile[i * SIDE + j] = load_data(x, i * stride[3] + j * stride[4]);
            }
        }
    }
#pragma unroll
    for (int j = 0; j < SIDE; j++) {
        transform_input(tile + j, SIDE, half_way + j, SIDE);
    }
#pragma unroll
    for (int i = 0; i < SIDE; i++) {
        transform_input(half_way + i * SIDE, 1, row, 1);
#pragma unroll
        for (int j = 0; j < SIDE; j++) {
            work[(i * SIDE + j) * args.v.point] = row[j];
        }
    }
}

/* Returns act(alpha * product + beta * c + bias), for element `at` of c. */
TENON_INLINE acc_t finish(acc_t product, const conv_args *a, __global const data_t *c, long at,
                          acc_t bias, const activation_args *activation)
{
    acc_t result = TENON_FROM_BITS(a->alpha) * product;
    if (a->flags & CONV_HAS_C) {
        result = TENON_FMA(TENON_FROM_BITS(a->beta), load_data(c, at), result);
    }
    return activate(result + bias, activation);
}

/* Stores the first `count` elements of a tile's row, `stride` elements apart, as a vector if
 * they are contiguous and aligned. */
TENON_INLINE void store_row(__global data_t *y, long stride, int count, const acc_t *row)
{
#if TENON_DATA_IS_ACC
    if (count == TENON_TILE && stride == 1 && ((size_t)y & (TENON_TILE * sizeof(acc_t) - 1)) == 0) {
#if TENON_TILE == 2
        *(__global TENON_CAT(TENON_ACC, 2) *)y = (TENON_CAT(TENON_ACC, 2))(row[0], row[1]);
#else
        *(__global TENON_CAT(TENON_ACC, 4) *)y =
            (TENON_CAT(TENON_ACC, 4))(row[0], row[1], row[2], row[3]);
#endif
        return;
    }
#endif
#pragma unroll
    for (int j = 0; j < TENON_TILE; j++) {
        if (j < count) {
            store_data(y, j * stride, row[j]);
        }
    }
}

TENON_KERNEL void conv_winograd_outputs(__global const data_t *c, __global const data_t *bias,
                                        __global data_t *y, __global const acc_t *work,
                                        const winograd_gemm_args args)
{
    const conv_args *a = &args.conv;
    const tile_place p = find_tile(&args, &args.m);
    const long row = (long)p.y * TENON_TILE, column = (long)p.x * TENON_TILE;
    const int rows = (int)min((long)TENON_TILE, a->window.out[1] - row),
              columns = (int)min((long)TENON_TILE, a->window.out[2] - column);
    acc_t product[SIDE], half_way[TENON_TILE * SIDE], result[TENON_TILE], added = 0;
    activation_args activation;
    if (p.row >= (uint)args.filters || p.tile >= (uint)args.count) {
        return;
    }
    activation.kind = a->activation;
    activation.alpha = TENON_FROM_BITS(a->act_alpha);
    activation.beta = TENON_FROM_BITS(a->act_beta);
    work += p.at;
#pragma unroll
    for (int j = 0; j < SIDE; j++) {
#pragma unroll
        for (int i = 0; i < SIDE; i++) {
            product[i] = work[(i * SIDE + j) * args.m.point];
        }
        transform_output(product, 1, half_way + j, SIDE);
    }
    if (a->flags & CONV_HAS_BIAS) {
        added = load_data(bias, a->bias_offset + p.row * a->bias_k);
    }
    y += a->y_offset + p.n * a->y_stride[0] + p.row * a->y_stride[1] + row * a->y_stride[3] +
         column * a->y_stride[4];
    c += a->c_offset + p.n * a->c_stride[0] + p.row * a->c_stride[1] + row * a->c_stride[3] +
         column * a->c_stride[4];
#pragma unroll
    for (int i = 0; i < TENON_TILE; i++) {
        transform_output(half_way + i * SIDE, 1, result, 1);
        if (i < rows) {
#pragma unroll
            for (int j = 0; j < TENON_TILE; j++) {
                if (j < columns) {
                    result[j] = finish(result[j], a, c, i * a->c_stride[3] + j * a->c_stride[4],
                                       added, &activation);
                }
            }
            store_row(y + i * a->y_stride[3], a->y_stride[4], columns, result);
        }
    }
}
