/** @file
 * Gather of rows of a table by index (an embedding look-up), and its gradient, which adds rows to
 * the table by index.
 */
#ifndef TENON_GATHER_H
#define TENON_GATHER_H

#include <tenon/plan.h>

TENON_BEGIN_C

/** Start from TENON_GATHER_PARAMS_INIT: rows along the first dimension. */
typedef struct tenon_gather_params {
    uint32_t struct_size; /**< sizeof(tenon_gather_params) */
    uint32_t flags;       /**< 0 */
    const char *solver;   /**< forces a solver (grammar: plan.h); NULL: automatic choice */
    int32_t axis; /**< axis of the table: counted from 0, or negative: from the end, -1 being the
                     last */
    uint32_t reserved; /**< 0 */
} tenon_gather_params;

/** The defaults of tenon_gather_params, without braces. */
#define TENON_GATHER_PARAMS_DEFAULTS sizeof(tenon_gather_params), 0, NULL, 0, 0
/** Initializes a tenon_gather_params with the defaults. */
#define TENON_GATHER_PARAMS_INIT                                                                   \
    {                                                                                              \
        TENON_GATHER_PARAMS_DEFAULTS                                                               \
    }
#ifndef __cplusplus
/** A const tenon_gather_params with the defaults, except for the members given as arguments. See
 * TENON_LITERAL. */
#define tenon_gather_params(...)                                                                   \
    TENON_LITERAL(tenon_gather_params, TENON_GATHER_PARAMS_DEFAULTS, __VA_ARGS__)
#endif

/** Sets `params` to the defaults, for languages without macros.
 *  @param size  sizeof(tenon_gather_params) */
TENON_API void tenon_gather_params_default(tenon_gather_params *params, uint32_t size);

/** Computes y[a…, i…, b…] = x[a…, indices[i…], b…], with the index in the position of the axis
 * (ONNX, operator Gather, but negative indices do not count from the end). The bits are copied. For
 * an index that is negative or not below the size of the axis nothing is read: its elements of y
 * become NaN, or 0 if y's type has no NaN.
 *  @param params   NULL means the defaults: axis 0
 *  @param x        the table: any type but the f8 types, rank at least 1, any strides,
 *                  including 0; its axis must not be empty, unless y is empty
 *  @param indices  i32, any rank and strides; a scalar removes the axis
 *  @param y        of x's type; its shape is x's with the axis replaced by the shape of indices, of
 *                  rank TENON_MAX_RANK at most. Must not overlap x or indices, and its own elements
 *                  must not overlap
 *  @param sync     may be NULL
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT · TENON_ERROR_UNSUPPORTED ·
 *          TENON_ERROR_UNSUPPORTED_DEVICE · TENON_ERROR_BUILD_FAILED · TENON_ERROR_SOLVER_BARRED ·
 *          TENON_ERROR_OUT_OF_MEMORY · TENON_ERROR_OPENCL · TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_gather_forward(tenon_stream *stream,
                                             const tenon_gather_params *params,
                                             const tenon_tensor *x, const tenon_tensor *indices,
                                             const tenon_tensor *y, const tenon_sync *sync);

/** Makes a plan of tenon_gather_forward with operands x, indices, y. The tensors need no memory;
 * memory that they have is checked.
 *  @param plan  receives the plan, with one reference owned by the caller; NULL on failure
 *  @return as the immediate call, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_gather_forward_plan(tenon_context *context,
                                                  const tenon_gather_params *params,
                                                  const tenon_tensor *x,
                                                  const tenon_tensor *indices,
                                                  const tenon_tensor *y, tenon_plan **plan);

/** Computes the gradient with respect to the table: dx[a…, r, b…] is the sum of dy[a…, i…, b…] over
 * all i… whose index is r, in the row-major order of the indices, with the same bits each time; 0
 * if no index is r. An index that is negative or not below the size of the axis adds nothing. All
 * of dx is written. Sums are f64 for f64 and f32 for the other types.
 *
 * With a workspace of about 20 bytes per index the indices are sorted first, and the time is that
 * of reading dy and writing dx. Without workspace every row of dx scans all indices, and the time
 * is proportional to the number of rows times the number of indices.
 *  @param params   those of the forward call, except for `solver`
 *  @param dy       the gradient with respect to y: f64, f32, f16 or bf16, of y's shape, any
 *                  strides, including 0
 *  @param indices  those of the forward call; at most 2^31 - 1
 *  @param dx       of dy's type and of x's shape, whose axis has at most 2^31 - 1 entries; must not
 *                  overlap dy or indices, and its own elements must not overlap
 *  @return as tenon_gather_forward; also TENON_ERROR_UNSUPPORTED_DEVICE for f64 on a device without
 *          it, and TENON_ERROR_WORKSPACE_TOO_SMALL */
TENON_CALL tenon_status tenon_gather_backward(tenon_stream *stream,
                                              const tenon_gather_params *params,
                                              const tenon_tensor *dy, const tenon_tensor *indices,
                                              const tenon_tensor *dx, const tenon_sync *sync);

/** Makes a plan of tenon_gather_backward with operands dy, indices, dx.
 *  @return as the immediate call, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_gather_backward_plan(tenon_context *context,
                                                   const tenon_gather_params *params,
                                                   const tenon_tensor *dy,
                                                   const tenon_tensor *indices,
                                                   const tenon_tensor *dx, tenon_plan **plan);

TENON_END_C

#endif
