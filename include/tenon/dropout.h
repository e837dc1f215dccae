/** @file
 * Dropout, forward and backward, without a mask in memory.
 */
#ifndef TENON_DROPOUT_H
#define TENON_DROPOUT_H

#include <tenon/plan.h>

TENON_BEGIN_C

/** Start from TENON_DROPOUT_PARAMS_INIT: probability 0.5, seed and sequence 0. */
typedef struct tenon_dropout_params {
    uint32_t struct_size; /**< sizeof(tenon_dropout_params) */
    uint32_t flags;       /**< 0 */
    const char *solver;   /**< forces a solver (grammar: plan.h); NULL: automatic choice */
    uint64_t seed;        /**< seed of the random numbers */
    uint64_t sequence; /**< selects one of a seed's 2⁶⁴ masks: use one for each layer and step */
    double probability; /**< probability that an element is dropped: in [0, 1] */
} tenon_dropout_params;

/** The defaults of tenon_dropout_params, without braces. */
#define TENON_DROPOUT_PARAMS_DEFAULTS sizeof(tenon_dropout_params), 0, NULL, 0, 0, 0.5
/** Initializes a tenon_dropout_params with the defaults. */
#define TENON_DROPOUT_PARAMS_INIT                                                                  \
    {                                                                                              \
        TENON_DROPOUT_PARAMS_DEFAULTS                                                              \
    }
#ifndef __cplusplus
/** A const tenon_dropout_params with the defaults, except for the members given as arguments. See
 * TENON_LITERAL. */
#define tenon_dropout_params(...)                                                                  \
    TENON_LITERAL(tenon_dropout_params, TENON_DROPOUT_PARAMS_DEFAULTS, __VA_ARGS__)
#endif

/** Sets `params` to the defaults, for languages without macros.
 *  @param size  sizeof(tenon_dropout_params) */
TENON_API void tenon_dropout_params_default(tenon_dropout_params *params, uint32_t size);

/** Computes y = x / (1 - p) for kept elements and 0 for dropped ones (N. Srivastava et al.,
 * "Dropout: A Simple Way to Prevent Neural Networks from Overfitting", JMLR 15, 2014, in the form
 * that does nothing at inference). An element is dropped if the Bernoulli number of tenon_random
 * with the same seed, sequence and probability is 1; this number depends only on the element's
 * index in row-major order. The gradient is therefore the same call on dy with the same parameters.
 *
 * A dropped element is 0 whatever x contains, NaN and infinity included; a kept NaN remains NaN.
 * p = 0 keeps all elements, p = 1 drops all. Calls that differ only in seed, sequence or
 * probability share a plan.
 *  @param params  NULL means the defaults
 *  @param x       f64, f32, f16 or bf16; any strides, including 0
 *  @param y       of x's type and shape; may be exactly x (same memory, offset, shape and strides),
 *                 must not overlap it otherwise, and its own elements must not overlap
 *  @param sync    may be NULL
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT · TENON_ERROR_UNSUPPORTED ·
 *          TENON_ERROR_UNSUPPORTED_DEVICE (f64 on a device without it) · TENON_ERROR_BUILD_FAILED ·
 *          TENON_ERROR_SOLVER_BARRED · TENON_ERROR_OUT_OF_MEMORY · TENON_ERROR_OPENCL ·
 *          TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_dropout(tenon_stream *stream, const tenon_dropout_params *params,
                                      const tenon_tensor *x, const tenon_tensor *y,
                                      const tenon_sync *sync);

/** Makes a plan of tenon_dropout with operands x, y. The tensors need no memory; memory that they
 * have is checked. Each run uses the plan's seed, sequence and probability, unless it sets its own
 * (tenon_plan_run_operands).
 *  @param plan  receives the plan, with one reference owned by the caller; NULL on failure
 *  @return as the immediate call, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_dropout_plan(tenon_context *context,
                                           const tenon_dropout_params *params,
                                           const tenon_tensor *x, const tenon_tensor *y,
                                           tenon_plan **plan);

TENON_END_C

#endif
