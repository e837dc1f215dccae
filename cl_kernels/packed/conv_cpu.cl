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
#include "packed/product.clh"

/* Returns the offset of a pixel in y, or in the residual. */
TENON_INLINE long pixel_start(const conv_window *v, const tenon_i64 *stride, long number)
{
    const long q = cut_index(&number, v->out[2]), p = cut_index(&number, v->out[1]),
               o = cut_index(&number, v->out[0]);
    return number * stride[0] + o * stride[2] + p * stride[3] + q * stride[4];
}

/* Returns the epilogue of the pixels from `first` on, as rows. */
TENON_INLINE gemm_epilogue pixel_epilogue(__global const data_t *c, __global const data_t *bias,
                                          __global data_t *y,
                                          GEMM_POST_POINTERS const packed_conv_args *args,
                                          long first)
{
    const conv_args *a = &args->conv;
    gemm_epilogue e;
    e.c = c + a->c_offset + pixel_start(&a->window, a->c_stride, first);
    e.bias = bias + a->bias_offset;
    e.d = y + a->y_offset + pixel_start(&a->window, a->y_stride, first);
    e.c_row = args->shape.c_pixel;
    e.c_col = a->c_stride[1];
    e.bias_row = 0;
    e.bias_col = a->bias_k;
    e.d_row = args->shape.y_pixel;
    e.d_col = 1;
    e.alpha = TENON_FROM_BITS(a->alpha);
    e.beta = TENON_FROM_BITS(a->beta);
    e.flags = ((a->flags & CONV_HAS_C) ? GEMM_HAS_C : 0) |
              ((a->flags & CONV_HAS_BIAS) ? GEMM_HAS_BIAS : 0);
    e.activation.kind = a->activation;
    e.activation.alpha = TENON_FROM_BITS(a->act_alpha);
    e.activation.beta = TENON_FROM_BITS(a->act_beta);
#if TENON_POST
    e.flags |= a->flags & TENON_POST_ANY;
    e.post_scale = post_scale + a->post_scale_offset;
    e.post_shift = post_shift + a->post_shift_offset;
    e.residual = residual + a->residual_offset + pixel_start(&a->window, a->residual_stride, first);
    e.post_scale_row = 0;
    e.post_scale_col = a->post_scale_k;
    e.post_shift_row = 0;
    e.post_shift_col = a->post_shift_k;
    e.residual_row = a->residual_pixel;
    e.residual_col = a->residual_stride[1];
#endif
    return e;
}

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
#if TENON_POST
    const gemm_epilogue e =
        pixel_epilogue(c, bias, y, post_scale, post_shift, residual, &args, source.first);
#else
    const gemm_epilogue e = pixel_epilogue(c, bias, y, &args, source.first);
#endif
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
