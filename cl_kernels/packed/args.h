/*
 * Arguments of the kernels for packed weights. Included by C11 and by OpenCL C.
 *
 * A packed matrix consists of consecutive panels of `panel` columns, each stored as [k][panel];
 * missing columns of the last panel are zero. The matrices of a batch are consecutive.
 */
#ifndef TENON_PACKED_ARGS_H
#define TENON_PACKED_ARGS_H

#include "gemm/args.h"

/* Row pitch, in elements, of the rows of a that a work-group copies to local memory: a block of
 * K plus one vector of padding. */
#define PACKED_A_PITCH(kc, lanes) ((kc) + (lanes))

typedef struct packed_gemm_args {
    gemm_args gemm;
    tenon_i64 panel;
} packed_gemm_args;

#endif
