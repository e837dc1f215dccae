/* Arguments of the kernels that run a convolution backwards. Strides and offsets are in elements.
 */
#ifndef TENON_CONV_GRADIENT_ARGS_H
#define TENON_CONV_GRADIENT_ARGS_H

#include "conv/args.h"

/* The sub-filter of an element of x: the taps that read it. In each dimension the next one is `tap`
 * taps further, and the output that it belongs to lies `out` outputs earlier. With g the greatest
 * common divisor of stride and dilation these are stride / g and dilation / g. */
typedef struct conv_subfilter {
    tenon_i64 tap[3], out[3];
} conv_subfilter;

/* In conv, x is what is written, and c and bias are shaped like it; y is read. */
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
    tenon_i64 col_span; /* elements from the first of col to the last, both included */
    tenon_i64 c;        /* channels */
    tenon_i64 run;      /* a kernel's own */
    conv_window window;
    conv_subfilter subfilter;
    tenon_i32 activation; /* run-time kind, TENON_ACT_* */
    tenon_i32 flags;      /* CONV_* */
} col2im_args;

/* The same by products whose columns are folded at once. */
typedef struct conv_data_packed_args {
    conv_args conv;
    conv_subfilter subfilter;
    tenon_i64 y_span, w_span; /* elements from the first to the last, both included */
    tenon_i64 n, channels;    /* images; channels of a work-group */
    tenon_i64 images, band;   /* images of a work-group, and lines of x along h */
    tenon_i64 phases[3];      /* taps along a dimension until they meet the same elements */
    tenon_i64 rows, pitch;    /* of a plane of sums */
    tenon_i64 rows_join;      /* 1: the taps of all channels lie at stride 1 in w */
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

/* The same by blocks that are packed in local memory. Along h and w, where the filter has but one
 * element only what it meets is packed: a packed position is `skip` of the image's, and `stride`
 * and `dilation` count packed ones. */
typedef struct conv_filter_packed_args {
    tenon_i64 x_offset, y_offset, w_offset, sum_offset;
    tenon_i64 beta; /* bits of an acc_t */
    tenon_i64 x_stride[5], y_stride[5];
    tenon_i64 to_stride[5]; /* of dw, or of a slice's sums */
    tenon_i64 x_span;       /* elements from the first of x to its last, both included */
    tenon_i64 n, group_channels, group_filters;
    tenon_i64 channels, filters;    /* of a work-group */
    tenon_i64 images, lines, width; /* of a band: images, lines of each, and pixels of a line */
    tenon_i64 blocks[4];            /* bands there are, along n, o, p and q */
    tenon_i64 bands;                /* of a slice */
    tenon_i64 slice; /* elements of a slice's sums; 0: the only one, which goes to dw */
    tenon_i64 run;   /* taps along w whose channels are neighbours: all, or 1 */
    tenon_i64 skip[3], stride[3], dilation[3];
    tenon_i64 rows, pitch; /* packed: rows of a plane, positions of a row */
    tenon_i64 size[3], filter[3], out[3], start[3]; /* as conv_window */
    tenon_i32 adds;
    tenon_i32 taps_join; /* 1: the taps of all channels lie at stride 1 in what is written */
} conv_filter_packed_args;

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
