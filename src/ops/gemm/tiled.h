/* What the tiled kernels share: parameters, their choice, and the model of their cost. */
#ifndef TN_OPS_GEMM_TILED_H
#define TN_OPS_GEMM_TILED_H

#include "ops/gemm/internal.h"

enum { TILED_MB, TILED_NB, TILED_KB, TILED_MR, TILED_NR, TILED_PARAMETERS };
extern const tn_parameter tn_gemm_tiled_parameters[TILED_PARAMETERS];

/* Fills in the parameters that are 0. */
void tn_gemm_tiled_tune(tenon_context *context, const gemm_problem *problem, int32_t *values);

/* NULL, or why the parameters do not go together; `more` is local memory beyond the blocks, in
 * bytes. */
const char *tn_gemm_tiled_constrains(tenon_context *context, const gemm_problem *problem,
                                     const int32_t *values, uint64_t more);

/* Nanoseconds. */
double tn_gemm_tiled_time(tenon_context *context, const gemm_problem *problem,
                          const int32_t *values);

/* As tn_solver.options. */
void tn_gemm_tiled_options(tenon_context *context, const tn_problem *problem, const int32_t *values,
                           char text[TN_OPTIONS_SIZE]);

/* Sets the sizes of a launch but for the batch. */
void tn_gemm_tiled_sizes(const gemm_problem *problem, const int32_t *values, tn_launch *launch);

#endif
