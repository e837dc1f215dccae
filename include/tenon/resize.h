/** @file
 * Resizing of images: nearest element, linear and cubic interpolation, with all coordinate modes of
 * ONNX and with antialiasing.
 */
#ifndef TENON_RESIZE_H
#define TENON_RESIZE_H

#include <tenon/conv.h>

TENON_BEGIN_C

/** The interpolation along each dimension. */
typedef enum tenon_resize_mode {
    TENON_RESIZE_NEAREST = 0, /**< the element nearest to the coordinate, by `rounding` */
    TENON_RESIZE_LINEAR = 1,  /**< between two elements; weight 1 - |distance| */
    TENON_RESIZE_CUBIC = 2    /**< four elements; the cubic convolution of R. Keys, 1981, with
                                   coefficient `cubic_a` */
} tenon_resize_mode;

/** The element that is nearest to a coordinate, for TENON_RESIZE_NEAREST. */
typedef enum tenon_resize_rounding {
    TENON_RESIZE_PREFER_FLOOR = 0, /**< to nearest; in the middle between two elements, the first */
    TENON_RESIZE_PREFER_CEIL = 1, /**< to nearest; in the middle between two elements, the second */
    TENON_RESIZE_FLOOR = 2,       /**< the element at or before the coordinate */
    TENON_RESIZE_CEIL = 3         /**< the element at or after the coordinate */
} tenon_resize_rounding;

/** The coordinate in x of element o of y, along a dimension with size X of x, size Y of y, and
 * scale s. L = s·X is the size of y before it is rounded to an integer. */
typedef enum tenon_resize_coordinates {
    TENON_RESIZE_HALF_PIXEL = 0,           /**< (o + 1/2) / s - 1/2 */
    TENON_RESIZE_HALF_PIXEL_SYMMETRIC = 1, /**< (o + 1/2) / s - 1/2 + (1 - Y / L)·X / 2 */
    TENON_RESIZE_PYTORCH_HALF_PIXEL = 2,   /**< (o + 1/2) / s - 1/2; 0 if Y is 1 */
    TENON_RESIZE_ALIGN_CORNERS = 3,        /**< o·(X - 1) / (L - 1); 0 if L is 1 */
    TENON_RESIZE_ASYMMETRIC = 4,           /**< o / s */
    TENON_RESIZE_TF_HALF_PIXEL = 5,        /**< (o + 1/2) / s: ONNX's tf_half_pixel_for_nn, of
                                                opset 11 */
    TENON_RESIZE_TF_CROP_AND_RESIZE = 6    /**< region_begin·(X - 1) + o·(region_end -
                                                region_begin)·(X - 1) / (L - 1); the middle of the
                                                region if L is 1. Elements of y whose coordinate in
                                                any dimension is below 0 or above X - 1 are
                                                `extrapolation` */
} tenon_resize_coordinates;

/** flags: widens the filter of a linear or cubic resize by 1 / s in dimensions with s below 1, and
 * divides its weights by their sum. */
#define TENON_RESIZE_ANTIALIAS 1u
/** flags: elements outside x have no weight, and the other weights are divided by their sum (0 if
 * there are none). Otherwise the first and the last element of x are repeated outside. Ignored by
 * TENON_RESIZE_NEAREST. */
#define TENON_RESIZE_EXCLUDE_OUTSIDE 2u

/** Start from TENON_RESIZE_PARAMS_INIT. In the arrays, entry 0 is the first spatial dimension of
 * the image; entries beyond its last dimension are ignored. */
typedef struct tenon_resize_params {
    uint32_t struct_size; /**< sizeof(tenon_resize_params) */
    uint32_t flags; /**< 0, or a sum of TENON_RESIZE_ANTIALIAS and TENON_RESIZE_EXCLUDE_OUTSIDE */
    const char *solver;   /**< forces a solver (grammar: plan.h); NULL: automatic choice */
    uint32_t mode;        /**< tenon_resize_mode */
    uint32_t coordinates; /**< tenon_resize_coordinates */
    uint32_t rounding;    /**< tenon_resize_rounding */
    uint32_t reserved;    /**< 0 */
    double cubic_a; /**< coefficient of TENON_RESIZE_CUBIC; finite; -0.75 in the initializer */
    double
        extrapolation; /**< for TENON_RESIZE_TF_CROP_AND_RESIZE, rounded to y's type; any value */
    double scales[TENON_MAX_SPATIAL]; /**< s, if it is not Y / X: positive, and s·X differs from Y
                                        by less than 1. 0 (the initializer): Y / X */
    double
        region_begin[TENON_MAX_SPATIAL];  /**< the region of x for
                                             TENON_RESIZE_TF_CROP_AND_RESIZE, where 0 is the first
                                             element and 1 the last; finite; 0 in the initializer */
    double region_end[TENON_MAX_SPATIAL]; /**< likewise; 1 in the initializer. An end before the
                                             begin mirrors the image */
} tenon_resize_params;

/** The defaults of tenon_resize_params, without braces. */
#define TENON_RESIZE_PARAMS_DEFAULTS                                                               \
    sizeof(tenon_resize_params), 0, NULL, TENON_RESIZE_NEAREST, TENON_RESIZE_HALF_PIXEL,           \
        TENON_RESIZE_PREFER_FLOOR, 0, -0.75, 0.0, {0, 0, 0}, {0, 0, 0},                            \
    {                                                                                              \
        1, 1, 1                                                                                    \
    }
/** Initializes a tenon_resize_params with the defaults. */
#define TENON_RESIZE_PARAMS_INIT                                                                   \
    {                                                                                              \
        TENON_RESIZE_PARAMS_DEFAULTS                                                               \
    }
#ifndef __cplusplus
/** A const tenon_resize_params with the defaults, except for the members given as arguments. See
 * TENON_LITERAL. */
#define tenon_resize_params(...)                                                                   \
    TENON_LITERAL(tenon_resize_params, TENON_RESIZE_PARAMS_DEFAULTS, __VA_ARGS__)
#endif

/** Sets `params` to the defaults, for languages without macros.
 *  @param size  sizeof(tenon_resize_params) */
TENON_API void tenon_resize_params_default(tenon_resize_params *params, uint32_t size);

/** Resizes the images of x to the spatial sizes of y (ONNX, operator Resize, opset 19, and for
 * TENON_RESIZE_TF_HALF_PIXEL opset 11). Each element of y is the sum of the elements of x around
 * its coordinates times the product of their weights along one, two or three spatial dimensions.
 *
 * Coordinates are exact, whatever the type: a coordinate within 2⁻³³ of an element, or of the
 * middle between two, is treated as equal to it, so TENON_RESIZE_NEAREST selects the same element
 * on every device. It copies values exactly. The other modes compute in f32, or f64 for f64; bounds
 * are in docs/numerics.md. An element with weight 0 has no effect, even if it is infinite or NaN.
 * Every call gives the same bits.
 *  @param params  NULL means the defaults: nearest element, half-pixel coordinates, scales Y / X
 *  @param x       N C and one to three spatial dimensions; f64, f32, f16 or bf16, any strides,
 *                  including 0 (NHWC images have the same shape with NHWC strides). Spatial sizes
 *                  are at most 2²⁸, and not 0 unless y is empty
 *  @param y       of x's type, with its N and C, any spatial sizes up to 2²⁸; must not overlap x,
 *                  nor its own elements
 *  @param sync    may be NULL
 *
 *  An empty y is valid, and nothing is done.
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT · TENON_ERROR_UNSUPPORTED (a type; a size above
 *          2²⁸) · TENON_ERROR_UNSUPPORTED_DEVICE (f64 on a device without it) ·
 *          TENON_ERROR_BUILD_FAILED · TENON_ERROR_SOLVER_BARRED · TENON_ERROR_OUT_OF_MEMORY ·
 *          TENON_ERROR_OPENCL · TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_resize_forward(tenon_stream *stream,
                                             const tenon_resize_params *params,
                                             const tenon_tensor *x, const tenon_tensor *y,
                                             const tenon_sync *sync);

/** Makes a plan of tenon_resize_forward with operands x, y. The tensors need no memory; memory that
 * they have is checked.
 *  @param plan  receives the plan, with one reference owned by the caller; NULL on failure
 *  @return as tenon_resize_forward, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_resize_forward_plan(tenon_context *context,
                                                  const tenon_resize_params *params,
                                                  const tenon_tensor *x, const tenon_tensor *y,
                                                  tenon_plan **plan);

/** Computes dx, the gradient of tenon_resize_forward: each element of dy is added to the elements
 * of x from which it was computed, times their weights, without atomics, so every call gives the
 * same bits. Elements that are `extrapolation` in y add nothing.
 *  @param params  those of the forward call
 *  @param dy      the gradient of y, of dx's type, any strides, including 0
 *  @param dx      the gradient of x, with the shape of x in the forward call; overwritten; must not
 *                 overlap dy, nor its own elements. All 0 if dy is empty
 *  @param sync    may be NULL
 *  @return as tenon_resize_forward */
TENON_CALL tenon_status tenon_resize_backward(tenon_stream *stream,
                                              const tenon_resize_params *params,
                                              const tenon_tensor *dy, const tenon_tensor *dx,
                                              const tenon_sync *sync);

/** Makes a plan of tenon_resize_backward with operands dy, dx. The tensors need no memory; memory
 * that they have is checked.
 *  @param plan  receives the plan, with one reference owned by the caller; NULL on failure
 *  @return as tenon_resize_backward, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_resize_backward_plan(tenon_context *context,
                                                   const tenon_resize_params *params,
                                                   const tenon_tensor *dy, const tenon_tensor *dx,
                                                   tenon_plan **plan);

TENON_END_C

#endif
