/* Arguments of the kernels for ragged products: those of gemm/args.h, with one batch dimension,
 * the groups (a, c and d have no stride along it), and the position of the group offsets. */
#ifndef TENON_GEMM_RAGGED_ARGS_H
#define TENON_GEMM_RAGGED_ARGS_H

#include "gemm/args.h"

typedef struct ragged_args {
    gemm_args gemm;
    tenon_i64 offsets_offset; /* set per call */
    tenon_i64 offsets_step, groups;
} ragged_args;

#endif
