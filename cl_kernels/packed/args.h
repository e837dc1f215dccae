/* Arguments of the kernels of packed weights. Included from C11 and from OpenCL C. Offsets and
 * strides are in elements.
 *
 * A packed matrix is panels of `panel` columns one after the other, each of them [k][panel]; the
 * columns that the last one lacks are zero. Matrices of a batch follow one another.
 */
#ifndef TENON_PACKED_ARGS_H
#define TENON_PACKED_ARGS_H

#include "gemm/args.h"

#define PACK_MAX_BATCH 6

typedef struct pack_args {
    tenon_i64 tensor_offset, packed_offset; /* set for each call */
    tenon_i64 rows, cols, row, col;         /* of a matrix of the tensor, and its strides */
    tenon_i64 panel;
    tenon_i64 run_rows, run_cols; /* that a work-item does, of one panel */
    tenon_i64 batch[PACK_MAX_BATCH],
        stride[PACK_MAX_BATCH]; /* the last dimension is the innermost */
} pack_args;

typedef struct packed_gemm_args {
    gemm_args gemm;
    tenon_i64 panel;
} packed_gemm_args;

#endif
