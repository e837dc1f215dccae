/** @file
 * Tensors of random numbers: uniform, normal and Bernoulli; draws of classes; permutations.
 *
 * The generator is Philox4x32-10 (J. Salmon, M. Moraes, R. Dror, D. Shaw, "Parallel Random Numbers:
 * As Easy as 1, 2, 3", SC '11), a function of a 64-bit key and a 128-bit counter that gives four
 * 32-bit words, x[0] to x[3]. The key is the seed, low word first; the counter is the block number
 * b, then the sequence, low words first. An element therefore depends only on the seed, the
 * sequence and its index n in row-major order, and not on strides, the device, or the distribution
 * of the work.
 *
 * An element that needs one word, with q = n / 64 and r = n % 64, uses word x[r / 16] of block b =
 * 16 · q + r % 16. An element that needs two words (f64, except for Bernoulli), with q = n / 32 and
 * r = n % 32, uses w = x[2h] + 2³² · x[2h + 1] of that block, h = r / 16.
 */
#ifndef TENON_RANDOM_H
#define TENON_RANDOM_H

#include <tenon/plan.h>

TENON_BEGIN_C

/** The distributions. */
typedef enum tenon_random_kind {
    TENON_RANDOM_UNIFORM = 0, /**< in [low, high): low + (high - low) · u, with u = floor(x / 2⁸) /
                                 2²⁴, or floor(w / 2¹¹) / 2⁵³ in f64. A result that rounding would
                                 move out of the interval becomes the last number of the type within
                                 it. All devices that support denormals give the same bits */
    TENON_RANDOM_NORMAL =
        1, /**< mean + deviation · z, with z by the Box-Muller transform from the words of elements
              n and m = n + 16, where n / 16 is even: r · cos t for n, r · sin t for m, with r =
              sqrt(-2 · log v) and t = 2π · u. u is computed from m's word, as above. v is computed
              from n's word: x / 2³², with the last eight bits cleared where x >= 2²⁴, and 1 instead
              of 0; or (floor(w / 2¹¹) + 1) / 2⁵³ in f64. abs(z) < 6.67, 8.58 in f64 */
    TENON_RANDOM_BERNOULLI = 2 /**< 1 where x < p · 2³² (rounded to an integer), otherwise 0 */
} tenon_random_kind;

/** Start from TENON_RANDOM_PARAMS_INIT: uniform in [0, 1), seed and sequence 0. */
typedef struct tenon_random_params {
    uint32_t struct_size; /**< sizeof(tenon_random_params) */
    uint32_t flags;       /**< 0 */
    const char *solver;   /**< forces a solver (grammar: plan.h); NULL: automatic choice */
    uint32_t kind;        /**< tenon_random_kind */
    uint32_t reserved;    /**< 0 */
    uint64_t seed;        /**< the key of the generator */
    uint64_t sequence;    /**< selects one of a seed's 2⁶⁴ streams of numbers; use each once */
    double low;           /**< for uniform: the lowest number; finite */
    double high; /**< for uniform: finite and greater than low, with a difference within the type's
                    range, and at least one number of the type in [low, high) */
    double mean; /**< for normal: finite */
    double deviation;   /**< for normal: finite, not negative */
    double probability; /**< for Bernoulli: in [0, 1] */
} tenon_random_params;

/** The defaults of tenon_random_params, without braces. */
#define TENON_RANDOM_PARAMS_DEFAULTS                                                               \
    sizeof(tenon_random_params), 0, NULL, 0, 0, 0, 0, 0.0, 1.0, 0.0, 1.0, 0.5
/** Initializes a tenon_random_params with the defaults. */
#define TENON_RANDOM_PARAMS_INIT                                                                   \
    {                                                                                              \
        TENON_RANDOM_PARAMS_DEFAULTS                                                               \
    }
#ifndef __cplusplus
/** A const tenon_random_params with the defaults, except for the members given as arguments. See
 * TENON_LITERAL. */
#define tenon_random_params(...)                                                                   \
    TENON_LITERAL(tenon_random_params, TENON_RANDOM_PARAMS_DEFAULTS, __VA_ARGS__)
#endif

/** Sets `params` to the defaults, for languages without macros.
 *  @param size  sizeof(tenon_random_params) */
TENON_API void tenon_random_params_default(tenon_random_params *params, uint32_t size);

/** Fills y with random numbers. low, high, mean and deviation are rounded to the type of the
 * arithmetic (f64 for f64, f32 for the others), and the result to y's type. Calls that differ only
 * in seed, sequence or the parameters of a distribution share a plan.
 *  @param params  NULL means the defaults; only the fields of its kind are read
 *  @param y       f64, f32, f16 or bf16, for Bernoulli also u8 or i32; its elements must not
 *                 overlap
 *  @param sync    may be NULL
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT · TENON_ERROR_UNSUPPORTED ·
 *          TENON_ERROR_UNSUPPORTED_DEVICE (f64 on a device without it) · TENON_ERROR_BUILD_FAILED ·
 *          TENON_ERROR_SOLVER_BARRED · TENON_ERROR_OUT_OF_MEMORY · TENON_ERROR_OPENCL ·
 *          TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_random(tenon_stream *stream, const tenon_random_params *params,
                                     const tenon_tensor *y, const tenon_sync *sync);

/** Makes a plan of tenon_random with operand y. The tensor needs no memory; memory that it has is
 * checked. Each run uses the plan's seed and sequence and the parameters of its distribution,
 * unless it sets its own (tenon_plan_run_operands).
 *  @param plan  receives the plan, with one reference owned by the caller; NULL on failure
 *  @return as the immediate call, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_random_plan(tenon_context *context, const tenon_random_params *params,
                                          const tenon_tensor *y, tenon_plan **plan);

/** Start from TENON_BERNOULLI_PARAMS_INIT: seed and sequence 0. */
typedef struct tenon_bernoulli_params {
    uint32_t struct_size; /**< sizeof(tenon_bernoulli_params) */
    uint32_t flags;       /**< 0 */
    const char *solver;   /**< forces a solver (grammar: plan.h); NULL: automatic choice */
    uint64_t seed;        /**< the key of the generator */
    uint64_t sequence;    /**< selects one of a seed's 2⁶⁴ streams of numbers; use each once */
} tenon_bernoulli_params;

/** The defaults of tenon_bernoulli_params, without braces. */
#define TENON_BERNOULLI_PARAMS_DEFAULTS sizeof(tenon_bernoulli_params), 0, NULL, 0, 0
/** Initializes a tenon_bernoulli_params with the defaults. */
#define TENON_BERNOULLI_PARAMS_INIT                                                                \
    {                                                                                              \
        TENON_BERNOULLI_PARAMS_DEFAULTS                                                            \
    }
#ifndef __cplusplus
/** A const tenon_bernoulli_params with the defaults, except for the members given as arguments. See
 * TENON_LITERAL. */
#define tenon_bernoulli_params(...)                                                                \
    TENON_LITERAL(tenon_bernoulli_params, TENON_BERNOULLI_PARAMS_DEFAULTS, __VA_ARGS__)
#endif

/** Sets `params` to the defaults, for languages without macros.
 *  @param size  sizeof(tenon_bernoulli_params) */
TENON_API void tenon_bernoulli_params_default(tenon_bernoulli_params *params, uint32_t size);

/** Draws 0 or 1 with a probability for each element: y is 1 where x < p · 2³² (rounded to an
 * integer, ties to even), otherwise 0, with the word x of the element's index as described above. A
 * p of at least 1 gives 1; a p of at most 0, or NaN, gives 0. With one p for all elements the
 * numbers are those of tenon_random's TENON_RANDOM_BERNOULLI.
 *  @param params  NULL means the defaults
 *  @param p       f64, f32, f16 or bf16; any strides, including 0
 *  @param y       the shape of p; of p's type, u8, bool, i32 or i64; must not overlap p
 *  @param sync    may be NULL
 *  @return as tenon_random */
TENON_CALL tenon_status tenon_bernoulli(tenon_stream *stream, const tenon_bernoulli_params *params,
                                        const tenon_tensor *p, const tenon_tensor *y,
                                        const tenon_sync *sync);

/** Makes a plan of tenon_bernoulli with operands p, y. The tensors need no memory; memory that they
 * have is checked. Each run uses the plan's seed and sequence, unless it sets its own
 * (tenon_plan_run_operands).
 *  @param plan  receives the plan, with one reference owned by the caller; NULL on failure
 *  @return as the immediate call, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_bernoulli_plan(tenon_context *context,
                                             const tenon_bernoulli_params *params,
                                             const tenon_tensor *p, const tenon_tensor *y,
                                             tenon_plan **plan);

#define TENON_CATEGORICAL_LOGITS 1u /**< flag: x holds logarithms of the weights */

/** Start from TENON_CATEGORICAL_PARAMS_INIT: seed and sequence 0. */
typedef struct tenon_categorical_params {
    uint32_t struct_size; /**< sizeof(tenon_categorical_params) */
    uint32_t flags;       /**< 0 or TENON_CATEGORICAL_LOGITS */
    const char *solver;   /**< forces a solver (grammar: plan.h); NULL: automatic choice */
    uint64_t seed;        /**< the key of the generator */
    uint64_t sequence;    /**< selects one of a seed's 2⁶⁴ streams of numbers; use each once */
} tenon_categorical_params;

/** The defaults of tenon_categorical_params, without braces. */
#define TENON_CATEGORICAL_PARAMS_DEFAULTS sizeof(tenon_categorical_params), 0, NULL, 0, 0
/** Initializes a tenon_categorical_params with the defaults. */
#define TENON_CATEGORICAL_PARAMS_INIT                                                              \
    {                                                                                              \
        TENON_CATEGORICAL_PARAMS_DEFAULTS                                                          \
    }
#ifndef __cplusplus
/** A const tenon_categorical_params with the defaults, except for the members given as arguments.
 * See TENON_LITERAL. */
#define tenon_categorical_params(...)                                                              \
    TENON_LITERAL(tenon_categorical_params, TENON_CATEGORICAL_PARAMS_DEFAULTS, __VA_ARGS__)
#endif

/** Sets `params` to the defaults, for languages without macros.
 *  @param size  sizeof(tenon_categorical_params) */
TENON_API void tenon_categorical_params_default(tenon_categorical_params *params, uint32_t size);

/** Draws a class for each row of x, by inverting the distribution function: y is the first k with
 * w₀ + … + w_k > u · (w₀ + w₁ + …), added in this order. The weights are w_k = max(x_k, 0), which
 * need not add up to 1, or exp(x_k - max x) with TENON_CATEGORICAL_LOGITS. u is computed from the
 * word x of y's element as for TENON_RANDOM_UNIFORM, with 24 bits (f64: x / 2³²). A class of weight
 * 0 is never drawn. If the weights of a row have no positive finite sum (all are 0, or one is NaN
 * or infinite), y is -1.
 *  @param params  NULL means the defaults
 *  @param x       f64, f32, f16 or bf16; rows along the last dimension, which must not be empty;
 * any strides, including 0
 *  @param y       the shape of x without its last dimension; i32 or i64; must not overlap x
 *  @param sync    may be NULL
 *  @return as tenon_random */
TENON_CALL tenon_status tenon_categorical(tenon_stream *stream,
                                          const tenon_categorical_params *params,
                                          const tenon_tensor *x, const tenon_tensor *y,
                                          const tenon_sync *sync);

/** Makes a plan of tenon_categorical with operands x, y. The tensors need no memory; memory that
 * they have is checked. Each run uses the plan's seed and sequence, unless it sets its own
 * (tenon_plan_run_operands).
 *  @param plan  receives the plan, with one reference owned by the caller; NULL on failure
 *  @return as the immediate call, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_categorical_plan(tenon_context *context,
                                               const tenon_categorical_params *params,
                                               const tenon_tensor *x, const tenon_tensor *y,
                                               tenon_plan **plan);

/** Start from TENON_PERMUTATION_PARAMS_INIT: seed and sequence 0. */
typedef struct tenon_permutation_params {
    uint32_t struct_size; /**< sizeof(tenon_permutation_params) */
    uint32_t flags;       /**< 0 */
    const char *solver;   /**< forces a solver (grammar: plan.h); NULL: automatic choice */
    uint64_t seed;        /**< the key of the generator */
    uint64_t sequence;    /**< selects one of a seed's 2⁶⁴ streams of numbers; use each once */
} tenon_permutation_params;

/** The defaults of tenon_permutation_params, without braces. */
#define TENON_PERMUTATION_PARAMS_DEFAULTS sizeof(tenon_permutation_params), 0, NULL, 0, 0
/** Initializes a tenon_permutation_params with the defaults. */
#define TENON_PERMUTATION_PARAMS_INIT                                                              \
    {                                                                                              \
        TENON_PERMUTATION_PARAMS_DEFAULTS                                                          \
    }
#ifndef __cplusplus
/** A const tenon_permutation_params with the defaults, except for the members given as arguments.
 * See TENON_LITERAL. */
#define tenon_permutation_params(...)                                                              \
    TENON_LITERAL(tenon_permutation_params, TENON_PERMUTATION_PARAMS_DEFAULTS, __VA_ARGS__)
#endif

/** Sets `params` to the defaults, for languages without macros.
 *  @param size  sizeof(tenon_permutation_params) */
TENON_API void tenon_permutation_params_default(tenon_permutation_params *params, uint32_t size);

/** Fills y with a random permutation of 0 … n - 1, each element independently and without memory: a
 * Feistel network of eight rounds on the numbers below 4ᵇ, for the least b of at least 2 with n <=
 * 4ᵇ, is a permutation of them; y[i] is the first of its iterates from i on that is below n (J.
 * Black, P. Rogaway, "Ciphers with Arbitrary Finite Domains", CT-RSA 2002, "cycle walking"). Round
 * r replaces the halves (L, R), of b bits each, by (R, L xor F), where F is the low b bits of the
 * first word of Philox with the counter (R, r, sequence). Not each of the n! permutations can
 * occur: there are at most 2⁶⁴ for a sequence.
 *  @param params  NULL means the defaults
 *  @param y       one dimension, i32 or i64; its elements must not overlap
 *  @param sync    may be NULL
 *  @return as tenon_random */
TENON_CALL tenon_status tenon_permutation(tenon_stream *stream,
                                          const tenon_permutation_params *params,
                                          const tenon_tensor *y, const tenon_sync *sync);

/** Makes a plan of tenon_permutation with operand y. The tensors need no memory; memory that they
 * have is checked. Each run uses the plan's seed and sequence, unless it sets its own
 * (tenon_plan_run_operands).
 *  @param plan  receives the plan, with one reference owned by the caller; NULL on failure
 *  @return as the immediate call, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_permutation_plan(tenon_context *context,
                                               const tenon_permutation_params *params,
                                               const tenon_tensor *y, tenon_plan **plan);

TENON_END_C

#endif
