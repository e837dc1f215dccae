/* Arguments of the kernels pool/windows and pool/windows_backward. Strides and offsets are in
 * elements. */
#ifndef TENON_POOL_WINDOWS_ARGS_H
#define TENON_POOL_WINDOWS_ARGS_H

#include "common/args.h"

/* Further flags of a problem (pool/args.h has the others). */
#define POOL_COUNT_PADDED 4 /* an average is over the taps before `limit` */
#define POOL_ADAPTIVE     8 /* windows divide the image */

/* Images have three spatial dimensions, as in pool/args.h. */
typedef struct pool_windows_args {
    tenon_i64 x_offset, y_offset, index_offset, image_offset;
    tenon_i64 x_stride[5], y_stride[5], index_stride[5]; /* n, c and the spatial dimensions */
    tenon_i64 image_stride[5];
    tenon_i64 channels;
    tenon_i64 size[3], out[3]; /* of x and of y */
    tenon_i64 window[3], step[3], dilation[3];
    tenon_i64 start[3], limit[3];
    tenon_i64 count, each;  /* results: all, and per work-item */
    tenon_i64 p, inverse_p; /* bits of an acc_t: the exponent of a norm, and its reciprocal */
    tenon_i32 kind;         /* tenon_pool_kind */
    tenon_i32 flags;        /* POOL_* */
    tenon_i32 side_by_side; /* neighboring results have neighboring channels */
    tenon_i32 reserved;
} pool_windows_args;

#endif
