/** @file
 * Grid sampling: images interpolated at given places, and the gradient.
 */
#ifndef TENON_GRID_SAMPLE_H
#define TENON_GRID_SAMPLE_H

#include <tenon/plan.h>

TENON_BEGIN_C

/** The interpolation along each dimension. */
typedef enum tenon_grid_sample_mode {
    TENON_GRID_SAMPLE_LINEAR = 0,  /**< between two elements; weight 1 - |distance| */
    TENON_GRID_SAMPLE_NEAREST = 1, /**< the nearest element; in the middle between two, the one with
                                        an even index */
    TENON_GRID_SAMPLE_CUBIC = 2    /**< four elements; the cubic convolution of R. Keys, 1981, with
                                        coefficient -0.75; only in two dimensions */
} tenon_grid_sample_mode;

/** The elements outside the image. */
typedef enum tenon_grid_sample_padding {
    TENON_GRID_SAMPLE_ZEROS = 0,     /**< 0 */
    TENON_GRID_SAMPLE_BORDER = 1,    /**< the nearest element of the image */
    TENON_GRID_SAMPLE_REFLECTION = 2 /**< the image reflected, repeatedly, at its edges: at -1/2 and
                                          size - 1/2, or with TENON_GRID_SAMPLE_ALIGN_CORNERS at the
                                          centers of the first and last elements */
} tenon_grid_sample_padding;

/** flags: -1 and 1 are the centers of the first and last elements, not the edges of the image. */
#define TENON_GRID_SAMPLE_ALIGN_CORNERS 1u

/** Start from TENON_GRID_SAMPLE_PARAMS_INIT. */
typedef struct tenon_grid_sample_params {
    uint32_t struct_size; /**< sizeof(tenon_grid_sample_params) */
    uint32_t flags;       /**< 0 or TENON_GRID_SAMPLE_ALIGN_CORNERS */
    const char *solver;   /**< forces a solver (grammar: plan.h); NULL: automatic choice */
    uint32_t mode;        /**< tenon_grid_sample_mode */
    uint32_t padding;     /**< tenon_grid_sample_padding */
} tenon_grid_sample_params;

/** The defaults of tenon_grid_sample_params, without braces. */
#define TENON_GRID_SAMPLE_PARAMS_DEFAULTS                                                          \
    sizeof(tenon_grid_sample_params), 0, NULL, TENON_GRID_SAMPLE_LINEAR, TENON_GRID_SAMPLE_ZEROS
/** Initializes a tenon_grid_sample_params with the defaults. */
#define TENON_GRID_SAMPLE_PARAMS_INIT                                                              \
    {                                                                                              \
        TENON_GRID_SAMPLE_PARAMS_DEFAULTS                                                          \
    }
#ifndef __cplusplus
/** A const tenon_grid_sample_params with the defaults, except for the members given as arguments.
 * See TENON_LITERAL. */
#define tenon_grid_sample_params(...)                                                              \
    TENON_LITERAL(tenon_grid_sample_params, TENON_GRID_SAMPLE_PARAMS_DEFAULTS, __VA_ARGS__)
#endif

/** Sets `params` to the defaults, for languages without macros.
 *  @param size  sizeof(tenon_grid_sample_params) */
TENON_API void tenon_grid_sample_params_default(tenon_grid_sample_params *params, uint32_t size);

/** Interpolates images at the places of a grid (M. Jaderberg, K. Simonyan, A. Zisserman and K.
 * Kavukcuoglu, "Spatial Transformer Networks", 2015, section 3.3; ONNX, operator GridSample).
 * y[n, c, p, q] is the image of channel c of x[n] at x = grid[n, p, q, 0], along W, and y = grid[n,
 * p, q, 1], along H. For images with three spatial dimensions, N C D H W, the places are (o, p, q),
 * each with three coordinates: along W, H and D. A coordinate g is at element ((g + 1) · size - 1)
 * / 2, or with TENON_GRID_SAMPLE_ALIGN_CORNERS (g + 1) / 2 · (size - 1), counted from 0. Elements
 * outside the image are defined by `padding`.
 *
 * Coordinates and sums are computed in f32, or f64 for f64; elements beyond ±2²⁴ are treated as
 * ±2²⁴. If a coordinate is NaN, the element of y is NaN. Every call gives the same bits.
 *  @param params  NULL means the defaults: linear, zeros outside
 *  @param x       N C H W or N C D H W; f64, f32, f16 or bf16, any strides, including 0; the
 *                 spatial sizes are 1 to 2²⁴, unless y is empty
 *  @param grid    N P Q 2 or N O P Q 3, of x's type, or f32 if x is f16 or bf16; any strides,
 *                 including 0
 *  @param y       N C P Q or N C O P Q, of x's type; must not overlap any other operand, nor its
 *                 own elements
 *  @param sync    may be NULL
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT · TENON_ERROR_UNSUPPORTED (a type; a size above
 *          2²⁴; cubic interpolation of N C D H W) · TENON_ERROR_UNSUPPORTED_DEVICE (f64 on a device
 *          without it) · TENON_ERROR_BUILD_FAILED · TENON_ERROR_SOLVER_BARRED ·
 *          TENON_ERROR_OUT_OF_MEMORY · TENON_ERROR_OPENCL · TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_grid_sample(tenon_stream *stream,
                                          const tenon_grid_sample_params *params,
                                          const tenon_tensor *x, const tenon_tensor *grid,
                                          const tenon_tensor *y, const tenon_sync *sync);

/** Makes a plan of tenon_grid_sample with operands x, grid, y. The tensors need no memory; memory
 * that they have is checked.
 *  @param plan  receives the plan, with one reference owned by the caller; NULL on failure
 *  @return as tenon_grid_sample, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_grid_sample_plan(tenon_context *context,
                                               const tenon_grid_sample_params *params,
                                               const tenon_tensor *x, const tenon_tensor *grid,
                                               const tenon_tensor *y, tenon_plan **plan);

/** The gradient of tenon_grid_sample: dx is the sum over the places of dy times the weights that an
 * element of x has in y, and dgrid the sum over the channels of dy times the derivative of y with
 * respect to a coordinate. Where a linear interpolation has a corner, which is at the centers of
 * elements, the derivative is that toward larger coordinates. It is 0 in the mode nearest. A place
 * with a coordinate that is NaN contributes nothing to dx, and its elements of dgrid are NaN.
 *
 * Every call gives the same bits: an element of dx adds the places in their order. The workspace
 * holds dx in f32, or f64 for f64, with the channels rounded up to a multiple of 8.
 *  @param params  those of the forward call
 *  @param x       as in tenon_grid_sample; may be NULL if dgrid is NULL
 *  @param grid    as in tenon_grid_sample
 *  @param dy      the gradient of y, with its shape, of x's type; any strides, including 0
 *  @param dx      of x's shape and type, or NULL: not computed; must not overlap any other operand,
 *                 nor its own elements
 *  @param dgrid   of grid's shape and type, otherwise as dx. At least one of both must be given
 *  @param sync    may be NULL
 *  @return as tenon_grid_sample; also TENON_ERROR_WORKSPACE_TOO_SMALL */
TENON_CALL tenon_status tenon_grid_sample_backward(tenon_stream *stream,
                                                   const tenon_grid_sample_params *params,
                                                   const tenon_tensor *x, const tenon_tensor *grid,
                                                   const tenon_tensor *dy, const tenon_tensor *dx,
                                                   const tenon_tensor *dgrid,
                                                   const tenon_sync *sync);

/** Makes a plan of tenon_grid_sample_backward with operands x, grid, dy, dx, dgrid. The tensors
 * need no memory; memory that they have is checked.
 *  @param plan  receives the plan, with one reference owned by the caller; NULL on failure
 *  @return as tenon_grid_sample_backward, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_grid_sample_backward_plan(
    tenon_context *context, const tenon_grid_sample_params *params, const tenon_tensor *x,
    const tenon_tensor *grid, const tenon_tensor *dy, const tenon_tensor *dx,
    const tenon_tensor *dgrid, tenon_plan **plan);

TENON_END_C

#endif
