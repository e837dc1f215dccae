/* What GEMM and convolution share: the epilogue, and the activations' reference. */
#ifndef TN_OPS_COMMON_EPILOGUE_H
#define TN_OPS_COMMON_EPILOGUE_H

#include "check/bounds.h"
#include "dispatch/operation.h"

#include <tenon/epilogue.h>

/* The scalars of a run, in the order in which patches number them. */
enum {
    TN_SCALAR_ALPHA,
    TN_SCALAR_BETA,
    TN_SCALAR_ACT_ALPHA,
    TN_SCALAR_ACT_BETA,
    TN_EPILOGUE_SCALARS
};

enum {
    TN_ACTIVATION_KINDS = 0
#define X(...) +1
#include "ops/common/activation_list.h"
#undef X
};

/* The names by tenon_activation_kind, for messages and `tenon check`; NULL ends them. */
extern const char *const tn_activation_words[];

/* How many constants the formula of a kind has: alpha, alpha and beta, or none. */
uint32_t tn_activation_constants(uint32_t kind);

/* As tn_field has them, of the members of a tenon_activation. */
bool tn_activation_uses_alpha(const void *params, const void *alpha);
bool tn_activation_uses_beta(const void *params, const void *beta);

/* Refuses what is no kind, and constants with which it would be another function. */
tenon_status tn_activation_check(const char *caller, const tenon_activation *activation);

/* The activation that a self-check gives a kernel in the place of the caller's: one of its kind,
 * with constants that let sums through which they would otherwise hide. */
tenon_activation tn_activation_tried(uint32_t kind);

/* Whether the kind is computed by a transcendental function, which is a kernel build of its own. */
bool tn_activation_is_build(uint32_t kind);

/* The function in double, and the error of a device that is given `x` within its bound: the
 * function's own error by the accuracy that OpenCL promises, and what the error of x becomes.
 * docs/numerics.md derives it. */
tn_bounded tn_activation_reference(const tenon_activation *activation, tenon_dtype dtype,
                                   tn_bounded x);

/* The derivative by the header's conventions, times dy, and the error of a device that is given
 * both exactly. */
tn_bounded tn_activation_gradient_reference(const tenon_activation *activation, tenon_dtype dtype,
                                            double x, double dy);

/* Whether c is read: it is there, and beta is not 0. */
bool tn_epilogue_adds(const tenon_epilogue *epilogue, const tenon_tensor *c);

/* Says beside the failure of a c that does not broadcast where a bias goes, if there is none. */
tenon_status tn_epilogue_bias_hint(tenon_status status, const tenon_tensor *bias);

/* Refuses an epilogue that is malformed, or has a factor for a c that is not there. */
tenon_status tn_epilogue_terms_check(const char *caller, const tenon_epilogue *epilogue,
                                     const tenon_tensor *c);

/* Refuses scales and zero points, too. */
tenon_status tn_epilogue_check(const char *caller, const tenon_epilogue *epilogue,
                               const tenon_tensor *c);

/* What a family with an epilogue says of its paths (tn_family): which of c, bias and the factors
 * are read, by the flags that GEMM and convolution number alike, and the activation. Takes bits 0
 * to 28 and 32 to 34. */
uint64_t tn_epilogue_paths(uint32_t flags, uint32_t activation);

/* The epilogue of a self-check that takes the paths of a problem with these. */
tenon_epilogue tn_check_epilogue(uint32_t flags, uint32_t activation);

void tn_epilogue_scalars(const tenon_epilogue *epilogue, double scalars[TN_MAX_SCALARS]);

/* Refuses a parameter that is not a finite number in [low, high], which may be infinite. */
tenon_status tn_number_check(const char *caller, const char *name, double value, double low,
                             double high);

/* Refuses a type other than f64, f32, f16 and bf16, and f64 where the device has none. */
tenon_status tn_float_check(const char *caller, const char *argument, tenon_context *context,
                            tenon_dtype dtype);

/* Refuses a type that no kernel moves: what is no element type, and fp8. */
tenon_status tn_moved_check(const char *caller, const char *argument, tenon_dtype dtype);

/* Refuses an operand of another type than the first. */
tenon_status tn_same_dtype_check(const char *caller, const char *argument,
                                 const tenon_tensor *tensor, const char *first_argument,
                                 tenon_dtype dtype);

/* The patch kind that writes a scalar in the accumulator's type. */
tn_patch_kind tn_scalar_patch(tenon_dtype dtype);

#endif
