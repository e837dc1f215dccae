/** @file
 * Floating-point functions of one tensor, element by element: roots, exponentials, logarithms,
 * trigonometric and hyperbolic functions, rounding to integers. Functions of two tensors, such as
 * powers, are in elementwise.h, which can also apply several functions in one pass over memory
 * (tenon_elementwise_chain). Activations, such as sigmoid, are in activation.h.
 */
#ifndef TENON_FUNCTION_H
#define TENON_FUNCTION_H

#include <tenon/plan.h>

TENON_BEGIN_C

/** The function of x. Special values are those of C11's annex F: for example, the logarithm of a
 * negative number is NaN, and that of 0 is minus infinity. A NaN gives NaN. */
typedef enum tenon_function_kind {
    TENON_FUNCTION_ABS = 0, /**< the absolute value of x */
    TENON_FUNCTION_NEG = 1, /**< -x */
    TENON_FUNCTION_SIGN =
        2, /**< 1 for positive x, -1 for negative x; a zero and a NaN are unchanged */
    TENON_FUNCTION_SQRT = 3,       /**< the square root of x */
    TENON_FUNCTION_RSQRT = 4,      /**< 1 / sqrt(x) */
    TENON_FUNCTION_RECIPROCAL = 5, /**< 1 / x */
    TENON_FUNCTION_FLOOR = 6,      /**< the greatest integer that is not greater than x */
    TENON_FUNCTION_CEIL = 7,       /**< the least integer that is not less than x */
    TENON_FUNCTION_ROUND = 8,      /**< the nearest integer; of two, the even one */
    TENON_FUNCTION_TRUNC = 9,      /**< x without its fraction */
    TENON_FUNCTION_EXP = 10,       /**< e to the power of x */
    TENON_FUNCTION_EXP2 = 11,      /**< 2 to the power of x */
    TENON_FUNCTION_EXPM1 = 12,     /**< exp(x) - 1, accurate for small x */
    TENON_FUNCTION_LOG = 13,       /**< the natural logarithm */
    TENON_FUNCTION_LOG2 = 14,      /**< the logarithm to base 2 */
    TENON_FUNCTION_LOG10 = 15,     /**< the logarithm to base 10 */
    TENON_FUNCTION_LOG1P = 16,     /**< log(1 + x), accurate for small x */
    TENON_FUNCTION_SIN = 17,       /**< the sine; x is in radians, as in all of these */
    TENON_FUNCTION_COS = 18,       /**< the cosine */
    TENON_FUNCTION_TAN = 19,       /**< the tangent */
    TENON_FUNCTION_ASIN = 20,      /**< the arc sine, from -π/2 to π/2; NaN if abs(x) > 1 */
    TENON_FUNCTION_ACOS = 21,      /**< the arc cosine, from 0 to π; NaN if abs(x) > 1 */
    TENON_FUNCTION_ATAN = 22,      /**< the arc tangent, from -π/2 to π/2 */
    TENON_FUNCTION_SINH = 23,      /**< the hyperbolic sine */
    TENON_FUNCTION_COSH = 24,      /**< the hyperbolic cosine */
    TENON_FUNCTION_TANH = 25,      /**< the hyperbolic tangent */
    TENON_FUNCTION_ASINH = 26,     /**< the inverse of sinh */
    TENON_FUNCTION_ACOSH = 27,     /**< the inverse of cosh, not negative; NaN if x < 1 */
    TENON_FUNCTION_ATANH = 28,     /**< the inverse of tanh; NaN if abs(x) > 1 */
    TENON_FUNCTION_ERF =
        29 /**< the error function, 2/√π times the integral of exp(-t²) from 0 to x */
} tenon_function_kind;

/** Start from TENON_FUNCTION_PARAMS_INIT and set `kind`. */
typedef struct tenon_function_params {
    uint32_t struct_size; /**< sizeof(tenon_function_params) */
    uint32_t flags;       /**< 0 */
    const char *solver;   /**< forces a solver (grammar: plan.h); NULL: automatic choice */
    uint32_t kind;        /**< tenon_function_kind */
    uint32_t reserved;    /**< 0 */
} tenon_function_params;

/** The defaults of tenon_function_params, without braces. */
#define TENON_FUNCTION_PARAMS_DEFAULTS sizeof(tenon_function_params), 0, NULL, 0, 0
/** Initializes a tenon_function_params with the defaults. */
#define TENON_FUNCTION_PARAMS_INIT                                                                 \
    {                                                                                              \
        TENON_FUNCTION_PARAMS_DEFAULTS                                                             \
    }
#ifndef __cplusplus
/** A const tenon_function_params with the defaults, except for the members given as arguments. See
 * TENON_LITERAL. */
#define tenon_function_params(...)                                                                 \
    TENON_LITERAL(tenon_function_params, TENON_FUNCTION_PARAMS_DEFAULTS, __VA_ARGS__)
#endif

/** Sets `params` to the defaults, for languages without macros.
 *  @param size  sizeof(tenon_function_params) */
TENON_API void tenon_function_params_default(tenon_function_params *params, uint32_t size);

/** Computes y = f(x), element by element. 16-bit types are computed in f32 and rounded once. abs,
 * neg, sign and the roundings to integers are exact; abs, neg and sign also have integer types,
 * where the least number is its own absolute value and negation. The other functions have the
 * errors that the OpenCL C specification allows in f32, in units in the last place: exp, exp2,
 * expm1, log, log2, log10 and sqrt 3, log1p and rsqrt 2, reciprocal 2.5, sin, cos, asin, acos,
 * sinh, cosh, asinh and acosh 4, tan, atan, tanh and atanh 5, erf 16.
 *
 * The gradients are made of the same functions. With dy the gradient of y, dx is dy · f'(x), where
 * f' is: sqrt 1 / (2y), rsqrt -y³ / 2, reciprocal -y², exp y, exp2 y · log(2), expm1 y + 1, log
 * 1 / x, log2 1 / (x · log(2)), log10 1 / (x · log(10)), log1p 1 / (1 + x), sin cos(x), cos
 * -sin(x), tan 1 + y², asin 1 / sqrt(1 - x²), acos -1 / sqrt(1 - x²), atan 1 / (1 + x²), sinh
 * cosh(x), cosh sinh(x), tanh 1 - y², asinh 1 / sqrt(x² + 1), acosh 1 / sqrt(x² - 1), atanh 1 / (1
 * - x²), erf exp(-x²) · 2/√π, abs sign(x), neg -1; for the others it is 0. One call of
 * tenon_elementwise_chain computes dx: x0 is x (or y), the steps compute f', and the last one
 * multiplies by x1, which is dy. For example, for asin: {TENON_CHAIN_MULTIPLY, TENON_CHAIN_X0},
 * {TENON_CHAIN_FMA, .alpha = -1, .beta = 1}, {TENON_CHAIN_RSQRT}, {TENON_CHAIN_MULTIPLY,
 * TENON_CHAIN_X1}. abs, exp and tanh are also activations, which have a gradient.
 *  @param params  NULL means the defaults: the absolute value
 *  @param x       f64, f32, f16, bf16 or, for abs, neg and sign, an integer type; any rank and
 * strides, including broadcast dimensions (stride 0)
 *  @param y       of x's type and shape; may be exactly x (same memory, offset and strides), must
 *                 not overlap it otherwise, and its own elements must not overlap
 *  @param sync    may be NULL
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT · TENON_ERROR_UNSUPPORTED ·
 *          TENON_ERROR_UNSUPPORTED_DEVICE (f64 on a device without it) · TENON_ERROR_BUILD_FAILED ·
 *          TENON_ERROR_SOLVER_BARRED · TENON_ERROR_OUT_OF_MEMORY · TENON_ERROR_OPENCL ·
 *          TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_function(tenon_stream *stream, const tenon_function_params *params,
                                       const tenon_tensor *x, const tenon_tensor *y,
                                       const tenon_sync *sync);

/** Makes a plan of tenon_function with operands x, y. The tensors need no memory; memory that they
 * have is checked.
 *  @param plan  receives the plan, with one reference owned by the caller; NULL on failure
 *  @return as the immediate call, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_function_plan(tenon_context *context,
                                            const tenon_function_params *params,
                                            const tenon_tensor *x, const tenon_tensor *y,
                                            tenon_plan **plan);

TENON_END_C

#endif
