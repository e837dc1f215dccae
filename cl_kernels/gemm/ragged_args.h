/* Arguments of the kernels of ragged products: those of gemm/args.h, whose batch of one dimension
 * is the groups (a, c and d have no stride along it), and where the offsets of the groups are. */
#ifndef TENON_GEMM_RAGGED_ARGS_H
#define TENON_GEMM_RAGGED_ARGS_H

#include "gemm/args.h"

typedef struct ragged_args {
    gemm_args gemm;
    tenon_i64 offsets_offset; /* set for each call */
    tenon_i64 offsets_step, groups;
} ragged_args;

#endif
