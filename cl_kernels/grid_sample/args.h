/* Arguments of the kernels of grid sampling. Strides and offsets are in elements; images have three
 * spatial dimensions, d, h and w, of which the first is absent if args.dims is 2. */
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
    tenon_i64 x_stride[5], grid_stride[5], y_stride[5];
    tenon_i64 channels;
    tenon_i64 count, each; /* places of y with a block of channels: all, and per work-item */
    tenon_i32 size[3];     /* d, h and w of x */
    tenon_i32 out[3];      /* of y */
    tenon_i32 dims;        /* spatial dimensions: 2 or 3 */
    tenon_i32 mode, padding, flags;
    tenon_i32 side_by_side; /* neighboring work-items have neighboring channels */
} grid_args;

#endif
