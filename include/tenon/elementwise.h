/** @file
 * Element-wise arithmetic of two tensors with broadcasting, chains of such operations in one pass
 * over memory, and copies between any layouts and types.
 */
#ifndef TENON_ELEMENTWISE_H
#define TENON_ELEMENTWISE_H

#include <tenon/activation.h>

TENON_BEGIN_C

/** The functions, with their formulas. On integer types sums, differences and products wrap modulo
 * 2^bits, as do powers. A quotient is rounded toward zero; a / 0 and its remainder are 0. A power
 * with a negative exponent is the quotient of 1 and the power with the positive exponent.
 * Scale-and-add and the angle are not supported. On floating-point types results are rounded once,
 * to nearest, except for division, where OpenCL allows an error of 2.5 units in the last place in
 * f32, scale-and-add, whose products may be rounded as well, the power (16 units) and the angle (6
 * units). A NaN gives NaN, also in maximum and minimum; only powers with the exponent 0 or the base
 * 1 are 1 in any case, as in C. */
typedef enum tenon_elementwise_kind {
    TENON_ELEMENTWISE_ADD = 0,      /**< a + b */
    TENON_ELEMENTWISE_SUBTRACT = 1, /**< a - b */
    TENON_ELEMENTWISE_MULTIPLY = 2, /**< a · b */
    TENON_ELEMENTWISE_DIVIDE = 3,   /**< a / b */
    TENON_ELEMENTWISE_MAX = 4,      /**< the larger; of two zeros, either */
    TENON_ELEMENTWISE_MIN = 5,      /**< the smaller; of two zeros, either */
    TENON_ELEMENTWISE_SCALE_ADD =
        6, /**< alpha · a + beta · b; with a coefficient of 0 its operand is not read */
    TENON_ELEMENTWISE_POW = 7,  /**< a to the power of b; NaN if a is negative and b no integer */
    TENON_ELEMENTWISE_FMOD = 8, /**< the exact remainder of a / b with the sign of a, as in C */
    TENON_ELEMENTWISE_REMAINDER = 9, /**< the remainder with the sign of b, as in Python */
    TENON_ELEMENTWISE_ATAN2 = 10     /**< the angle of the point (b, a), from -π to π */
} tenon_elementwise_kind;

/** Start from TENON_ELEMENTWISE_PARAMS_INIT and set `kind`. */
typedef struct tenon_elementwise_params {
    uint32_t struct_size; /**< sizeof(tenon_elementwise_params) */
    uint32_t flags;       /**< 0 */
    const char *solver;   /**< forces a solver (grammar: plan.h); NULL: automatic choice */
    uint32_t kind;        /**< tenon_elementwise_kind */
    uint32_t reserved;    /**< 0 */
    double alpha; /**< coefficient of a in scale-and-add, rounded to the type of the arithmetic: f64
                     for f64 tensors, f32 for all others */
    double beta;  /**< coefficient of b, likewise */
} tenon_elementwise_params;

/** The defaults of tenon_elementwise_params, without braces. */
#define TENON_ELEMENTWISE_PARAMS_DEFAULTS sizeof(tenon_elementwise_params), 0, NULL, 0, 0, 1.0, 1.0
/** Initializes a tenon_elementwise_params with the defaults. */
#define TENON_ELEMENTWISE_PARAMS_INIT                                                              \
    {                                                                                              \
        TENON_ELEMENTWISE_PARAMS_DEFAULTS                                                          \
    }
#ifndef __cplusplus
/** A const tenon_elementwise_params with the defaults, except for the members given as arguments.
 * See TENON_LITERAL. */
#define tenon_elementwise_params(...)                                                              \
    TENON_LITERAL(tenon_elementwise_params, TENON_ELEMENTWISE_PARAMS_DEFAULTS, __VA_ARGS__)
#endif

/** Sets `params` to the defaults, for languages without macros.
 *  @param size  sizeof(tenon_elementwise_params) */
TENON_API void tenon_elementwise_params_default(tenon_elementwise_params *params, uint32_t size);

/** Computes d = a ∘ b, element by element, where ∘ is the function `kind`. a and b are broadcast to
 * d's shape by NumPy's rules: aligned at the last dimension, dimensions of size 1 and missing
 * dimensions repeat.
 *
 * The gradients are made of the same operations and a sum. With dd the gradient of d, da is dd
 * (addition, subtraction), dd · b (multiplication) or dd / b (division); db is dd (addition), -dd
 * (subtraction: a scale-and-add), dd · a (multiplication) or -dd · d / b (division: a chain). For
 * powers da is dd · b · pow(a, b - 1) and db dd · d · log(a), for the angle dd · b / (a² + b²) and
 * -dd · a / (a² + b²), for the remainders dd and -dd · (a - d) / b: chains. For an input that was
 * broadcast, sum the result (reduce.h) over the dimensions along which the input repeats.
 *  @param params  NULL means the defaults: a + b
 *  @param a, b    f64, f32, f16, bf16 or an integer type, both of one type; any strides, including
 * 0
 *  @param d       of the same type; may be exactly a or b or both (same memory, offset, shape and
 *                 strides), must not overlap either otherwise, and its own elements must not
 *                 overlap
 *  @param sync    may be NULL
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT · TENON_ERROR_UNSUPPORTED ·
 *          TENON_ERROR_UNSUPPORTED_DEVICE (f64 on a device without it) · TENON_ERROR_BUILD_FAILED ·
 *          TENON_ERROR_SOLVER_BARRED · TENON_ERROR_OUT_OF_MEMORY · TENON_ERROR_OPENCL ·
 *          TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_elementwise(tenon_stream *stream,
                                          const tenon_elementwise_params *params,
                                          const tenon_tensor *a, const tenon_tensor *b,
                                          const tenon_tensor *d, const tenon_sync *sync);

/** Makes a plan of tenon_elementwise with operands a, b, d. The tensors need no memory; memory that
 * they have is checked.
 *  @param plan  receives the plan, with one reference owned by the caller; NULL on failure
 *  @return as the immediate call, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_elementwise_plan(tenon_context *context,
                                               const tenon_elementwise_params *params,
                                               const tenon_tensor *a, const tenon_tensor *b,
                                               const tenon_tensor *d, tenon_plan **plan);

/** The operation of a chain's step on the current value v and the step's operand p. Rounding and
 * NaN handling are those of tenon_elementwise, of the activations and, from TENON_CHAIN_ABS on, of
 * tenon_function (function.h). Intermediate values are not rounded to a 16-bit type. */
typedef enum tenon_chain_op {
    TENON_CHAIN_ADD = 0,      /**< v + p */
    TENON_CHAIN_SUBTRACT = 1, /**< v - p */
    TENON_CHAIN_MULTIPLY = 2, /**< v · p */
    TENON_CHAIN_DIVIDE = 3,   /**< v / p */
    TENON_CHAIN_MAX = 4,      /**< the larger of v and p */
    TENON_CHAIN_MIN = 5,      /**< the smaller of v and p */
    TENON_CHAIN_FMA = 6, /**< v · p + q, where q is the step's addend; rounded once if the device
                            has an instruction for it, twice otherwise */
    TENON_CHAIN_ACTIVATE = 7,    /**< activation(v) */
    TENON_CHAIN_POW = 8,         /**< v to the power of p */
    TENON_CHAIN_FMOD = 9,        /**< the remainder of v / p with the sign of v */
    TENON_CHAIN_REMAINDER = 10,  /**< the remainder of v / p with the sign of p */
    TENON_CHAIN_ATAN2 = 11,      /**< the angle of the point (p, v) */
    TENON_CHAIN_ABS = 12,        /**< the absolute value of v */
    TENON_CHAIN_NEG = 13,        /**< -v */
    TENON_CHAIN_SIGN = 14,       /**< sign(v) */
    TENON_CHAIN_SQRT = 15,       /**< sqrt(v) */
    TENON_CHAIN_RSQRT = 16,      /**< 1 / sqrt(v) */
    TENON_CHAIN_RECIPROCAL = 17, /**< 1 / v */
    TENON_CHAIN_FLOOR = 18,      /**< floor(v) */
    TENON_CHAIN_CEIL = 19,       /**< ceil(v) */
    TENON_CHAIN_ROUND = 20,      /**< the nearest integer; of two, the even one */
    TENON_CHAIN_TRUNC = 21,      /**< trunc(v) */
    TENON_CHAIN_EXP = 22,        /**< exp(v) */
    TENON_CHAIN_EXP2 = 23,       /**< exp2(v) */
    TENON_CHAIN_EXPM1 = 24,      /**< expm1(v) */
    TENON_CHAIN_LOG = 25,        /**< log(v) */
    TENON_CHAIN_LOG2 = 26,       /**< log2(v) */
    TENON_CHAIN_LOG10 = 27,      /**< log10(v) */
    TENON_CHAIN_LOG1P = 28,      /**< log1p(v) */
    TENON_CHAIN_SIN = 29,        /**< sin(v) */
    TENON_CHAIN_COS = 30,        /**< cos(v) */
    TENON_CHAIN_TAN = 31,        /**< tan(v) */
    TENON_CHAIN_ASIN = 32,       /**< asin(v) */
    TENON_CHAIN_ACOS = 33,       /**< acos(v) */
    TENON_CHAIN_ATAN = 34,       /**< atan(v) */
    TENON_CHAIN_SINH = 35,       /**< sinh(v) */
    TENON_CHAIN_COSH = 36,       /**< cosh(v) */
    TENON_CHAIN_TANH = 37,       /**< tanh(v) */
    TENON_CHAIN_ASINH = 38,      /**< asinh(v) */
    TENON_CHAIN_ACOSH = 39,      /**< acosh(v) */
    TENON_CHAIN_ATANH = 40,      /**< atanh(v) */
    TENON_CHAIN_ERF = 41         /**< erf(v) */
} tenon_chain_op;

/** The source of an operand of a step. */
typedef enum tenon_chain_source {
    TENON_CHAIN_SCALAR = 0, /**< the scalar of the step itself */
    TENON_CHAIN_X0 = 1,     /**< the input x0 */
    TENON_CHAIN_X1 = 2,     /**< the input x1 */
    TENON_CHAIN_X2 = 3,     /**< the input x2 */
    TENON_CHAIN_X3 = 4      /**< the input x3 */
} tenon_chain_source;

/** A step of a chain. Zero-initialized: + 0. An operand, addend or activation that the operation
 * does not use must be 0. */
typedef struct tenon_chain_step {
    uint32_t op;         /**< tenon_chain_op */
    uint32_t operand;    /**< p: tenon_chain_source; 0 for an activation or a function of v alone */
    uint32_t addend;     /**< q of fma: tenon_chain_source */
    uint32_t activation; /**< tenon_activation_kind. A chain may use only one of the kinds whose
                            formula has exp, log, tanh or erf, any number of times */
    double alpha;        /**< the scalar p, or the activation's alpha */
    double beta; /**< the scalar q, or the activation's beta. Both scalars are rounded to the type
                    of the arithmetic: f64 for f64 tensors, f32 for all others */
} tenon_chain_step;

/** The largest number of steps of a chain. */
#define TENON_CHAIN_MAX_STEPS 8

/** Start from TENON_ELEMENTWISE_CHAIN_PARAMS_INIT, which copies x0, and set the steps. */
typedef struct tenon_elementwise_chain_params {
    uint32_t struct_size; /**< sizeof(tenon_elementwise_chain_params) */
    uint32_t flags;       /**< 0 */
    const char *solver;   /**< forces a solver (grammar: plan.h); NULL: automatic choice */
    uint32_t step_count;  /**< 0 to TENON_CHAIN_MAX_STEPS; further steps are ignored */
    uint32_t reserved;    /**< 0 */
    tenon_chain_step steps[TENON_CHAIN_MAX_STEPS]; /**< executed in this order */
} tenon_elementwise_chain_params;

/** The defaults of tenon_elementwise_chain_params, without braces. */
#define TENON_ELEMENTWISE_CHAIN_PARAMS_DEFAULTS                                                    \
    sizeof(tenon_elementwise_chain_params), 0, NULL, 0, 0,                                         \
    {                                                                                              \
        {                                                                                          \
            0, 0, 0, 0, 0.0, 0.0                                                                   \
        }                                                                                          \
    }
/** Initializes a tenon_elementwise_chain_params with the defaults. */
#define TENON_ELEMENTWISE_CHAIN_PARAMS_INIT                                                        \
    {                                                                                              \
        TENON_ELEMENTWISE_CHAIN_PARAMS_DEFAULTS                                                    \
    }
#ifndef __cplusplus
/** A const tenon_elementwise_chain_params with the defaults, except for the members given as
 * arguments. See TENON_LITERAL. */
#define tenon_elementwise_chain_params(...)                                                        \
    TENON_LITERAL(tenon_elementwise_chain_params, TENON_ELEMENTWISE_CHAIN_PARAMS_DEFAULTS,         \
                  __VA_ARGS__)
#endif

/** Sets `params` to the defaults, for languages without macros.
 *  @param size  sizeof(tenon_elementwise_chain_params) */
TENON_API void tenon_elementwise_chain_params_default(tenon_elementwise_chain_params *params,
                                                      uint32_t size);

/** Applies all steps, one after the other, to x0 and stores the result in y, element by element, in
 * one pass over memory. The inputs are broadcast to y's shape as in tenon_elementwise.
 *
 * y = x0 · x1 + x2 is one step, {TENON_CHAIN_FMA, TENON_CHAIN_X1, TENON_CHAIN_X2}. A normalization
 * with a residual, relu((x0 - mean) · scale + x3), has the steps {TENON_CHAIN_SUBTRACT,
 * TENON_CHAIN_X1}, {TENON_CHAIN_FMA, TENON_CHAIN_X2, TENON_CHAIN_X3} and {TENON_CHAIN_ACTIVATE, 0,
 * 0, TENON_ACTIVATION_RELU}. Clipping v to [low, high] has the steps {TENON_CHAIN_MAX, .alpha =
 * low} and {TENON_CHAIN_MIN, .alpha = high}. The steps are arguments of one kernel: chains are not
 * compiled separately, except for their transcendental activation. Chains with functions (from
 * TENON_CHAIN_POW on) are compiled once for each list of steps, without their scalars.
 *  @param params      NULL means the defaults: a copy
 *  @param x0          f64, f32, f16 or bf16; any strides, including 0
 *  @param x1, x2, x3  of x0's type; NULL if no step uses it (it is not read then)
 *  @param y           of x0's type; may be exactly one or more of the inputs (same memory, offset,
 *                     shape and strides), must not overlap them otherwise, and its own elements
 *                     must not overlap
 *  @param sync        may be NULL
 *  @return as tenon_elementwise; also TENON_ERROR_UNSUPPORTED for two different activations of
 *          those listed in tenon_chain_step */
TENON_CALL tenon_status tenon_elementwise_chain(tenon_stream *stream,
                                                const tenon_elementwise_chain_params *params,
                                                const tenon_tensor *x0, const tenon_tensor *x1,
                                                const tenon_tensor *x2, const tenon_tensor *x3,
                                                const tenon_tensor *y, const tenon_sync *sync);

/** Makes a plan of tenon_elementwise_chain with operands x0, x1, x2, x3, y. The tensors need no
 * memory; memory that they have is checked.
 *  @param plan  receives the plan, with one reference owned by the caller; NULL on failure
 *  @return as the immediate call, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_elementwise_chain_plan(tenon_context *context,
                                                     const tenon_elementwise_chain_params *params,
                                                     const tenon_tensor *x0, const tenon_tensor *x1,
                                                     const tenon_tensor *x2, const tenon_tensor *x3,
                                                     const tenon_tensor *y, tenon_plan **plan);

/** flag: a number outside the range of an integer type wraps modulo 2^bits instead of saturating;
 * infinities and NaN become 0 */
#define TENON_COPY_WRAP 1u
/** flag: a floating-point number is rounded to the nearest integer, ties to even, instead of toward
 * zero */
#define TENON_COPY_NEAREST 2u

/** Start from TENON_COPY_PARAMS_INIT. */
typedef struct tenon_copy_params {
    uint32_t struct_size; /**< sizeof(tenon_copy_params) */
    uint32_t flags;       /**< TENON_COPY_WRAP, TENON_COPY_NEAREST, both or 0 */
    const char *solver;   /**< forces a solver (grammar: plan.h); NULL: automatic choice */
} tenon_copy_params;

/** The defaults of tenon_copy_params, without braces. */
#define TENON_COPY_PARAMS_DEFAULTS sizeof(tenon_copy_params), 0, NULL
/** Initializes a tenon_copy_params with the defaults. */
#define TENON_COPY_PARAMS_INIT                                                                     \
    {                                                                                              \
        TENON_COPY_PARAMS_DEFAULTS                                                                 \
    }
#ifndef __cplusplus
/** A const tenon_copy_params with the defaults, except for the members given as arguments. See
 * TENON_LITERAL. */
#define tenon_copy_params(...)                                                                     \
    TENON_LITERAL(tenon_copy_params, TENON_COPY_PARAMS_DEFAULTS, __VA_ARGS__)
#endif

/** Sets `params` to the defaults, for languages without macros.
 *  @param size  sizeof(tenon_copy_params) */
TENON_API void tenon_copy_params_default(tenon_copy_params *params, uint32_t size);

/** Copies x to y, element by element, with conversion to y's type. It serves as a transpose, a
 * slice, a gather of any view, or a cast. Between tensors of one type the bits are copied.
 * Otherwise a number is rounded once: in a floating-point type to nearest, ties to even, where a
 * number that is too large becomes an infinity; in an integer type toward zero, where it saturates
 * and a NaN becomes 0 (`flags` change both). A bool result is x != 0, which is true for a NaN, and
 * a bool is converted to 0 or 1.
 *  @param params  NULL means the defaults
 *  @param x       any type but the f8 types, any rank and strides, including 0
 *  @param y       of x's shape and any of these types; must not overlap x, unless it is exactly x,
 *                 and its own elements must not overlap
 *  @param sync    may be NULL
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT · TENON_ERROR_UNSUPPORTED ·
 *          TENON_ERROR_UNSUPPORTED_DEVICE (f64 to or from another type on a device without it) ·
 *          TENON_ERROR_BUILD_FAILED · TENON_ERROR_SOLVER_BARRED · TENON_ERROR_OUT_OF_MEMORY ·
 *          TENON_ERROR_OPENCL · TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_copy(tenon_stream *stream, const tenon_copy_params *params,
                                   const tenon_tensor *x, const tenon_tensor *y,
                                   const tenon_sync *sync);

/** Makes a plan of tenon_copy with operands x, y. The tensors need no memory; memory that they have
 * is checked.
 *  @param plan  receives the plan, with one reference owned by the caller; NULL on failure
 *  @return as the immediate call, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_copy_plan(tenon_context *context, const tenon_copy_params *params,
                                        const tenon_tensor *x, const tenon_tensor *y,
                                        tenon_plan **plan);

TENON_END_C

#endif
