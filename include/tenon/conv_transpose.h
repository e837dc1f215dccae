/** @file
 * Transposed convolution, which enlarges images as a strided convolution shrinks them, and its
 * gradients.
 */
#ifndef TENON_CONV_TRANSPOSE_H
#define TENON_CONV_TRANSPOSE_H

#include <tenon/conv_backward.h>

TENON_BEGIN_C

/** Start from TENON_CONV_TRANSPOSE_PARAMS_INIT. */
typedef struct tenon_conv_transpose_params {
    uint32_t struct_size;         /**< sizeof(tenon_conv_transpose_params) */
    uint32_t flags;               /**< 0 */
    const char *solver;           /**< forces a solver (grammar: plan.h); NULL: automatic choice */
    int64_t groups;               /**< at least 1 */
    tenon_conv_geometry geometry; /**< geometry of the convolution that is transposed: the stride
                                     spreads the elements of x, and the padding is cut off y */
    /** additional elements at the end of y, at least 0 and less than the larger of stride and
     * dilation; 0 in the initializer. Elements that no tap reaches get the result of the epilogue
     * for a sum of 0. */
    int64_t output_padding[TENON_MAX_SPATIAL];
    tenon_epilogue epilogue; /**< applied to the sums before they are stored */
} tenon_conv_transpose_params;

/** The defaults of tenon_conv_transpose_params, without braces. */
#define TENON_CONV_TRANSPOSE_PARAMS_DEFAULTS                                                       \
    sizeof(tenon_conv_transpose_params), 0, NULL, 1, TENON_CONV_GEOMETRY_INIT, {0, 0, 0},          \
        TENON_EPILOGUE_INIT
/** Initializes a tenon_conv_transpose_params with the defaults. */
#define TENON_CONV_TRANSPOSE_PARAMS_INIT                                                           \
    {                                                                                              \
        TENON_CONV_TRANSPOSE_PARAMS_DEFAULTS                                                       \
    }
#ifndef __cplusplus
/** A const tenon_conv_transpose_params with the defaults, except for the members given as
 * arguments. See TENON_LITERAL. */
#define tenon_conv_transpose_params(...)                                                           \
    TENON_LITERAL(tenon_conv_transpose_params, TENON_CONV_TRANSPOSE_PARAMS_DEFAULTS, __VA_ARGS__)
#endif

/** Sets `params` to the defaults, for languages without macros.
 *  @param size  sizeof(tenon_conv_transpose_params) */
TENON_API void tenon_conv_transpose_params_default(tenon_conv_transpose_params *params,
                                                   uint32_t size);

/** Returns the size of a transposed convolution's output along spatial dimension `dim`: (size -
 * 1) · stride - pad_begin - pad_end + dilation · (filter - 1) + output_padding + 1 (Dumoulin and
 * Visin, "A guide to convolution arithmetic for deep learning", 2016, with dilation).
 * tenon_conv_output_size maps it back to `size` if the output padding is less than the stride. 0 if
 * the formula is negative or size is 0, and -1 if an argument is invalid. */
TENON_API int64_t tenon_conv_transpose_output_size(const tenon_conv_geometry *geometry,
                                                   uint32_t dim, int64_t size, int64_t filter,
                                                   int64_t output_padding);

/** Computes y = activation(alpha · convᵀ(x, w) + beta · c + bias): each element of x is multiplied
 * by the filters, and the products are added to y at the filters' positions. y[n,k,h,w] = Σ
 * x[n,i,p,q] · w[i,k,r,s] over the channels i of k's group and all taps and elements with
 * p·stride - pad + r·dilation = h, and likewise along w. This is the gradient of a convolution's
 * image (tenon_conv_backward_data) with x in place of dy.
 *  @param params  NULL means the defaults: stride and dilation 1, no padding, one group
 *  @param x       N C and one to three spatial dimensions; any strides
 *  @param w       C K/groups and the same number of spatial dimensions, of x's type
 *  @param c       broadcast to y's shape; NULL for none; may be exactly y
 *  @param bias    shape K, or NULL
 *  @param y       N K and the spatial dimensions that tenon_conv_transpose_output_size returns, of
 *                 x's type; must not overlap an input, except for c = y
 *  @param sync    may be NULL
 *
 *  Thread safety is that of the stream. Types f64, f32, f16 and bf16; the 16-bit types are summed
 * in f32. An empty y is valid, and nothing is done. Every call gives the same bits.
 *  @return as tenon_conv_backward_data */
TENON_CALL tenon_status tenon_conv_transpose_forward(tenon_stream *stream,
                                                     const tenon_conv_transpose_params *params,
                                                     const tenon_tensor *x, const tenon_tensor *w,
                                                     const tenon_tensor *c,
                                                     const tenon_tensor *bias,
                                                     const tenon_tensor *y, const tenon_sync *sync);

/** Makes a plan of tenon_conv_transpose_forward with operands x, w, c, bias, y. The tensors need no
 * memory; memory that they have is checked.
 *  @param plan  receives the plan, with one reference owned by the caller; NULL on failure
 *  @return as tenon_conv_transpose_forward, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_conv_transpose_forward_plan(
    tenon_context *context, const tenon_conv_transpose_params *params, const tenon_tensor *x,
    const tenon_tensor *w, const tenon_tensor *c, const tenon_tensor *bias, const tenon_tensor *y,
    tenon_plan **plan);

/** Computes the gradient of a transposed convolution's input, which is a convolution: dx[n,i,p,q] =
 * Σ_{k,r,s} dy[n,k, p·stride - pad + r·dilation, …] · w[i,k,r,s] + beta · dx, with dy read as 0
 * where y was cut off. The solvers are those of tenon_conv_forward.
 *  @param params  groups and geometry of the transposed convolution; its output padding follows
 *                 from the shapes
 *  @param dy      N K and one to three spatial dimensions; any strides
 *  @param w       C K/groups and the same number of spatial dimensions, of dy's type
 *  @param dx      N C and spatial dimensions for which tenon_conv_transpose_output_size, with some
 *                 output padding, returns the sizes of dy; of dy's type; must not overlap an input
 *  @param sync    may be NULL
 *  @return as tenon_conv_backward_data */
TENON_CALL tenon_status tenon_conv_transpose_backward_data(
    tenon_stream *stream, const tenon_conv_backward_params *params, const tenon_tensor *dy,
    const tenon_tensor *w, const tenon_tensor *dx, const tenon_sync *sync);

/** Makes a plan of tenon_conv_transpose_backward_data with operands dy, w, dx.
 *  @param plan  receives the plan, with one reference owned by the caller; NULL on failure
 *  @return as tenon_conv_backward_data_plan */
TENON_CALL tenon_status tenon_conv_transpose_backward_data_plan(
    tenon_context *context, const tenon_conv_backward_params *params, const tenon_tensor *dy,
    const tenon_tensor *w, const tenon_tensor *dx, tenon_plan **plan);

/** Computes the gradient of a transposed convolution's filters: dw[i,k,r,s] = Σ_{n,p,q}
 * x[n,i,p,q] · dy[n,k, p·stride - pad + r·dilation, …] + beta · dw, with dy read as 0 where y was
 * cut off. This is the gradient of the filters of a convolution whose image is dy. The solvers are
 * those of tenon_conv_backward_filter.
 *  @param params  groups and geometry of the transposed convolution
 *  @param x       N C and one to three spatial dimensions; any strides
 *  @param dy      N K and the same number of spatial dimensions, with the sizes that
 *                 tenon_conv_transpose_output_size returns for x's with some output padding, of x's
 *                 type
 *  @param dw      C K/groups and the filters' spatial dimensions, of x's type; must not overlap an
 *                 input
 *  @param sync    may be NULL
 *  @return as tenon_conv_backward_data */
TENON_CALL tenon_status tenon_conv_transpose_backward_filter(
    tenon_stream *stream, const tenon_conv_backward_params *params, const tenon_tensor *x,
    const tenon_tensor *dy, const tenon_tensor *dw, const tenon_sync *sync);

/** Makes a plan of tenon_conv_transpose_backward_filter with operands x, dy, dw.
 *  @param plan  receives the plan, with one reference owned by the caller; NULL on failure
 *  @return as tenon_conv_backward_data_plan */
TENON_CALL tenon_status tenon_conv_transpose_backward_filter_plan(
    tenon_context *context, const tenon_conv_backward_params *params, const tenon_tensor *x,
    const tenon_tensor *dy, const tenon_tensor *dw, tenon_plan **plan);

TENON_END_C

#endif
