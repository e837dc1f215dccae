/** @file
 * Rearrangements of elements: roll, flip and tile, triangular masks, reversal by lengths, one-hot
 * encoding, and copies between channels and space.
 */
#ifndef TENON_REARRANGE_H
#define TENON_REARRANGE_H

#include <tenon/plan.h>

TENON_BEGIN_C

/** Start from TENON_REARRANGE_PARAMS_INIT, with which x is copied, and repeated if y is larger. */
typedef struct tenon_rearrange_params {
    uint32_t struct_size;          /**< sizeof(tenon_rearrange_params) */
    uint32_t flags;                /**< 0 */
    const char *solver;            /**< forces a solver (grammar: plan.h); NULL: automatic choice */
    uint32_t flip;                 /**< bit d: dimension d is reversed */
    uint32_t reserved;             /**< 0 */
    int64_t shift[TENON_MAX_RANK]; /**< for each dimension, the index in y of x's element 0, before
                                      reversal; any value */
} tenon_rearrange_params;

/** The defaults of tenon_rearrange_params, without braces. */
#define TENON_REARRANGE_PARAMS_DEFAULTS                                                            \
    sizeof(tenon_rearrange_params), 0, NULL, 0, 0,                                                 \
    {                                                                                              \
        0                                                                                          \
    }
/** Initializes a tenon_rearrange_params with the defaults. */
#define TENON_REARRANGE_PARAMS_INIT                                                                \
    {                                                                                              \
        TENON_REARRANGE_PARAMS_DEFAULTS                                                            \
    }
#ifndef __cplusplus
/** A const tenon_rearrange_params with the defaults, except for the members given as arguments. See
 * TENON_LITERAL. */
#define tenon_rearrange_params(...)                                                                \
    TENON_LITERAL(tenon_rearrange_params, TENON_REARRANGE_PARAMS_DEFAULTS, __VA_ARGS__)
#endif

/** Sets `params` to the defaults, for languages without macros.
 *  @param size  sizeof(tenon_rearrange_params) */
TENON_API void tenon_rearrange_params_default(tenon_rearrange_params *params, uint32_t size);

/** Copies x periodically: y[i0, i1, …] = x[s0, s1, …] with s = (i − shift) mod n for a dimension of
 * x of size n, or n − 1 − s if it is flipped. The bits are copied. With x's shape this is a roll
 * (NumPy: roll) or a flip (NumPy: flip); if the dimensions of y are multiples of x's, x is tiled
 * (NumPy and ONNX: tile); with others it is padded periodically (ONNX: Pad, mode wrap).
 *
 * The gradient of a roll is the roll by −shift, that of a flip the flip; that of tiling is the sum
 * of dy over the repetitions (tenon_reduce of dy with each dimension divided in two).
 *  @param params  NULL means the defaults: no shift, no flip
 *  @param x       any type but the f8 types, any rank and strides, including 0; its
 *                 dimensions must not be empty, unless y is empty
 *  @param y       of x's type and rank, any shape. Must not overlap x, and its own elements must
 * not overlap
 *  @param sync    may be NULL
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT · TENON_ERROR_UNSUPPORTED ·
 *          TENON_ERROR_UNSUPPORTED_DEVICE · TENON_ERROR_BUILD_FAILED · TENON_ERROR_SOLVER_BARRED ·
 *          TENON_ERROR_OUT_OF_MEMORY · TENON_ERROR_OPENCL · TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_rearrange(tenon_stream *stream, const tenon_rearrange_params *params,
                                        const tenon_tensor *x, const tenon_tensor *y,
                                        const tenon_sync *sync);

/** Makes a plan of tenon_rearrange with operands x, y. The tensors need no memory; memory that they
 * have is checked.
 *  @param plan  receives the plan, with one reference owned by the caller; NULL on failure
 *  @return as the immediate call, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_rearrange_plan(tenon_context *context,
                                             const tenon_rearrange_params *params,
                                             const tenon_tensor *x, const tenon_tensor *y,
                                             tenon_plan **plan);

/** Flags of tenon_triangle_params. */
typedef enum tenon_triangle_flags {
    TENON_TRIANGLE_UPPER = 1 /**< keeps the upper triangle instead of the lower one */
} tenon_triangle_flags;

/** Start from TENON_TRIANGLE_PARAMS_INIT: the lower triangle with its diagonal, and zeros. */
typedef struct tenon_triangle_params {
    uint32_t struct_size; /**< sizeof(tenon_triangle_params) */
    uint32_t flags;       /**< 0 or TENON_TRIANGLE_UPPER */
    const char *solver;   /**< forces a solver (grammar: plan.h); NULL: automatic choice */
    int64_t diagonal; /**< k: the diagonal of elements with column − row = k bounds the triangle,
                         and belongs to it */
    double value;     /**< of the other elements, rounded to y's type as in tenon_tensor_fill */
} tenon_triangle_params;

/** The defaults of tenon_triangle_params, without braces. */
#define TENON_TRIANGLE_PARAMS_DEFAULTS sizeof(tenon_triangle_params), 0, NULL, 0, 0.0
/** Initializes a tenon_triangle_params with the defaults. */
#define TENON_TRIANGLE_PARAMS_INIT                                                                 \
    {                                                                                              \
        TENON_TRIANGLE_PARAMS_DEFAULTS                                                             \
    }
#ifndef __cplusplus
/** A const tenon_triangle_params with the defaults, except for the members given as arguments. See
 * TENON_LITERAL. */
#define tenon_triangle_params(...)                                                                 \
    TENON_LITERAL(tenon_triangle_params, TENON_TRIANGLE_PARAMS_DEFAULTS, __VA_ARGS__)
#endif

/** Sets `params` to the defaults, for languages without macros.
 *  @param size  sizeof(tenon_triangle_params) */
TENON_API void tenon_triangle_params_default(tenon_triangle_params *params, uint32_t size);

/** Copies a triangle of each matrix, the last two dimensions of x: y[…, r, c] = x[…, r, c] if
 * c − r ≤ diagonal (lower) or c − r ≥ diagonal (upper), otherwise `value` (NumPy: tril, triu; ONNX:
 * Trilu). The bits are copied; elements of x outside the triangle are not read.
 *
 * The gradient is the same triangle of dy with the value 0.
 *  @param params  NULL means the defaults: the lower triangle with its diagonal, and zeros
 *  @param x       any type but the f8 types, rank at least 2, any strides, including 0
 *  @param y       of x's type and shape. May be x itself; otherwise it must not overlap x. Its own
 *                 elements must not overlap
 *  @return as tenon_rearrange */
TENON_CALL tenon_status tenon_triangle(tenon_stream *stream, const tenon_triangle_params *params,
                                       const tenon_tensor *x, const tenon_tensor *y,
                                       const tenon_sync *sync);

/** Makes a plan of tenon_triangle with operands x, y.
 *  @return as the immediate call, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_triangle_plan(tenon_context *context,
                                            const tenon_triangle_params *params,
                                            const tenon_tensor *x, const tenon_tensor *y,
                                            tenon_plan **plan);

/** Start from TENON_REVERSE_LENGTHS_PARAMS_INIT: time first, then batches, as in ONNX. */
typedef struct tenon_reverse_lengths_params {
    uint32_t struct_size; /**< sizeof(tenon_reverse_lengths_params) */
    uint32_t flags;       /**< 0 */
    const char *solver;   /**< forces a solver (grammar: plan.h); NULL: automatic choice */
    int32_t axis; /**< dimension that is reversed; negative: counted from the end, -1 being the
                     last */
    int32_t batch_axis; /**< dimension along which the lengths vary, likewise */
} tenon_reverse_lengths_params;

/** The defaults of tenon_reverse_lengths_params, without braces. */
#define TENON_REVERSE_LENGTHS_PARAMS_DEFAULTS sizeof(tenon_reverse_lengths_params), 0, NULL, 0, 1
/** Initializes a tenon_reverse_lengths_params with the defaults. */
#define TENON_REVERSE_LENGTHS_PARAMS_INIT                                                          \
    {                                                                                              \
        TENON_REVERSE_LENGTHS_PARAMS_DEFAULTS                                                      \
    }
#ifndef __cplusplus
/** A const tenon_reverse_lengths_params with the defaults, except for the members given as
 * arguments. See TENON_LITERAL. */
#define tenon_reverse_lengths_params(...)                                                          \
    TENON_LITERAL(tenon_reverse_lengths_params, TENON_REVERSE_LENGTHS_PARAMS_DEFAULTS, __VA_ARGS__)
#endif

/** Sets `params` to the defaults, for languages without macros.
 *  @param size  sizeof(tenon_reverse_lengths_params) */
TENON_API void tenon_reverse_lengths_params_default(tenon_reverse_lengths_params *params,
                                                    uint32_t size);

/** Reverses the first lengths[b] elements along an axis in each batch b, and copies the others
 * (ONNX: ReverseSequence). The bits are copied. A negative length counts as 0, and one that exceeds
 * the axis as its size.
 *
 * The gradient is the same call with dy.
 *  @param params   NULL means the defaults: axis 0, batches along axis 1
 *  @param x        any type but the f8 types, rank at least 2, any strides, including 0
 *  @param lengths  i32 or i64, of the shape [size of the batch axis], any stride
 *  @param y        of x's type and shape. Must not overlap x or lengths, and its own elements must
 *                  not overlap
 *  @return as tenon_rearrange */
TENON_CALL tenon_status tenon_reverse_lengths(tenon_stream *stream,
                                              const tenon_reverse_lengths_params *params,
                                              const tenon_tensor *x, const tenon_tensor *lengths,
                                              const tenon_tensor *y, const tenon_sync *sync);

/** Makes a plan of tenon_reverse_lengths with operands x, lengths, y.
 *  @return as the immediate call, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_reverse_lengths_plan(tenon_context *context,
                                                   const tenon_reverse_lengths_params *params,
                                                   const tenon_tensor *x,
                                                   const tenon_tensor *lengths,
                                                   const tenon_tensor *y, tenon_plan **plan);

/** Flags of tenon_one_hot_params. */
typedef enum tenon_one_hot_flags {
    TENON_ONE_HOT_FROM_END = 1 /**< index -1 is the last class, and so on. Without the flag, a
                                  negative index is out of range */
} tenon_one_hot_flags;

/** Start from TENON_ONE_HOT_PARAMS_INIT: classes along the last dimension, ones and zeros. */
typedef struct tenon_one_hot_params {
    uint32_t struct_size; /**< sizeof(tenon_one_hot_params) */
    uint32_t flags;       /**< 0 or TENON_ONE_HOT_FROM_END */
    const char *solver;   /**< forces a solver (grammar: plan.h); NULL: automatic choice */
    int32_t axis; /**< dimension of y with the classes; negative: counted from the end, -1 being
                     the last */
    uint32_t reserved; /**< 0 */
    double on;         /**< value of the class, rounded to y's type as in tenon_tensor_fill */
    double off;        /**< value of the other classes, likewise */
} tenon_one_hot_params;

/** The defaults of tenon_one_hot_params, without braces. */
#define TENON_ONE_HOT_PARAMS_DEFAULTS sizeof(tenon_one_hot_params), 0, NULL, -1, 0, 1.0, 0.0
/** Initializes a tenon_one_hot_params with the defaults. */
#define TENON_ONE_HOT_PARAMS_INIT                                                                  \
    {                                                                                              \
        TENON_ONE_HOT_PARAMS_DEFAULTS                                                              \
    }
#ifndef __cplusplus
/** A const tenon_one_hot_params with the defaults, except for the members given as arguments. See
 * TENON_LITERAL. */
#define tenon_one_hot_params(...)                                                                  \
    TENON_LITERAL(tenon_one_hot_params, TENON_ONE_HOT_PARAMS_DEFAULTS, __VA_ARGS__)
#endif

/** Sets `params` to the defaults, for languages without macros.
 *  @param size  sizeof(tenon_one_hot_params) */
TENON_API void tenon_one_hot_params_default(tenon_one_hot_params *params, uint32_t size);

/** Computes y[a…, c, b…] = on if c = indices[a…, b…], otherwise off (ONNX: OneHot). An index out of
 * range gives only `off`.
 *  @param params   NULL means the defaults: classes along the last dimension, ones and zeros
 *  @param indices  i32 or i64, any strides, of rank TENON_MAX_RANK - 1 at most
 *  @param y        any type but the f8 types; its shape without the axis is that of
 * indices. Must not overlap indices, and its own elements must not overlap
 *  @return as tenon_rearrange */
TENON_CALL tenon_status tenon_one_hot(tenon_stream *stream, const tenon_one_hot_params *params,
                                      const tenon_tensor *indices, const tenon_tensor *y,
                                      const tenon_sync *sync);

/** Makes a plan of tenon_one_hot with operands indices, y.
 *  @return as the immediate call, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_one_hot_plan(tenon_context *context,
                                           const tenon_one_hot_params *params,
                                           const tenon_tensor *indices, const tenon_tensor *y,
                                           tenon_plan **plan);

/** Order of the channels in tensors whose channels include blocks. */
typedef enum tenon_blocks_mode {
    TENON_BLOCKS_DCR = 0, /**< block rows, block columns, channels (ONNX: DCR, and SpaceToDepth) */
    TENON_BLOCKS_CRD = 1  /**< channels, block rows, block columns (ONNX: CRD; PyTorch:
                             pixel_shuffle) */
} tenon_blocks_mode;

/** Start from TENON_BLOCKS_PARAMS_INIT, and set the block. */
typedef struct tenon_blocks_params {
    uint32_t struct_size; /**< sizeof(tenon_blocks_params) */
    uint32_t flags;       /**< 0 */
    const char *solver;   /**< forces a solver of the copy, "copy/…"; NULL: automatic choice */
    int64_t block;        /**< side of a block, at least 1 */
    uint32_t mode;        /**< tenon_blocks_mode */
    uint32_t reserved;    /**< 0 */
} tenon_blocks_params;

/** The defaults of tenon_blocks_params, without braces. */
#define TENON_BLOCKS_PARAMS_DEFAULTS sizeof(tenon_blocks_params), 0, NULL, 1, TENON_BLOCKS_DCR, 0
/** Initializes a tenon_blocks_params with the defaults. */
#define TENON_BLOCKS_PARAMS_INIT                                                                   \
    {                                                                                              \
        TENON_BLOCKS_PARAMS_DEFAULTS                                                               \
    }
#ifndef __cplusplus
/** A const tenon_blocks_params with the defaults, except for the members given as arguments. See
 * TENON_LITERAL. */
#define tenon_blocks_params(...)                                                                   \
    TENON_LITERAL(tenon_blocks_params, TENON_BLOCKS_PARAMS_DEFAULTS, __VA_ARGS__)
#endif

/** Sets `params` to the defaults, for languages without macros.
 *  @param size  sizeof(tenon_blocks_params) */
TENON_API void tenon_blocks_params_default(tenon_blocks_params *params, uint32_t size);

/** Moves channels to blocks of block × block elements: y[n, c, h·block + i, w·block + j] =
 * x[n, k, h, w] with k = (i·block + j)·C + c (DCR) or (c·block + i)·block + j (CRD), where C is the
 * number of channels of y. A copy between two views (tenon_copy), which may also convert the type.
 *
 * The gradient is tenon_space_to_depth of dy with the same parameters.
 *  @param params  NULL means the defaults: blocks of one element
 *  @param x       N C H W, any type of tenon_copy, any strides; its channels are a multiple of the
 *                 square of block
 *  @param y       N C H W, any type of tenon_copy; x's shape with the channels divided by the
 * square of block, and rows and columns multiplied by block. Must not overlap x, and its own
 * elements must not overlap
 *  @return as tenon_copy */
TENON_CALL tenon_status tenon_depth_to_space(tenon_stream *stream,
                                             const tenon_blocks_params *params,
                                             const tenon_tensor *x, const tenon_tensor *y,
                                             const tenon_sync *sync);

/** Makes a plan of tenon_depth_to_space with operands x, y.
 *  @return as the immediate call, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_depth_to_space_plan(tenon_context *context,
                                                  const tenon_blocks_params *params,
                                                  const tenon_tensor *x, const tenon_tensor *y,
                                                  tenon_plan **plan);

/** Moves blocks to channels, the inverse of tenon_depth_to_space with the same parameters: x and y
 * exchange their shapes and elements.
 *
 * The gradient is tenon_depth_to_space of dy with the same parameters.
 *  @return as tenon_copy */
TENON_CALL tenon_status tenon_space_to_depth(tenon_stream *stream,
                                             const tenon_blocks_params *params,
                                             const tenon_tensor *x, const tenon_tensor *y,
                                             const tenon_sync *sync);

/** Makes a plan of tenon_space_to_depth with operands x, y.
 *  @return as the immediate call, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_space_to_depth_plan(tenon_context *context,
                                                  const tenon_blocks_params *params,
                                                  const tenon_tensor *x, const tenon_tensor *y,
                                                  tenon_plan **plan);

/** Start from TENON_CHANNEL_SHUFFLE_PARAMS_INIT, and set the groups. */
typedef struct tenon_channel_shuffle_params {
    uint32_t struct_size; /**< sizeof(tenon_channel_shuffle_params) */
    uint32_t flags;       /**< 0 */
    const char *solver;   /**< forces a solver of the copy, "copy/…"; NULL: automatic choice */
    int64_t groups;       /**< at least 1, a divisor of the number of channels */
} tenon_channel_shuffle_params;

/** The defaults of tenon_channel_shuffle_params, without braces. */
#define TENON_CHANNEL_SHUFFLE_PARAMS_DEFAULTS sizeof(tenon_channel_shuffle_params), 0, NULL, 1
/** Initializes a tenon_channel_shuffle_params with the defaults. */
#define TENON_CHANNEL_SHUFFLE_PARAMS_INIT                                                          \
    {                                                                                              \
        TENON_CHANNEL_SHUFFLE_PARAMS_DEFAULTS                                                      \
    }
#ifndef __cplusplus
/** A const tenon_channel_shuffle_params with the defaults, except for the members given as
 * arguments. See TENON_LITERAL. */
#define tenon_channel_shuffle_params(...)                                                          \
    TENON_LITERAL(tenon_channel_shuffle_params, TENON_CHANNEL_SHUFFLE_PARAMS_DEFAULTS, __VA_ARGS__)
#endif

/** Sets `params` to the defaults, for languages without macros.
 *  @param size  sizeof(tenon_channel_shuffle_params) */
TENON_API void tenon_channel_shuffle_params_default(tenon_channel_shuffle_params *params,
                                                    uint32_t size);

/** Transposes the channels, seen as a matrix of groups × channels per group (X. Zhang et al.,
 * "ShuffleNet", CVPR 2018): channel k·groups + g of y is channel g·(C / groups) + k of x. A copy
 * between two views (tenon_copy), which may also convert the type.
 *
 * The gradient is the shuffle of dy with C / groups groups.
 *  @param params  NULL means the defaults: one group, a plain copy
 *  @param x       N C followed by any dimensions, rank from 2 to TENON_MAX_RANK - 1, any type of
 *                 tenon_copy, any strides
 *  @param y       any type of tenon_copy, of x's shape. Must not overlap x, and its own elements
 *                 must not overlap
 *  @return as tenon_copy */
TENON_CALL tenon_status tenon_channel_shuffle(tenon_stream *stream,
                                              const tenon_channel_shuffle_params *params,
                                              const tenon_tensor *x, const tenon_tensor *y,
                                              const tenon_sync *sync);

/** Makes a plan of tenon_channel_shuffle with operands x, y.
 *  @return as the immediate call, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_channel_shuffle_plan(tenon_context *context,
                                                   const tenon_channel_shuffle_params *params,
                                                   const tenon_tensor *x, const tenon_tensor *y,
                                                   tenon_plan **plan);

TENON_END_C

#endif
