/*
 * Arguments of the kernels for packed weights. Included by C11 and by OpenCL C.
 *
 * A packed matrix consists of consecutive panels of `panel` columns, each stored as [k][panel];
 * missing columns of the last panel are zero. The matrices of a batch are consecutive.
 *
 * Packed filters are such a matrix: its columns are the filters of all groups, and its rows are the
 * taps and channels of a filter in the order t, r, s, c.
 */
#ifndef TENON_PACKED_ARGS_H
#define TENON_PACKED_ARGS_H

#include "conv/args.h"
#include "gemm/args.h"

/* Row pitch, in elements, of the rows of a that a work-group copies to local memory: a block of
 * K plus one vector of padding. */
#define PACKED_A_PITCH(kc, lanes) ((kc) + (lanes))

typedef struct packed_gemm_args {
    gemm_args gemm;
    tenon_i64 panel;
} packed_gemm_args;

/* Pixels are numbered in the order n, o, p, q. */
typedef struct packed_pixels {
    tenon_i64 pixels; /* of a batch index: successive pixels of y, and of c, with one stride */
    tenon_i64 y_pixel, c_pixel; /* these strides */
    tenon_i64 run;    /* elements of x that are contiguous, and contiguous in a panel: the channels
                         of a tap, or of a row of taps if `joined` */
    tenon_i64 x_span; /* elements from the first to the last of x: the limit of vector loads */
    tenon_i64 blocks; /* of columns, per group */
    tenon_i32 joined;
    tenon_i32 tile_rows, tile_cols; /* pixels and filters per work-group */
} packed_pixels;

typedef struct packed_conv_args {
    conv_args conv; /* the strides of the filters are not used */
    packed_pixels shape;
} packed_conv_args;

/* Neighboring results along w that packed_conv_depthwise computes together. */
#define PACKED_DEPTHWISE_PIXELS 8

/* A work-item computes `run` rows of a segment of a plane of results. */
typedef struct packed_parts {
    tenon_i64 filters;           /* of all groups */
    tenon_i64 chunk;             /* filters per work-item, a multiple of a panel */
    tenon_i64 slice;             /* vectors of filters for which rows are copied at a time */
    tenon_i64 run, parts;        /* rows per work-item, and work-items for all rows of a plane */
    tenon_i64 segment, segments; /* pixels of a segment, and segments of a row */
    tenon_i64 columns;           /* columns of a copied row of the image */
    tenon_i64 reuses;            /* 1: the next row of results uses copied rows again */
    tenon_i64 prefetches;        /* 1: and its other rows are prefetched */
} packed_parts;

typedef struct packed_depthwise_args {
    conv_args conv;
    packed_parts shape;
} packed_depthwise_args;

/* A unit of work is a segment of a row of pixels (n, o, p). */
typedef struct packed_strips {
    tenon_i64 segment, segments; /* pixels of a segment, and segments of a row */
    tenon_i64 units, run;        /* units, and units per work-item */
    tenon_i64 pitch;             /* elements between the copied rows of the image */
    tenon_i64 x_span;            /* as in packed_pixels */
    tenon_i64 y_pixel, c_pixel;
    tenon_i64 tile_cols; /* filters per work-item, a multiple of a panel */
} packed_strips;

typedef struct packed_direct_args {
    conv_args conv;
    packed_strips shape;
} packed_direct_args;

#endif
