/* Arguments of the pooling kernels. Strides and offsets are in elements. */
#ifndef TENON_POOL_ARGS_H
#define TENON_POOL_ARGS_H

#include "common/args.h"

/* Images have three spatial dimensions; those that the caller's images lack come first, with one
 * element. In each of them, tap t of output o reads o * step + start + t * dilation. */
typedef struct pool_args {
    tenon_i64 x_offset, y_offset, index_offset, image_offset;
    tenon_i64 x_stride[5], y_stride[5], index_stride[5]; /* n, c and the spatial dimensions */
    tenon_i64 image_stride[5];
    tenon_i64 channels;
    tenon_i64 size[3], out[3]; /* of x and of y */
    tenon_i64 window[3], step[3], dilation[3];
    tenon_i64 start[3];                /* minus the padding */
    tenon_i64 line_count;              /* lines of elements along q or along the channels */
    tenon_i64 lines;                   /* per work-item */
    tenon_i64 chunk;                   /* elements of a line per work-item */
    tenon_i64 inner_first, inner_last; /* the q whose taps are inside x along w */
    tenon_i32 flags;                   /* POOL_* */
    tenon_i32 side_by_side;            /* neighboring work-items have neighboring channels */
} pool_args;

#define POOL_HAS_INDICES  1 /* forward: indices are written; backward: read instead of x */
#define POOL_COUNT_INSIDE 2 /* an average is over the taps inside x, not over the whole window */

#endif
