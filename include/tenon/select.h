/** @file
 * Comparisons, tests for NaN and infinity, logical and bitwise operations, and the selection of
 * elements by a condition. They have no gradients, except for tenon_where.
 *
 * Inputs are broadcast to the shape of the output by NumPy's rules: aligned at the last dimension,
 * dimensions of size 1 and missing dimensions repeat. A bool is stored as a byte, 0 or 1; an input
 * byte that is not 0 is true.
 */
#ifndef TENON_SELECT_H
#define TENON_SELECT_H

#include <tenon/plan.h>

TENON_BEGIN_C

/** Comparisons. */
typedef enum tenon_compare_kind {
    TENON_COMPARE_EQUAL = 0,         /**< a = b */
    TENON_COMPARE_NOT_EQUAL = 1,     /**< a is not b; true for a NaN */
    TENON_COMPARE_LESS = 2,          /**< a < b */
    TENON_COMPARE_LESS_EQUAL = 3,    /**< a < b or a = b */
    TENON_COMPARE_GREATER = 4,       /**< a > b */
    TENON_COMPARE_GREATER_EQUAL = 5, /**< a > b or a = b */
} tenon_compare_kind;

/** Start from TENON_COMPARE_PARAMS_INIT and set `kind`. */
typedef struct tenon_compare_params {
    uint32_t struct_size; /**< sizeof(tenon_compare_params) */
    uint32_t flags;       /**< 0 */
    const char *solver;   /**< forces a solver (grammar: plan.h); NULL: automatic choice */
    uint32_t kind;        /**< tenon_compare_kind */
    uint32_t reserved;    /**< 0 */
} tenon_compare_params;

/** The defaults of tenon_compare_params, without braces. */
#define TENON_COMPARE_PARAMS_DEFAULTS sizeof(tenon_compare_params), 0, NULL, 0, 0
/** Initializes a tenon_compare_params with the defaults. */
#define TENON_COMPARE_PARAMS_INIT                                                                  \
    {                                                                                              \
        TENON_COMPARE_PARAMS_DEFAULTS                                                              \
    }
#ifndef __cplusplus
/** A const tenon_compare_params with the defaults, except for the members given as arguments. See
 * TENON_LITERAL. */
#define tenon_compare_params(...)                                                                  \
    TENON_LITERAL(tenon_compare_params, TENON_COMPARE_PARAMS_DEFAULTS, __VA_ARGS__)
#endif

/** Sets `params` to the defaults, for languages without macros.
 *  @param size  sizeof(tenon_compare_params) */
TENON_API void tenon_compare_params_default(tenon_compare_params *params, uint32_t size);

/** Computes d = a ∘ b, element by element, where ∘ is the comparison `kind`, by the rules of IEEE
 * 754: -0 = 0, and all comparisons with a NaN are false, except not-equal, which is true. The
 * result is exact. false < true.
 *  @param params  NULL means the defaults: equal
 *  @param a, b    any type but the f8 types, both of one type; any strides, including 0
 *  @param d       bool; must not overlap a or b, unless they are bool and exactly d (same memory,
 *                 offset, shape and strides), and its own elements must not overlap
 *  @param sync    may be NULL
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT · TENON_ERROR_UNSUPPORTED ·
 *          TENON_ERROR_UNSUPPORTED_DEVICE (f64 on a device without it) · TENON_ERROR_BUILD_FAILED ·
 *          TENON_ERROR_SOLVER_BARRED · TENON_ERROR_OUT_OF_MEMORY · TENON_ERROR_OPENCL ·
 *          TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_compare(tenon_stream *stream, const tenon_compare_params *params,
                                      const tenon_tensor *a, const tenon_tensor *b,
                                      const tenon_tensor *d, const tenon_sync *sync);

/** Makes a plan of tenon_compare with operands a, b, d. The tensors need no memory; memory that
 * they have is checked.
 *  @param plan  receives the plan, with one reference owned by the caller; NULL on failure
 *  @return as the immediate call, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_compare_plan(tenon_context *context,
                                           const tenon_compare_params *params,
                                           const tenon_tensor *a, const tenon_tensor *b,
                                           const tenon_tensor *d, tenon_plan **plan);

/** Tests of a number. */
typedef enum tenon_classify_kind {
    TENON_CLASSIFY_NAN = 0,               /**< x is a NaN */
    TENON_CLASSIFY_INFINITE = 1,          /**< x is an infinity */
    TENON_CLASSIFY_POSITIVE_INFINITE = 2, /**< x is infinity */
    TENON_CLASSIFY_NEGATIVE_INFINITE = 3, /**< x is -infinity */
    TENON_CLASSIFY_FINITE = 4             /**< x is neither infinite nor NaN */
} tenon_classify_kind;

/** Start from TENON_CLASSIFY_PARAMS_INIT and set `kind`. */
typedef struct tenon_classify_params {
    uint32_t struct_size; /**< sizeof(tenon_classify_params) */
    uint32_t flags;       /**< 0 */
    const char *solver;   /**< forces a solver (grammar: plan.h); NULL: automatic choice */
    uint32_t kind;        /**< tenon_classify_kind */
    uint32_t reserved;    /**< 0 */
} tenon_classify_params;

/** The defaults of tenon_classify_params, without braces. */
#define TENON_CLASSIFY_PARAMS_DEFAULTS sizeof(tenon_classify_params), 0, NULL, 0, 0
/** Initializes a tenon_classify_params with the defaults. */
#define TENON_CLASSIFY_PARAMS_INIT                                                                 \
    {                                                                                              \
        TENON_CLASSIFY_PARAMS_DEFAULTS                                                             \
    }
#ifndef __cplusplus
/** A const tenon_classify_params with the defaults, except for the members given as arguments. See
 * TENON_LITERAL. */
#define tenon_classify_params(...)                                                                 \
    TENON_LITERAL(tenon_classify_params, TENON_CLASSIFY_PARAMS_DEFAULTS, __VA_ARGS__)
#endif

/** Sets `params` to the defaults, for languages without macros.
 *  @param size  sizeof(tenon_classify_params) */
TENON_API void tenon_classify_params_default(tenon_classify_params *params, uint32_t size);

/** Computes y = test(x), element by element. The result is exact.
 *  @param params  NULL means the defaults: is NaN
 *  @param x       f64, f32, f16 or bf16; any strides, including 0
 *  @param y       bool, of x's shape; must not overlap x, and its own elements must not overlap
 *  @param sync    may be NULL
 *  @return as tenon_compare */
TENON_CALL tenon_status tenon_classify(tenon_stream *stream, const tenon_classify_params *params,
                                       const tenon_tensor *x, const tenon_tensor *y,
                                       const tenon_sync *sync);

/** Makes a plan of tenon_classify with operands x, y. The tensors need no memory; memory that they
 * have is checked.
 *  @param plan  receives the plan, with one reference owned by the caller; NULL on failure
 *  @return as the immediate call, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_classify_plan(tenon_context *context,
                                            const tenon_classify_params *params,
                                            const tenon_tensor *x, const tenon_tensor *y,
                                            tenon_plan **plan);

/** Operations on truth values, and on the bits of integers. */
typedef enum tenon_logic_kind {
    TENON_LOGIC_AND = 0,        /**< a and b */
    TENON_LOGIC_OR = 1,         /**< a or b */
    TENON_LOGIC_XOR = 2,        /**< either a or b */
    TENON_LOGIC_NOT = 3,        /**< not a; b must be NULL */
    TENON_LOGIC_SHIFT_LEFT = 4, /**< integers: a · 2^b, modulo 2^bits */
    TENON_LOGIC_SHIFT_RIGHT =
        5 /**< integers: a / 2^b, rounded down: fills with zeros, for signed types with the sign */
} tenon_logic_kind;

/** Start from TENON_LOGIC_PARAMS_INIT and set `kind`. */
typedef struct tenon_logic_params {
    uint32_t struct_size; /**< sizeof(tenon_logic_params) */
    uint32_t flags;       /**< 0 */
    const char *solver;   /**< forces a solver (grammar: plan.h); NULL: automatic choice */
    uint32_t kind;        /**< tenon_logic_kind */
    uint32_t reserved;    /**< 0 */
} tenon_logic_params;

/** The defaults of tenon_logic_params, without braces. */
#define TENON_LOGIC_PARAMS_DEFAULTS sizeof(tenon_logic_params), 0, NULL, 0, 0
/** Initializes a tenon_logic_params with the defaults. */
#define TENON_LOGIC_PARAMS_INIT                                                                    \
    {                                                                                              \
        TENON_LOGIC_PARAMS_DEFAULTS                                                                \
    }
#ifndef __cplusplus
/** A const tenon_logic_params with the defaults, except for the members given as arguments. See
 * TENON_LITERAL. */
#define tenon_logic_params(...)                                                                    \
    TENON_LITERAL(tenon_logic_params, TENON_LOGIC_PARAMS_DEFAULTS, __VA_ARGS__)
#endif

/** Sets `params` to the defaults, for languages without macros.
 *  @param size  sizeof(tenon_logic_params) */
TENON_API void tenon_logic_params_default(tenon_logic_params *params, uint32_t size);

/** Computes d = a ∘ b, element by element: on bool the logical, on integers the bitwise operation.
 * The result is exact. If b of a shift is negative or at least the number of bits, the result is 0,
 * or -1 for a shift of a negative number to the right.
 *  @param params  NULL means the defaults: and
 *  @param a       bool or an integer type; any strides, including 0
 *  @param b       of a's type; NULL for not
 *  @param d       of a's type; may be exactly a or b or both (same memory, offset, shape and
 *                 strides), must not overlap either otherwise, and its own elements must not
 *                 overlap
 *  @param sync    may be NULL
 *  @return as tenon_compare */
TENON_CALL tenon_status tenon_logic(tenon_stream *stream, const tenon_logic_params *params,
                                    const tenon_tensor *a, const tenon_tensor *b,
                                    const tenon_tensor *d, const tenon_sync *sync);

/** Makes a plan of tenon_logic with operands a, b, d. The tensors need no memory; memory that they
 * have is checked.
 *  @param plan  receives the plan, with one reference owned by the caller; NULL on failure
 *  @return as the immediate call, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_logic_plan(tenon_context *context, const tenon_logic_params *params,
                                         const tenon_tensor *a, const tenon_tensor *b,
                                         const tenon_tensor *d, tenon_plan **plan);

/** Start from TENON_WHERE_PARAMS_INIT. */
typedef struct tenon_where_params {
    uint32_t struct_size; /**< sizeof(tenon_where_params) */
    uint32_t flags;       /**< 0 */
    const char *solver;   /**< forces a solver (grammar: plan.h); NULL: automatic choice */
} tenon_where_params;

/** The defaults of tenon_where_params, without braces. */
#define TENON_WHERE_PARAMS_DEFAULTS sizeof(tenon_where_params), 0, NULL
/** Initializes a tenon_where_params with the defaults. */
#define TENON_WHERE_PARAMS_INIT                                                                    \
    {                                                                                              \
        TENON_WHERE_PARAMS_DEFAULTS                                                                \
    }
#ifndef __cplusplus
/** A const tenon_where_params with the defaults, except for the members given as arguments. See
 * TENON_LITERAL. */
#define tenon_where_params(...)                                                                    \
    TENON_LITERAL(tenon_where_params, TENON_WHERE_PARAMS_DEFAULTS, __VA_ARGS__)
#endif

/** Sets `params` to the defaults, for languages without macros.
 *  @param size  sizeof(tenon_where_params) */
TENON_API void tenon_where_params_default(tenon_where_params *params, uint32_t size);

/** Copies, element by element, a where the condition is true and b where it is false. The bits are
 * kept.
 *
 * The gradients are made of the same operation: with dd the gradient of d, da is where(condition,
 * dd, 0) and db is where(condition, 0, dd), with a zero that is broadcast. For an input that was
 * broadcast, sum the result (reduce.h) over the dimensions along which the input repeats.
 *  @param params     NULL means the defaults
 *  @param condition  bool; any strides, including 0
 *  @param a, b       any type but the f8 types, both of one type; any strides, including 0
 *  @param d          of a's type; may be exactly an input of its type (same memory, offset, shape
 *                    and strides), must not overlap the inputs otherwise, and its own elements must
 *                    not overlap
 *  @param sync       may be NULL
 *  @return as tenon_compare */
TENON_CALL tenon_status tenon_where(tenon_stream *stream, const tenon_where_params *params,
                                    const tenon_tensor *condition, const tenon_tensor *a,
                                    const tenon_tensor *b, const tenon_tensor *d,
                                    const tenon_sync *sync);

/** Makes a plan of tenon_where with operands condition, a, b, d. The tensors need no memory; memory
 * that they have is checked.
 *  @param plan  receives the plan, with one reference owned by the caller; NULL on failure
 *  @return as the immediate call, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_where_plan(tenon_context *context, const tenon_where_params *params,
                                         const tenon_tensor *condition, const tenon_tensor *a,
                                         const tenon_tensor *b, const tenon_tensor *d,
                                         tenon_plan **plan);

TENON_END_C

#endif
