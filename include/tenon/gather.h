/** @file
 * Gather of elements of a table by index (embedding look-ups, ONNX's Gather, GatherElements and
 * GatherND), its gradient, and scatter: updates of elements of a tensor by index.
 *
 * Index modes, for a table x whose indexed axis is `axis`. The elements of the table are paired
 * with elements of a tensor y, the result of a gather or the updates of a scatter:
 *
 * - TENON_INDEX_SLICES: y[a…, i…, b…] ↔ x[a…, indices[i…], b…], where a… are the dimensions before
 *   the axis. The shape of y is x's, with the axis replaced by the shape of indices. (ONNX: Gather;
 *   NumPy: take; PyTorch: index_select, index_add)
 * - TENON_INDEX_ELEMENTS: y[a…, j, b…] ↔ x[a…, indices[a…, j, b…], b…]. y and indices have the same
 *   shape, and the rank of x. Except along the axis, they must not be larger than x. (ONNX:
 *   GatherElements, ScatterElements; NumPy: take_along_axis; PyTorch: gather, scatter)
 * - TENON_INDEX_TUPLES: y[a…, i…, b…] ↔ x[a…, t0, …, tk-1, b…] with t = indices[a…, i…, :]. The
 * last dimension of indices has the k coordinates of each tuple, for the k dimensions of x from
 * `axis` on. The `axis` dimensions a… before them are batches, which x, indices and y have in
 * common. The shape of y is that of indices without its last dimension, followed by the dimensions
 * of x after the indexed ones. (ONNX: GatherND with batch_dims = axis; ScatterND)
 */
#ifndef TENON_GATHER_H
#define TENON_GATHER_H

#include <tenon/plan.h>

TENON_BEGIN_C

/** Relation of indices to the elements of a table: see the top of gather.h. */
typedef enum tenon_index_mode {
    TENON_INDEX_SLICES = 0,   /**< an index selects a slice of the table */
    TENON_INDEX_ELEMENTS = 1, /**< an index selects an element along the axis */
    TENON_INDEX_TUPLES = 2    /**< a tuple of indices selects a slice of the table */
} tenon_index_mode;

/** Flags of tenon_gather_params and tenon_scatter_params. */
typedef enum tenon_index_flags {
    TENON_INDEX_FROM_END = 1 /**< index -1 is the last entry of its dimension, -2 the one before it,
                                and so on (ONNX, Python). Without the flag, a negative index is out
                                of range */
} tenon_index_flags;

/** Start from TENON_GATHER_PARAMS_INIT: slices along the first dimension. */
typedef struct tenon_gather_params {
    uint32_t struct_size; /**< sizeof(tenon_gather_params) */
    uint32_t flags;       /**< 0 or TENON_INDEX_FROM_END */
    const char *solver;   /**< forces a solver (grammar: plan.h); NULL: automatic choice */
    int32_t axis;  /**< axis of the table, for tuples the first of their axes: counted from 0, or
                      negative: from the end, -1 being the last */
    uint32_t mode; /**< tenon_index_mode */
} tenon_gather_params;

/** The defaults of tenon_gather_params, without braces. */
#define TENON_GATHER_PARAMS_DEFAULTS sizeof(tenon_gather_params), 0, NULL, 0, TENON_INDEX_SLICES
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

/** Copies an element of the table x to each element of y, by the index mode (top of this file). The
 * bits are copied. If an index is out of range (negative, or not below the size of its dimension)
 * nothing is read: its elements of y become NaN, or 0 if y's type has no NaN.
 *  @param params   NULL means the defaults: slices along axis 0
 *  @param x        the table: any type but the f8 types, rank at least 1, any strides,
 *                  including 0; its indexed dimensions must not be empty, unless y is empty
 *  @param indices  i32 or i64, any strides; any rank (a scalar removes the axis), for elements x's
 * rank, for tuples at least axis + 1
 *  @param y        of x's type, shape as the mode requires, of rank TENON_MAX_RANK at most. Must
 * not overlap x or indices, and its own elements must not overlap
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

/** Computes the gradient with respect to the table: each element of dx is the sum of the elements
 * of dy that a gather with these parameters would copy from it, in the row-major order of the
 * indices, with the same bits each time; 0 if there are none. An index that is out of range adds
 * nothing. All of dx is written. Sums are f64 for f64 and f32 for the other types.
 *
 * With a workspace of about 20 bytes per index the indices are sorted, and the time is about that
 * of reading dy and writing dx. CPUs need no workspace for f32 and f64. Otherwise, without
 * workspace, every row of dx scans all indices, and the time is proportional to the number of rows
 * times the number of indices.
 *  @param params   those of the forward call, except for `solver`
 *  @param dy       the gradient with respect to y: f64, f32, f16 or bf16, of y's shape, any
 *                  strides, including 0
 *  @param indices  those of the forward call; at most 2^31 - 1
 *  @param dx       of dy's type and of x's shape, whose indexed dimensions (for elements, all; for
 *                  tuples, also the batches) have at most 2^31 - 1 entries; must not overlap dy or
 *                  indices, and its own elements must not overlap
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

/** The operation that combines an element with an update. */
typedef enum tenon_scatter_op {
    TENON_SCATTER_SET = 0,      /**< replaces the element: the last update remains */
    TENON_SCATTER_ADD = 1,      /**< adds; integers wrap around */
    TENON_SCATTER_MULTIPLY = 2, /**< multiplies; integers wrap around */
    TENON_SCATTER_MIN = 3,      /**< the smaller value; NaN if either is NaN */
    TENON_SCATTER_MAX = 4       /**< the larger value; NaN if either is NaN */
} tenon_scatter_op;

/** Start from TENON_SCATTER_PARAMS_INIT: replaces slices along the first dimension. */
typedef struct tenon_scatter_params {
    uint32_t struct_size; /**< sizeof(tenon_scatter_params) */
    uint32_t flags;       /**< 0 or TENON_INDEX_FROM_END */
    const char *solver;   /**< forces a solver (grammar: plan.h); NULL: automatic choice */
    int32_t axis;         /**< axis of y, as that of x in tenon_gather_forward */
    uint32_t mode;        /**< tenon_index_mode */
    uint32_t op;          /**< tenon_scatter_op */
    uint32_t reserved;    /**< 0 */
} tenon_scatter_params;

/** The defaults of tenon_scatter_params, without braces. */
#define TENON_SCATTER_PARAMS_DEFAULTS                                                              \
    sizeof(tenon_scatter_params), 0, NULL, 0, TENON_INDEX_SLICES, TENON_SCATTER_SET, 0
/** Initializes a tenon_scatter_params with the defaults. */
#define TENON_SCATTER_PARAMS_INIT                                                                  \
    {                                                                                              \
        TENON_SCATTER_PARAMS_DEFAULTS                                                              \
    }
#ifndef __cplusplus
/** A const tenon_scatter_params with the defaults, except for the members given as arguments. See
 * TENON_LITERAL. */
#define tenon_scatter_params(...)                                                                  \
    TENON_LITERAL(tenon_scatter_params, TENON_SCATTER_PARAMS_DEFAULTS, __VA_ARGS__)
#endif

/** Sets `params` to the defaults, for languages without macros.
 *  @param size  sizeof(tenon_scatter_params) */
TENON_API void tenon_scatter_params_default(tenon_scatter_params *params, uint32_t size);

/** Combines elements of y, in place, with updates by the index mode (top of this file; ONNX's
 * ScatterElements and ScatterND, if y is a copy of their data; PyTorch's index_add_, scatter_ and
 * scatter_reduce_). The updates of an element are applied in the row-major order of the indices,
 * with the same bits each time. f16 and bf16 are combined in f32 and rounded once, after the last
 * update. An index that is out of range (negative, or not below the size of its dimension) changes
 * nothing.
 *
 * Gradients of an addition: with respect to the old y it is that of the new y; with respect to the
 * updates it is tenon_gather_forward of the gradient of the new y, with the same mode, axis and
 * indices. tenon_gather_backward is a scatter with ADD to zeros.
 *
 * With a workspace of about 20 bytes per index the indices are sorted. CPUs need no workspace,
 * except to add or multiply f16 or bf16. Otherwise, without workspace, every row of y scans all
 * indices, and the time is proportional to the number of rows times the number of indices.
 *  @param params   NULL means the defaults: replaces slices along axis 0
 *  @param updates  of y's type, shape as the mode requires, any strides, including 0
 *  @param indices  i32 or i64, any strides, at most 2^31 - 1 elements; rank as for
 * tenon_gather_forward
 *  @param y        the table, which is also read: any type but the f8 types, bool only with SET,
 * rank at least 1; its indexed dimensions (for elements, all; for tuples, also the batches) have at
 * most 2^31 - 1 entries. Must not overlap updates or indices, and its own elements must not overlap
 *  @param sync     may be NULL
 *  @return as tenon_gather_backward */
TENON_CALL tenon_status tenon_scatter(tenon_stream *stream, const tenon_scatter_params *params,
                                      const tenon_tensor *updates, const tenon_tensor *indices,
                                      const tenon_tensor *y, const tenon_sync *sync);

/** Makes a plan of tenon_scatter with operands updates, indices, y.
 *  @return as the immediate call, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_scatter_plan(tenon_context *context,
                                           const tenon_scatter_params *params,
                                           const tenon_tensor *updates, const tenon_tensor *indices,
                                           const tenon_tensor *y, tenon_plan **plan);

TENON_END_C

#endif
