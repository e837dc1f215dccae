/* Products and convolutions whose factors have other types than the result: which types they may
 * have, and copies of the factors in f32, in the workspace of a compound solver. */
#ifndef TN_OPS_COMMON_WIDEN_H
#define TN_OPS_COMMON_WIDEN_H

#include "ops/common/epilogue.h"

/* Returns true if the result is f32, both factors are f32, f16 or bf16, and at least one of them is
 * not f32. Views may be NULL. */
bool tn_is_mixed(const tenon_tensor *a, const tenon_tensor *b, const tenon_tensor *result);

/* A factor and its copy in f32. */
typedef struct tn_widened {
    tenon_tensor from, to; /* without memory */
    uint16_t operand;      /* of the factor */
    uint64_t at;           /* of the copy, in bytes of the workspace */
} tn_widened;

/* Describes the copy of a factor, and adds its size to *bytes. The copy has the order of
 * dimensions of the factor, and repeats those that the factor repeats. */
tn_widened tn_widen(const tenon_tensor *from, uint16_t operand, uint64_t *bytes);

/* Returns the time of the copy in nanoseconds, and records it. `used` bytes of the workspace are
 * not available to it. */
double tn_widen_time(tenon_context *context, const tn_widened *copy, uint64_t limit, uint64_t used);
tenon_status tn_widen_record(const char *caller, tn_recording *recording, const tn_widened *copy,
                             uint64_t limit, uint64_t used);

#endif
