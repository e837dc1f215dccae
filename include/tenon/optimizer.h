/** @file
 * Optimizers: stochastic gradient descent, Adam and AdamW, clipping of gradients by their norm, and
 * loss scaling.
 *
 * All work in place. Parameters are f64, f32, f16 or bf16; arithmetic and state are f64 for f64 and
 * f32 for the others. A 16-bit parameter may have an f32 master copy, for mixed-precision training:
 * then the master is read and updated, and the parameter is set to the rounded master.
 *
 * NaN and infinity in a gradient propagate to state and parameter as in IEEE 754, unless `skip`
 * says that the step is to be left out. The scalars (learning rate, step, ...) and the values
 * computed from them in double precision are rounded to the type of the arithmetic. Calls that
 * differ only in their scalars share a plan.
 *
 * A training step that is safe against overflow, without waiting for the device. S is the loss
 * scale in element 0 of `state`, which tenon_loss_scale maintains, and 1 / S is in element 1:
 *
 *     compute the gradients of S · loss
 *     tenon_nonfinite(stream, NULL, &gradient[0], &skip, NULL)            sets skip to 1 or 0
 *     tenon_nonfinite(stream, &keep, &gradient[i], &skip, NULL)           for each further gradient
 *     tenon_adam with params.skip = &skip and params.gradient_scale = &inverse   for each parameter
 *     tenon_loss_scale(stream, NULL, &skip, &state, NULL)
 *
 * With tenon_clip_by_norm one tenon_nonfinite of its sum replaces those of the gradients: the sum
 * of squares is not finite if a gradient is not finite, or if it overflows, in which case the
 * gradients cannot be clipped either.
 */
#ifndef TENON_OPTIMIZER_H
#define TENON_OPTIMIZER_H

#include <tenon/plan.h>

TENON_BEGIN_C

#define TENON_SGD_NESTEROV 1u /**< flag: Nesterov's momentum */
#define TENON_SGD_FIRST                                                                            \
    2u /**< flag: the first step, which sets the velocity without reading it                       \
        */
#define TENON_SGD_MAXIMIZE 4u /**< flag: gradient ascent instead of descent */

/** Start from TENON_SGD_PARAMS_INIT: learning rate 0.01, all others 0. All numbers must be finite.
 */
typedef struct tenon_sgd_params {
    uint32_t struct_size; /**< sizeof(tenon_sgd_params) */
    uint32_t flags;       /**< any of TENON_SGD_ */
    const char *solver;   /**< forces a solver (grammar: plan.h); NULL: automatic choice */
    double learning_rate; /**< 0.01 in the initializer */
    double momentum;      /**< μ; 0 without a velocity */
    double dampening;     /**< τ */
    double weight_decay;  /**< λ, the factor of an L2 penalty */
    /** NULL, or one element of type i32 or u8 in device memory. If it is not 0 when the step runs,
     * the step changes nothing: parameter, velocity and master keep their bits. */
    const tenon_tensor *skip;
    /** NULL, or one f32 element in device memory, by which the gradient is multiplied before it is
     * used; for example the inverse of the loss scale. */
    const tenon_tensor *gradient_scale;
} tenon_sgd_params;

/** The defaults of tenon_sgd_params, without braces. */
#define TENON_SGD_PARAMS_DEFAULTS sizeof(tenon_sgd_params), 0, NULL, 0.01, 0.0, 0.0, 0.0, NULL, NULL
/** Initializes a tenon_sgd_params with the defaults. */
#define TENON_SGD_PARAMS_INIT                                                                      \
    {                                                                                              \
        TENON_SGD_PARAMS_DEFAULTS                                                                  \
    }
#ifndef __cplusplus
/** A const tenon_sgd_params with the defaults, except for the members given as arguments. See
 * TENON_LITERAL. */
#define tenon_sgd_params(...)                                                                      \
    TENON_LITERAL(tenon_sgd_params, TENON_SGD_PARAMS_DEFAULTS, __VA_ARGS__)
#endif

/** Sets `params` to the defaults, for languages without macros.
 *  @param size  sizeof(tenon_sgd_params) */
TENON_API void tenon_sgd_params_default(tenon_sgd_params *params, uint32_t size);

/** Computes a step of stochastic gradient descent (I. Sutskever, J. Martens, G. Dahl, G. Hinton,
 * "On the importance of initialization and momentum in deep learning", ICML 2013, but with the
 * learning rate outside the velocity):
 *
 *     g = gradient + λ · parameter (-gradient with TENON_SGD_MAXIMIZE)
 *     (gradient · gradient_scale instead of gradient, if there is a gradient_scale)
 *     velocity = μ · velocity + (1 - τ) · g (g with TENON_SGD_FIRST)
 *     d = velocity (g + μ · velocity with TENON_SGD_NESTEROV; g without a velocity)
 *     parameter = parameter - learning_rate · d
 *
 * All operands have one shape. Those that are written must not overlap each other, the gradient, or
 * their own elements.
 *  @param params     NULL means the defaults
 *  @param gradient   of the parameter's type, or f32 for a 16-bit one; any strides, including 0
 *  @param parameter  f64, f32, f16 or bf16; written, and read unless there is a master
 *  @param velocity   NULL, or f64 for f64 and f32 for the others; read (except at the first step)
 *                    and written
 *  @param master     NULL, or f32 for a 16-bit parameter; read and written
 *  @param sync       may be NULL
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT · TENON_ERROR_UNSUPPORTED ·
 *          TENON_ERROR_UNSUPPORTED_DEVICE (f64 on a device without it) · TENON_ERROR_BUILD_FAILED ·
 *          TENON_ERROR_SOLVER_BARRED · TENON_ERROR_OUT_OF_MEMORY · TENON_ERROR_OPENCL ·
 *          TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_sgd(tenon_stream *stream, const tenon_sgd_params *params,
                                  const tenon_tensor *gradient, const tenon_tensor *parameter,
                                  const tenon_tensor *velocity, const tenon_tensor *master,
                                  const tenon_sync *sync);

/** Makes a plan of tenon_sgd with operands gradient, parameter, velocity, master, and, if the
 * parameters name one of them, skip and gradient_scale. The tensors need no memory; memory that
 * they have is checked. Each run can set learning_rate, momentum, dampening and weight_decay
 * (tenon_plan_run_operands); without a velocity, momentum stays 0.
 *  @param plan  receives the plan, with one reference owned by the caller; NULL on failure
 *  @return as the immediate call, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_sgd_plan(tenon_context *context, const tenon_sgd_params *params,
                                       const tenon_tensor *gradient, const tenon_tensor *parameter,
                                       const tenon_tensor *velocity, const tenon_tensor *master,
                                       tenon_plan **plan);

#define TENON_ADAM_DECOUPLED 1u /**< flag: decoupled weight decay, as in AdamW */
#define TENON_ADAM_MAXIMIZE  2u /**< flag: gradient ascent instead of descent */

/** Start from TENON_ADAM_PARAMS_INIT: learning rate 0.001, β₁ 0.9, β₂ 0.999, ε 1e-8, no weight
 * decay, step 1. All numbers must be finite. */
typedef struct tenon_adam_params {
    uint32_t struct_size; /**< sizeof(tenon_adam_params) */
    uint32_t flags;       /**< any of TENON_ADAM_ */
    const char *solver;   /**< forces a solver (grammar: plan.h); NULL: automatic choice */
    double learning_rate; /**< 0.001 in the initializer */
    double beta1;         /**< β₁, the decay of the first moment: in [0, 1) */
    double beta2;         /**< β₂, the decay of the second moment: in [0, 1) */
    double epsilon;       /**< not negative */
    double weight_decay;  /**< λ */
    uint64_t step;        /**< t, counted from 1. A skipped step counts as well, unless the caller
                             passes the same number again; element 3 of the state of
                             tenon_loss_scale is the number of skipped steps, which may be read
                             at any later time and subtracted */
    /** NULL, or one element of type i32 or u8 in device memory. If it is not 0 when the step runs,
     * the step changes nothing: parameter, moments and master keep their bits. */
    const tenon_tensor *skip;
    /** NULL, or one f32 element in device memory, by which the gradient is multiplied before it is
     * used; for example the inverse of the loss scale. */
    const tenon_tensor *gradient_scale;
} tenon_adam_params;

/** The defaults of tenon_adam_params, without braces. */
#define TENON_ADAM_PARAMS_DEFAULTS                                                                 \
    sizeof(tenon_adam_params), 0, NULL, 0.001, 0.9, 0.999, 1e-8, 0.0, 1, NULL, NULL
/** Initializes a tenon_adam_params with the defaults. */
#define TENON_ADAM_PARAMS_INIT                                                                     \
    {                                                                                              \
        TENON_ADAM_PARAMS_DEFAULTS                                                                 \
    }
#ifndef __cplusplus
/** A const tenon_adam_params with the defaults, except for the members given as arguments. See
 * TENON_LITERAL. */
#define tenon_adam_params(...)                                                                     \
    TENON_LITERAL(tenon_adam_params, TENON_ADAM_PARAMS_DEFAULTS, __VA_ARGS__)
#endif

/** Sets `params` to the defaults, for languages without macros.
 *  @param size  sizeof(tenon_adam_params) */
TENON_API void tenon_adam_params_default(tenon_adam_params *params, uint32_t size);

/** Computes a step of Adam (D. Kingma, J. Ba, "Adam: A Method for Stochastic Optimization", ICLR
 * 2015, algorithm 1), or of AdamW (I. Loshchilov, F. Hutter, "Decoupled Weight Decay
 * Regularization", ICLR 2019, algorithm 2):
 *
 *     g = gradient + λ · parameter (-gradient with TENON_ADAM_MAXIMIZE)
 *     (gradient · gradient_scale instead of gradient, if there is a gradient_scale)
 *     first = β₁ · first + (1 - β₁) · g
 *     second = β₂ · second + (1 - β₂) · g²
 *     d = first / (sqrt(second) / sqrt(1 - β₂ᵗ) + ε)
 *     parameter = parameter - learning_rate / (1 - β₁ᵗ) · d
 *
 * With TENON_ADAM_DECOUPLED, g has no penalty; instead the parameter is multiplied by 1 -
 * learning_rate · λ before d is subtracted.
 *
 * The moments must be 0 before the first step (tenon_tensor_fill). An infinite gradient, or one
 * whose square overflows, makes the second moment infinite: then d is 0, or NaN if the first moment
 * is infinite too. ε = 0 gives NaN where both moments are 0.
 *
 * All operands have one shape. Those that are written must not overlap each other, the gradient, or
 * their own elements.
 *  @param params         NULL means the defaults
 *  @param gradient       of the parameter's type, or f32 for a 16-bit one; any strides, including 0
 *  @param parameter      f64, f32, f16 or bf16; written, and read unless there is a master
 *  @param first, second  f64 for f64 and f32 for the others; read and written
 *  @param master         NULL, or f32 for a 16-bit parameter; read and written
 *  @param sync           may be NULL
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT · TENON_ERROR_UNSUPPORTED ·
 *          TENON_ERROR_UNSUPPORTED_DEVICE (f64 on a device without it) · TENON_ERROR_BUILD_FAILED ·
 *          TENON_ERROR_SOLVER_BARRED · TENON_ERROR_OUT_OF_MEMORY · TENON_ERROR_OPENCL ·
 *          TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_adam(tenon_stream *stream, const tenon_adam_params *params,
                                   const tenon_tensor *gradient, const tenon_tensor *parameter,
                                   const tenon_tensor *first, const tenon_tensor *second,
                                   const tenon_tensor *master, const tenon_sync *sync);

/** Makes a plan of tenon_adam with operands gradient, parameter, first, second, master, and, if the
 * parameters name one of them, skip and gradient_scale. The tensors need no memory; memory that
 * they have is checked. In a training loop each run sets the step, and learning_rate, beta1, beta2,
 * epsilon and weight_decay if they change (tenon_plan_run_operands).
 *  @param plan  receives the plan, with one reference owned by the caller; NULL on failure
 *  @return as the immediate call, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_adam_plan(tenon_context *context, const tenon_adam_params *params,
                                        const tenon_tensor *gradient, const tenon_tensor *parameter,
                                        const tenon_tensor *first, const tenon_tensor *second,
                                        const tenon_tensor *master, tenon_plan **plan);

#define TENON_SQUARE_SUM_ADD                                                                       \
    1u /**< flag: add to the sum's previous value instead of replacing it */

/** Start from TENON_SQUARE_SUM_PARAMS_INIT. */
typedef struct tenon_square_sum_params {
    uint32_t struct_size; /**< sizeof(tenon_square_sum_params) */
    uint32_t flags;       /**< 0 or TENON_SQUARE_SUM_ADD */
    const char *solver;   /**< forces a solver (grammar: plan.h); NULL: automatic choice */
} tenon_square_sum_params;

/** The defaults of tenon_square_sum_params, without braces. */
#define TENON_SQUARE_SUM_PARAMS_DEFAULTS sizeof(tenon_square_sum_params), 0, NULL
/** Initializes a tenon_square_sum_params with the defaults. */
#define TENON_SQUARE_SUM_PARAMS_INIT                                                               \
    {                                                                                              \
        TENON_SQUARE_SUM_PARAMS_DEFAULTS                                                           \
    }
#ifndef __cplusplus
/** A const tenon_square_sum_params with the defaults, except for the members given as arguments.
 * See TENON_LITERAL. */
#define tenon_square_sum_params(...)                                                               \
    TENON_LITERAL(tenon_square_sum_params, TENON_SQUARE_SUM_PARAMS_DEFAULTS, __VA_ARGS__)
#endif

/** Sets `params` to the defaults, for languages without macros.
 *  @param size  sizeof(tenon_square_sum_params) */
TENON_API void tenon_square_sum_params_default(tenon_square_sum_params *params, uint32_t size);

/** Computes sum = Σ x² over all elements, or sum + Σ x². One call per tensor gives the squared norm
 * of any number of tensors. The order of additions is fixed, so the bits are the same each time. A
 * NaN in x gives NaN; an empty x gives 0.
 *  @param params  NULL means the defaults
 *  @param x       f64, f32, f16 or bf16; any strides, including 0
 *  @param sum     one element, f64 for f64 and f32 for the others; must not overlap x
 *  @param sync    may be NULL
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT · TENON_ERROR_UNSUPPORTED ·
 *          TENON_ERROR_UNSUPPORTED_DEVICE (f64 on a device without it) · TENON_ERROR_BUILD_FAILED ·
 *          TENON_ERROR_SOLVER_BARRED · TENON_ERROR_WORKSPACE_TOO_SMALL ·
 *          TENON_ERROR_OUT_OF_MEMORY · TENON_ERROR_OPENCL · TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_square_sum(tenon_stream *stream,
                                         const tenon_square_sum_params *params,
                                         const tenon_tensor *x, const tenon_tensor *sum,
                                         const tenon_sync *sync);

/** Makes a plan of tenon_square_sum with operands x, sum. The tensors need no memory; memory that
 * they have is checked.
 *  @param plan  receives the plan, with one reference owned by the caller; NULL on failure
 *  @return as the immediate call, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_square_sum_plan(tenon_context *context,
                                              const tenon_square_sum_params *params,
                                              const tenon_tensor *x, const tenon_tensor *sum,
                                              tenon_plan **plan);

#define TENON_CLIP_SKIP_NONFINITE 1u /**< flag: no scaling if the norm is NaN or infinite */

/** Start from TENON_CLIP_PARAMS_INIT: norm 1, ε 1e-6. */
typedef struct tenon_clip_params {
    uint32_t struct_size; /**< sizeof(tenon_clip_params) */
    uint32_t flags;       /**< 0 or TENON_CLIP_SKIP_NONFINITE */
    const char *solver;   /**< forces a solver (grammar: plan.h); NULL: automatic choice */
    double max_norm;      /**< finite, more than 0 */
    double epsilon;       /**< finite, not negative */
    /** NULL, or one element of type i32 or u8 in device memory. If it is not 0 when the call runs,
     * x keeps its bits. */
    const tenon_tensor *skip;
    /** NULL, or one f32 element in device memory, by which the norm is multiplied before it is
     * compared. With the inverse of the loss scale, max_norm applies to the gradients of the loss
     * itself. x stays scaled, for an optimizer with the same gradient_scale. */
    const tenon_tensor *gradient_scale;
} tenon_clip_params;

/** The defaults of tenon_clip_params, without braces. */
#define TENON_CLIP_PARAMS_DEFAULTS sizeof(tenon_clip_params), 0, NULL, 1.0, 1e-6, NULL, NULL
/** Initializes a tenon_clip_params with the defaults. */
#define TENON_CLIP_PARAMS_INIT                                                                     \
    {                                                                                              \
        TENON_CLIP_PARAMS_DEFAULTS                                                                 \
    }
#ifndef __cplusplus
/** A const tenon_clip_params with the defaults, except for the members given as arguments. See
 * TENON_LITERAL. */
#define tenon_clip_params(...)                                                                     \
    TENON_LITERAL(tenon_clip_params, TENON_CLIP_PARAMS_DEFAULTS, __VA_ARGS__)
#endif

/** Sets `params` to the defaults, for languages without macros.
 *  @param size  sizeof(tenon_clip_params) */
TENON_API void tenon_clip_params_default(tenon_clip_params *params, uint32_t size);

/** Computes x = x · min(1, max_norm / (sqrt(sum) · gradient_scale + ε)), in place, where sum is a
 * sum of squares computed on the device, and gradient_scale is 1 if it is NULL (R. Pascanu, T.
 * Mikolov, Y. Bengio, "On the difficulty of training recurrent neural networks", ICML 2013,
 * algorithm 1). A NaN sum makes all of x NaN, and an infinite sum makes x 0 (NaN where x is
 * infinite), unless TENON_CLIP_SKIP_NONFINITE or `skip` leaves x unchanged.
 *  @param params  NULL means the defaults
 *  @param sum     one element, f64 for f64 and f32 for the others; must not overlap x
 *  @param x       f64, f32, f16 or bf16; its elements must not overlap
 *  @param sync    may be NULL
 *  @return as tenon_sgd */
TENON_CALL tenon_status tenon_clip(tenon_stream *stream, const tenon_clip_params *params,
                                   const tenon_tensor *sum, const tenon_tensor *x,
                                   const tenon_sync *sync);

/** Makes a plan of tenon_clip with operands sum, x, and, if the parameters name one of them, skip
 * and gradient_scale. The tensors need no memory; memory that they have is checked.
 *  @param plan  receives the plan, with one reference owned by the caller; NULL on failure
 *  @return as the immediate call, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_clip_plan(tenon_context *context, const tenon_clip_params *params,
                                        const tenon_tensor *sum, const tenon_tensor *x,
                                        tenon_plan **plan);

/** Clips gradients by their combined norm: a tenon_square_sum for each tensor, then a tenon_clip
 * for each. All arguments are validated before anything is enqueued.
 *  @param params     NULL means the defaults; its solver is that of tenon_clip
 *  @param gradients  `count` tensors that do not overlap, each as x of tenon_clip; either all are
 *                    f64 or none; NULL with count 0, which sets the sum to 0
 *  @param sum        receives the sum of squares: one element, as in tenon_square_sum
 *  @param sync       may be NULL; the first launch waits for the wait list, the event completes
 *                    with the last launch
 *  @return as tenon_square_sum */
TENON_CALL tenon_status tenon_clip_by_norm(tenon_stream *stream, const tenon_clip_params *params,
                                           const tenon_tensor *gradients, uint32_t count,
                                           const tenon_tensor *sum, const tenon_sync *sync);

#define TENON_NONFINITE_KEEP                                                                       \
    1u /**< flag: leave a `flag` that is not 0 unchanged, to combine several tensors */

/** Start from TENON_NONFINITE_PARAMS_INIT. */
typedef struct tenon_nonfinite_params {
    uint32_t struct_size; /**< sizeof(tenon_nonfinite_params) */
    uint32_t flags;       /**< 0 or TENON_NONFINITE_KEEP */
    const char *solver;   /**< forces a solver (grammar: plan.h); NULL: automatic choice */
} tenon_nonfinite_params;

/** The defaults of tenon_nonfinite_params, without braces. */
#define TENON_NONFINITE_PARAMS_DEFAULTS sizeof(tenon_nonfinite_params), 0, NULL
/** Initializes a tenon_nonfinite_params with the defaults. */
#define TENON_NONFINITE_PARAMS_INIT                                                                \
    {                                                                                              \
        TENON_NONFINITE_PARAMS_DEFAULTS                                                            \
    }
#ifndef __cplusplus
/** A const tenon_nonfinite_params with the defaults, except for the members given as arguments. See
 * TENON_LITERAL. */
#define tenon_nonfinite_params(...)                                                                \
    TENON_LITERAL(tenon_nonfinite_params, TENON_NONFINITE_PARAMS_DEFAULTS, __VA_ARGS__)
#endif

/** Sets `params` to the defaults, for languages without macros.
 *  @param size  sizeof(tenon_nonfinite_params) */
TENON_API void tenon_nonfinite_params_default(tenon_nonfinite_params *params, uint32_t size);

/** Sets flag to 1 if an element of x is NaN or infinite, and otherwise to 0. With
 * TENON_NONFINITE_KEEP a flag that is not 0 remains so. Reads x once and needs no
 * workspace.
 *  @param params  NULL means the defaults
 *  @param x       f64, f32, f16 or bf16; any strides, including 0; an empty x is finite
 *  @param flag    one element of type i32; must not overlap x
 *  @param sync    may be NULL
 *  @return as tenon_sgd */
TENON_CALL tenon_status tenon_nonfinite(tenon_stream *stream, const tenon_nonfinite_params *params,
                                        const tenon_tensor *x, const tenon_tensor *flag,
                                        const tenon_sync *sync);

/** Makes a plan of tenon_nonfinite with operands x, flag. The tensors need no memory; memory that
 * they have is checked.
 *  @param plan  receives the plan, with one reference owned by the caller; NULL on failure
 *  @return as the immediate call, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_nonfinite_plan(tenon_context *context,
                                             const tenon_nonfinite_params *params,
                                             const tenon_tensor *x, const tenon_tensor *flag,
                                             tenon_plan **plan);

/** The number of elements of the state of tenon_loss_scale. */
#define TENON_LOSS_SCALE_STATE 4

/** Start from TENON_LOSS_SCALE_PARAMS_INIT: growth 2, backoff 0.5, interval 2000, and limits
 * between which both the scale and its inverse are normal numbers. */
typedef struct tenon_loss_scale_params {
    uint32_t struct_size; /**< sizeof(tenon_loss_scale_params) */
    uint32_t flags;       /**< 0 */
    const char *solver;   /**< forces a solver (grammar: plan.h); NULL: automatic choice */
    double growth;        /**< the factor after `interval` steps without overflow; at least 1 */
    double backoff;       /**< the factor after a skipped step; above 0, at most 1 */
    double interval;      /**< a whole number of steps from 1 to 2²⁴ */
    double minimum;       /**< the least scale; from 2⁻¹²⁶ to `maximum` */
    double maximum;       /**< the greatest scale; at most 2¹²⁶ */
} tenon_loss_scale_params;

/** The defaults of tenon_loss_scale_params, without braces. */
#define TENON_LOSS_SCALE_PARAMS_DEFAULTS                                                           \
    sizeof(tenon_loss_scale_params), 0, NULL, 2.0, 0.5, 2000.0, 1.1754943508222875e-38,            \
        8.507059173023462e+37
/** Initializes a tenon_loss_scale_params with the defaults. */
#define TENON_LOSS_SCALE_PARAMS_INIT                                                               \
    {                                                                                              \
        TENON_LOSS_SCALE_PARAMS_DEFAULTS                                                           \
    }
#ifndef __cplusplus
/** A const tenon_loss_scale_params with the defaults, except for the members given as arguments.
 * See TENON_LITERAL. */
#define tenon_loss_scale_params(...)                                                               \
    TENON_LITERAL(tenon_loss_scale_params, TENON_LOSS_SCALE_PARAMS_DEFAULTS, __VA_ARGS__)
#endif

/** Sets `params` to the defaults, for languages without macros.
 *  @param size  sizeof(tenon_loss_scale_params) */
TENON_API void tenon_loss_scale_params_default(tenon_loss_scale_params *params, uint32_t size);

/** Updates a dynamic loss scale after a step (P. Micikevicius et al., "Mixed Precision Training",
 * ICLR 2018, section 3.2; the rule is that of PyTorch's GradScaler):
 *
 *     if skip is not 0:  scale = scale · backoff, count = 0, skipped = skipped + 1
 *     otherwise:         count = count + 1; if count is at least interval: scale = scale · growth,
 *                        count = 0
 *     scale = min(max(scale, minimum), maximum)
 *     inverse = 1 / scale
 *
 * Fill the state with the initial scale (65536, for example), its inverse, 0 and 0.
 *  @param params  NULL means the defaults
 *  @param skip    one element, i32 or u8; must not overlap the state
 *  @param state   f32, one dimension of four elements: scale, inverse, count, skipped; written
 *  @param sync    may be NULL
 *  @return as tenon_sgd */
TENON_CALL tenon_status tenon_loss_scale(tenon_stream *stream,
                                         const tenon_loss_scale_params *params,
                                         const tenon_tensor *skip, const tenon_tensor *state,
                                         const tenon_sync *sync);

/** Makes a plan of tenon_loss_scale with operands skip, state. The tensors need no memory; memory
 * that they have is checked. Each run can set growth, backoff, interval, minimum and maximum
 * (tenon_plan_run_operands).
 *  @param plan  receives the plan, with one reference owned by the caller; NULL on failure
 *  @return as the immediate call, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_loss_scale_plan(tenon_context *context,
                                              const tenon_loss_scale_params *params,
                                              const tenon_tensor *skip, const tenon_tensor *state,
                                              tenon_plan **plan);

TENON_END_C

#endif
