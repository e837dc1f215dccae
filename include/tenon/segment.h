/** @file
 * Reductions and scans of segments: sums, means, products, minima and maxima of groups of rows
 * (reduce-by-key; PyTorch EmbeddingBag; TensorFlow segment_sum), their gradient, and scans that
 * begin again with each segment.
 *
 * Example: sums of the values of each run of equal keys, where ids is `inverse` of tenon_unique
 * with TENON_UNIQUE_CONSECUTIVE:
 *
 *     const tenon_segment_params by_key = tenon_segment_params(.flags = TENON_SEGMENT_IDS);
 *     tenon_segment_reduce(stream, &by_key, &values, NULL, NULL, &ids, &sums, NULL);
 */
#ifndef TENON_SEGMENT_H
#define TENON_SEGMENT_H

#include <tenon/plan.h>

TENON_BEGIN_C

#define TENON_SEGMENT_IDS                                                                          \
    1u /**< flag: the segments are given by the number of each position, not by offsets */

/** The operation that combines the rows of a segment. */
typedef enum tenon_segment_kind {
    TENON_SEGMENT_SUM = 0,     /**< sum; 0 for an empty segment */
    TENON_SEGMENT_PRODUCT = 1, /**< product; 1 for an empty segment */
    TENON_SEGMENT_MAX = 2, /**< the greatest, or NaN if there is one; -inf, or the least integer,
                              for an empty segment */
    TENON_SEGMENT_MIN = 3, /**< the least, or NaN if there is one; +inf, or the greatest integer,
                              for an empty segment */
    TENON_SEGMENT_MEAN = 4 /**< sum divided by the number of rows; 0 for an empty segment; not for
                              integers */
} tenon_segment_kind;

/** Start from TENON_SEGMENT_PARAMS_INIT: sums of segments that are given by offsets. */
typedef struct tenon_segment_params {
    uint32_t struct_size; /**< sizeof(tenon_segment_params) */
    uint32_t flags;       /**< 0 or TENON_SEGMENT_IDS */
    const char *solver;   /**< forces a solver (grammar: plan.h); NULL: automatic choice */
    uint32_t kind;        /**< tenon_segment_kind */
    uint32_t reserved;    /**< 0 */
} tenon_segment_params;

/** The defaults of tenon_segment_params, without braces. */
#define TENON_SEGMENT_PARAMS_DEFAULTS sizeof(tenon_segment_params), 0, NULL, TENON_SEGMENT_SUM, 0
/** Initializes a tenon_segment_params with the defaults. */
#define TENON_SEGMENT_PARAMS_INIT                                                                  \
    {                                                                                              \
        TENON_SEGMENT_PARAMS_DEFAULTS                                                              \
    }
#ifndef __cplusplus
/** A const tenon_segment_params with the defaults, except for the members given as arguments. See
 * TENON_LITERAL. */
#define tenon_segment_params(...)                                                                  \
    TENON_LITERAL(tenon_segment_params, TENON_SEGMENT_PARAMS_DEFAULTS, __VA_ARGS__)
#endif

/** Sets `params` to the defaults, for languages without macros.
 *  @param size  sizeof(tenon_segment_params) */
TENON_API void tenon_segment_params_default(tenon_segment_params *params, uint32_t size);

/** Combines the rows of each segment: y[s] = w[b] x[i[b]] ∘ … ∘ w[e-1] x[i[e-1]], where segment s
 * consists of the positions b to e - 1, i are indices of rows, w are weights, and ∘ is the
 * operation of params->kind. Without indices, position p is row p of x; with indices this is an
 * embedding bag (T. Mikolov et al., "Bag of tricks for efficient text classification", 2016). A
 * position whose index is out of range (negative, or not below the number of rows) is skipped, and
 * not counted by a mean. Rows are combined in an order that depends only on the sizes of the
 * segment, with the same bits each time. Sums and products of f16 and bf16 are computed in f32 and
 * rounded once; those of integers wrap around.
 *  @param params    NULL means the defaults
 *  @param x         f64, f32, f16, bf16, i32, u32 or i64, rank at least 1: rows along dimension 0,
 *                   any strides, including broadcast dimensions (stride 0)
 *  @param indices   i32 or i64, rank 1: the row of each position; NULL: as many positions as rows
 *  @param weights   of x's type and rank 1: a factor for each position, for floating-point sums and
 *                   means (which are divided by the number of rows, not by the sum of the weights);
 *                   may be NULL
 *  @param segments  i32 or i64, rank 1: the first position of each segment and the end of the last
 *                   one, ascending, one more than y has rows. With TENON_SEGMENT_IDS instead the
 *                   segment of each position, ascending. NULL: segments of equal length; the number
 *                   of positions must be a multiple of the rows of y. Offsets are limited to the
 *                   positions that exist. If they, or the numbers, are not ascending, the segments
 *                   are unspecified, but nothing outside the tensors is accessed
 *  @param y         of x's type, and of x's shape except for dimension 0, the number of segments.
 *                   Must not overlap the inputs, and its own elements must not overlap
 *  @param sync    may be NULL
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT · TENON_ERROR_UNSUPPORTED ·
 *          TENON_ERROR_UNSUPPORTED_DEVICE (f64 on a device without it) · TENON_ERROR_BUILD_FAILED ·
 *          TENON_ERROR_SOLVER_BARRED · TENON_ERROR_WORKSPACE_TOO_SMALL (a forced solver) ·
 *          TENON_ERROR_OUT_OF_MEMORY · TENON_ERROR_OPENCL · TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_segment_reduce(tenon_stream *stream,
                                             const tenon_segment_params *params,
                                             const tenon_tensor *x, const tenon_tensor *indices,
                                             const tenon_tensor *weights,
                                             const tenon_tensor *segments, const tenon_tensor *y,
                                             const tenon_sync *sync);

/** Makes a plan of tenon_segment_reduce with operands x, indices, weights, segments, y. The tensors
 * need no memory; memory that they have is checked.
 *  @param plan  receives the plan, with one reference owned by the caller; NULL on failure
 *  @return as the immediate call, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_segment_reduce_plan(
    tenon_context *context, const tenon_segment_params *params, const tenon_tensor *x,
    const tenon_tensor *indices, const tenon_tensor *weights, const tenon_tensor *segments,
    const tenon_tensor *y, tenon_plan **plan);

/** Computes the gradient of a sum or mean with respect to x: each row of dx is the sum, over the
 * positions p with that row in ascending order, of w[p] dy[s], where s is the segment of p; for a
 * mean divided by the number of its rows. Rows without position become 0. All of dx is written,
 * with the same bits each time. Terms are rounded to dy's type if they are collected in the
 * workspace.
 *
 * With a workspace of a row for each position, and that of tenon_gather_backward, the time is about
 * that of reading dy and writing dx. Without workspace, every row of dx scans all indices.
 *
 * tenon_segment_reduce_backward_weights computes the gradient of the weights.
 *  @param params    those of the forward call, except for `solver`; the kind must be sum or mean
 *  @param dy        the gradient with respect to y: f64, f32, f16 or bf16, of y's shape, any
 *                   strides, including 0
 *  @param indices   those of the forward call, at most 2^31 - 1, or NULL
 *  @param weights   those of the forward call, of dy's type, or NULL
 *  @param segments  those of the forward call, or NULL
 *  @param dx        of dy's type, and of x's shape; must not overlap the inputs, and its own
 *                   elements must not overlap
 *  @param sync    may be NULL
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT · TENON_ERROR_UNSUPPORTED ·
 *          TENON_ERROR_UNSUPPORTED_DEVICE (f64 on a device without it) · TENON_ERROR_BUILD_FAILED ·
 *          TENON_ERROR_SOLVER_BARRED · TENON_ERROR_WORKSPACE_TOO_SMALL (a forced solver) ·
 *          TENON_ERROR_OUT_OF_MEMORY · TENON_ERROR_OPENCL · TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_segment_reduce_backward(
    tenon_stream *stream, const tenon_segment_params *params, const tenon_tensor *dy,
    const tenon_tensor *indices, const tenon_tensor *weights, const tenon_tensor *segments,
    const tenon_tensor *dx, const tenon_sync *sync);

/** Makes a plan of tenon_segment_reduce_backward with operands dy, indices, weights, segments, dx.
 * The tensors need no memory; memory that they have is checked.
 *  @param plan  receives the plan, with one reference owned by the caller; NULL on failure
 *  @return as the immediate call, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_segment_reduce_backward_plan(
    tenon_context *context, const tenon_segment_params *params, const tenon_tensor *dy,
    const tenon_tensor *indices, const tenon_tensor *weights, const tenon_tensor *segments,
    const tenon_tensor *dx, tenon_plan **plan);

/** Computes the gradient of a sum or mean with respect to the weights: dweights[p] is the scalar
 * product of x[i[p]] and dy[s], where s is the segment of position p; for a mean it is divided by
 * the number of rows of s. It is 0 for a position that is skipped or in no segment. The weights
 * themselves are not needed. Products are added in f32, or f64 for f64, in an order that depends on
 * the shapes, strides and types only.
 *  @param params    those of the forward call, except for `solver`; the kind must be sum or mean
 *  @param x         that of the forward call: f64, f32, f16 or bf16
 *  @param dy        the gradient with respect to y, of x's type and y's shape; any strides,
 *                   including 0
 *  @param indices   those of the forward call, or NULL
 *  @param segments  those of the forward call, or NULL
 *  @param dweights  of x's type and rank 1, with an element for each position; must not overlap the
 *                   inputs, and its own elements must not overlap
 *  @param sync    may be NULL
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT · TENON_ERROR_UNSUPPORTED ·
 *          TENON_ERROR_UNSUPPORTED_DEVICE (f64 on a device without it) · TENON_ERROR_BUILD_FAILED ·
 *          TENON_ERROR_SOLVER_BARRED · TENON_ERROR_OUT_OF_MEMORY · TENON_ERROR_OPENCL ·
 *          TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_segment_reduce_backward_weights(
    tenon_stream *stream, const tenon_segment_params *params, const tenon_tensor *x,
    const tenon_tensor *dy, const tenon_tensor *indices, const tenon_tensor *segments,
    const tenon_tensor *dweights, const tenon_sync *sync);

/** Makes a plan of tenon_segment_reduce_backward_weights with operands x, dy, indices, segments,
 * dweights. The tensors need no memory; memory that they have is checked.
 *  @param plan  receives the plan, with one reference owned by the caller; NULL on failure
 *  @return as the immediate call, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_segment_reduce_backward_weights_plan(
    tenon_context *context, const tenon_segment_params *params, const tenon_tensor *x,
    const tenon_tensor *dy, const tenon_tensor *indices, const tenon_tensor *segments,
    const tenon_tensor *dweights, tenon_plan **plan);

#define TENON_SEGMENT_SCAN_EXCLUSIVE                                                               \
    1u /**< flag: y[i] combines the elements before i of its segment, without i itself */
#define TENON_SEGMENT_SCAN_REVERSE 2u /**< flag: from the last element to the first */

/** Start from TENON_SEGMENT_SCAN_PARAMS_INIT: the inclusive sum along the last axis. */
typedef struct tenon_segment_scan_params {
    uint32_t struct_size; /**< sizeof(tenon_segment_scan_params) */
    uint32_t flags;     /**< 0, TENON_SEGMENT_SCAN_EXCLUSIVE, TENON_SEGMENT_SCAN_REVERSE, or both */
    const char *solver; /**< forces a solver (grammar: plan.h); NULL: automatic choice */
    uint32_t kind;      /**< tenon_segment_kind, except for the mean */
    int32_t axis;       /**< counted from 0, or negative: from the end, -1 being the last */
} tenon_segment_scan_params;

/** The defaults of tenon_segment_scan_params, without braces. */
#define TENON_SEGMENT_SCAN_PARAMS_DEFAULTS                                                         \
    sizeof(tenon_segment_scan_params), 0, NULL, TENON_SEGMENT_SUM, -1
/** Initializes a tenon_segment_scan_params with the defaults. */
#define TENON_SEGMENT_SCAN_PARAMS_INIT                                                             \
    {                                                                                              \
        TENON_SEGMENT_SCAN_PARAMS_DEFAULTS                                                         \
    }
#ifndef __cplusplus
/** A const tenon_segment_scan_params with the defaults, except for the members given as arguments.
 * See TENON_LITERAL. */
#define tenon_segment_scan_params(...)                                                             \
    TENON_LITERAL(tenon_segment_scan_params, TENON_SEGMENT_SCAN_PARAMS_DEFAULTS, __VA_ARGS__)
#endif

/** Sets `params` to the defaults, for languages without macros.
 *  @param size  sizeof(tenon_segment_scan_params) */
TENON_API void tenon_segment_scan_params_default(tenon_segment_scan_params *params, uint32_t size);

/** Scans each row of x along an axis as tenon_scan does, but begins again at each element whose
 * number in `segments` differs from that of the element before it (S. Sengupta et al., "Scan
 * primitives for GPU computing", 2007, with keys instead of flags). Equal calls return equal bits
 * on one device. Sums and products of f16 and bf16 are computed in f32; those of integers wrap
 * around.
 *
 * The gradient of a sum is the scan of dy with the same segments, the other direction and the same
 * TENON_SEGMENT_SCAN_EXCLUSIVE flag, so there is no separate function for it.
 *  @param params    NULL means the defaults
 *  @param x         f64, f32, f16, bf16, i32, u32 or i64, rank at least 1, any strides, including
 *                   broadcast dimensions (stride 0)
 *  @param segments  i32 or i64, any values and strides; its shape broadcasts to that of x
 *  @param y         of x's type and shape; may be exactly x (same memory, offset and strides), must
 *                   not overlap the inputs otherwise, and its own elements must not overlap
 *  @param sync    may be NULL
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT · TENON_ERROR_UNSUPPORTED ·
 *          TENON_ERROR_UNSUPPORTED_DEVICE (f64 on a device without it) · TENON_ERROR_BUILD_FAILED ·
 *          TENON_ERROR_SOLVER_BARRED · TENON_ERROR_WORKSPACE_TOO_SMALL (a forced solver) ·
 *          TENON_ERROR_OUT_OF_MEMORY · TENON_ERROR_OPENCL · TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_segment_scan(tenon_stream *stream,
                                           const tenon_segment_scan_params *params,
                                           const tenon_tensor *x, const tenon_tensor *segments,
                                           const tenon_tensor *y, const tenon_sync *sync);

/** Makes a plan of tenon_segment_scan with operands x, segments, y. The tensors need no
 * memory; memory that they have is checked.
 *  @param plan  receives the plan, with one reference owned by the caller; NULL on failure
 *  @return as the immediate call, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_segment_scan_plan(tenon_context *context,
                                                const tenon_segment_scan_params *params,
                                                const tenon_tensor *x, const tenon_tensor *segments,
                                                const tenon_tensor *y, tenon_plan **plan);

TENON_END_C

#endif
