/** @file
 * Pooling: the maximum, average or norm over windows of an image, and its gradient.
 */
#ifndef TENON_POOL_H
#define TENON_POOL_H

#include <tenon/conv.h>

TENON_BEGIN_C

/** The result of a window. Taps in the padding count only in TENON_POOL_AVERAGE. */
typedef enum tenon_pool_kind {
    TENON_POOL_MAX = 0, /**< the maximum; NaN if the window contains one */
    TENON_POOL_AVERAGE =
        1, /**< the sum, with zeros in the padding, divided by the number of all taps */
    TENON_POOL_AVERAGE_INSIDE = 2, /**< the sum divided by the number of taps within the image */
    TENON_POOL_LP = 3              /**< the p-norm, (sum of |x|^p)^(1/p) (ONNX, operator LpPool) */
} tenon_pool_kind;

/** flags: a single window covers the whole image; `window` and `geometry` are ignored. */
#define TENON_POOL_GLOBAL 1u
/** flags: a last window that is only partly within the padded image counts as well, if it begins
 * within the image or the padding before it (ONNX's ceil_mode, and PyTorch's). Its taps beyond the
 * padding count for no average. */
#define TENON_POOL_CEIL 2u
/** flags: window o of Y along a dimension of size X contains elements floor(o·X / Y) to ceil((o +
 * 1)·X / Y) - 1 (PyTorch's adaptive pooling). y may have any spatial sizes from 1 on; `window` and
 * `geometry` are ignored. */
#define TENON_POOL_ADAPTIVE 4u

/** Start from TENON_POOL_PARAMS_INIT and set `kind` and `window`. In `window` and `geometry`, entry
 * 0 is the first spatial dimension of the image; entries beyond its last dimension are ignored. */
typedef struct tenon_pool_params {
    uint32_t struct_size; /**< sizeof(tenon_pool_params) */
    uint32_t flags;       /**< 0, TENON_POOL_GLOBAL, TENON_POOL_CEIL or TENON_POOL_ADAPTIVE */
    const char *solver;   /**< forces a solver (grammar: plan.h); NULL: automatic choice */
    uint32_t kind;        /**< tenon_pool_kind */
    uint32_t reserved;    /**< 0 */
    int64_t window[TENON_MAX_SPATIAL]; /**< at least 1; 1 in the initializer */
    tenon_conv_geometry geometry;      /**< strides, dilations, padding */
    double p;                          /**< for TENON_POOL_LP: 1 to 100; 2 in the initializer */
} tenon_pool_params;

/** The defaults of tenon_pool_params, without braces. */
#define TENON_POOL_PARAMS_DEFAULTS                                                                 \
    sizeof(tenon_pool_params), 0, NULL, TENON_POOL_MAX, 0, {1, 1, 1}, TENON_CONV_GEOMETRY_INIT, 2.0
/** Initializes a tenon_pool_params with the defaults. */
#define TENON_POOL_PARAMS_INIT                                                                     \
    {                                                                                              \
        TENON_POOL_PARAMS_DEFAULTS                                                                 \
    }
#ifndef __cplusplus
/** A const tenon_pool_params with the defaults, except for the members given as arguments. See
 * TENON_LITERAL. */
#define tenon_pool_params(...)                                                                     \
    TENON_LITERAL(tenon_pool_params, TENON_POOL_PARAMS_DEFAULTS, __VA_ARGS__)
#endif

/** Sets `params` to the defaults, for languages without macros.
 *  @param size  sizeof(tenon_pool_params) */
TENON_API void tenon_pool_params_default(tenon_pool_params *params, uint32_t size);

/** Returns the number of windows along spatial dimension `dimension` (0 to 2) of an image with
 * `size` elements, for TENON_POOL_ADAPTIVE -1, because y determines it. Otherwise it is 1 for
 * global pooling, or floor((size + pad_begin + pad_end - reach) / stride) + 1 with reach = (window
 * - 1)·dilation + 1. With TENON_POOL_CEIL the quotient is rounded up, unless the last window then
 * begins in the padding after the image. 0 if the window is larger than the padded image; -1 if a
 * parameter is invalid or the size overflows. May be called from any thread. */
TENON_API int64_t tenon_pool_output_size(const tenon_pool_params *params, uint32_t dimension,
                                         int64_t size);

/** Computes the maximum, average or norm of each window of x: y[n,c,p…] is computed over the taps
 * x[n, c, p·stride - pad_begin + r·dilation, …] with r below `window`, in one, two or three spatial
 * dimensions (Dumoulin and Visin, "A guide to convolution arithmetic for deep learning", 2016,
 * section 3 and chapter 5). The maximum and the norm ignore taps in the padding.
 *
 * A window must not be larger than the padded image. No window may lie entirely in the padding,
 * except with TENON_POOL_AVERAGE, which gives 0 there. Without dilation, padding on either side
 * that is smaller than the window satisfies this.
 *  @param params   NULL means the defaults: the maximum of windows of one element
 *  @param x        N C and one to three spatial dimensions; f64, f32, f16 or bf16, any strides,
 *                  including broadcasts (NHWC images have the same shape with NHWC strides)
 *  @param y        N C P…, with the sizes that tenon_pool_output_size returns, of x's type; must
 * not overlap x, nor its own elements
 *  @param indices  i32 of y's shape: the position of each maximum in its image plane, (d·H + h)·W +
 *                  w; the first one of equal maxima, and the first NaN if there are any; must
 *                  overlap neither x nor y. NULL if not needed, and for the other kinds
 *  @param sync     may be NULL
 *
 *  An empty y is valid, and nothing is done. The maximum is exact; bounds of the other kinds are in
 * docs/numerics.md. The powers of a norm may overflow or underflow where the norm would not. Every
 * call gives the same bits.
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT · TENON_ERROR_UNSUPPORTED (a type; indices that
 *          are not i32, or a plane of more than 2³¹ elements, which i32 cannot index) ·
 *          TENON_ERROR_UNSUPPORTED_DEVICE (f64 on a device without it) · TENON_ERROR_BUILD_FAILED ·
 *          TENON_ERROR_SOLVER_BARRED · TENON_ERROR_OUT_OF_MEMORY · TENON_ERROR_OPENCL ·
 *          TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_pool_forward(tenon_stream *stream, const tenon_pool_params *params,
                                           const tenon_tensor *x, const tenon_tensor *y,
                                           const tenon_tensor *indices, const tenon_sync *sync);

/** Makes a plan of tenon_pool_forward with operands x, y, indices. The tensors need no memory;
 * memory that they have is checked.
 *  @param plan  receives the plan, with one reference owned by the caller; NULL on failure
 *  @return as tenon_pool_forward, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_pool_forward_plan(tenon_context *context,
                                                const tenon_pool_params *params,
                                                const tenon_tensor *x, const tenon_tensor *y,
                                                const tenon_tensor *indices, tenon_plan **plan);

/** Computes dx, the gradient of tenon_pool_forward. For the maximum, each dy is added to the
 * element given by its index; for the averages, an equal share is added to every tap within the
 * image; for the norm, dy·sign(x)·(|x| / norm)^(p - 1), where the norm is not 0. Contributions to
 * an element are summed in the order of the outputs, without atomics, so every call gives the same
 * bits.
 *  @param params   those of the forward call
 *  @param x        the x of the forward call, of dx's type and shape. Read for the norm, and for
 *                  the maximum without `indices`, to find the maxima again; otherwise not read, and
 *                  may be NULL
 *  @param dy       the gradient of y, of dx's type, any strides, including broadcasts
 *  @param indices  those of the forward call, i32 of dy's shape, or NULL. An index outside its
 *                  window adds its dy to no element. NULL for the other kinds
 *  @param dx       the gradient of x, with the shape of x in the forward call; overwritten; must
 *                  not overlap any other operand, nor its own elements
 *  @param sync     may be NULL
 *  @return as tenon_pool_forward */
TENON_CALL tenon_status tenon_pool_backward(tenon_stream *stream, const tenon_pool_params *params,
                                            const tenon_tensor *x, const tenon_tensor *dy,
                                            const tenon_tensor *indices, const tenon_tensor *dx,
                                            const tenon_sync *sync);

/** Makes a plan of tenon_pool_backward with operands x, dy, indices, dx. The tensors need no
 * memory; memory that they have is checked.
 *  @param plan  receives the plan, with one reference owned by the caller; NULL on failure
 *  @return as tenon_pool_backward, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_pool_backward_plan(tenon_context *context,
                                                 const tenon_pool_params *params,
                                                 const tenon_tensor *x, const tenon_tensor *dy,
                                                 const tenon_tensor *indices,
                                                 const tenon_tensor *dx, tenon_plan **plan);

TENON_END_C

#endif
