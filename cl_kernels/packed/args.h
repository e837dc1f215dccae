/* Arguments of the kernels of packed weights. Included from C11 and from OpenCL C.
 *
 * A packed matrix is panels of `panel` columns one after the other, each of them [k][panel]; the
 * columns that the last one lacks are zero. Matrices of a batch follow one another.
 */
#ifndef TENON_PACKED_ARGS_H
#define TENON_PACKED_ARGS_H

#include "gemm/args.h"

/* Elements between the rows of a that a work-group copies to local memory: a block of K, and a
 * vector's gap. */
#define PACKED_A_PITCH(kc, lanes) ((kc) + (lanes))

typedef struct packed_gemm_args {
    gemm_args gemm;
    tenon_i64 panel;
} packed_gemm_args;

#endif
