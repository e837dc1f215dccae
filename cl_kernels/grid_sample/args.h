/* Arguments of the grid sampling kernel. Strides and offsets are in elements. */
#ifndef TENON_GRID_SAMPLE_ARGS_H
#define TENON_GRID_SAMPLE_ARGS_H

#include "common/args.h"

/* The modes and paddings of tenon/grid_sample.h. */
#define GRID_LINEAR     0
#define GRID_NEAREST    1
#define GRID_CUBIC      2
#define GRID_ZEROS      0
#define GRID_BORDER     1
#define GRID_REFLECTION 2

#define GRID_ALIGNED 1 /* flag: -1 and 1 are centers of elements */
#define GRID_WIDE    2 /* flag: the grid is f32, and x is not */

/* Channels of a work-item. */
#define GRID_CHANNELS 8

/* The largest distance of an element from the first one. */
#define GRID_MOST_SIZE (1 << 24)

typedef struct grid_args {
    tenon_i64 x_offset, grid_offset, y_offset;
    tenon_i64 x_stride[4], grid_stride[4], y_stride[4];
    tenon_i64 channels;
    tenon_i64 count, each; /* places of y with a block of channels: all, and per work-item */
    tenon_i32 size[2];     /* h and w of x */
    tenon_i32 out[2];      /* of y */
    tenon_i32 mode, padding, flags;
    tenon_i32 side_by_side; /* neighboring work-items have neighboring channels */
} grid_args;

#endif
