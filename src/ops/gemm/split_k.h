/* K cut into slices, each a product of its own by another solver; a second kernel adds their sums
 * up in the order of K. */
#ifndef TN_OPS_GEMM_SPLIT_K_H
#define TN_OPS_GEMM_SPLIT_K_H

#include "ops/gemm/internal.h"

/* No slice that tuning makes is shorter: it is to be worth its launch and its sums. */
#define TN_GEMM_TUNED_SLICE 256
#define TN_GEMM_MOST_SLICES 64

/* Why K cannot be cut, on any device. */
const char *tn_gemm_split_refuses(const gemm_problem *problem);

/* The sums of all slices: a batch with the slices as its innermost dimension. */
gemm_problem tn_gemm_split_partial(const gemm_problem *problem, int32_t slices);

/* Bytes of the sums that the slices leave in the workspace. */
uint64_t tn_gemm_split_bytes(const gemm_problem *problem, int32_t slices);

/* As many slices as it takes to have `wanted` work-groups where there are `groups` for one, but two
 * at least. */
int32_t tn_gemm_split_tune(const gemm_problem *problem, int64_t groups, int64_t wanted);

/* What the second kernel does; and its launch: by elements, or by `rows` on a CPU. */
tn_work tn_gemm_split_sum_work(const tenon_context *context, const gemm_problem *problem,
                               int32_t slices);
tenon_status tn_gemm_split_record_sum(const char *caller, tn_recording *recording,
                                      const gemm_problem *problem, int32_t slices, bool rows);

/* Adds the second kernel's options to those of the slices, whose length it gives. */
void tn_gemm_split_add_options(const gemm_problem *problem, char text[TN_OPTIONS_SIZE],
                               uint64_t *length);

#endif
