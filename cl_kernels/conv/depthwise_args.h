/* Arguments of the depthwise convolution kernels. Strides and offsets are in elements. */
#ifndef TENON_CONV_DEPTHWISE_ARGS_H
#define TENON_CONV_DEPTHWISE_ARGS_H

#include "conv/args.h"

/* Tiling of the results, and the local memory layout of the image part under a tile: rows of
 * acc_t, each split into phases by the window's stride along w. Within a phase, the elements
 * that a tap reads for neighboring outputs are contiguous. */
typedef struct depthwise_tile {
    tenon_i64 rows, columns; /* outputs; columns are whole vectors unless one tile has all */
    tenon_i64 phase, pitch;  /* elements from one phase, and from one row, to the next */
    tenon_i64 member;        /* elements per image channel */
    tenon_i64 tap_quotient, tap_remainder; /* of the dilation along w divided by the stride */
} depthwise_tile;

/* The forward direction has one image channel per result channel, the reverse direction
 * `members`. */
typedef struct depthwise_args {
    conv_args conv;       /* x is the image that is read, y the result */
    tenon_i64 spread[3];  /* distance between image elements under the window (input dilation): the
                             stride of the convolution in the reverse direction, else 1 */
    tenon_i64 channels;   /* of y */
    tenon_i64 share;      /* channels of y that read the same image channel */
    tenon_i64 members;    /* image channels that are summed per channel of y */
    tenon_i64 x_span;     /* elements from the first to the last of x: the limit of vector loads */
    tenon_i64 units, run; /* units of work, and units per work-item */
    tenon_i64 across, down; /* tiles along w and h */
    depthwise_tile tile;
    tenon_i32 backwards; /* only elements that exist are multiplied, not the zeros of the padding */
    tenon_i32 side_by_side; /* neighboring work-items have neighboring channels */
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
    tenon_i64 units;          /* units of a filter's sums: tiles, or rows of all images */
    tenon_i64 chunk, parts;   /* units per part, and parts */
    depthwise_tile tile;
    tenon_i32 adds;  /* 1: beta is not 0; otherwise dw is not read */
    tenon_i32 lanes; /* filters with contiguous sums per work-group */
} depthwise_filter_args;

#endif
