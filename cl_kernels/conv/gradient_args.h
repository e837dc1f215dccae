/* Arguments of the kernels that run a convolution backwards. Strides and offsets are in elements.
 */
#ifndef TENON_CONV_GRADIENT_ARGS_H
#define TENON_CONV_GRADIENT_ARGS_H

#include "conv/args.h"

/* The taps that meet one element of x, in each dimension: from one such tap to the next it is
 * `tap` taps, and the output that it belongs to lies `out` outputs earlier. With g the greatest
 * common divisor of step and dilation these are step / g and dilation / g. */
typedef struct conv_meeting {
    tenon_i64 tap[3], out[3];
} conv_meeting;

/* In conv, x is what is written, and c and bias are shaped like it; y is read. */
typedef struct conv_reverse_args {
    conv_args conv;
    conv_meeting meeting;
} conv_reverse_args;

/* x[n, c, d, h, w] = act(alpha * (sum of col[n, c, t, r, s, o, p, q]) + beta * res + bias). */
typedef struct col2im_args {
    tenon_i64 col_offset, res_offset, bias_offset, x_offset;
    tenon_i64 alpha, beta, act_alpha, act_beta; /* bits of an acc_t (f32 in the low 32 bits) */
    tenon_i64 col_stride[8], res_stride[5], x_stride[5];
    tenon_i64 bias_c;
    tenon_i64 col_span; /* elements from the first of col to the last, both included */
    tenon_i64 c;        /* channels */
    tenon_i64 run;      /* a kernel's own */
    conv_window window;
    conv_meeting meeting;
    tenon_i32 activation; /* run-time kind, TENON_ACT_* */
    tenon_i32 flags;      /* CONV_* */
} col2im_args;

/* dw = sum of dy times x, plus beta * dw. */
typedef struct conv_filter_args {
    tenon_i64 x_offset, y_offset, w_offset;
    tenon_i64 beta; /* bits of an acc_t */
    tenon_i64 x_stride[5], y_stride[5], w_stride[5];
    tenon_i64 n, group_channels, group_filters;
    conv_window window;
    tenon_i32 adds; /* 1: beta is not 0; otherwise dw is not read */
    tenon_i32 reserved;
} conv_filter_args;

/* A dense array of acc_t, and what a strided tensor holds. */
typedef struct conv_pack_args {
    tenon_i64 tensor_offset, packed_offset;
    tenon_i64 beta; /* bits of an acc_t */
    tenon_i64 shape[5], stride[5];
    tenon_i64 run;         /* elements of a work-item, along the last dimension */
    tenon_i64 parts, part; /* arrays that are added up, and the elements of each */
    tenon_i32 adds;
    tenon_i32 reserved;
} conv_pack_args;

/* db[k] = sum of dy[n, k, o, p, q], plus beta * db. */
typedef struct conv_bias_args {
    tenon_i64 y_offset, sum_offset, b_offset;
    tenon_i64 beta; /* bits of an acc_t */
    tenon_i64 y_stride[5], b_stride;
    tenon_i64 out[3];
    tenon_i64 k;
    tenon_i64 lines; /* n * o * p: each is q elements long */
    tenon_i64 chunk; /* lines of a part */
    tenon_i64 parts;
    tenon_i32 adds;
    tenon_i32 reserved;
} conv_bias_args;

#endif
