/* Weights of the operations that packed weights are tested by. They are small integers, which are
 * exact in every type. */
#ifndef TN_OPS_PACKED_PATTERN_H
#define TN_OPS_PACKED_PATTERN_H

#include "ops/packed/internal.h"

/* Returns the type of an input, or f32 if weights cannot have it. */
tenon_dtype tn_pattern_type(const tenon_tensor *input);

/* Gives a dense view host memory with the pattern. Returns the memory, which the caller frees, or
 * NULL if memory is exhausted. */
void *tn_pattern_weights(tenon_tensor *weights);

#endif
