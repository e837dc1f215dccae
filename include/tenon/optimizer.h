/** @file
 * Optimizers: stochastic gradient descent, Adam and AdamW, and clipping gradients by their norm.
 *
 * All work in place. Parameters are f64, f32, f16 or bf16; arithmetic and state are f64 for f64 and
 * f32 for the others. A 16-bit parameter may have an f32 master copy, for mixed-precision training:
 * then the master is what is read and updated, and the parameter becomes its rounding.
 *
 * NaN and infinity in a gradient go into state and parameter as IEEE 754 has it; to leave them out,
 * clip before (tenon_clip) or look at the norm. The scalars (learning rate, step, ...) are rounded
 * to the type of the arithmetic, after what is derived from them has been computed in double. Calls
 * that differ in them alone share a plan.
 */
#ifndef TENON_OPTIMIZER_H
#define TENON_OPTIMIZER_H

#include <tenon/plan.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_SGD_NESTEROV 1u /**< flag: Nesterov's momentum */
#define TENON_SGD_FIRST    2u /**< flag: the first step sets the velocity, unread */
#define TENON_SGD_MAXIMIZE 4u /**< flag: climb instead of descend */

/** Start from TENON_SGD_PARAMS_INIT: learning rate 0.01, all others 0. All numbers are finite. */
typedef struct tenon_sgd_params {
    uint32_t struct_size; /**< sizeof(tenon_sgd_params) */
    uint32_t flags;       /**< any of TENON_SGD_ */
    const char *solver;   /**< forces a solver (plan.h has the grammar); NULL chooses */
    double learning_rate; /**< 0.01 in the initialiser */
    double momentum;      /**< μ; 0 where there is no velocity */
    double dampening;     /**< τ */
    double weight_decay;  /**< λ, of an L2 penalty */
} tenon_sgd_params;

/** The defaults of tenon_sgd_params, without braces. */
#define TENON_SGD_PARAMS_DEFAULTS sizeof(tenon_sgd_params), 0, NULL, 0.01, 0.0, 0.0, 0.0
/** Initialises a tenon_sgd_params with the defaults. */
#define TENON_SGD_PARAMS_INIT                                                                      \
    {                                                                                              \
        TENON_SGD_PARAMS_DEFAULTS                                                                  \
    }
#ifndef __cplusplus
/** A const tenon_sgd_params: the defaults, except for the members that are named. TENON_LITERAL
 * says more. */
#define tenon_sgd_params(...)                                                                      \
    TENON_LITERAL(tenon_sgd_params, TENON_SGD_PARAMS_DEFAULTS, __VA_ARGS__)
#endif

/** Sets the defaults, for languages without macros.
 *  @param size  sizeof(tenon_sgd_params) */
TENON_API void tenon_sgd_params_default(tenon_sgd_params *params, uint32_t size);

/** A step of stochastic gradient descent (I. Sutskever, J. Martens, G. Dahl, G. Hinton, "On the
 * importance of initialization and momentum in deep learning", ICML 2013, with the learning rate
 * outside of the velocity):
 *
 *     g = gradient + λ · parameter (-gradient with TENON_SGD_MAXIMIZE)
 *     velocity = μ · velocity + (1 - τ) · g (g with TENON_SGD_FIRST)
 *     d = velocity (g + μ · velocity with TENON_SGD_NESTEROV; g without a velocity)
 *     parameter = parameter - learning_rate · d
 *
 *  @param params     NULL means the defaults
 *  @param gradient   of the parameter's type, or f32 for a 16-bit one; any strides, 0 among them
 *  @param parameter  f64, f32, f16 or bf16; read unless there is a master, and written
 *  @param velocity   NULL, or f64 for f64 and f32 for the others; read (but at the first step) and
 *                    written
 *  @param master     NULL, or f32 for a 16-bit parameter; read and written
 *  All are of one shape; those that are written must not overlap themselves, one another or the
 *  gradient.
 *  @param sync       or NULL
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT · TENON_ERROR_UNSUPPORTED ·
 *          TENON_ERROR_UNSUPPORTED_DEVICE (f64 on a device without it) · TENON_ERROR_BUILD_FAILED ·
 *          TENON_ERROR_SOLVER_BARRED · TENON_ERROR_OUT_OF_MEMORY · TENON_ERROR_OPENCL ·
 *          TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_sgd(tenon_stream *stream, const tenon_sgd_params *params,
                                  const tenon_tensor *gradient, const tenon_tensor *parameter,
                                  const tenon_tensor *velocity, const tenon_tensor *master,
                                  const tenon_sync *sync);

/** The plan of tenon_sgd; operands gradient, parameter, velocity, master. The views need no memory;
 * where they have it, it is checked. Each run can set learning_rate, momentum, dampening and
 * weight_decay (tenon_plan_run_operands); without a velocity, momentum stays 0.
 *  @param plan  receives the plan, with one reference that the caller owns; NULL on failure
 *  @return as the immediate call, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_sgd_plan(tenon_context *context, const tenon_sgd_params *params,
                                       const tenon_tensor *gradient, const tenon_tensor *parameter,
                                       const tenon_tensor *velocity, const tenon_tensor *master,
                                       tenon_plan **plan);

#define TENON_ADAM_DECOUPLED 1u /**< flag: decoupled weight decay, which makes it AdamW */
#define TENON_ADAM_MAXIMIZE  2u /**< flag: climb instead of descend */

/** Start from TENON_ADAM_PARAMS_INIT: learning rate 0.001, β₁ 0.9, β₂ 0.999, ε 1e-8, no weight
 * decay, step 1. All numbers are finite. */
typedef struct tenon_adam_params {
    uint32_t struct_size; /**< sizeof(tenon_adam_params) */
    uint32_t flags;       /**< any of TENON_ADAM_ */
    const char *solver;   /**< forces a solver (plan.h has the grammar); NULL chooses */
    double learning_rate; /**< 0.001 in the initialiser */
    double beta1;         /**< β₁, the decay of the first moment: in [0, 1) */
    double beta2;         /**< β₂, that of the second: in [0, 1) */
    double epsilon;       /**< not negative */
    double weight_decay;  /**< λ */
    uint64_t step;        /**< t, from 1 */
} tenon_adam_params;

/** The defaults of tenon_adam_params, without braces. */
#define TENON_ADAM_PARAMS_DEFAULTS                                                                 \
    sizeof(tenon_adam_params), 0, NULL, 0.001, 0.9, 0.999, 1e-8, 0.0, 1
/** Initialises a tenon_adam_params with the defaults. */
#define TENON_ADAM_PARAMS_INIT                                                                     \
    {                                                                                              \
        TENON_ADAM_PARAMS_DEFAULTS                                                                 \
    }
#ifndef __cplusplus
/** A const tenon_adam_params: the defaults, except for the members that are named. TENON_LITERAL
 * says more. */
#define tenon_adam_params(...)                                                                     \
    TENON_LITERAL(tenon_adam_params, TENON_ADAM_PARAMS_DEFAULTS, __VA_ARGS__)
#endif

/** Sets the defaults, for languages without macros.
 *  @param size  sizeof(tenon_adam_params) */
TENON_API void tenon_adam_params_default(tenon_adam_params *params, uint32_t size);

/** A step of Adam (D. Kingma, J. Ba, "Adam: A Method for Stochastic Optimization", ICLR 2015,
 * algorithm 1), or of AdamW (I. Loshchilov, F. Hutter, "Decoupled Weight Decay Regularization",
 * ICLR 2019, algorithm 2):
 *
 *     g = gradient + λ · parameter (-gradient with TENON_ADAM_MAXIMIZE)
 *     first = β₁ · first + (1 - β₁) · g
 *     second = β₂ · second + (1 - β₂) · g²
 *     d = first / (sqrt(second) / sqrt(1 - β₂ᵗ) + ε)
 *     parameter = parameter - learning_rate / (1 - β₁ᵗ) · d
 *
 * With TENON_ADAM_DECOUPLED g has no penalty, and the parameter that d is taken from is first
 * multiplied by 1 - learning_rate · λ.
 *
 * The moments are zeros before the first step (tenon_tensor_fill). An infinite gradient, or one
 * whose square overflows, makes the second moment infinite: then d is 0, or NaN where the first
 * moment is infinite too. ε = 0 gives NaN where both moments are 0.
 *  @param params     NULL means the defaults
 *  @param gradient   of the parameter's type, or f32 for a 16-bit one; any strides, 0 among them
 *  @param parameter  f64, f32, f16 or bf16; read unless there is a master, and written
 *  @param first, second  f64 for f64 and f32 for the others; read and written
 *  @param master     NULL, or f32 for a 16-bit parameter; read and written
 *  All are of one shape; those that are written must not overlap themselves, one another or the
 *  gradient.
 *  @param sync       or NULL
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT · TENON_ERROR_UNSUPPORTED ·
 *          TENON_ERROR_UNSUPPORTED_DEVICE (f64 on a device without it) · TENON_ERROR_BUILD_FAILED ·
 *          TENON_ERROR_SOLVER_BARRED · TENON_ERROR_OUT_OF_MEMORY · TENON_ERROR_OPENCL ·
 *          TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_adam(tenon_stream *stream, const tenon_adam_params *params,
                                   const tenon_tensor *gradient, const tenon_tensor *parameter,
                                   const tenon_tensor *first, const tenon_tensor *second,
                                   const tenon_tensor *master, const tenon_sync *sync);

/** The plan of tenon_adam; operands gradient, parameter, first, second, master. The
 * views need no memory; where they have it, it is checked. In a training loop each run sets the
 * step, and learning_rate, beta1, beta2, epsilon and weight_decay where they change
 * (tenon_plan_run_operands).
 *  @param plan  receives the plan, with one reference that the caller owns; NULL on failure
 *  @return as the immediate call, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_adam_plan(tenon_context *context, const tenon_adam_params *params,
                                        const tenon_tensor *gradient, const tenon_tensor *parameter,
                                        const tenon_tensor *first, const tenon_tensor *second,
                                        const tenon_tensor *master, tenon_plan **plan);

#define TENON_SQUARE_SUM_ADD 1u /**< flag: add to what the sum holds, instead of replacing it */

/** Start from TENON_SQUARE_SUM_PARAMS_INIT. */
typedef struct tenon_square_sum_params {
    uint32_t struct_size; /**< sizeof(tenon_square_sum_params) */
    uint32_t flags;       /**< 0 or TENON_SQUARE_SUM_ADD */
    const char *solver;   /**< forces a solver (plan.h has the grammar); NULL chooses */
} tenon_square_sum_params;

/** The defaults of tenon_square_sum_params, without braces. */
#define TENON_SQUARE_SUM_PARAMS_DEFAULTS sizeof(tenon_square_sum_params), 0, NULL
/** Initialises a tenon_square_sum_params with the defaults. */
#define TENON_SQUARE_SUM_PARAMS_INIT                                                               \
    {                                                                                              \
        TENON_SQUARE_SUM_PARAMS_DEFAULTS                                                           \
    }
#ifndef __cplusplus
/** A const tenon_square_sum_params: the defaults, except for the members that are named.
 * TENON_LITERAL says more. */
#define tenon_square_sum_params(...)                                                               \
    TENON_LITERAL(tenon_square_sum_params, TENON_SQUARE_SUM_PARAMS_DEFAULTS, __VA_ARGS__)
#endif

/** Sets the defaults, for languages without macros.
 *  @param size  sizeof(tenon_square_sum_params) */
TENON_API void tenon_square_sum_params_default(tenon_square_sum_params *params, uint32_t size);

/** sum = Σ x² over all elements, or sum + Σ x²: the square of the norm of any number of tensors,
 * one call for each. The order of the additions is fixed, so the bits are the same each time. NaN
 * in x gives NaN; an empty x gives 0.
 *  @param params  NULL means the defaults
 *  @param x       f64, f32, f16 or bf16; any strides, 0 among them
 *  @param sum     one element, f64 for f64 and f32 for the others; must not overlap x
 *  @param sync    or NULL
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT · TENON_ERROR_UNSUPPORTED ·
 *          TENON_ERROR_UNSUPPORTED_DEVICE (f64 on a device without it) · TENON_ERROR_BUILD_FAILED ·
 *          TENON_ERROR_SOLVER_BARRED · TENON_ERROR_WORKSPACE_TOO_SMALL ·
 *          TENON_ERROR_OUT_OF_MEMORY · TENON_ERROR_OPENCL · TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_square_sum(tenon_stream *stream,
                                         const tenon_square_sum_params *params,
                                         const tenon_tensor *x, const tenon_tensor *sum,
                                         const tenon_sync *sync);

/** The plan of tenon_square_sum; operands x, sum. The views need no memory; where they have it, it
 * is checked.
 *  @param plan  receives the plan, with one reference that the caller owns; NULL on failure
 *  @return as the immediate call, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_square_sum_plan(tenon_context *context,
                                              const tenon_square_sum_params *params,
                                              const tenon_tensor *x, const tenon_tensor *sum,
                                              tenon_plan **plan);

#define TENON_CLIP_SKIP_NONFINITE 1u /**< flag: a norm that is NaN or infinite scales nothing */

/** Start from TENON_CLIP_PARAMS_INIT: norm 1, ε 1e-6. */
typedef struct tenon_clip_params {
    uint32_t struct_size; /**< sizeof(tenon_clip_params) */
    uint32_t flags;       /**< 0 or TENON_CLIP_SKIP_NONFINITE */
    const char *solver;   /**< forces a solver (plan.h has the grammar); NULL chooses */
    double max_norm;      /**< finite, more than 0 */
    double epsilon;       /**< finite, not negative */
} tenon_clip_params;

/** The defaults of tenon_clip_params, without braces. */
#define TENON_CLIP_PARAMS_DEFAULTS sizeof(tenon_clip_params), 0, NULL, 1.0, 1e-6
/** Initialises a tenon_clip_params with the defaults. */
#define TENON_CLIP_PARAMS_INIT                                                                     \
    {                                                                                              \
        TENON_CLIP_PARAMS_DEFAULTS                                                                 \
    }
#ifndef __cplusplus
/** A const tenon_clip_params: the defaults, except for the members that are named. TENON_LITERAL
 * says more. */
#define tenon_clip_params(...)                                                                     \
    TENON_LITERAL(tenon_clip_params, TENON_CLIP_PARAMS_DEFAULTS, __VA_ARGS__)
#endif

/** Sets the defaults, for languages without macros.
 *  @param size  sizeof(tenon_clip_params) */
TENON_API void tenon_clip_params_default(tenon_clip_params *params, uint32_t size);

/** x = x · min(1, max_norm / (sqrt(sum) + ε)), in place, with a sum of squares that the device
 * computed (R. Pascanu, T. Mikolov, Y. Bengio, "On the difficulty of training recurrent neural
 * networks", ICML 2013, algorithm 1). A NaN sum makes all of x NaN, and an infinite one makes it
 * zeros (NaN where x is infinite), unless the flag says to leave x as it is.
 *  @param params  NULL means the defaults
 *  @param sum     one element, f64 for f64 and f32 for the others; must not overlap x
 *  @param x       f64, f32, f16 or bf16; its elements must not overlap
 *  @param sync    or NULL
 *  @return as tenon_sgd */
TENON_CALL tenon_status tenon_clip(tenon_stream *stream, const tenon_clip_params *params,
                                   const tenon_tensor *sum, const tenon_tensor *x,
                                   const tenon_sync *sync);

/** The plan of tenon_clip; operands sum, x. The views need no memory; where they have it, it is
 * checked.
 *  @param plan  receives the plan, with one reference that the caller owns; NULL on failure
 *  @return as the immediate call, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_clip_plan(tenon_context *context, const tenon_clip_params *params,
                                        const tenon_tensor *sum, const tenon_tensor *x,
                                        tenon_plan **plan);

/** Clips gradients by the norm of all of them together: a tenon_square_sum for each, then a
 * tenon_clip for each. All arguments are checked before anything is enqueued.
 *  @param params     NULL means the defaults; its solver is that of tenon_clip
 *  @param gradients  `count` tensors that do not overlap, as tenon_clip's x; all f64, or none; NULL
 *                    with count 0, which sets the sum to 0
 *  @param sum        receives the sum of squares: one element, as in tenon_square_sum
 *  @param sync       or NULL; the wait list precedes the first launch, the event follows the last
 *  @return as tenon_square_sum */
TENON_CALL tenon_status tenon_clip_by_norm(tenon_stream *stream, const tenon_clip_params *params,
                                           const tenon_tensor *gradients, uint32_t count,
                                           const tenon_tensor *sum, const tenon_sync *sync);

#ifdef __cplusplus
}
#endif

#endif
