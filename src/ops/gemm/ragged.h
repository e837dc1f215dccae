/* The ragged (grouped) product: GEMM on groups of rows whose offsets are in device memory. A
 * separate solver family. */
#ifndef TN_OPS_GEMM_RAGGED_H
#define TN_OPS_GEMM_RAGGED_H

#include "ops/gemm/internal.h"

enum { RAGGED_A, RAGGED_B, RAGGED_OFFSETS, RAGGED_C, RAGGED_BIAS, RAGGED_D, RAGGED_OPERANDS };

/* GEMM's problem with the groups as its batch. a, c and d have stride 0 along it, and m counts the
 * rows of all groups. */
typedef struct ragged_problem {
    gemm_problem gemm;
    int64_t offsets_step;
} ragged_problem;

extern const tn_family tn_gemm_ragged_family;
extern const tn_solver tn_ragged_plain, tn_ragged_tiled, tn_ragged_cpu;

/* Functions as declared in tn_operation and tn_family. The reference leaves rows outside every
 * group as they are in d. */
tn_prepare_function tn_ragged_prepare;
tn_reference_function tn_gemm_ragged_reference;
tn_fill_function tn_ragged_fill_valid;
tn_awkward_function tn_ragged_awkward;

#endif
