/** @file
 * The gradients of a convolution with respect to its image, its filters and its bias.
 */
#ifndef TENON_CONV_BACKWARD_H
#define TENON_CONV_BACKWARD_H

#include <tenon/conv.h>

TENON_BEGIN_C

/** Start from TENON_CONV_BACKWARD_PARAMS_INIT; groups and geometry are those of the convolution. */
typedef struct tenon_conv_backward_params {
    uint32_t struct_size;         /**< sizeof(tenon_conv_backward_params) */
    uint32_t flags;               /**< 0 */
    const char *solver;           /**< forces a solver (grammar: plan.h); NULL: automatic choice */
    int64_t groups;               /**< at least 1 */
    tenon_conv_geometry geometry; /**< strides, dilations, padding */
    double beta; /**< 0 in the initializer: the output is overwritten and not read; otherwise the
                    gradient is added to beta times the output's previous contents */
} tenon_conv_backward_params;

/** The defaults of tenon_conv_backward_params, without braces. */
#define TENON_CONV_BACKWARD_PARAMS_DEFAULTS                                                        \
    sizeof(tenon_conv_backward_params), 0, NULL, 1, TENON_CONV_GEOMETRY_INIT, 0.0
/** Initializes a tenon_conv_backward_params with the defaults. */
#define TENON_CONV_BACKWARD_PARAMS_INIT                                                            \
    {                                                                                              \
        TENON_CONV_BACKWARD_PARAMS_DEFAULTS                                                        \
    }
#ifndef __cplusplus
/** A const tenon_conv_backward_params with the defaults, except for the members given as arguments.
 * See TENON_LITERAL. */
#define tenon_conv_backward_params(...)                                                            \
    TENON_LITERAL(tenon_conv_backward_params, TENON_CONV_BACKWARD_PARAMS_DEFAULTS, __VA_ARGS__)
#endif

/** Sets `params` to the defaults, for languages without macros.
 *  @param size  sizeof(tenon_conv_backward_params) */
TENON_API void tenon_conv_backward_params_default(tenon_conv_backward_params *params,
                                                  uint32_t size);

/** Computes the gradient of a convolution's image (Dumoulin and Visin, "A guide to convolution
 * arithmetic for deep learning", 2016, section 4): dx[n,c,h,w] = Σ dy[n,k,p,q] · w[k,c,r,s] over
 * the filters k of c's group and all taps and outputs with p·stride - pad + r·dilation = h, and
 * likewise along w; plus beta · dx. An element that no tap reaches is 0. Only existing elements of
 * dy are summed: dy has no padding, so an infinite w is never multiplied by 0 there.
 *  @param params  NULL means the defaults: stride and dilation 1, no padding, one group
 *  @param dy      the gradient of the convolution's output: N K and one to three spatial
 *                 dimensions, with the sizes that tenon_conv_output_size returns for dx's; any
 *                 strides
 *  @param w       the filters: K C/groups and the same number of spatial dimensions, of dy's type
 *  @param dx      N C and the image's spatial dimensions, of dy's type; must not overlap an input
 *  @param sync    may be NULL
 *
 *  Thread safety is that of the stream. Types f64, f32, f16 and bf16; the 16-bit types are summed
 * in f32. An empty dx is valid, and nothing is done; an empty dy gives zeros. Every call gives the
 * same bits.
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT · TENON_ERROR_UNSUPPORTED ·
 *          TENON_ERROR_UNSUPPORTED_DEVICE · TENON_ERROR_WORKSPACE_TOO_SMALL (a forced solver) ·
 *          TENON_ERROR_BUILD_FAILED · TENON_ERROR_SOLVER_BARRED · TENON_ERROR_OUT_OF_MEMORY ·
 *          TENON_ERROR_OPENCL · TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_conv_backward_data(tenon_stream *stream,
                                                 const tenon_conv_backward_params *params,
                                                 const tenon_tensor *dy, const tenon_tensor *w,
                                                 const tenon_tensor *dx, const tenon_sync *sync);

/** Makes a plan of tenon_conv_backward_data with operands dy, w, dx. The tensors need no memory;
 * memory that they have is checked.
 *  @param plan  receives the plan, with one reference owned by the caller; NULL on failure
 *  @return as tenon_conv_backward_data, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_conv_backward_data_plan(tenon_context *context,
                                                      const tenon_conv_backward_params *params,
                                                      const tenon_tensor *dy, const tenon_tensor *w,
                                                      const tenon_tensor *dx, tenon_plan **plan);

/** Computes the gradient of a convolution's filters: dw[k,c,r,s] = Σ_{n,p,q} dy[n,k,p,q] · x[n,
 * g·C/G + c, p·stride - pad + r·dilation, …], with x read as 0 in the padding, plus beta · dw. The
 * zeros of the padding are multiplied like other elements: an infinite dy gives NaN there. Partial
 * sums are added in a fixed order.
 *  @param params  as for tenon_conv_backward_data
 *  @param x       N C and one to three spatial dimensions; any strides
 *  @param dy      N K and the same number of spatial dimensions, with the sizes that
 *                 tenon_conv_output_size returns, of x's type
 *  @param dw      K C/groups and the filters' spatial dimensions, of x's type; must not overlap an
 *                 input
 *  @param sync    may be NULL
 *
 *  An empty dw is valid, and nothing is done; an empty dy gives zeros.
 *  @return as tenon_conv_backward_data */
TENON_CALL tenon_status tenon_conv_backward_filter(tenon_stream *stream,
                                                   const tenon_conv_backward_params *params,
                                                   const tenon_tensor *x, const tenon_tensor *dy,
                                                   const tenon_tensor *dw, const tenon_sync *sync);

/** Makes a plan of tenon_conv_backward_filter with operands x, dy, dw.
 *  @param plan  receives the plan, with one reference owned by the caller; NULL on failure
 *  @return as tenon_conv_backward_data_plan */
TENON_CALL tenon_status tenon_conv_backward_filter_plan(tenon_context *context,
                                                        const tenon_conv_backward_params *params,
                                                        const tenon_tensor *x,
                                                        const tenon_tensor *dy,
                                                        const tenon_tensor *dw, tenon_plan **plan);

/** Computes the gradient of a convolution's bias: db[k] = Σ_{n,p,q} dy[n,k,p,q] + beta · db[k],
 * summed in a fixed order. A transposed convolution has the same gradient of its bias.
 *  @param params  NULL means the defaults; groups and geometry are ignored
 *  @param dy      N K and one to three spatial dimensions; any strides
 *  @param db      shape K, of dy's type; must not overlap dy
 *  @param sync    may be NULL
 *
 *  An empty db is valid, and nothing is done; an empty dy gives zeros.
 *  @return as tenon_conv_backward_data */
TENON_CALL tenon_status tenon_conv_backward_bias(tenon_stream *stream,
                                                 const tenon_conv_backward_params *params,
                                                 const tenon_tensor *dy, const tenon_tensor *db,
                                                 const tenon_sync *sync);

/** Makes a plan of tenon_conv_backward_bias with operands dy, db.
 *  @param plan  receives the plan, with one reference owned by the caller; NULL on failure
 *  @return as tenon_conv_backward_data_plan */
TENON_CALL tenon_status tenon_conv_backward_bias_plan(tenon_context *context,
                                                      const tenon_conv_backward_params *params,
                                                      const tenon_tensor *dy,
                                                      const tenon_tensor *db, tenon_plan **plan);

TENON_END_C

#endif
