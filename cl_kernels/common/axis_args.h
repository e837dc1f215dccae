/* Arguments of kernels that read and write rows of up to five tensors along an axis, with their own
 * row lengths. Rows are indexed by all dimensions except the axis. */
#ifndef TENON_COMMON_AXIS_ARGS_H
#define TENON_COMMON_AXIS_ARGS_H

#include "common/args.h"

#define AXIS_VIEWS 5

typedef struct axis_args {
    tenon_i64 offset[AXIS_VIEWS]; /* elements */
    tenon_i64 axis[AXIS_VIEWS];   /* stride along the axis */
    tenon_i64 stride[AXIS_VIEWS][8];
    tenon_i64 shape[8]; /* of the index space of the rows */
    tenon_i64 size;     /* elements of a row */
    tenon_i64 rows;
    tenon_i64 rank; /* at least 1 */
} axis_args;

#endif
