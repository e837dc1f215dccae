/*
 * Convolution of images with their channels last by filters that have been packed in panels
 * (packed/args.h), for CPUs: the product of packed/gemm_cpu.cl, whose rows are output pixels and
 * are gathered from the images. A work-item computes args.shape.tile_rows pixels by
 * args.shape.tile_cols filters of a group, a multiple of the tile width.
 *
 * Global size: {groups * args.shape.blocks, ceil(pixels / tile_rows), ceil(all pixels / pixels)},
 * local size {1, 1, 1}. Blocks of filters begin with the first panel that contains a filter of the
 * group. The channels of x and y are contiguous; c and bias may have any strides.
 *
 * The macros are those of packed/tile.clh.
 */
#include "packed/tile.clh" /* first: it has the defaults of the macros */

#include "packed/gather.clh"
#include "packed/pixels.clh"
#include "packed/product.clh"

TENON_VECTOR_KERNEL __attribute__((reqd_work_group_size(1, 1, 1))) void
packed_conv_cpu(__global const data_t *x, __global const data_t *w, __global const data_t *c,
                __global const data_t *bias, __global data_t *y,
                GEMM_POST_POINTERS const packed_conv_args args)
{
    __local acc_v rows_of_a[TENON_MR * TENON_A_PITCH / TENON_VW]; /* as vectors, for alignment */
    __local acc_t sums[TENON_SUMS_SIZE];
    acc_v tile[PANEL_TILE_VECTORS];
    const conv_args *a = &args.conv;
    const long group = (long)get_global_id(0) / args.shape.blocks, filters = a->group_filters,
               first = group * filters / TENON_PANEL * TENON_PANEL +
                       ((long)get_global_id(0) - group * args.shape.blocks) * args.shape.tile_cols;
    panel_source source;
    panel_block block;
    source.x = x + a->x_offset;
    source.channel = group * a->group_channels;
    source.args = &args;
    source.first = (long)get_global_id(2) * args.shape.pixels;
    const gemm_epilogue e = pixel_epilogue(c, bias, y, PIXEL_POST a, args.shape.y_pixel,
                                           args.shape.c_pixel, source.first);
    block.m0 = (long)get_global_id(1) * args.shape.tile_rows;
    block.m1 = min(args.shape.pixels, block.m0 + args.shape.tile_rows);
    block.n0 = max(group * filters, first);
    block.n1 = min((group + 1) * filters, first + args.shape.tile_cols);
    block.k_end =
        a->window.filter[0] * a->window.filter[1] * a->window.filter[2] * a->group_channels;
    block.panel = block.k_end * TENON_PANEL;
    block.last = (block.n1 - 1) / TENON_PANEL;
    panel_product(&source, &e, w + a->w_offset, &block, (__local acc_t *)rows_of_a, sums, tile);
}
