/* Arguments of the convolution kernels. Strides and offsets are in elements. */
#ifndef TENON_CONV_ARGS_H
#define TENON_CONV_ARGS_H

#include "common/args.h"

/* Images x[n, c, h, w] laid under a filter of size r × s: tap (r, s) of output (p, q) reads row
 * p * stride_h + h_start + r * dilation_h and column q * stride_w + w_start + s * dilation_w. */
typedef struct conv_window {
    tenon_i64 h, w, r, s, p, q;
    tenon_i64 stride_h, stride_w, dilation_h, dilation_w;
    tenon_i64 h_start, w_start; /* minus the padding, usually */
} conv_window;

/* col[n, c, r, s, p, q], each dimension with a stride of its own. */
typedef struct im2col_args {
    tenon_i64 x_offset, col_offset;
    tenon_i64 x_n, x_c, x_h, x_w;
    tenon_i64 col_n, col_c, col_r, col_s, col_p, col_q;
    tenon_i64 c;   /* channels */
    tenon_i64 run; /* elements of a work-item */
    conv_window window;
} im2col_args;

typedef struct conv_args {
    tenon_i64 x_offset, w_offset, c_offset, bias_offset, y_offset;
    tenon_i64 alpha, beta, act_alpha, act_beta; /* bits of an acc_t (f32 in the low 32 bits) */
    tenon_i64 x_n, x_c, x_h, x_w;
    tenon_i64 w_k, w_c, w_r, w_s;
    tenon_i64 c_n, c_k, c_p, c_q;
    tenon_i64 y_n, y_k, y_p, y_q;
    tenon_i64 bias_k;
    tenon_i64 group_channels, group_filters; /* channels and filters of a group */
    conv_window window;
    tenon_i32 activation; /* run-time kind, TENON_ACT_* */
    tenon_i32 flags;      /* CONV_* */
} conv_args;

#define CONV_HAS_C    1 /* beta is not 0; without it c is not read */
#define CONV_HAS_BIAS 2 /* without it bias is not read */
#define CONV_SKIP_XW  4 /* alpha is 0: x and w are not read */

typedef struct pack_filter_args {
    tenon_i64 w_offset, packed_offset;
    tenon_i64 w_k, w_c, w_r, w_s;
    tenon_i64 c, r, s;
    tenon_i64 elements; /* of all filters */
} pack_filter_args;

#endif
