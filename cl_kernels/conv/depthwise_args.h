/* Arguments of the depthwise convolution kernels. Strides and offsets are in elements. */
#ifndef TENON_CONV_DEPTHWISE_ARGS_H
#define TENON_CONV_DEPTHWISE_ARGS_H

#include "conv/args.h"

/* How results are cut into tiles, and the part of an image that is under one, as it is laid out in
 * local memory: rows of acc_t, each split by the window's stride along w into phases, so that what
 * a tap reads for neighbouring outputs lies side by side. */
typedef struct depthwise_tile {
    tenon_i64 rows, columns; /* outputs; columns are whole vectors unless one tile has all */
    tenon_i64 phase, pitch;  /* elements from a phase, and from a row, to the next */
    tenon_i64 member;        /* elements of an image channel */
    tenon_i64 tap_quotient, tap_remainder; /* of the dilation along w by the stride */
} depthwise_tile;

/* One image channel for each result channel, or `members` of them: forward, or backwards. */
typedef struct depthwise_args {
    conv_args conv;       /* x is the image that is read, y what is written */
    tenon_i64 spread[3];  /* the image's elements lie so far apart under the window, with nothing in
                            between: the stride of the convolution that is run backwards, or 1 */
    tenon_i64 channels;   /* of y */
    tenon_i64 share;      /* channels of y that read the same image channel */
    tenon_i64 members;    /* image channels that are summed for a channel of y */
    tenon_i64 x_span;     /* elements from the first of x to the last: a vector may go no further */
    tenon_i64 units, run; /* pieces of work, and those of a work-item */
    tenon_i64 across, down; /* tiles along w and h */
    depthwise_tile tile;
    tenon_i32 backwards;    /* only elements that exist are multiplied: padding is no zero */
    tenon_i32 side_by_side; /* neighbouring work-items have neighbouring channels */
} depthwise_args;

/* dw = sum of dy times x, plus beta * dw. */
typedef struct depthwise_filter_args {
    tenon_i64 x_offset, y_offset, w_offset, sum_offset;
    tenon_i64 beta; /* bits of an acc_t */
    tenon_i64 x_stride[5], y_stride[5], w_stride[5];
    conv_window window;
    tenon_i64 filters;
    tenon_i64 share;          /* filters that read the same image channel */
    tenon_i64 x_span, y_span; /* as in depthwise_args */
    tenon_i64 units;          /* pieces of a filter's sums: tiles, or rows of all images */
    tenon_i64 chunk, parts;   /* pieces of a part, and parts */
    depthwise_tile tile;
    tenon_i32 adds;  /* 1: beta is not 0; otherwise dw is not read */
    tenon_i32 lanes; /* filters whose sums lie side by side in a work-group */
} depthwise_filter_args;

#endif
