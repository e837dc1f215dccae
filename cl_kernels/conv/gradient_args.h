/* Arguments of the gradients of a convolution. Strides and offsets are in elements. */
#ifndef TENON_CONV_GRADIENT_ARGS_H
#define TENON_CONV_GRADIENT_ARGS_H

#include "conv/args.h"

/* The sub-filter of an element of x: the taps that read it. In each dimension the next tap of
 * the sub-filter is `tap` taps further, and its output is `out` outputs earlier. With g the
 * greatest common divisor of stride and dilation these are stride / g and dilation / g. */
typedef struct conv_subfilter {
    tenon_i64 tap[3], out[3];
} conv_subfilter;

/* In conv, x is the result, c and bias have its shape, and y is read. */
typedef struct conv_reverse_args {
    conv_args conv;
    conv_subfilter subfilter;
} conv_reverse_args;

/* x[n, c, d, h, w] = act(alpha * (sum of col[n, c, t, r, s, o, p, q]) + beta * res + bias). */
typedef struct col2im_args {
    tenon_i64 col_offset, res_offset, bias_offset, x_offset;
    tenon_i64 alpha, beta, act_alpha, act_beta; /* bits of an acc_t (f32 in the low 32 bits) */
    tenon_i64 col_stride[8], res_stride[5], x_stride[5];
    tenon_i64 bias_c;
    tenon_i64 col_span; /* elements from the first to the last of col, inclusive */
    tenon_i64 c;        /* channels */
    tenon_i64 run;      /* specific to the kernel */
    conv_window window;
    conv_subfilter subfilter;
    tenon_i32 activation; /* run-time kind, TENON_ACT_* */
    tenon_i32 flags;      /* CONV_* */
} col2im_args;

/* The gradient of the image by products whose columns are folded immediately. */
typedef struct conv_data_packed_args {
    conv_args conv;
    conv_subfilter subfilter;
    tenon_i64 y_span, w_span; /* elements from the first to the last, inclusive */
    tenon_i64 n, channels;    /* images; channels per work-group */
    tenon_i64 images, band;   /* images, and lines of x along h, per work-group */
    tenon_i64 phases[3];      /* taps along a dimension until they read the same elements again */
    tenon_i64 rows, pitch;    /* of a plane of sums */
    tenon_i64 rows_join;      /* 1: the taps of all channels are contiguous in w */
} conv_data_packed_args;

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

/* The gradient of the filters by blocks that are packed in local memory. If the filter has only
 * one element along h or w, only the image elements that it reads are packed: one packed
 * position is `skip` positions of the image, and `stride` and `dilation` are in packed
 * positions. */
typedef struct conv_filter_packed_args {
    tenon_i64 x_offset, y_offset, w_offset, sum_offset;
    tenon_i64 beta; /* bits of an acc_t */
    tenon_i64 x_stride[5], y_stride[5];
    tenon_i64 to_stride[5]; /* strides of dw, or of a slice's sums */
    tenon_i64 x_span;       /* elements from the first to the last of x, inclusive */
    tenon_i64 n, group_channels, group_filters;
    tenon_i64 channels, filters;    /* per work-group */
    tenon_i64 images, lines, width; /* of a band: images, lines per image, and pixels per line */
    tenon_i64 blocks[4];            /* number of bands along n, o, p and q */
    tenon_i64 bands;                /* per slice */
    tenon_i64 slice; /* elements of a slice's sums; 0: there is one slice, which writes dw */
    tenon_i64 run;   /* taps along w with contiguous channels: all, or 1 */
    tenon_i64 skip[3], stride[3], dilation[3];
    tenon_i64 rows, pitch;                          /* packed: rows per plane, positions per row */
    tenon_i64 size[3], filter[3], out[3], start[3]; /* as conv_window */
    tenon_i32 adds;
    tenon_i32 taps_join; /* 1: the taps of all channels are contiguous in the output */
} conv_filter_packed_args;

/* A dense array of acc_t, and the strided tensor with which it exchanges data. */
typedef struct conv_pack_args {
    tenon_i64 tensor_offset, packed_offset;
    tenon_i64 beta; /* bits of an acc_t */
    tenon_i64 shape[5], stride[5];
    tenon_i64 run;         /* elements per work-item, along the last dimension */
    tenon_i64 parts, part; /* arrays to be added, and elements per array */
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
    tenon_i64 lines; /* n * o * p: each has q elements */
    tenon_i64 chunk; /* lines per part */
    tenon_i64 parts;
    tenon_i32 adds;
    tenon_i32 reserved;
} conv_bias_args;

#endif
