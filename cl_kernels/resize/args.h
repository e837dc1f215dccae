/* Arguments of the resize kernels. Strides and offsets are in elements. */
#ifndef TENON_RESIZE_ARGS_H
#define TENON_RESIZE_ARGS_H

#include "common/args.h"

/* Values of tenon_resize_mode and tenon_resize_rounding. */
#define RESIZE_NEAREST 0
#define RESIZE_LINEAR  1
#define RESIZE_CUBIC   2

#define RESIZE_PREFER_FLOOR 0
#define RESIZE_PREFER_CEIL  1
#define RESIZE_FLOOR        2
#define RESIZE_CEIL         3

#define RESIZE_EXCLUDES     1 /* elements outside x have no weight */
#define RESIZE_EXTRAPOLATES 2 /* outputs outside x get a constant */

/* The map from outputs to coordinates in x along one dimension: start + output * step. Both are
 * sums of an integer and a fraction, which is multiplied by 2^64. */
typedef struct resize_axis {
    tenon_i64 step, step_rest;
    tenon_i64 start, start_rest;
    tenon_i64 scale;        /* bits of an acc_t: factor of a distance in the filter, at most 1 */
    tenon_i32 in, out;      /* sizes of x and y */
    tenon_i32 taps, before; /* of a window; those before the element at or left of the coordinate */
    tenon_i32 is_normalized; /* weights are divided by their sum */
    tenon_i32 reserved;
} resize_axis;

/* Images have three spatial dimensions; those that the caller's images lack come first, with one
 * element. */
typedef struct resize_filter {
    resize_axis axis[3];
    tenon_i64 cubic, extrapolation; /* bits of an acc_t: cubic coefficient, constant */
    tenon_i32 mode, rounding;       /* RESIZE_* */
    tenon_i32 flags;                /* RESIZE_* */
    tenon_i32 reserved;
} resize_filter;

/* For resize/items: a work-item computes `each` results. */
typedef struct resize_items_args {
    tenon_i64 x_offset, y_offset;
    tenon_i64 x_stride[5], y_stride[5]; /* n, c and the spatial dimensions */
    tenon_i64 channels;
    tenon_i64 count, each;  /* results: all, and per work-item */
    tenon_i32 side_by_side; /* neighboring results have neighboring channels */
    tenon_i32 reserved;
    resize_filter filter;
} resize_items_args;

/* A table for one dimension in the workspace: for each target the first and the last source with
 * weight, and `most` weights. A target is an element of y, and of dx for the gradient; sources are
 * those of x, or of dy. Weight k of target t is at weights + k * targets + t. */
typedef struct resize_table {
    tenon_i64 first, last; /* positions in 32-bit integers */
    tenon_i64 weights;     /* position in acc_t */
    tenon_i32 targets, sources;
    tenon_i32 most, reserved;
} resize_table;

/* Positions in the tables count from `integers` and `numbers`, the start of the workspace. */
typedef struct resize_table_args {
    tenon_i64 integers, numbers;
    tenon_i64 each;          /* entries per work-item */
    resize_table table[3];   /* of y */
    resize_table flipped[3]; /* of dx */
    resize_filter filter;
} resize_table_args;

/* x and y are the source and the target: dy and dx for the gradient. A work-item computes `chunk`
 * targets along w, in `block` channels, of `lines` lines. */
typedef struct resize_rows_args {
    tenon_i64 x_offset, y_offset;
    tenon_i64 integers, numbers;
    tenon_i64 x_stride[5], y_stride[5];
    tenon_i64 channels, line_count, lines, chunk, block;
    tenon_i64 extrapolation; /* bits of an acc_t */
    resize_table table[3];
} resize_rows_args;

#endif
