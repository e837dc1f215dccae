/* The ragged product: GEMM for groups of rows, whose offsets lie on the device. A family of its
 * own. */
#ifndef TN_OPS_GEMM_RAGGED_H
#define TN_OPS_GEMM_RAGGED_H

#include "ops/gemm/internal.h"

enum { RAGGED_A, RAGGED_B, RAGGED_OFFSETS, RAGGED_C, RAGGED_BIAS, RAGGED_D, RAGGED_OPERANDS };

/* As GEMM's with the groups as its batch, along which a, c and d have no stride; m is all rows. */
typedef struct ragged_problem {
    gemm_problem gemm;
    int64_t offsets_step;
} ragged_problem;

extern const tn_family tn_gemm_ragged_family;
extern const tn_solver tn_ragged_plain, tn_ragged_tiled, tn_ragged_cpu;

/* As tn_operation and tn_family have them. For the reference a row of no group is what d holds. */
tn_prepare_function tn_ragged_prepare;
tn_reference_function tn_gemm_ragged_reference;
tn_fill_function tn_ragged_fill_valid;
tn_awkward_function tn_ragged_awkward;

#endif
