/* Split-K: K is cut into slices, each a product computed by another solver; a second kernel adds
 * their sums in the order of K. */
#ifndef TN_OPS_GEMM_SPLIT_K_H
#define TN_OPS_GEMM_SPLIT_K_H

#include "ops/gemm/internal.h"

/* Minimum length of slices made by tuning; shorter ones do not offset the launch and the second
 * pass. */
#define TN_GEMM_TUNED_SLICE 256
#define TN_GEMM_MOST_SLICES 64

/* Returns why K cannot be split on any device, or NULL. */
const char *tn_gemm_split_refuses(const gemm_problem *problem);

/* Returns the product that computes the sums of all slices: a batch with the slices as its
 * innermost dimension. */
gemm_problem tn_gemm_split_partial(const gemm_problem *problem, int32_t slices);

/* Returns the bytes of the sums in the workspace. */
uint64_t tn_gemm_split_bytes(const gemm_problem *problem, int32_t slices);

/* Returns the number of slices, at least two, that gives `wanted` work-groups if one slice has
 * `groups`. */
int32_t tn_gemm_split_tune(const gemm_problem *problem, int64_t groups, int64_t wanted);

/* The first returns the work of the second kernel. The other records its launch: one work-item per
 * element, or per block of rows if `rows` (on a CPU). */
tn_work tn_gemm_split_sum_work(const tenon_context *context, const gemm_problem *problem,
                               int32_t slices);
tenon_status tn_gemm_split_record_sum(const char *caller, tn_recording *recording,
                                      const gemm_problem *problem, int32_t slices, bool rows);

/* Appends the second kernel's options to those of the slices; sets *length to the length of the
 * latter. */
void tn_gemm_split_add_options(const gemm_problem *problem, char text[TN_OPTIONS_SIZE],
                               uint64_t *length);

#endif
