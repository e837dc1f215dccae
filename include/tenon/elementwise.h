/** @file
 * Element-wise arithmetic of two tensors with broadcasting, chains of it in one pass, and copies
 * between any views and types.
 */
#ifndef TENON_ELEMENTWISE_H
#define TENON_ELEMENTWISE_H

#include <tenon/activation.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The functions, with the formula of each. Rounded once, to nearest, except for the division,
 * which OpenCL lets be 2.5 units in the last place off in f32, and scale-and-add, whose products
 * may be rounded too. NaN in gives NaN out, for the maximum and minimum as well. */
typedef enum tenon_elementwise_kind {
    TENON_ELEMENTWISE_ADD = 0,      /**< a + b */
    TENON_ELEMENTWISE_SUBTRACT = 1, /**< a - b */
    TENON_ELEMENTWISE_MULTIPLY = 2, /**< a · b */
    TENON_ELEMENTWISE_DIVIDE = 3,   /**< a / b */
    TENON_ELEMENTWISE_MAX = 4,      /**< the larger; of two zeros either */
    TENON_ELEMENTWISE_MIN = 5,      /**< the smaller; of two zeros either */
    TENON_ELEMENTWISE_SCALE_ADD = 6 /**< alpha · a + beta · b; a coefficient of 0 does not read its
                                       operand, whatever that holds */
} tenon_elementwise_kind;

/** Start from TENON_ELEMENTWISE_PARAMS_INIT and set `kind`. */
typedef struct tenon_elementwise_params {
    uint32_t struct_size; /**< sizeof(tenon_elementwise_params) */
    uint32_t flags;       /**< 0 */
    const char *solver;   /**< forces a solver (plan.h has the grammar); NULL chooses */
    uint32_t kind;        /**< tenon_elementwise_kind */
    uint32_t reserved;    /**< 0 */
    double alpha; /**< coefficient of a in scale-and-add, rounded to the type of the arithmetic: f64
                     for f64 tensors, f32 for all others */
    double beta;  /**< that of b */
} tenon_elementwise_params;

/** The defaults of tenon_elementwise_params, without braces. */
#define TENON_ELEMENTWISE_PARAMS_DEFAULTS sizeof(tenon_elementwise_params), 0, NULL, 0, 0, 1.0, 1.0
/** Initialises a tenon_elementwise_params with the defaults. */
#define TENON_ELEMENTWISE_PARAMS_INIT                                                              \
    {                                                                                              \
        TENON_ELEMENTWISE_PARAMS_DEFAULTS                                                          \
    }
#ifndef __cplusplus
/** A const tenon_elementwise_params: the defaults, except for the members that are named.
 * TENON_LITERAL says more. */
#define tenon_elementwise_params(...)                                                              \
    TENON_LITERAL(tenon_elementwise_params, TENON_ELEMENTWISE_PARAMS_DEFAULTS, __VA_ARGS__)
#endif

/** Sets the defaults, for languages without macros.
 *  @param size  sizeof(tenon_elementwise_params) */
TENON_API void tenon_elementwise_params_default(tenon_elementwise_params *params, uint32_t size);

/** d = a ∘ b, element by element. a and b are broadcast to d's shape as NumPy does: aligned at the
 * last dimension, sizes of 1 and missing dimensions repeat.
 *
 * The gradients are the same operation and a sum. With dd that of d, da is dd (added, subtracted),
 * dd · b (multiplied) or dd / b (divided); db is dd (added), -dd (subtracted: a scale-and-add),
 * dd · a (multiplied) or -dd · d / b (divided: a chain). For an input that was broadcast, that is
 * summed (reduce.h) over the dimensions along which it repeats.
 *  @param params  NULL means the defaults: a + b
 *  @param a, b    f64, f32, f16 or bf16, both of one type; any strides, 0 among them
 *  @param d       of the same type; may be exactly a or b or both (same memory, offset, shape and
 *                 strides), must not overlap either otherwise, and its own elements must not
 *                 overlap
 *  @param sync    or NULL
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT · TENON_ERROR_UNSUPPORTED ·
 *          TENON_ERROR_UNSUPPORTED_DEVICE (f64 on a device without it) · TENON_ERROR_BUILD_FAILED ·
 *          TENON_ERROR_SOLVER_BARRED · TENON_ERROR_OUT_OF_MEMORY · TENON_ERROR_OPENCL ·
 *          TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_elementwise(tenon_stream *stream,
                                          const tenon_elementwise_params *params,
                                          const tenon_tensor *a, const tenon_tensor *b,
                                          const tenon_tensor *d, const tenon_sync *sync);

/** The plan of tenon_elementwise; operands a, b, d. The views need no memory; where they have it,
 * it is checked.
 *  @param plan  receives the plan, with one reference that the caller owns; NULL on failure
 *  @return as the immediate call, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_elementwise_plan(tenon_context *context,
                                               const tenon_elementwise_params *params,
                                               const tenon_tensor *a, const tenon_tensor *b,
                                               const tenon_tensor *d, tenon_plan **plan);

/** What a step of a chain does with the value so far, v, and its operand p. Roundings and NaN are
 * those of tenon_elementwise and of the activations; between steps nothing is rounded to a 16-bit
 * type. */
typedef enum tenon_chain_op {
    TENON_CHAIN_ADD = 0,      /**< v + p */
    TENON_CHAIN_SUBTRACT = 1, /**< v - p */
    TENON_CHAIN_MULTIPLY = 2, /**< v · p */
    TENON_CHAIN_DIVIDE = 3,   /**< v / p */
    TENON_CHAIN_MAX = 4,      /**< the larger of v and p */
    TENON_CHAIN_MIN = 5,      /**< the smaller of v and p */
    TENON_CHAIN_FMA = 6,      /**< v · p + q, q being the step's addend; rounded once where the
                                 device has an instruction for it, twice elsewhere */
    TENON_CHAIN_ACTIVATE = 7  /**< activation(v) */
} tenon_chain_op;

/** Where an operand of a step comes from. */
typedef enum tenon_chain_source {
    TENON_CHAIN_SCALAR = 0, /**< the scalar in the step itself */
    TENON_CHAIN_X0 = 1,     /**< the input x0 */
    TENON_CHAIN_X1 = 2,     /**< x1 */
    TENON_CHAIN_X2 = 3,     /**< x2 */
    TENON_CHAIN_X3 = 4      /**< x3 */
} tenon_chain_source;

/** One step. Zero-initialised: + 0. An operand, addend or activation that the operation does not
 * use must be 0. */
typedef struct tenon_chain_step {
    uint32_t op;         /**< tenon_chain_op */
    uint32_t operand;    /**< p: tenon_chain_source; of an activation 0 */
    uint32_t addend;     /**< q of fma: tenon_chain_source */
    uint32_t activation; /**< tenon_activation_kind. Of the kinds whose formula has exp, log, tanh
                            or erf, a chain may have only one (as often as it likes) */
    double alpha;        /**< the scalar p, or the activation's alpha */
    double beta;         /**< the scalar q, or the activation's beta; both are rounded to the type
                            of the arithmetic: f64 for f64 tensors, f32 for all others */
} tenon_chain_step;

/** The most steps of a chain. */
#define TENON_CHAIN_MAX_STEPS 8

/** Start from TENON_ELEMENTWISE_CHAIN_PARAMS_INIT, which copies x0, and set the steps. */
typedef struct tenon_elementwise_chain_params {
    uint32_t struct_size; /**< sizeof(tenon_elementwise_chain_params) */
    uint32_t flags;       /**< 0 */
    const char *solver;   /**< forces a solver (plan.h has the grammar); NULL chooses */
    uint32_t step_count;  /**< 0 to TENON_CHAIN_MAX_STEPS; the others are not looked at */
    uint32_t reserved;    /**< 0 */
    tenon_chain_step steps[TENON_CHAIN_MAX_STEPS]; /**< done in this order */
} tenon_elementwise_chain_params;

/** The defaults of tenon_elementwise_chain_params, without braces. */
#define TENON_ELEMENTWISE_CHAIN_PARAMS_DEFAULTS                                                    \
    sizeof(tenon_elementwise_chain_params), 0, NULL, 0, 0,                                         \
    {                                                                                              \
        {                                                                                          \
            0, 0, 0, 0, 0.0, 0.0                                                                   \
        }                                                                                          \
    }
/** Initialises a tenon_elementwise_chain_params with the defaults. */
#define TENON_ELEMENTWISE_CHAIN_PARAMS_INIT                                                        \
    {                                                                                              \
        TENON_ELEMENTWISE_CHAIN_PARAMS_DEFAULTS                                                    \
    }
#ifndef __cplusplus
/** A const tenon_elementwise_chain_params: the defaults, except for the members that are named.
 * TENON_LITERAL says more. */
#define tenon_elementwise_chain_params(...)                                                        \
    TENON_LITERAL(tenon_elementwise_chain_params, TENON_ELEMENTWISE_CHAIN_PARAMS_DEFAULTS,         \
                  __VA_ARGS__)
#endif

/** Sets the defaults, for languages without macros.
 *  @param size  sizeof(tenon_elementwise_chain_params) */
TENON_API void tenon_elementwise_chain_params_default(tenon_elementwise_chain_params *params,
                                                      uint32_t size);

/** y = the result of all steps, one after the other, from the value x0 on, element by element and
 * in one pass over memory. The inputs are broadcast to y's shape as in tenon_elementwise.
 *
 * y = x0 · x1 + x2 is one step, {TENON_CHAIN_FMA, TENON_CHAIN_X1, TENON_CHAIN_X2}; a normalisation
 * with a residual, relu((x0 - mean) · scale + x3), is {TENON_CHAIN_SUBTRACT, TENON_CHAIN_X1},
 * {TENON_CHAIN_FMA, TENON_CHAIN_X2, TENON_CHAIN_X3} and {TENON_CHAIN_ACTIVATE, 0, 0,
 * TENON_ACTIVATION_RELU}. Steps are arguments of one kernel: no chain is compiled on its own,
 * except for its transcendental activation.
 *  @param params      NULL means the defaults: a copy
 *  @param x0          f64, f32, f16 or bf16; any strides, 0 among them
 *  @param x1, x2, x3  of x0's type; NULL where no step names them (it is not read then)
 *  @param y           of x0's type; may be exactly one or more of the inputs (same memory, offset,
 *                     shape and strides), must not overlap them otherwise, and its own elements
 *                     must not overlap
 *  @param sync        or NULL
 *  @return as tenon_elementwise; TENON_ERROR_UNSUPPORTED also for two different activations of
 *          those that tenon_chain_step lists */
TENON_CALL tenon_status tenon_elementwise_chain(tenon_stream *stream,
                                                const tenon_elementwise_chain_params *params,
                                                const tenon_tensor *x0, const tenon_tensor *x1,
                                                const tenon_tensor *x2, const tenon_tensor *x3,
                                                const tenon_tensor *y, const tenon_sync *sync);

/** The plan of tenon_elementwise_chain; operands x0, x1, x2, x3, y. The views need no memory; where
 * they have it, it is checked.
 *  @param plan  receives the plan, with one reference that the caller owns; NULL on failure
 *  @return as the immediate call, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_elementwise_chain_plan(tenon_context *context,
                                                     const tenon_elementwise_chain_params *params,
                                                     const tenon_tensor *x0, const tenon_tensor *x1,
                                                     const tenon_tensor *x2, const tenon_tensor *x3,
                                                     const tenon_tensor *y, tenon_plan **plan);

/** Start from TENON_COPY_PARAMS_INIT. */
typedef struct tenon_copy_params {
    uint32_t struct_size; /**< sizeof(tenon_copy_params) */
    uint32_t flags;       /**< 0 */
    const char *solver;   /**< forces a solver (plan.h has the grammar); NULL chooses */
} tenon_copy_params;

/** The defaults of tenon_copy_params, without braces. */
#define TENON_COPY_PARAMS_DEFAULTS sizeof(tenon_copy_params), 0, NULL
/** Initialises a tenon_copy_params with the defaults. */
#define TENON_COPY_PARAMS_INIT                                                                     \
    {                                                                                              \
        TENON_COPY_PARAMS_DEFAULTS                                                                 \
    }
#ifndef __cplusplus
/** A const tenon_copy_params: the defaults, except for the members that are named. TENON_LITERAL
 * says more. */
#define tenon_copy_params(...)                                                                     \
    TENON_LITERAL(tenon_copy_params, TENON_COPY_PARAMS_DEFAULTS, __VA_ARGS__)
#endif

/** Sets the defaults, for languages without macros.
 *  @param size  sizeof(tenon_copy_params) */
TENON_API void tenon_copy_params_default(tenon_copy_params *params, uint32_t size);

/** y = x, element by element, converted to y's type: a transpose, a slice, a gather of any view, a
 * cast. Between two tensors of one type the bits are copied. Otherwise a value is rounded once, to
 * nearest, ties to even; what is too large becomes an infinity in a floating-point type; integers
 * saturate, and a NaN becomes 0 in them.
 *  @param params  NULL means the defaults
 *  @param x       f64, f32, f16, bf16, i8, u8 or i32, any rank and strides, 0 among them
 *  @param y       of x's shape and any of these types; must not overlap x, unless it is exactly x,
 *                 and its own elements must not overlap
 *  @param sync    or NULL
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT · TENON_ERROR_UNSUPPORTED ·
 *          TENON_ERROR_UNSUPPORTED_DEVICE (f64 to or from another type on a device without it) ·
 *          TENON_ERROR_BUILD_FAILED · TENON_ERROR_SOLVER_BARRED · TENON_ERROR_OUT_OF_MEMORY ·
 *          TENON_ERROR_OPENCL · TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_copy(tenon_stream *stream, const tenon_copy_params *params,
                                   const tenon_tensor *x, const tenon_tensor *y,
                                   const tenon_sync *sync);

/** The plan of tenon_copy; operands x, y. The views need no memory; where they have it, it is
 * checked.
 *  @param plan  receives the plan, with one reference that the caller owns; NULL on failure
 *  @return as the immediate call, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_copy_plan(tenon_context *context, const tenon_copy_params *params,
                                        const tenon_tensor *x, const tenon_tensor *y,
                                        tenon_plan **plan);

#ifdef __cplusplus
}
#endif

#endif
