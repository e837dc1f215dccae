/* Arguments of kernels that work on the rows of up to four tensors. Rows are indexed by all
 * dimensions except one, the axis. A tensor without the axis (labels, losses) has one element
 * per row. */
#ifndef TENON_COMMON_ROWS_ARGS_H
#define TENON_COMMON_ROWS_ARGS_H

#include "common/args.h"

#define TENON_ROWS_VIEWS 4

typedef struct rows_args {
    tenon_i64 offset[TENON_ROWS_VIEWS]; /* elements */
    tenon_i64 axis[TENON_ROWS_VIEWS];   /* stride along the axis */
    tenon_i64 stride[TENON_ROWS_VIEWS][8];
    tenon_i64 shape[8];
    tenon_i64 size;  /* along the axis */
    tenon_i64 count; /* rows */
    tenon_i64 chunk; /* rows per work-item */
    tenon_i64 value; /* an integer specific to the operation */
    tenon_i64 scale; /* bits of an acc_t (f32 in the low 32 bits) */
    tenon_i32 rank;  /* at least 1 */
    tenon_i32 flag;  /* specific to the operation */
    tenon_i32 team;  /* work-items that handle a row together: see common/team.clh */
    tenon_i32 across;
} rows_args;

#endif
