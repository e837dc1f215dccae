/* The epilogue of GEMM and convolution, references of activations, and common argument checks. */
#ifndef TN_OPS_COMMON_EPILOGUE_H
#define TN_OPS_COMMON_EPILOGUE_H

#include "check/bounds.h"
#include "dispatch/operation.h"

#include <tenon/epilogue.h>

/* Indices of a run's scalars, as in patches. */
enum {
    TN_SCALAR_ALPHA,
    TN_SCALAR_BETA,
    TN_SCALAR_ACT_ALPHA,
    TN_SCALAR_ACT_BETA,
    TN_EPILOGUE_SCALARS
};

/* The terms that follow the activation: pointers of a tenon_epilogue, and the last operands of the
 * operations that have them. Their flags, in problems and kernel arguments, are those of
 * common/post_args.h. */
enum { POST_SCALE, POST_SHIFT, POST_RESIDUAL, POST_TERMS };
#define POST_OPERANDS                                                                              \
    {.name = "post_scale", .optional = true}, {.name = "post_shift", .optional = true},            \
    {                                                                                              \
        .name = "residual", .optional = true, .role = TN_INPUT_OR_SAME                             \
    }

enum {
    TN_ACTIVATION_KINDS = 0
#define X(...) +1
#include "ops/common/activation_list.h"
#undef X
};

/* Names indexed by tenon_activation_kind, for messages and `tenon check`; terminated by NULL. */
extern const char *const tn_activation_words[];

/* Returns the number of constants in the formula of a kind: 0, 1 (alpha) or 2 (alpha and beta). */
uint32_t tn_activation_constants(uint32_t kind);

/* Return true if the kind of activation uses alpha or beta: tn_field.is_used for members of a
 * tenon_activation. */
bool tn_activation_uses_alpha(const void *params, const void *alpha);
bool tn_activation_uses_beta(const void *params, const void *beta);

/* Checks the kind, and that the constants do not make it another function. */
tenon_status tn_activation_check(const char *caller, const tenon_activation *activation);

/* Returns the activation that a self-check uses instead of the caller's: the same kind, with
 * constants that do not hide errors of the sums. */
tenon_activation tn_activation_tried(uint32_t kind);

/* Returns true if the kind needs a transcendental function, and so a kernel build of its own. */
bool tn_activation_is_build(uint32_t kind);

/* Returns the activation in double precision with a bound of the error on a device, whose `x` is
 * within its own bound. The error is that of the function, by the accuracy that OpenCL guarantees,
 * plus the propagated error of x. docs/numerics.md derives it. */
tn_bounded tn_activation_reference(const tenon_activation *activation, tenon_dtype dtype,
                                   tn_bounded x);

/* Returns the derivative, by the conventions of the public header, times dy, with a bound of the
 * error on a device, for exact x and dy. */
tn_bounded tn_activation_gradient_reference(const tenon_activation *activation, tenon_dtype dtype,
                                            double x, double dy);

/* Returns true if c is read: it is present, and beta is not 0. */
bool tn_epilogue_adds(const tenon_epilogue *epilogue, const tenon_tensor *c);

/* Adds a hint about the argument `bias` to a failed broadcast of c, if the call has no bias. */
tenon_status tn_epilogue_bias_hint(tenon_status status, const tenon_tensor *bias);

/* Checks that an epilogue is well-formed, and that it has no factor for an absent c. */
tenon_status tn_epilogue_terms_check(const char *caller, const tenon_epilogue *epilogue,
                                     const tenon_tensor *c);

/* As tn_epilogue_terms_check; also rejects scales and zero points. */
tenon_status tn_epilogue_check(const char *caller, const tenon_epilogue *epilogue,
                               const tenon_tensor *c);

/* Stores the views of the terms after the activation. Returns false if there are none. */
bool tn_epilogue_post_views(const tenon_epilogue *epilogue, const tenon_tensor **views);

/* Sets the pointers to these views, as far as the struct_size of the epilogue includes them. */
void tn_epilogue_set_post(tenon_epilogue *epilogue, const tenon_tensor *const *views);

/* Fails with TENON_ERROR_UNSUPPORTED if there are any. */
tenon_status tn_epilogue_refuse_post(const char *caller, const tenon_epilogue *epilogue);

/* Compares the residual with the output, both operands of the call. Returns the flag
 * TENON_POST_IN_PLACE if they are the same; otherwise makes the residual an operand that must not
 * overlap the output, and returns 0. */
uint32_t tn_epilogue_post_in_place(tn_call *call, uint32_t residual, uint32_t output);

/* Returns the path bits (tn_family.paths) of an epilogue: the activation, and which of c, bias, the
 * factors and the terms after the activation are read, by the flag bits that GEMM and convolution
 * have in common. Uses bits 0 to 34 and 61 to 63. */
uint64_t tn_epilogue_paths(uint32_t flags, uint32_t activation);

/* Returns an epilogue for self-checks that takes the paths of these flags and this activation. */
tenon_epilogue tn_check_epilogue(uint32_t flags, uint32_t activation);

void tn_epilogue_scalars(const tenon_epilogue *epilogue, double scalars[TN_MAX_SCALARS]);

/* Checks that a parameter is a finite number in [low, high]; the limits may be infinite. */
tenon_status tn_number_check(const char *caller, const char *name, double value, double low,
                             double high);

/* Checks that a type is f64, f32, f16 or bf16, and that the device supports f64 if it is f64. */
tenon_status tn_float_check(const char *caller, const char *argument, tenon_context *context,
                            tenon_dtype dtype);

/* Checks that kernels can copy elements of a type: every valid type except fp8. */
tenon_status tn_moved_check(const char *caller, const char *argument, tenon_dtype dtype);

/* Checks that an operand has the type of the first one. A NULL tensor passes. */
tenon_status tn_same_dtype_check(const char *caller, const char *argument,
                                 const tenon_tensor *tensor, const char *first_argument,
                                 tenon_dtype dtype);

/* Returns the patch kind that writes a scalar in the accumulator's type. */
tn_patch_kind tn_scalar_patch(tenon_dtype dtype);

#endif
