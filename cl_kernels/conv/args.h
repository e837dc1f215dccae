/* Arguments of the convolution kernels. Strides and offsets are in elements. */
#ifndef TENON_CONV_ARGS_H
#define TENON_CONV_ARGS_H

#include "gemm/args.h"

/* Geometry of a convolution of images x[n, c, d, h, w] with filters w[k, c, t, r, s], which
 * gives y[n, k, o, p, q]. In each of the three dimensions tap t of output o reads element o *
 * stride + start + t * dilation, or 0 if that is outside the image. Dimensions that the caller's
 * images lack come first, with one element. */
typedef struct conv_window {
    tenon_i64 size[3], filter[3], out[3]; /* of x, w and y */
    tenon_i64 stride[3], dilation[3];
    tenon_i64 start[3]; /* usually minus the padding */
} conv_window;

/* col[n, c, t, r, s, o, p, q], with a stride for each dimension. */
typedef struct im2col_args {
    tenon_i64 x_offset, col_offset;
    tenon_i64 x_stride[5], col_stride[8];
    tenon_i64 c;          /* channels */
    tenon_i64 run, lines; /* elements, and lines or pixels, per work-item */
    conv_window window;
} im2col_args;

/* Offsets and strides of the terms after the activation (common/post_args.h). */
#define CONV_POST_MEMBERS                                                                          \
    tenon_i64 post_scale_offset, post_shift_offset, residual_offset; /* set per call */            \
    tenon_i64 post_scale_k, post_shift_k, residual_stride[5];                                      \
    tenon_i64 residual_pixel; /* stride of successive pixels, where used */

typedef struct conv_args {
    tenon_i64 x_offset, w_offset, c_offset, bias_offset, y_offset;
    tenon_i64 alpha, beta, act_alpha, act_beta; /* bits of an acc_t (f32 in the low 32 bits) */
    tenon_i64 x_stride[5], w_stride[5], c_stride[5], y_stride[5];
    tenon_i64 bias_k;
    tenon_i64 group_channels, group_filters; /* channels and filters per group */
    conv_window window;
    tenon_i32 activation; /* run-time kind, TENON_ACT_* */
    tenon_i32 flags;      /* CONV_* */
#if defined(TENON_POST) && TENON_POST
    CONV_POST_MEMBERS
#endif
} conv_args;

#ifndef __OPENCL_VERSION__
/* The same members for the host, which is built once for both kinds of kernels. */
typedef struct conv_post_args {
    CONV_POST_MEMBERS
} conv_post_args;
#endif

/* Implicit GEMM: for each image and group, filters[k, taps] times columns[taps, pixels], where
 * the columns are gathered from the image. */
typedef struct conv_product_args {
    gemm_args gemm;        /* of b, only the batch strides are used */
    tenon_i64 x_stride[3]; /* along d, h and w */
    tenon_i64 channel,
        taps; /* stride of x along its channels, and taps of a filter in each channel */
    /* Tap i of channel c has index c * tap_channel + i * tap_stride within a filter. */
    tenon_i64 tap_channel, tap_stride;
    tenon_i64 channels; /* per group */
    tenon_i64 x_span;   /* elements from the first to the last of a group's image */
    conv_window window;
} conv_product_args;

#define CONV_HAS_C    1 /* beta is not 0; if unset, c is not read */
#define CONV_HAS_BIAS 2 /* if unset, bias is not read */
#define CONV_SKIP_XW  4 /* alpha is 0: x and w are not read */

typedef struct pack_filter_args {
    tenon_i64 w_offset, packed_offset;
    tenon_i64 w_stride[5];
    tenon_i64 c, filter[3];
    tenon_i64 elements; /* of all filters */
} pack_filter_args;

#endif
