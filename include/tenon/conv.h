/** @file
 * Convolution, and the im2col transform that it is built on. Its gradients
 * (tenon_conv_backward_data, tenon_conv_backward_filter, tenon_conv_backward_bias) are in
 * conv_backward.h, the transposed convolution (tenon_conv_transpose_forward) in conv_transpose.h.
 */
#ifndef TENON_CONV_H
#define TENON_CONV_H

#include <tenon/epilogue.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The most spatial dimensions an image can have. */
#define TENON_MAX_SPATIAL 3

/** Where a filter is laid on an image. Entry 0 is the image's first spatial dimension (W where
 * there is one, H of H W, D of D H W); those beyond its last are ignored. */
typedef struct tenon_conv_geometry {
    int64_t stride[TENON_MAX_SPATIAL];    /**< at least 1; 1 in the initialiser */
    int64_t dilation[TENON_MAX_SPATIAL];  /**< at least 1; 1 in the initialiser */
    int64_t pad_begin[TENON_MAX_SPATIAL]; /**< zeros before the first element; at least 0 */
    int64_t pad_end[TENON_MAX_SPATIAL];   /**< zeros after the last element; at least 0 */
} tenon_conv_geometry;

/** Initialises a tenon_conv_geometry: strides and dilations 1, no padding. */
#define TENON_CONV_GEOMETRY_INIT                                                                   \
    {                                                                                              \
        {1, 1, 1}, {1, 1, 1}, {0, 0, 0},                                                           \
        {                                                                                          \
            0, 0, 0                                                                                \
        }                                                                                          \
    }

/** Rules out the solvers that rearrange sums by transforms (conv/winograd2, conv/winograd4, and on
 * GPUs conv/winograd2_gemm, conv/winograd4_gemm). Those compute an output from all that its tile of
 * 2 x 2 or 4 x 4 outputs reads: their rounding errors are relative to the largest of that, and a
 * NaN or an infinity in it makes the tile's other outputs NaN as well. Without the flag they serve
 * 3 x 3 filters with stride and dilation 1 where they are faster. */
#define TENON_CONV_EXACT 1u

/** Start from TENON_CONV_PARAMS_INIT. */
typedef struct tenon_conv_params {
    uint32_t struct_size;         /**< sizeof(tenon_conv_params) */
    uint32_t flags;               /**< 0, or TENON_CONV_EXACT */
    const char *solver;           /**< forces a solver (plan.h has the grammar); NULL chooses */
    int64_t groups;               /**< at least 1 */
    tenon_conv_geometry geometry; /**< strides, dilations, padding */
    tenon_epilogue epilogue;      /**< what is done to the sums before they are stored */
} tenon_conv_params;

/** The defaults of tenon_conv_params, without braces. */
#define TENON_CONV_PARAMS_DEFAULTS                                                                 \
    sizeof(tenon_conv_params), 0, NULL, 1, TENON_CONV_GEOMETRY_INIT, TENON_EPILOGUE_INIT
/** Initialises a tenon_conv_params with the defaults. */
#define TENON_CONV_PARAMS_INIT                                                                     \
    {                                                                                              \
        TENON_CONV_PARAMS_DEFAULTS                                                                 \
    }
#ifndef __cplusplus
/** A const tenon_conv_params: the defaults, except for the members that are named. TENON_LITERAL
 * says more. */
#define tenon_conv_params(...)                                                                     \
    TENON_LITERAL(tenon_conv_params, TENON_CONV_PARAMS_DEFAULTS, __VA_ARGS__)
#endif

/** Sets the defaults, for languages without macros.
 *  @param size  sizeof(tenon_conv_params) */
TENON_API void tenon_conv_params_default(tenon_conv_params *params, uint32_t size);

/** The size of a convolution's output along spatial dimension `dim`:
 *  floor((size + pad_begin + pad_end - dilation · (filter - 1) - 1) / stride) + 1 (Dumoulin and
 * Visin, "A guide to convolution arithmetic for deep learning", 2016, with dilation); 0 where the
 * filter is larger than the padded image and -1 where an argument is invalid. */
TENON_API int64_t tenon_conv_output_size(const tenon_conv_geometry *geometry, uint32_t dim,
                                         int64_t size, int64_t filter);

/** y = activation(alpha · conv(x, w) + beta · c + bias): cross-correlation, as neural networks call
 * convolution, in one, two or three spatial dimensions; in two, y[n,k,p,q] = Σ_{c,r,s} x[n, g·C/G +
 * c, p·stride - pad_begin + r·dilation, q·stride - pad_begin + s·dilation] · w[k,c,r,s], with
 * g = k / (K/G) and x read as 0 in the padding (Dumoulin and Visin, "A guide to convolution
 * arithmetic for deep learning", 2016, chapter 2).
 *  @param params  NULL means the defaults: stride and dilation 1, no padding, one group
 *  @param x       N C W, N C H W or N C D H W in the logical sense: for channels that lie last give
 *                 the same shape with other strides
 *  @param w       K C/groups and the filter's size in each spatial dimension ([T] [R] S), of x's
 *                 type and rank
 *  @param c       broadcasts to y's shape (a residual, usually); NULL for none; may be
 *                 exactly y
 *  @param bias    shape K, or NULL
 *  @param y       N K and the output's size in each spatial dimension ([O] [P] Q), as
 *                 tenon_conv_output_size says, of x's type and rank; overlaps no input, except for
 *                 c = y
 *  @param sync    or NULL
 *
 *  Types f64, f32, f16 and bf16; the 16-bit ones are summed in f32. Any of the sizes of y may be 0:
 * nothing is done. The bits are the same from call to call.
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT · TENON_ERROR_UNSUPPORTED (a type, or a forced
 *          solver that cannot serve) · TENON_ERROR_UNSUPPORTED_DEVICE ·
 *          TENON_ERROR_WORKSPACE_TOO_SMALL (a forced solver) · TENON_ERROR_BUILD_FAILED ·
 *          TENON_ERROR_SOLVER_BARRED · TENON_ERROR_OUT_OF_MEMORY · TENON_ERROR_OPENCL ·
 *          TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_conv_forward(tenon_stream *stream, const tenon_conv_params *params,
                                           const tenon_tensor *x, const tenon_tensor *w,
                                           const tenon_tensor *c, const tenon_tensor *bias,
                                           const tenon_tensor *y, const tenon_sync *sync);

/** The plan of tenon_conv_forward; operands x, w, c, bias, y. The views need no memory; where they
 * have it, it is checked.
 *  @param plan  receives the plan, with one reference that the caller owns; NULL on failure
 *  @return as tenon_conv_forward, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_conv_forward_plan(tenon_context *context,
                                                const tenon_conv_params *params,
                                                const tenon_tensor *x, const tenon_tensor *w,
                                                const tenon_tensor *c, const tenon_tensor *bias,
                                                const tenon_tensor *y, tenon_plan **plan);

/** Start from TENON_IM2COL_PARAMS_INIT and set `filter`. */
typedef struct tenon_im2col_params {
    uint32_t struct_size; /**< sizeof(tenon_im2col_params) */
    uint32_t flags;       /**< 0 */
    const char *solver;   /**< forces a solver (plan.h has the grammar); NULL chooses */
    int64_t filter[TENON_MAX_SPATIAL]; /**< the filter's spatial sizes, at least 1; 1 in the
                                          initialiser; those beyond the image's are ignored */
    tenon_conv_geometry geometry;      /**< strides, dilations, padding */
} tenon_im2col_params;

/** The defaults of tenon_im2col_params, without braces. */
#define TENON_IM2COL_PARAMS_DEFAULTS                                                               \
    sizeof(tenon_im2col_params), 0, NULL, {1, 1, 1}, TENON_CONV_GEOMETRY_INIT
/** Initialises a tenon_im2col_params with the defaults. */
#define TENON_IM2COL_PARAMS_INIT                                                                   \
    {                                                                                              \
        TENON_IM2COL_PARAMS_DEFAULTS                                                               \
    }
#ifndef __cplusplus
/** A const tenon_im2col_params: the defaults, except for the members that are named. TENON_LITERAL
 * says more. */
#define tenon_im2col_params(...)                                                                   \
    TENON_LITERAL(tenon_im2col_params, TENON_IM2COL_PARAMS_DEFAULTS, __VA_ARGS__)
#endif

/** Sets the defaults, for languages without macros.
 *  @param size  sizeof(tenon_im2col_params) */
TENON_API void tenon_im2col_params_default(tenon_im2col_params *params, uint32_t size);

/** Unfolds images of one, two or three spatial dimensions into columns; in two, col[n, (c·R + r)·S
 * + s, p·Q + q] = x[n, c, p·stride - pad_begin + r·dilation, …], 0 in the padding, so that a
 * convolution is a matrix product with the filters as a K × C·R·S matrix (Chellapilla, Puri and
 * Simard, "High performance convolutional neural networks for document processing", 2006). In three
 * dimensions rows are ((c·T + t)·R + r)·S + s and columns (o·P + p)·Q + q.
 *  @param params  NULL means the defaults: a filter of one element
 *  @param x       N C [D] [H] W; f64, f32, f16 or bf16, any strides
 *  @param col     N C·[T·][R·]S [O·][P·]Q, of x's type, any strides that do not overlap; must not
 *                 overlap x
 *  @param sync    or NULL
 *  @return as tenon_conv_forward */
TENON_CALL tenon_status tenon_im2col(tenon_stream *stream, const tenon_im2col_params *params,
                                     const tenon_tensor *x, const tenon_tensor *col,
                                     const tenon_sync *sync);

/** The plan of tenon_im2col; operands x, col.
 *  @param plan  receives the plan, with one reference that the caller owns; NULL on failure
 *  @return as tenon_im2col, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_im2col_plan(tenon_context *context, const tenon_im2col_params *params,
                                          const tenon_tensor *x, const tenon_tensor *col,
                                          tenon_plan **plan);

/** Folds columns back into images, the adjoint of tenon_im2col: x[n, c, h, w] = Σ col[n, (c·R +
 * r)·S + s, p·Q + q] over all taps and outputs with p·stride - pad + r·dilation = h, and likewise
 * along w. What lies in the padding is dropped; an element that no tap meets is 0. Taps are added
 * in a fixed order; the 16-bit types are summed in f32.
 *  @param params  as for tenon_im2col
 *  @param col     as there; any strides
 *  @param x       as there, of col's type, any strides that do not overlap; must not overlap col
 *  @param sync    or NULL
 *  @return as tenon_conv_forward */
TENON_CALL tenon_status tenon_col2im(tenon_stream *stream, const tenon_im2col_params *params,
                                     const tenon_tensor *col, const tenon_tensor *x,
                                     const tenon_sync *sync);

/** The plan of tenon_col2im; operands col, x.
 *  @param plan  receives the plan, with one reference that the caller owns; NULL on failure
 *  @return as tenon_col2im, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_col2im_plan(tenon_context *context, const tenon_im2col_params *params,
                                          const tenon_tensor *col, const tenon_tensor *x,
                                          tenon_plan **plan);

#ifdef __cplusplus
}
#endif

#endif
