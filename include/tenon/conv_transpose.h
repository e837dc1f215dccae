/** @file
 * Transposed convolution, which enlarges images as a strided convolution shrinks them, and its
 * gradients. */
#ifndef TENON_CONV_TRANSPOSE_H
#define TENON_CONV_TRANSPOSE_H

#include <tenon/conv_backward.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Start from TENON_CONV_TRANSPOSE_PARAMS_INIT. */
typedef struct tenon_conv_transpose_params {
    uint32_t struct_size;         /**< sizeof(tenon_conv_transpose_params) */
    uint32_t flags;               /**< 0 */
    const char *solver;           /**< forces a solver (plan.h has the grammar); NULL chooses */
    int64_t groups;               /**< at least 1 */
    tenon_conv_geometry geometry; /**< that of the convolution whose direction is reversed: stride
                                     spreads x out, and padding is what is cut off y */
    /** Further elements at the end of y, from 0 and less than the larger of stride and dilation; 0
     * in the initialiser. Those that no tap reaches hold what the epilogue makes of a sum of 0. */
    int64_t output_padding[TENON_MAX_SPATIAL];
    tenon_epilogue epilogue; /**< what is done to the sums before they are stored */
} tenon_conv_transpose_params;

/** The defaults of tenon_conv_transpose_params, without braces. */
#define TENON_CONV_TRANSPOSE_PARAMS_DEFAULTS                                                       \
    sizeof(tenon_conv_transpose_params), 0, NULL, 1, TENON_CONV_GEOMETRY_INIT, {0, 0, 0},          \
        TENON_EPILOGUE_INIT
/** Initialises a tenon_conv_transpose_params with the defaults. */
#define TENON_CONV_TRANSPOSE_PARAMS_INIT                                                           \
    {                                                                                              \
        TENON_CONV_TRANSPOSE_PARAMS_DEFAULTS                                                       \
    }
#ifndef __cplusplus
/** A const tenon_conv_transpose_params: the defaults, except for the members that are named.
 * TENON_LITERAL says more. */
#define tenon_conv_transpose_params(...)                                                           \
    TENON_LITERAL(tenon_conv_transpose_params, TENON_CONV_TRANSPOSE_PARAMS_DEFAULTS, __VA_ARGS__)
#endif

/** Sets the defaults, for languages without macros.
 *  @param size  sizeof(tenon_conv_transpose_params) */
TENON_API void tenon_conv_transpose_params_default(tenon_conv_transpose_params *params,
                                                   uint32_t size);

/** The size of a transposed convolution's output along spatial dimension `dim`:
 *  (size - 1) · stride - pad_begin - pad_end + dilation · (filter - 1) + output_padding + 1
 * (Dumoulin and Visin, "A guide to convolution arithmetic for deep learning", 2016, with dilation),
 * for which tenon_conv_output_size gives `size` again where the output padding is less than the
 * stride; 0 where that is negative or size is 0, and -1 where an argument is invalid. */
TENON_API int64_t tenon_conv_transpose_output_size(const tenon_conv_geometry *geometry,
                                                   uint32_t dim, int64_t size, int64_t filter,
                                                   int64_t output_padding);

/** y = activation(alpha · convᵀ(x, w) + beta · c + bias): each element of x lays the filters on y,
 * and what they lay there is added up. y[n,k,h,w] = Σ x[n,i,p,q] · w[i,k,r,s] over the channels i
 * of k's group and all taps and elements with p·stride - pad + r·dilation = h, and likewise along
 * w: the gradient of a convolution's image (tenon_conv_backward_data), with x for dy.
 *  @param params  NULL means the defaults: stride and dilation 1, no padding, one group
 *  @param x       N C and one to three spatial dimensions; any strides
 *  @param w       C K/groups and as many spatial dimensions, of x's type
 *  @param c       broadcasts to y's shape; NULL for none; may be exactly y
 *  @param bias    shape K, or NULL
 *  @param y       N K and spatial dimensions as tenon_conv_transpose_output_size says, of x's type;
 *                 overlaps no input, except for c = y
 *  @param sync    or NULL
 *
 *  Thread safety is the stream's. Types f64, f32, f16 and bf16; the 16-bit ones are summed in f32.
 * An empty y is nothing to do. The bits are the same from call to call.
 *  @return as tenon_conv_backward_data */
TENON_CALL tenon_status tenon_conv_transpose_forward(tenon_stream *stream,
                                                     const tenon_conv_transpose_params *params,
                                                     const tenon_tensor *x, const tenon_tensor *w,
                                                     const tenon_tensor *c,
                                                     const tenon_tensor *bias,
                                                     const tenon_tensor *y, const tenon_sync *sync);

/** The plan of tenon_conv_transpose_forward; operands x, w, c, bias, y. The views need no memory;
 * where they have it, it is checked.
 *  @param plan  receives the plan, with one reference that the caller owns; NULL on failure
 *  @return as tenon_conv_transpose_forward, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_conv_transpose_forward_plan(
    tenon_context *context, const tenon_conv_transpose_params *params, const tenon_tensor *x,
    const tenon_tensor *w, const tenon_tensor *c, const tenon_tensor *bias, const tenon_tensor *y,
    tenon_plan **plan);

/** The gradient of a transposed convolution's x, which is a convolution: dx[n,i,p,q] = Σ_{k,r,s}
 * dy[n,k, p·stride - pad + r·dilation, …] · w[i,k,r,s] + beta · dx, with dy read as 0 where y was
 * cut off. Its solvers are those of tenon_conv_forward.
 *  @param params  groups and geometry of the transposed convolution; its output padding is in the
 *                 shapes
 *  @param dy      N K and one to three spatial dimensions; any strides
 *  @param w       C K/groups and as many spatial dimensions, of dy's type
 *  @param dx      N C and spatial dimensions for which tenon_conv_transpose_output_size gives dy's
 *                 with some output padding, of dy's type; overlaps no input
 *  @param sync    or NULL
 *  @return as tenon_conv_backward_data */
TENON_CALL tenon_status tenon_conv_transpose_backward_data(
    tenon_stream *stream, const tenon_conv_backward_params *params, const tenon_tensor *dy,
    const tenon_tensor *w, const tenon_tensor *dx, const tenon_sync *sync);

/** The plan of tenon_conv_transpose_backward_data; operands dy, w, dx.
 *  @param plan  receives the plan, with one reference that the caller owns; NULL on failure
 *  @return as tenon_conv_backward_data_plan */
TENON_CALL tenon_status tenon_conv_transpose_backward_data_plan(
    tenon_context *context, const tenon_conv_backward_params *params, const tenon_tensor *dy,
    const tenon_tensor *w, const tenon_tensor *dx, tenon_plan **plan);

/** The gradient of a transposed convolution's filters: dw[i,k,r,s] = Σ_{n,p,q} x[n,i,p,q] ·
 * dy[n,k, p·stride - pad + r·dilation, …] + beta · dw, with dy read as 0 where y was cut off: that
 * of a convolution whose image is dy. Its solvers are those of tenon_conv_backward_filter.
 *  @param params  groups and geometry of the transposed convolution
 *  @param x       N C and one to three spatial dimensions; any strides
 *  @param dy      N K and as many spatial dimensions, which tenon_conv_transpose_output_size gives
 *                 for x's with some output padding, of x's type
 *  @param dw      C K/groups and the filters' spatial dimensions, of x's type; overlaps no input
 *  @param sync    or NULL
 *  @return as tenon_conv_backward_data */
TENON_CALL tenon_status tenon_conv_transpose_backward_filter(
    tenon_stream *stream, const tenon_conv_backward_params *params, const tenon_tensor *x,
    const tenon_tensor *dy, const tenon_tensor *dw, const tenon_sync *sync);

/** The plan of tenon_conv_transpose_backward_filter; operands x, dy, dw.
 *  @param plan  receives the plan, with one reference that the caller owns; NULL on failure
 *  @return as tenon_conv_backward_data_plan */
TENON_CALL tenon_status tenon_conv_transpose_backward_filter_plan(
    tenon_context *context, const tenon_conv_backward_params *params, const tenon_tensor *x,
    const tenon_tensor *dy, const tenon_tensor *dw, tenon_plan **plan);

#ifdef __cplusplus
}
#endif

#endif
