/** @file
 * RoI align: averages or maxima of interpolated samples in regions of images, and the gradient.
 */
#ifndef TENON_ROI_ALIGN_H
#define TENON_ROI_ALIGN_H

#include <tenon/plan.h>

TENON_BEGIN_C

/** The result of the samples of a bin. */
typedef enum tenon_roi_align_mode {
    TENON_ROI_ALIGN_AVERAGE = 0, /**< the average of the interpolated samples */
    TENON_ROI_ALIGN_MAX = 1 /**< the maximum of all elements times their interpolation weights, as
                                 ONNX defines it; 0 if there are no samples */
} tenon_roi_align_mode;

/** flags: coordinates are not shifted by half a pixel, and regions are at least one pixel wide and
 * high (ONNX's output_half_pixel; the behavior of opset 10). */
#define TENON_ROI_ALIGN_UNSHIFTED 1u

/** Start from TENON_ROI_ALIGN_PARAMS_INIT. */
typedef struct tenon_roi_align_params {
    uint32_t struct_size;    /**< sizeof(tenon_roi_align_params) */
    uint32_t flags;          /**< 0 or TENON_ROI_ALIGN_UNSHIFTED */
    const char *solver;      /**< forces a solver (grammar: plan.h); NULL: automatic choice */
    uint32_t mode;           /**< tenon_roi_align_mode */
    uint32_t sampling_ratio; /**< samples of a bin along either dimension; 0 (the initializer): the
                                  size of the bin, rounded up. At most 1024 in either case */
    double spatial_scale; /**< factor of the regions' coordinates; finite; 1 in the initializer */
} tenon_roi_align_params;

/** The defaults of tenon_roi_align_params, without braces. */
#define TENON_ROI_ALIGN_PARAMS_DEFAULTS                                                            \
    sizeof(tenon_roi_align_params), 0, NULL, TENON_ROI_ALIGN_AVERAGE, 0, 1.0
/** Initializes a tenon_roi_align_params with the defaults. */
#define TENON_ROI_ALIGN_PARAMS_INIT                                                                \
    {                                                                                              \
        TENON_ROI_ALIGN_PARAMS_DEFAULTS                                                            \
    }
#ifndef __cplusplus
/** A const tenon_roi_align_params with the defaults, except for the members given as arguments. See
 * TENON_LITERAL. */
#define tenon_roi_align_params(...)                                                                \
    TENON_LITERAL(tenon_roi_align_params, TENON_ROI_ALIGN_PARAMS_DEFAULTS, __VA_ARGS__)
#endif

/** Sets `params` to the defaults, for languages without macros.
 *  @param size  sizeof(tenon_roi_align_params) */
TENON_API void tenon_roi_align_params_default(tenon_roi_align_params *params, uint32_t size);

/** Divides each region into the spatial shape of y and computes each bin from samples on a regular
 * grid in it, interpolated between the four elements of x around them (K. He, G. Gkioxari, P.
 * Dollár and R. Girshick, "Mask R-CNN", 2017, section 3; ONNX, operator RoiAlign). A sample above
 * -1 and below 0 has the value at 0, one beyond the last element the value of that element, and one
 * below -1 or above the size of x contributes 0.
 *
 * Coordinates are computed in f32, or f64 for f64. A region with coordinates that are not finite
 * has no samples within x.
 *  @param params   NULL means the defaults
 *  @param x        N C H W; f64, f32, f16 or bf16, any strides, including 0; H and W are 1 to 2²⁸,
 *                  unless y is empty
 *  @param rois     of x's type, R 4: the first and last corner of each region, as x, y, x, y
 *  @param indices  i32, R: the image of each region. The elements of y are NaN where it is negative
 *                  or not below N; nothing is read then
 *  @param y        of x's type, R C and the spatial shape of the bins; must not overlap any other
 *                  operand, nor its own elements
 *  @param sync     may be NULL
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT · TENON_ERROR_UNSUPPORTED (a type; a size above
 *          2²⁸) · TENON_ERROR_UNSUPPORTED_DEVICE (f64 on a device without it) ·
 *          TENON_ERROR_BUILD_FAILED · TENON_ERROR_SOLVER_BARRED · TENON_ERROR_OUT_OF_MEMORY ·
 *          TENON_ERROR_OPENCL · TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_roi_align(tenon_stream *stream, const tenon_roi_align_params *params,
                                        const tenon_tensor *x, const tenon_tensor *rois,
                                        const tenon_tensor *indices, const tenon_tensor *y,
                                        const tenon_sync *sync);

/** Makes a plan of tenon_roi_align with operands x, rois, indices, y. The tensors need no memory;
 * memory that they have is checked.
 *  @param plan  receives the plan, with one reference owned by the caller; NULL on failure
 *  @return as tenon_roi_align, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_roi_align_plan(tenon_context *context,
                                             const tenon_roi_align_params *params,
                                             const tenon_tensor *x, const tenon_tensor *rois,
                                             const tenon_tensor *indices, const tenon_tensor *y,
                                             tenon_plan **plan);

/** Computes dx, the gradient of tenon_roi_align. With averages, each element of dy, divided by the
 * number of samples, is added to the four elements around each sample of its bin, times their
 * interpolation weights. With maxima, dy times its weight is added to the element that gave the
 * maximum. Of equal candidates, or of several NaN, that is the first one in the order of the rows
 * of samples, the samples of a row, and the rows and columns of the elements around a sample. If a
 * sample outside x is the maximum, nothing is added. Regions are added in their order, without
 * atomics, so every call gives the same bits. An element with weight 0 is not affected, whatever dy
 * is there.
 *  @param params   those of the forward call; NULL means the defaults
 *  @param x        that of the forward call, of dx's shape and type, any strides, including 0; may
 *                  be NULL for averages, which do not read it
 *  @param dy       the gradient of y, R C and the bins, of dx's type, any strides, including 0
 *  @param rois     those of the forward call, of dx's type, R 4; there is no gradient for them
 *  @param indices  those of the forward call, i32, R. A region whose index is negative or not below
 *                  N adds nothing
 *  @param dx       the gradient of x, N C H W; f64, f32, f16 or bf16; overwritten; must not overlap
 *                  any other operand, nor its own elements
 *  @param sync     may be NULL
 *  @return as tenon_roi_align */
TENON_CALL tenon_status tenon_roi_align_backward(tenon_stream *stream,
                                                 const tenon_roi_align_params *params,
                                                 const tenon_tensor *x, const tenon_tensor *dy,
                                                 const tenon_tensor *rois,
                                                 const tenon_tensor *indices,
                                                 const tenon_tensor *dx, const tenon_sync *sync);

/** Makes a plan of tenon_roi_align_backward with operands x, dy, rois, indices, dx. The tensors
 * need no memory; memory that they have is checked.
 *  @param plan  receives the plan, with one reference owned by the caller; NULL on failure
 *  @return as tenon_roi_align_backward, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_roi_align_backward_plan(tenon_context *context,
                                                      const tenon_roi_align_params *params,
                                                      const tenon_tensor *x, const tenon_tensor *dy,
                                                      const tenon_tensor *rois,
                                                      const tenon_tensor *indices,
                                                      const tenon_tensor *dx, tenon_plan **plan);

TENON_END_C

#endif
