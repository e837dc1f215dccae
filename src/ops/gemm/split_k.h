/* K cut into slices, whose sums wait in the workspace until a second kernel adds them up: what the
 * solvers that do so share. */
#ifndef TN_OPS_GEMM_SPLIT_K_H
#define TN_OPS_GEMM_SPLIT_K_H

#include "ops/gemm/internal.h"

/* Why K cannot be cut, on any device, or NULL. */
const char *tn_gemm_split_refuses(const gemm_problem *problem);

/* As many slices as it takes to have `wanted` work-groups where there are `groups` for one, but two
 * at least. */
int32_t tn_gemm_tune_slices(const gemm_problem *problem, int64_t groups, int64_t wanted);

/* The problem of the slices: a batch with them as its innermost dimension, whose d is sums in the
 * workspace. */
gemm_problem tn_gemm_slices(const gemm_problem *problem, int32_t slices);

/* Bytes of workspace that these sums take. */
uint64_t tn_gemm_slices_bytes(const gemm_problem *problem, int32_t slices);

/* Nanoseconds of the second kernel, and its launch: by elements, or by `rows` on a CPU. */
double tn_gemm_slices_sum_time(tenon_context *context, const gemm_problem *problem, int32_t slices);
tenon_status tn_gemm_record_slices_sum(const char *operation, tn_recording *recording,
                                       const gemm_problem *problem, int32_t slices, bool rows);

#endif
