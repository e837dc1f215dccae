/** @file
 * Convolution and the im2col transform. The gradients (tenon_conv_backward_data,
 * tenon_conv_backward_filter, tenon_conv_backward_bias) are in conv_backward.h, transposed
 * convolution (tenon_conv_transpose_forward) in conv_transpose.h.
 */
#ifndef TENON_CONV_H
#define TENON_CONV_H

#include <tenon/epilogue.h>

TENON_BEGIN_C

/** The largest number of spatial dimensions of an image. */
#define TENON_MAX_SPATIAL 3

/** Strides, dilations and padding of a convolution. Entry 0 is the image's first spatial dimension
 * (W of a 1-D image, H of H W, D of D H W); entries beyond its last dimension are ignored. */
typedef struct tenon_conv_geometry {
    int64_t stride[TENON_MAX_SPATIAL];    /**< at least 1; 1 in the initializer */
    int64_t dilation[TENON_MAX_SPATIAL];  /**< at least 1; 1 in the initializer */
    int64_t pad_begin[TENON_MAX_SPATIAL]; /**< zeros before the first element; at least 0 */
    int64_t pad_end[TENON_MAX_SPATIAL];   /**< zeros after the last element; at least 0 */
} tenon_conv_geometry;

/** Initializes a tenon_conv_geometry: strides and dilations 1, no padding. */
#define TENON_CONV_GEOMETRY_INIT                                                                   \
    {                                                                                              \
        {1, 1, 1}, {1, 1, 1}, {0, 0, 0},                                                           \
        {                                                                                          \
            0, 0, 0                                                                                \
        }                                                                                          \
    }

/** Excludes the solvers that compute sums by transforms (conv/winograd2, conv/winograd4, and on
 * GPUs conv/winograd2_gemm, conv/winograd4_gemm). They compute each output from all inputs of its
 * tile of 2 x 2 or 4 x 4 outputs: rounding errors are relative to the largest of these inputs, and
 * a NaN or an infinity among them makes the tile's other outputs NaN as well. Without the flag
 * these solvers may be chosen for 3 x 3 filters with stride and dilation 1 if they are faster. */
#define TENON_CONV_EXACT 1u

/** Start from TENON_CONV_PARAMS_INIT. */
typedef struct tenon_conv_params {
    uint32_t struct_size;         /**< sizeof(tenon_conv_params) */
    uint32_t flags;               /**< 0, or TENON_CONV_EXACT */
    const char *solver;           /**< forces a solver (grammar: plan.h); NULL: automatic choice */
    int64_t groups;               /**< at least 1 */
    tenon_conv_geometry geometry; /**< strides, dilations, padding */
    tenon_epilogue epilogue;      /**< applied to the sums before they are stored */
} tenon_conv_params;

/** The defaults of tenon_conv_params, without braces. */
#define TENON_CONV_PARAMS_DEFAULTS                                                                 \
    sizeof(tenon_conv_params), 0, NULL, 1, TENON_CONV_GEOMETRY_INIT, TENON_EPILOGUE_INIT
/** Initializes a tenon_conv_params with the defaults. */
#define TENON_CONV_PARAMS_INIT                                                                     \
    {                                                                                              \
        TENON_CONV_PARAMS_DEFAULTS                                                                 \
    }
#ifndef __cplusplus
/** A const tenon_conv_params with the defaults, except for the members given as arguments. See
 * TENON_LITERAL. */
#define tenon_conv_params(...)                                                                     \
    TENON_LITERAL(tenon_conv_params, TENON_CONV_PARAMS_DEFAULTS, __VA_ARGS__)
#endif

/** Sets `params` to the defaults, for languages without macros.
 *  @param size  sizeof(tenon_conv_params) */
TENON_API void tenon_conv_params_default(tenon_conv_params *params, uint32_t size);

/** Returns the size of a convolution's output along spatial dimension `dim`: floor((size +
 * pad_begin + pad_end - dilation · (filter - 1) - 1) / stride) + 1 (Dumoulin and Visin, "A guide to
 * convolution arithmetic for deep learning", 2016, with dilation); 0 if the filter is larger than
 * the padded image and -1 if an argument is invalid. */
TENON_API int64_t tenon_conv_output_size(const tenon_conv_geometry *geometry, uint32_t dim,
                                         int64_t size, int64_t filter);

/** Computes y = activation(alpha · conv(x, w) + beta · c + bias) in one, two or three spatial
 * dimensions. conv is the cross-correlation that neural networks call convolution; in two
 * dimensions, y[n,k,p,q] = Σ_{c,r,s} x[n, g·C/G + c, p·stride - pad_begin + r·dilation, q·stride -
 * pad_begin + s·dilation] · w[k,c,r,s], with g = k / (K/G) and x read as 0 in the padding (Dumoulin
 * and Visin, "A guide to convolution arithmetic for deep learning", 2016, chapter 2).
 *  @param params  NULL means the defaults: stride and dilation 1, no padding, one group
 *  @param x       N C W, N C H W or N C D H W in logical order; channels-last images have the same
 *                 shape with other strides
 *  @param w       K C/groups and the filter's size in each spatial dimension ([T] [R] S), of x's
 *                 rank and type; i8 or u8 if x is i8 or u8; or mixed
 *                 (see below)
 *  @param c       broadcast to y's shape (usually a residual); NULL for none; may be exactly y
 *  @param bias    shape K, or NULL
 *  @param y       N K and the output's size in each spatial dimension ([O] [P] Q), as returned by
 *                 tenon_conv_output_size, of x's rank and type (i8 and u8: see below); must not
 *                 overlap an input, except for c = y
 *  @param sync    may be NULL
 *
 *  Types f64, f32, f16 and bf16; the 16-bit types are summed in f32. Any size of y may be 0: then
 * nothing is done. Every call gives the same bits.
 *
 *  Mixed types: if y is f32, x and w may each be f32, f16 or bf16, and c and bias are f32. The
 * result is that of x and w converted to f32, which is exact. The solvers are named conv_mixed/…;
 * they need workspace, so with a limit that is too small the call returns
 * TENON_ERROR_WORKSPACE_TOO_SMALL. Terms after the activation return TENON_ERROR_UNSUPPORTED.
 *
 *  Types i8 and u8: as in tenon_gemm, with x, w and y in place of a, b and d. x and w are i8 or u8,
 * also one of each. The sum is Σ (x - zero point of x)(w - zero point of w) in i32, modulo 2^32,
 * and exact; padding elements are the zero point of x and add nothing. y is i32 (the sum, plus an
 * i32 bias and c), f32, f16 or bf16 (alpha · scale of x · scale of w · sum + beta · c + bias, then
 * the activation), or i8 or u8 (that result divided by the scale of y, rounded to nearest even,
 * plus the zero point of y, saturated). Scales are f32 and zero points have the type of their
 * tensor: those of x are single elements; those of w and y are single elements or have one for each
 * of the K filters. bias is i32 and added to the sum, or of the type of the real results (f32 if y
 * is i8 or u8). For y of i32, alpha is 1, beta 0 or 1, and the activation identity, relu or
 * clipped_relu. Terms after the activation return TENON_ERROR_UNSUPPORTED. (Jacob et al.,
 * "Quantization and training of neural networks for efficient integer-arithmetic-only inference",
 * 2018.)
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT · TENON_ERROR_UNSUPPORTED (a type, or a forced
 *          solver that does not support the problem) · TENON_ERROR_UNSUPPORTED_DEVICE ·
 *          TENON_ERROR_WORKSPACE_TOO_SMALL (a forced solver) · TENON_ERROR_BUILD_FAILED ·
 *          TENON_ERROR_SOLVER_BARRED · TENON_ERROR_OUT_OF_MEMORY · TENON_ERROR_OPENCL ·
 *          TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_conv_forward(tenon_stream *stream, const tenon_conv_params *params,
                                           const tenon_tensor *x, const tenon_tensor *w,
                                           const tenon_tensor *c, const tenon_tensor *bias,
                                           const tenon_tensor *y, const tenon_sync *sync);

/** Makes a plan of tenon_conv_forward with operands x, w, c, bias, y; for i8 and u8 also the scales
 * of x, w and y and their zero points. The tensors need no memory; memory that they have is
 * checked.
 *  @param plan  receives the plan, with one reference owned by the caller; NULL on failure
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
    const char *solver;   /**< forces a solver (grammar: plan.h); NULL: automatic choice */
    int64_t filter[TENON_MAX_SPATIAL]; /**< the filter's spatial sizes, at least 1; 1 in the
                                          initializer; entries beyond the image's dimensions are
                                          ignored */
    tenon_conv_geometry geometry;      /**< strides, dilations, padding */
} tenon_im2col_params;

/** The defaults of tenon_im2col_params, without braces. */
#define TENON_IM2COL_PARAMS_DEFAULTS                                                               \
    sizeof(tenon_im2col_params), 0, NULL, {1, 1, 1}, TENON_CONV_GEOMETRY_INIT
/** Initializes a tenon_im2col_params with the defaults. */
#define TENON_IM2COL_PARAMS_INIT                                                                   \
    {                                                                                              \
        TENON_IM2COL_PARAMS_DEFAULTS                                                               \
    }
#ifndef __cplusplus
/** A const tenon_im2col_params with the defaults, except for the members given as arguments. See
 * TENON_LITERAL. */
#define tenon_im2col_params(...)                                                                   \
    TENON_LITERAL(tenon_im2col_params, TENON_IM2COL_PARAMS_DEFAULTS, __VA_ARGS__)
#endif

/** Sets `params` to the defaults, for languages without macros.
 *  @param size  sizeof(tenon_im2col_params) */
TENON_API void tenon_im2col_params_default(tenon_im2col_params *params, uint32_t size);

/** Unfolds images of one, two or three spatial dimensions into columns. In two dimensions, col[n,
 * (c·R + r)·S + s, p·Q + q] = x[n, c, p·stride - pad_begin + r·dilation, …], 0 in the padding. A
 * convolution is then the matrix product of the filters, as a K × C·R·S matrix, and the columns
 * (Chellapilla, Puri and Simard, "High performance convolutional neural networks for document
 * processing", 2006). In three dimensions, rows are ((c·T + t)·R + r)·S + s and columns (o·P +
 * p)·Q + q.
 *  @param params  NULL means the defaults: a filter of one element
 *  @param x       N C [D] [H] W; f64, f32, f16 or bf16, any strides
 *  @param col     N C·[T·][R·]S [O·][P·]Q, of x's type, any strides that do not overlap; must not
 *                 overlap x
 *  @param sync    may be NULL
 *  @return as tenon_conv_forward */
TENON_CALL tenon_status tenon_im2col(tenon_stream *stream, const tenon_im2col_params *params,
                                     const tenon_tensor *x, const tenon_tensor *col,
                                     const tenon_sync *sync);

/** Makes a plan of tenon_im2col with operands x, col.
 *  @param plan  receives the plan, with one reference owned by the caller; NULL on failure
 *  @return as tenon_im2col, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_im2col_plan(tenon_context *context, const tenon_im2col_params *params,
                                          const tenon_tensor *x, const tenon_tensor *col,
                                          tenon_plan **plan);

/** Folds columns back into images, the adjoint of tenon_im2col: x[n, c, h, w] = Σ col[n, (c·R +
 * r)·S + s, p·Q + q] over all taps and outputs with p·stride - pad + r·dilation = h, and likewise
 * along w. Columns of the padding are dropped; an element that no tap reaches is 0. Taps are added
 * in a fixed order; the 16-bit types are summed in f32.
 *  @param params  as for tenon_im2col
 *  @param col     as for tenon_im2col; any strides
 *  @param x       as for tenon_im2col, of col's type, any strides that do not overlap; must not
 *                 overlap col
 *  @param sync    may be NULL
 *  @return as tenon_conv_forward */
TENON_CALL tenon_status tenon_col2im(tenon_stream *stream, const tenon_im2col_params *params,
                                     const tenon_tensor *col, const tenon_tensor *x,
                                     const tenon_sync *sync);

/** Makes a plan of tenon_col2im with operands col, x.
 *  @param plan  receives the plan, with one reference owned by the caller; NULL on failure
 *  @return as tenon_col2im, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_col2im_plan(tenon_context *context, const tenon_im2col_params *params,
                                          const tenon_tensor *col, const tenon_tensor *x,
                                          tenon_plan **plan);

TENON_END_C

#endif
