/** @file
 * Scans (prefix sums, products, minima and maxima) along one axis.
 */
#ifndef TENON_SCAN_H
#define TENON_SCAN_H

#include <tenon/plan.h>

TENON_BEGIN_C

#define TENON_SCAN_EXCLUSIVE                                                                       \
    1u                        /**< flag: y[i] combines the elements before i, without i itself     \
                               */
#define TENON_SCAN_REVERSE 2u /**< flag: from the last element to the first */

/** The operation that combines the elements. */
typedef enum tenon_scan_kind {
    TENON_SCAN_SUM = 0,     /**< sum; the exclusive scan begins with 0 */
    TENON_SCAN_PRODUCT = 1, /**< product; the exclusive scan begins with 1 */
    TENON_SCAN_MAX = 2, /**< the greatest so far, or NaN after a NaN; the exclusive scan begins with
                           -inf, or the least integer */
    TENON_SCAN_MIN = 3  /**< the least so far, or NaN after a NaN; the exclusive scan begins with
                           +inf, or the greatest integer */
} tenon_scan_kind;

/** Start from TENON_SCAN_PARAMS_INIT: the inclusive sum along the last axis. */
typedef struct tenon_scan_params {
    uint32_t struct_size; /**< sizeof(tenon_scan_params) */
    uint32_t flags;       /**< 0, TENON_SCAN_EXCLUSIVE, TENON_SCAN_REVERSE, or both */
    const char *solver;   /**< forces a solver (grammar: plan.h); NULL: automatic choice */
    uint32_t kind;        /**< tenon_scan_kind */
    int32_t axis;         /**< counted from 0, or negative: from the end, -1 being the last */
} tenon_scan_params;

/** The defaults of tenon_scan_params, without braces. */
#define TENON_SCAN_PARAMS_DEFAULTS sizeof(tenon_scan_params), 0, NULL, TENON_SCAN_SUM, -1
/** Initializes a tenon_scan_params with the defaults. */
#define TENON_SCAN_PARAMS_INIT                                                                     \
    {                                                                                              \
        TENON_SCAN_PARAMS_DEFAULTS                                                                 \
    }
#ifndef __cplusplus
/** A const tenon_scan_params with the defaults, except for the members given as arguments. See
 * TENON_LITERAL. */
#define tenon_scan_params(...)                                                                     \
    TENON_LITERAL(tenon_scan_params, TENON_SCAN_PARAMS_DEFAULTS, __VA_ARGS__)
#endif

/** Sets `params` to the defaults, for languages without macros.
 *  @param size  sizeof(tenon_scan_params) */
TENON_API void tenon_scan_params_default(tenon_scan_params *params, uint32_t size);

/** Computes y[i] = x[0] ∘ x[1] ∘ … ∘ x[i] along an axis (G. Blelloch, "Prefix sums and their
 * applications", 1990), where ∘ is the operation of params->kind; with TENON_SCAN_EXCLUSIVE without
 * x[i], and with TENON_SCAN_REVERSE from the last element on. Equal calls return equal bits on one
 * device. Sums and products of f16 and bf16 are computed in f32; those of integers wrap around.
 *
 * The gradient of a sum is the scan of dy with the other direction and the same
 * TENON_SCAN_EXCLUSIVE flag, so there is no separate function for it.
 *  @param params  NULL means the defaults
 *  @param x       f64, f32, f16, bf16, i32, u32 or i64, rank at least 1, any strides, including
 *                 broadcast dimensions (stride 0)
 *  @param y       of x's type and shape; may be exactly x (same memory, offset and strides), must
 *                 not overlap it otherwise, and its own elements must not overlap
 *  @param sync    may be NULL
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT · TENON_ERROR_UNSUPPORTED ·
 *          TENON_ERROR_UNSUPPORTED_DEVICE (f64 on a device without it) · TENON_ERROR_BUILD_FAILED ·
 *          TENON_ERROR_SOLVER_BARRED · TENON_ERROR_WORKSPACE_TOO_SMALL (a forced solver) ·
 *          TENON_ERROR_OUT_OF_MEMORY · TENON_ERROR_OPENCL · TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_scan(tenon_stream *stream, const tenon_scan_params *params,
                                   const tenon_tensor *x, const tenon_tensor *y,
                                   const tenon_sync *sync);

/** Makes a plan of tenon_scan with operands x, y. The tensors need no memory; memory that they have
 * is checked.
 *  @param plan  receives the plan, with one reference owned by the caller; NULL on failure
 *  @return as the immediate call, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_scan_plan(tenon_context *context, const tenon_scan_params *params,
                                        const tenon_tensor *x, const tenon_tensor *y,
                                        tenon_plan **plan);

TENON_END_C

#endif
