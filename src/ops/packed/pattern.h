/* Parameters and weights of the registered operations, whose weights are a pattern and not an
 * operand. The weights are small integers, which are exact in every type. */
#ifndef TN_OPS_PACKED_PATTERN_H
#define TN_OPS_PACKED_PATTERN_H

#include "ops/packed/internal.h"

/* Parameters of tn_operation_gemm_packed. */
typedef struct pattern_gemm {
    tenon_gemm_params gemm;
    int64_t batch[TENON_MAX_RANK - 2], k, n; /* sizes of the weights; those from the first 0 in
                                              * `batch` on are absent */
} pattern_gemm;

/* Parameters of tn_operation_conv_packed. */
typedef struct pattern_conv {
    tenon_conv_params conv;
    int64_t filters, channels, filter[TENON_MAX_SPATIAL]; /* sizes of w; channels of a group */
} pattern_conv;

/* Returns the type of an input, or f32 if weights cannot have it. */
tenon_dtype tn_pattern_type(const tenon_tensor *input);

/* Gives a dense view host memory with the pattern. Returns the memory, which the caller frees, or
 * NULL if memory is exhausted. */
void *tn_pattern_weights(tenon_tensor *weights);

#endif
