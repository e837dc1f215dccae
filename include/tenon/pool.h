/** @file
 * Pooling: the maximum or the average of windows of an image, and its gradient. */
#ifndef TENON_POOL_H
#define TENON_POOL_H

#include <tenon/conv.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What becomes of a window. Its taps in the padding count in TENON_POOL_AVERAGE alone. */
typedef enum tenon_pool_kind {
    TENON_POOL_MAX = 0,     /**< the maximum; NaN where there is one */
    TENON_POOL_AVERAGE = 1, /**< the sum over all taps, zeros in the padding, by their number */
    TENON_POOL_AVERAGE_INSIDE = 2 /**< the same over the taps within the image */
} tenon_pool_kind;

/** flags: one window is the whole image; `window` and `geometry` are ignored. */
#define TENON_POOL_GLOBAL 1u

/** Start from TENON_POOL_PARAMS_INIT and set `kind` and `window`. In `window` and `geometry`, entry
 * 0 is the first spatial dimension of the image; those beyond are ignored. */
typedef struct tenon_pool_params {
    uint32_t struct_size; /**< sizeof(tenon_pool_params) */
    uint32_t flags;       /**< 0 or TENON_POOL_GLOBAL */
    const char *solver;   /**< forces a solver (plan.h has the grammar); NULL chooses */
    uint32_t kind;        /**< tenon_pool_kind */
    uint32_t reserved;    /**< 0 */
    int64_t window[TENON_MAX_SPATIAL]; /**< at least 1; 1 in the initialiser */
    tenon_conv_geometry geometry;      /**< strides, dilations, padding */
} tenon_pool_params;

/** The defaults of tenon_pool_params, without braces. */
#define TENON_POOL_PARAMS_DEFAULTS                                                                 \
    sizeof(tenon_pool_params), 0, NULL, TENON_POOL_MAX, 0, {1, 1, 1}, TENON_CONV_GEOMETRY_INIT
/** Initialises a tenon_pool_params with the defaults. */
#define TENON_POOL_PARAMS_INIT                                                                     \
    {                                                                                              \
        TENON_POOL_PARAMS_DEFAULTS                                                                 \
    }
#ifndef __cplusplus
/** A const tenon_pool_params: the defaults, except for the members that are named. TENON_LITERAL
 * says more. */
#define tenon_pool_params(...)                                                                     \
    TENON_LITERAL(tenon_pool_params, TENON_POOL_PARAMS_DEFAULTS, __VA_ARGS__)
#endif

/** Sets the defaults, for languages without macros.
 *  @param size  sizeof(tenon_pool_params) */
TENON_API void tenon_pool_params_default(tenon_pool_params *params, uint32_t size);

/** y = the maximum or the average of each window of x: y[n,c,p…] is over the taps
 *  x[n, c, p·stride - pad_begin + r·dilation, …] with r below `window`, in one, two or three
 * spatial dimensions (Dumoulin and Visin, "A guide to convolution arithmetic for deep learning",
 * 2016, section 3 and chapter 5). The image is never larger for its padding: the maximum looks only
 * at taps within it.
 *
 * A window may be no larger than the padded image. Except for TENON_POOL_AVERAGE, where it would
 * give 0, no window may lie in the padding alone: without dilation that is so where the padding on
 * either side is less than the window.
 *  @param params   NULL means the defaults: the maximum of windows of one element
 *  @param x        N C and one to three spatial dimensions; f64, f32, f16 or bf16, any strides (for
 *                  NHWC give the same shape with NHWC's strides), which may broadcast
 *  @param y        N C P…, with sizes as tenon_conv_output_size says (1 where the pooling is
 *                  global), of x's type; must not overlap x, nor its own elements
 *  @param indices  i32 of y's shape: the place of each maximum in its image plane, (d·H + h)·W + w,
 *                  the first one where several are equal, and the first NaN where there are any;
 *                  must overlap neither x nor y. NULL where it is not wanted, and for the averages
 *  @param sync     or NULL
 *
 *  An empty y is accepted, and nothing is done. The maximum is exact; bounds of the average are in
 * docs/numerics.md. The bits are the same from call to call.
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT · TENON_ERROR_UNSUPPORTED (a type; indices that
 *          are not i32, or a plane of more than 2³¹ elements, which i32 cannot number) ·
 *          TENON_ERROR_UNSUPPORTED_DEVICE (f64 on a device without it) · TENON_ERROR_BUILD_FAILED ·
 *          TENON_ERROR_SOLVER_BARRED · TENON_ERROR_OUT_OF_MEMORY · TENON_ERROR_OPENCL ·
 *          TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_pool_forward(tenon_stream *stream, const tenon_pool_params *params,
                                           const tenon_tensor *x, const tenon_tensor *y,
                                           const tenon_tensor *indices, const tenon_sync *sync);

/** The plan of tenon_pool_forward; operands x, y, indices. The views need no memory; where they
 * have it, it is checked.
 *  @param plan  receives the plan, with one reference that the caller owns; NULL on failure
 *  @return as tenon_pool_forward, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_pool_forward_plan(tenon_context *context,
                                                const tenon_pool_params *params,
                                                const tenon_tensor *x, const tenon_tensor *y,
                                                const tenon_tensor *indices, tenon_plan **plan);

/** dx = the gradient of tenon_pool_forward: for the maximum each dy goes to the element that its
 * index names, for the averages an equal share goes to every tap within the image. An element sums
 * what it gets in the order of the outputs: no atomics, the same bits every time.
 *  @param params   those of the forward call
 *  @param x        of dx's type and shape: the forward call's. Read for the maximum without
 *                  `indices`, which are then found again; otherwise it may be NULL and is not read
 *  @param dy       the gradient of y, of dx's type, any strides, which may broadcast
 *  @param indices  the forward call's, i32 of dy's shape, or NULL. One that lies outside its window
 *                  gives its dy to no element. NULL for the averages
 *  @param dx       the gradient of x, with the forward call's shape of x; is overwritten, and must
 *                  overlap no other operand, nor its own elements
 *  @param sync     or NULL
 *  @return as tenon_pool_forward */
TENON_CALL tenon_status tenon_pool_backward(tenon_stream *stream, const tenon_pool_params *params,
                                            const tenon_tensor *x, const tenon_tensor *dy,
                                            const tenon_tensor *indices, const tenon_tensor *dx,
                                            const tenon_sync *sync);

/** The plan of tenon_pool_backward; operands x, dy, indices, dx. The views need no memory; where
 * they have it, it is checked.
 *  @param plan  receives the plan, with one reference that the caller owns; NULL on failure
 *  @return as tenon_pool_backward, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_pool_backward_plan(tenon_context *context,
                                                 const tenon_pool_params *params,
                                                 const tenon_tensor *x, const tenon_tensor *dy,
                                                 const tenon_tensor *indices,
                                                 const tenon_tensor *dx, tenon_plan **plan);

#ifdef __cplusplus
}
#endif

#endif
