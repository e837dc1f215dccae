/* What gemm/tiled and the solvers made of its kernel share. */
#ifndef TN_OPS_GEMM_TILED_H
#define TN_OPS_GEMM_TILED_H

#include "ops/gemm/internal.h"

/* Tuning parameters, in this order; those from TILED_PARAMETERS on are gemm/split_k's alone. */
enum { TILED_MB, TILED_NB, TILED_KB, TILED_MR, TILED_NR, TILED_PARAMETERS };
enum { TILED_SLICES = TILED_PARAMETERS, TILED_SPLIT_PARAMETERS };
extern const tn_parameter tn_gemm_tiled_parameters[TILED_SPLIT_PARAMETERS];

/* Work-groups, each with a block of mb by nb elements of d. */
int64_t tn_gemm_tiled_groups(const gemm_problem *problem, int64_t mb, int64_t nb);

#endif
