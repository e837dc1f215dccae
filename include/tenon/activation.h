/** @file
 * Activation functions: names, formulas, and the element-wise operations that apply them and
 * compute their gradients.
 */
#ifndef TENON_ACTIVATION_H
#define TENON_ACTIVATION_H

#include <tenon/plan.h>

TENON_BEGIN_C

/** The activation functions, with their formulas and sources. The names are those of PyTorch, ONNX
 * and oneDNN. A NaN gives NaN in every function, and an infinity gives the limit.
 *
 * tenon_activation_backward multiplies by the derivative f' of the formula. At points where the
 * formula is not differentiable, f' is defined as follows: relu and abs 0 at 0; leaky relu alpha,
 * elu alpha and selu lambda · alpha at 0 (the slope from the left); clipped relu, hard sigmoid and
 * hard tanh 0 at both ends; hard swish 0 at -3 and 1 at 3. */
typedef enum tenon_activation_kind {
    TENON_ACTIVATION_IDENTITY = 0,   /**< x */
    TENON_ACTIVATION_RELU = 1,       /**< x > 0 ? x : 0 */
    TENON_ACTIVATION_LEAKY_RELU = 2, /**< x > 0 ? x : alpha · x; alpha finite, not 0 */
    TENON_ACTIVATION_CLIPPED_RELU =
        3,                        /**< min(max(x, 0), alpha), alpha above 0; relu6 with alpha = 6 */
    TENON_ACTIVATION_SIGMOID = 4, /**< 1 / (1 + exp(-x)) */
    TENON_ACTIVATION_TANH = 5,    /**< tanh(x) */
    /** x > 0 ? x : alpha · (exp(x) - 1), alpha finite, not 0; alpha is 1 in Clevert, Unterthiner,
     * Hochreiter, "Fast and accurate deep network learning by exponential linear units", 2016. */
    TENON_ACTIVATION_ELU = 6,
    /** lambda · (x > 0 ? x : a · (exp(x) - 1)) with lambda = 1.0507009873554805 and
     * a = 1.6732632423543772: Klambauer et al., "Self-normalizing neural networks", 2017. */
    TENON_ACTIVATION_SELU = 7,
    /** x > 0 ? x : alpha · (exp(x / alpha) - 1), alpha from 1e-30 to 1e30: Barron, "Continuously
     * differentiable exponential linear units", 2017. */
    TENON_ACTIVATION_CELU = 8,
    /** x · (1 + erf(x / sqrt(2))) / 2: Hendrycks, Gimpel, "Gaussian error linear units", 2016. */
    TENON_ACTIVATION_GELU = 9,
    /** x · (1 + tanh(sqrt(2 / pi) · (x + 0.044715 · x³))) / 2, the approximation in the paper of
     * GELU. */
    TENON_ACTIVATION_GELU_TANH = 10,
    /** x / (1 + exp(-x)), also called swish: Ramachandran, Zoph, Le, "Searching for activation
     * functions", 2017. */
    TENON_ACTIVATION_SILU = 11,
    /** x · tanh(log(1 + exp(x))): Misra, "Mish: a self regularized non-monotonic activation
     * function", 2019. */
    TENON_ACTIVATION_MISH = 12,
    /** min(max(alpha · x + beta, 0), 1), both finite, alpha not 0. PyTorch uses alpha = 1/6 and
     * beta = 1/2; the defaults of ONNX are 0.2 and 0.5. */
    TENON_ACTIVATION_HARD_SIGMOID = 13,
    /** x · min(max(x + 3, 0), 6) / 6: Howard et al., "Searching for MobileNetV3", 2019. */
    TENON_ACTIVATION_HARD_SWISH = 14,
    /** min(max(x, alpha), beta), alpha below beta; either may be infinite. Usually -1 and 1. */
    TENON_ACTIVATION_HARD_TANH = 15,
    TENON_ACTIVATION_SOFTPLUS = 16, /**< log(1 + exp(x)) */
    TENON_ACTIVATION_SOFTSIGN = 17, /**< x / (1 + abs(x)) */
    TENON_ACTIVATION_EXP = 18,      /**< exp(x) */
    TENON_ACTIVATION_ABS = 19,      /**< abs(x) */
    TENON_ACTIVATION_SQUARE = 20    /**< x · x */
} tenon_activation_kind;

/** An activation with its constants. The constants are rounded to the type of the arithmetic (f32,
 * or f64 for f64 tensors); constants that the formula does not use are ignored. Zero-initialized:
 * identity.
 *
 * Six kinds have constants: leaky_relu, clipped_relu, elu, celu, hard_sigmoid and hard_tanh. Their
 * constants have no implicit defaults: if both are 0, or a value is not allowed by the formula, the
 * call returns TENON_ERROR_INVALID_ARGUMENT and a message with the usual value. (For a leaky relu
 * or an elu with an alpha of 0, use TENON_ACTIVATION_RELU.) tenon_activation_default returns the
 * usual values. */
typedef struct tenon_activation {
    uint32_t kind;     /**< tenon_activation_kind */
    uint32_t reserved; /**< 0 */
    double alpha;      /**< first constant of the formula; otherwise ignored */
    double beta;       /**< second constant; otherwise ignored */
} tenon_activation;

/** Returns an activation with its usual constants: leaky_relu 0.01, clipped_relu 6, elu and celu 1,
 * hard_sigmoid 1/6 and 1/2, hard_tanh -1 and 1; 0 if the formula has no constant. For example:
 * params.activation = tenon_activation_default(TENON_ACTIVATION_ELU). An unknown kind is returned
 * as is, and rejected by the call that uses it. Callable from any thread. */
TENON_API tenon_activation tenon_activation_default(tenon_activation_kind kind);

/** Start from TENON_ACTIVATION_PARAMS_INIT and set `activation`. */
typedef struct tenon_activation_params {
    uint32_t struct_size;        /**< sizeof(tenon_activation_params) */
    uint32_t flags;              /**< 0 */
    const char *solver;          /**< forces a solver (grammar: plan.h); NULL: automatic choice */
    tenon_activation activation; /**< identity in the initializer */
} tenon_activation_params;

/** The defaults of tenon_activation_params, without braces. */
#define TENON_ACTIVATION_PARAMS_DEFAULTS                                                           \
    sizeof(tenon_activation_params), 0, NULL,                                                      \
    {                                                                                              \
        0, 0, 0.0, 0.0                                                                             \
    }
/** Initializes a tenon_activation_params with the defaults. */
#define TENON_ACTIVATION_PARAMS_INIT                                                               \
    {                                                                                              \
        TENON_ACTIVATION_PARAMS_DEFAULTS                                                           \
    }
#ifndef __cplusplus
/** A const tenon_activation_params with the defaults, except for the members given as arguments.
 * See TENON_LITERAL. */
#define tenon_activation_params(...)                                                               \
    TENON_LITERAL(tenon_activation_params, TENON_ACTIVATION_PARAMS_DEFAULTS, __VA_ARGS__)
#endif

/** Sets `params` to the defaults, for languages without macros.
 *  @param size  sizeof(tenon_activation_params) */
TENON_API void tenon_activation_params_default(tenon_activation_params *params, uint32_t size);

/** Computes y = activation(x), element by element.
 *  @param params  NULL means the defaults: a copy
 *  @param x       f64, f32, f16 or bf16, any rank and strides, including broadcast dimensions
 *                 (stride 0)
 *  @param y       of x's type and shape; may be exactly x (same memory, offset and strides), must
 *                 not overlap it otherwise, and its own elements must not overlap
 *  @param sync    may be NULL
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT · TENON_ERROR_UNSUPPORTED ·
 *          TENON_ERROR_UNSUPPORTED_DEVICE (f64 on a device without it) · TENON_ERROR_BUILD_FAILED ·
 *          TENON_ERROR_SOLVER_BARRED · TENON_ERROR_OUT_OF_MEMORY · TENON_ERROR_OPENCL ·
 *          TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_activation_forward(tenon_stream *stream,
                                                 const tenon_activation_params *params,
                                                 const tenon_tensor *x, const tenon_tensor *y,
                                                 const tenon_sync *sync);

/** Makes a plan of tenon_activation_forward with operands x, y. The tensors need no memory; memory
 * that they have is checked.
 *  @param plan  receives the plan, with one reference owned by the caller; NULL on failure
 *  @return as the immediate call, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_activation_forward_plan(tenon_context *context,
                                                      const tenon_activation_params *params,
                                                      const tenon_tensor *x, const tenon_tensor *y,
                                                      tenon_plan **plan);

/** Computes dx = dy · f'(x), element by element, where f' is the derivative of the activation as
 * documented in tenon_activation_kind. x is the input of the forward call, not its result. The
 * product follows IEEE 754: where f' is 0, a NaN or an infinity in dy gives NaN.
 *  @param params  as for the forward call; NULL means the defaults: a copy of dy
 *  @param x       f64, f32, f16 or bf16, any rank and strides, including broadcast dimensions
 *                 (stride 0)
 *  @param dy      of x's type and shape, any strides
 *  @param dx      of x's type and shape; may be exactly x or exactly dy (same memory, offset and
 *                 strides), must not overlap either otherwise, and its own elements must not
 *                 overlap
 *  @param sync    may be NULL
 *  @return as tenon_activation_forward */
TENON_CALL tenon_status tenon_activation_backward(tenon_stream *stream,
                                                  const tenon_activation_params *params,
                                                  const tenon_tensor *x, const tenon_tensor *dy,
                                                  const tenon_tensor *dx, const tenon_sync *sync);

/** Makes a plan of tenon_activation_backward with operands x, dy, dx. The tensors need no memory;
 * memory that they have is checked.
 *  @param plan  receives the plan, with one reference owned by the caller; NULL on failure
 *  @return as the immediate call, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_activation_backward_plan(tenon_context *context,
                                                       const tenon_activation_params *params,
                                                       const tenon_tensor *x,
                                                       const tenon_tensor *dy,
                                                       const tenon_tensor *dx, tenon_plan **plan);

TENON_END_C

#endif
