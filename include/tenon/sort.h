/** @file
 * Sorting along an axis, with the order as indices and a payload; the largest or smallest elements;
 * binary search.
 *
 * The order of all functions is total and stable: equal elements keep their order; -0 and +0 are
 * equal; a NaN is after every number, in ascending and in descending order, and all NaNs are equal.
 */
#ifndef TENON_SORT_H
#define TENON_SORT_H

#include <tenon/plan.h>

TENON_BEGIN_C

#define TENON_SORT_DESCENDING 1u /**< flag of tenon_sort: from the greatest to the least */
#define TENON_TOP_K_SMALLEST  1u /**< flag of tenon_top_k: the smallest elements */
#define TENON_SEARCH_RIGHT    1u /**< flag of tenon_search_sorted: after equal elements */

/** Start from TENON_SORT_PARAMS_INIT: ascending along the last axis. */
typedef struct tenon_sort_params {
    uint32_t struct_size; /**< sizeof(tenon_sort_params) */
    uint32_t flags;       /**< 0 or TENON_SORT_DESCENDING */
    const char *solver;   /**< forces a solver (grammar: plan.h); NULL: automatic choice */
    int32_t axis;         /**< counted from 0, or negative: from the end, -1 being the last */
    uint32_t reserved;    /**< 0 */
} tenon_sort_params;

/** The defaults of tenon_sort_params, without braces. */
#define TENON_SORT_PARAMS_DEFAULTS sizeof(tenon_sort_params), 0, NULL, -1, 0
/** Initializes a tenon_sort_params with the defaults. */
#define TENON_SORT_PARAMS_INIT                                                                     \
    {                                                                                              \
        TENON_SORT_PARAMS_DEFAULTS                                                                 \
    }
#ifndef __cplusplus
/** A const tenon_sort_params with the defaults, except for the members given as arguments. See
 * TENON_LITERAL. */
#define tenon_sort_params(...)                                                                     \
    TENON_LITERAL(tenon_sort_params, TENON_SORT_PARAMS_DEFAULTS, __VA_ARGS__)
#endif

/** Sets `params` to the defaults, for languages without macros.
 *  @param size  sizeof(tenon_sort_params) */
TENON_API void tenon_sort_params_default(tenon_sort_params *params, uint32_t size);

/** Sorts each row of x along an axis, stably (D. Knuth, "The Art of Computer Programming", volume
 * 3, section 5.2.5: radix sort from the last digit). The bits of the elements are copied.
 *
 * With a workspace of one element (two if y is not contiguous along the axis) and, for indices or a
 * payload, one or two i32 per element, the time is proportional to the number of elements. Without
 * workspace every element is compared with all others of its row.
 *  @param params   NULL means the defaults
 *  @param x        any type except f8, rank at least 1, any strides, including
 *                  broadcast dimensions (stride 0). The axis has at most 2^31 - 1 elements
 *  @param payload  elements that are moved like those of x, of any type except f8 and of x's shape,
 *                  any strides; may be NULL
 *  @param y        receives the sorted elements, of x's type and shape
 *  @param indices  receives the index along the axis of each sorted element, i32 or i64, of x's
 *                  shape; may be NULL
 *  @param moved    receives the payload in the order of y, of its type and shape; NULL if and only
 *                  if `payload` is. Outputs must not overlap x, the payload or each other, and
 *                  their own elements must not overlap
 *  @param sync     may be NULL
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT · TENON_ERROR_UNSUPPORTED ·
 *          TENON_ERROR_BUILD_FAILED · TENON_ERROR_SOLVER_BARRED · TENON_ERROR_WORKSPACE_TOO_SMALL
 * (a forced solver) · TENON_ERROR_OUT_OF_MEMORY · TENON_ERROR_OPENCL · TENON_ERROR_INCOMPLETE
 */
TENON_CALL tenon_status tenon_sort(tenon_stream *stream, const tenon_sort_params *params,
                                   const tenon_tensor *x, const tenon_tensor *payload,
                                   const tenon_tensor *y, const tenon_tensor *indices,
                                   const tenon_tensor *moved, const tenon_sync *sync);

/** Makes a plan of tenon_sort with operands x, payload, y, indices, moved. The tensors need no
 * memory; memory that they have is checked.
 *  @param plan  receives the plan, with one reference owned by the caller; NULL on failure
 *  @return as the immediate call, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_sort_plan(tenon_context *context, const tenon_sort_params *params,
                                        const tenon_tensor *x, const tenon_tensor *payload,
                                        const tenon_tensor *y, const tenon_tensor *indices,
                                        const tenon_tensor *moved, tenon_plan **plan);

/** Start from TENON_TOP_K_PARAMS_INIT: the largest elements along the last axis. */
typedef struct tenon_top_k_params {
    uint32_t struct_size; /**< sizeof(tenon_top_k_params) */
    uint32_t flags;       /**< 0 or TENON_TOP_K_SMALLEST */
    const char *solver;   /**< forces a solver (grammar: plan.h); NULL: automatic choice */
    int32_t axis;         /**< counted from 0, or negative: from the end, -1 being the last */
    uint32_t reserved;    /**< 0 */
} tenon_top_k_params;

/** The defaults of tenon_top_k_params, without braces. */
#define TENON_TOP_K_PARAMS_DEFAULTS sizeof(tenon_top_k_params), 0, NULL, -1, 0
/** Initializes a tenon_top_k_params with the defaults. */
#define TENON_TOP_K_PARAMS_INIT                                                                    \
    {                                                                                              \
        TENON_TOP_K_PARAMS_DEFAULTS                                                                \
    }
#ifndef __cplusplus
/** A const tenon_top_k_params with the defaults, except for the members given as arguments. See
 * TENON_LITERAL. */
#define tenon_top_k_params(...)                                                                    \
    TENON_LITERAL(tenon_top_k_params, TENON_TOP_K_PARAMS_DEFAULTS, __VA_ARGS__)
#endif

/** Sets `params` to the defaults, for languages without macros.
 *  @param size  sizeof(tenon_top_k_params) */
TENON_API void tenon_top_k_params_default(tenon_top_k_params *params, uint32_t size);

/** Stores the k largest elements of each row of x, from the largest on, or the k smallest from the
 * smallest on (ONNX TopK with sorted results): the first k of tenon_sort. Of equal elements the
 * first ones are taken. A NaN is taken only if a row has fewer than k numbers.
 *  @param params   NULL means the defaults
 *  @param x        as in tenon_sort
 *  @param y        receives the elements, of x's type, and of its shape except for the axis, whose
 *                  size is k; k must not exceed the axis of x
 *  @param indices  receives their indices along the axis, i32 or i64, of y's shape; may be
 *                  NULL
 *  @return as tenon_sort */
TENON_CALL tenon_status tenon_top_k(tenon_stream *stream, const tenon_top_k_params *params,
                                    const tenon_tensor *x, const tenon_tensor *y,
                                    const tenon_tensor *indices, const tenon_sync *sync);

/** Makes a plan of tenon_top_k with operands x, y, indices.
 *  @return as the immediate call, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_top_k_plan(tenon_context *context, const tenon_top_k_params *params,
                                         const tenon_tensor *x, const tenon_tensor *y,
                                         const tenon_tensor *indices, tenon_plan **plan);

/** Start from TENON_SEARCH_SORTED_PARAMS_INIT: the first place. */
typedef struct tenon_search_sorted_params {
    uint32_t struct_size; /**< sizeof(tenon_search_sorted_params) */
    uint32_t flags;       /**< 0 or TENON_SEARCH_RIGHT */
    const char *solver;   /**< forces a solver (grammar: plan.h); NULL: automatic choice */
} tenon_search_sorted_params;

/** The defaults of tenon_search_sorted_params, without braces. */
#define TENON_SEARCH_SORTED_PARAMS_DEFAULTS sizeof(tenon_search_sorted_params), 0, NULL
/** Initializes a tenon_search_sorted_params with the defaults. */
#define TENON_SEARCH_SORTED_PARAMS_INIT                                                            \
    {                                                                                              \
        TENON_SEARCH_SORTED_PARAMS_DEFAULTS                                                        \
    }
#ifndef __cplusplus
/** A const tenon_search_sorted_params with the defaults, except for the members given as arguments.
 * See TENON_LITERAL. */
#define tenon_search_sorted_params(...)                                                            \
    TENON_LITERAL(tenon_search_sorted_params, TENON_SEARCH_SORTED_PARAMS_DEFAULTS, __VA_ARGS__)
#endif

/** Sets `params` to the defaults, for languages without macros.
 *  @param size  sizeof(tenon_search_sorted_params) */
TENON_API void tenon_search_sorted_params_default(tenon_search_sorted_params *params,
                                                  uint32_t size);

/** Stores the place at which each value would be inserted in a row of sorted elements: the number
 * of elements that are less than the value (NumPy searchsorted, side "left"), or with
 * TENON_SEARCH_RIGHT of those that are not greater, in the order of this header. If a row is not
 * sorted, its results are unspecified numbers from 0 to its length.
 *  @param params   NULL means the defaults
 *  @param sorted   any type except f8: one row of rank 1, or a row for each row of
 *                  the values, along the last dimension; its other dimensions broadcast to those of
 *                  the values. A row has at most 2^31 - 1 elements, and may be empty
 *  @param values   of the same type, rank at least 1, any strides
 *  @param indices  i32 or i64, of the values' shape; must not overlap the inputs, and its own
 * elements must not overlap
 *  @return as tenon_sort */
TENON_CALL tenon_status tenon_search_sorted(tenon_stream *stream,
                                            const tenon_search_sorted_params *params,
                                            const tenon_tensor *sorted, const tenon_tensor *values,
                                            const tenon_tensor *indices, const tenon_sync *sync);

/** Makes a plan of tenon_search_sorted with operands sorted, values, indices.
 *  @return as the immediate call, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_search_sorted_plan(tenon_context *context,
                                                 const tenon_search_sorted_params *params,
                                                 const tenon_tensor *sorted,
                                                 const tenon_tensor *values,
                                                 const tenon_tensor *indices, tenon_plan **plan);

TENON_END_C

#endif
