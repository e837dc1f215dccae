/* Arguments of the pooling kernels. Strides and offsets are in elements. */
#ifndef TENON_POOL_ARGS_H
#define TENON_POOL_ARGS_H

#include "common/args.h"

/* Images have three spatial dimensions here; those that the caller's lack come first, with one
 * element. Tap t of output o reads o * step + start + t * dilation, in each of them. */
typedef struct pool_args {
    tenon_i64 x_offset, y_offset, index_offset, image_offset;
    tenon_i64 x_stride[5], y_stride[5], index_stride[5]; /* n, c and the spatial dimensions */
    tenon_i64 image_stride[5];
    tenon_i64 channels;
    tenon_i64 size[3], out[3]; /* of x and of y */
    tenon_i64 window[3], step[3], dilation[3];
    tenon_i64 start[3];                /* minus the padding */
    tenon_i64 line_count;              /* lines of elements along q or along the channels */
    tenon_i64 lines;                   /* of a work-item */
    tenon_i64 chunk;                   /* elements of a line for a work-item */
    tenon_i64 inner_first, inner_last; /* forward: the q whose taps are within x along w */
    tenon_i32 flags;                   /* POOL_* */
    tenon_i32 side_by_side;            /* neighbouring work-items have neighbouring channels */
} pool_args;

#define POOL_HAS_INDICES  1 /* forward: they are written; backward: they are read, not the image */
#define POOL_COUNT_INSIDE 2 /* an average is over the taps within x, not over the whole window */

#endif
