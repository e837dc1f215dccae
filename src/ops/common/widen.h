/* Products and convolutions whose factors have other types than the result: which types they may
 * have, and copies of the factors in f32, in the workspace of a compound solver. */
#ifndef TN_OPS_COMMON_WIDEN_H
#define TN_OPS_COMMON_WIDEN_H

#include "ops/common/epilogue.h"

/* Returns true if the result is f32, both factors are f32, f16 or bf16, and at least one of them is
 * not f32. Views may be NULL. */
bool tn_is_mixed(const tenon_tensor *a, const tenon_tensor *b, const tenon_tensor *result);

/* Fails unless both factors and the result have these types. */
tenon_status tn_mixed_check(const char *caller, const tn_argument *a, const tn_argument *b,
                            const tn_argument *result);

/* A factor and its copy in f32. */
typedef struct tn_widened {
    tenon_tensor from, to; /* without memory */
    uint16_t operand;      /* of the factor */
    uint64_t at;           /* of the copy, in bytes of the workspace */
} tn_widened;

/* The copies of up to two factors, which begin the workspace. */
typedef struct tn_widened_factors {
    tn_widened copy[2];
    uint32_t count;
    uint64_t bytes;
} tn_widened_factors;

/* Adds the copy of a factor and returns it as a view. It has the order of dimensions of the factor,
 * and repeats those that the factor repeats. */
tenon_tensor tn_widen(tn_widened_factors *factors, const tenon_tensor *from, uint16_t operand);

/* Returns the time of the copies in nanoseconds, within a limit of workspace. */
double tn_widen_time(tenon_context *context, const tn_widened_factors *factors, uint64_t limit);

/* Records the copies, and maps the factors of a child in `frame` to them. */
tenon_status tn_widen_record(const char *caller, tn_recording *recording,
                             const tn_widened_factors *factors, uint64_t limit, tn_frame *frame);

/* Completes a choice whose time is set: its workspace, and options that name the types. Returns
 * why it cannot serve, or NULL. */
const char *tn_mixed_choose(const uint32_t types[2], uint64_t bytes, tn_choice *choice);

#endif
