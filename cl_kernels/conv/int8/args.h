/* Arguments of the kernels for convolutions of i8 and u8. Strides and offsets are in elements. */
#ifndef TENON_CONV_INT8_ARGS_H
#define TENON_CONV_INT8_ARGS_H

#include "conv/args.h"
#include "conv/depthwise_args.h"
#include "gemm/int8_args.h"

/* `product` describes the result as a product whose rows are pixels and whose columns are filters:
 * its strides along the columns are those along the filters. */
typedef struct conv_int8_args {
    int8_args product;
    tenon_i64 x_stride[5], w_stride[5], c_stride[5], y_stride[5];
    tenon_i64 group_channels, group_filters; /* channels and filters per group */
    conv_window window;
} conv_int8_args;

/* col[n, o * p * q, taps], where the taps of a group have the order t, r, s, c if channel_last is
 * set, and c, t, r, s otherwise. */
typedef struct conv_int8_columns_args {
    tenon_i64 x_offset, col_offset, zero_offset; /* set per call */
    tenon_i64 x_stride[5];
    tenon_i64 channels, taps;
    tenon_i64 run; /* taps per work-item */
    conv_window window;
    tenon_i32 channel_last, has_zero;
} conv_int8_columns_args;

/* Limits of conv/int8/implicit_dot.cl: bytes of each filter that are fetched at once, tiles of rows
 * of a block. */
#define DOT_FETCH 1024
#define DOT_TILES 8

/* The image that conv/int8/implicit_dot.cl multiplies is x itself or its copy in the workspace.
 * `conv` describes that image: its strides, in bytes, with the stride between groups in place of
 * that between channels, and its window, in which the taps of a row are one if they are contiguous.
 * A segment is what the image has in one piece under a pixel: the channels of a tap, or of a row of
 * taps. */
typedef struct conv_int8_dot_args {
    conv_int8_args conv;
    tenon_i64 panels_offset;       /* in words; set per call */
    tenon_i64 sums_at, padding_at; /* of the filters' sums and of a segment of padding, from the
                                      panels on, in words */
    tenon_i64 words;               /* of a segment */
    tenon_i64 rows, block;         /* pixels of all images; pixels per work-group */
    tenon_i64 panels;              /* per group */
    tenon_i32 turned;              /* `product` has filters as rows and pixels as columns */
} conv_int8_dot_args;

/* Orders of the taps of contiguous filters. */
#define DOT_STRIDED        0 /* not contiguous */
#define DOT_CHANNELS_FIRST 1
#define DOT_CHANNELS_LAST  2

typedef struct conv_int8_dot_pack_args {
    tenon_i64 w_offset, panels_offset, zero_offset; /* set per call */
    tenon_i64 w_stride[5];
    tenon_i64 sums_at, padding_at;
    tenon_i64 channels, filters, panels; /* per group */
    tenon_i64 filter[3], taps;
    tenon_i64 words;   /* of the channels of a tap */
    tenon_i64 padding; /* words */
    tenon_i64 fetched; /* channels that are fetched at once */
    tenon_i32 order;   /* DOT_* */
    tenon_i32 sign, has_zero;
} conv_int8_dot_pack_args;

typedef struct conv_int8_dot_copy_args {
    tenon_i64 x_offset, copy_offset, zero_offset; /* set per call */
    tenon_i64 x_stride[5];
    tenon_i64 channels, groups, words;
    tenon_i64 size[3], start[3], padded[3]; /* the copy has `padded` pixels from `start` on */
    tenon_i32 sign, has_zero;
} conv_int8_dot_copy_args;

/* Most taps whose sum a float holds exactly: the products are at most 255 squared. */
#define DEPTHWISE_TAPS 256

typedef struct conv_int8_depthwise_args {
    conv_int8_args conv;  /* its group_filters are all channels, for the kernel along channels */
    tenon_i64 units, run; /* units of work, and units per work-item */
    tenon_i64 filters;
    tenon_i64 across, down; /* tiles along w and h */
    depthwise_tile tile;
} conv_int8_depthwise_args;

#endif
