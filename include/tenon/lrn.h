/** @file
 * Local response normalization across channels, and its gradient.
 */
#ifndef TENON_LRN_H
#define TENON_LRN_H

#include <tenon/plan.h>

TENON_BEGIN_C

/** Start from TENON_LRN_PARAMS_INIT. The parameters of AlexNet are size 5, alpha 5e-4, beta 0.75
 * and k 2, because its alpha is not divided by the size. */
typedef struct tenon_lrn_params {
    uint32_t struct_size; /**< sizeof(tenon_lrn_params) */
    uint32_t flags;       /**< 0 */
    const char *solver;   /**< forces a solver (grammar: plan.h); NULL: automatic choice */
    int64_t size;         /**< channels that are summed; 1 to 65536; 5 in the initializer */
    double alpha;         /**< finite, at least 0; 1e-4 in the initializer */
    double beta;          /**< 0 to 100; 0.75 in the initializer. 0.5, 0.75 and 1 are the fastest */
    double k;             /**< finite, at least 0; 1 in the initializer */
} tenon_lrn_params;

/** The defaults of tenon_lrn_params, without braces. */
#define TENON_LRN_PARAMS_DEFAULTS sizeof(tenon_lrn_params), 0, NULL, 5, 1e-4, 0.75, 1.0
/** Initializes a tenon_lrn_params with the defaults. */
#define TENON_LRN_PARAMS_INIT                                                                      \
    {                                                                                              \
        TENON_LRN_PARAMS_DEFAULTS                                                                  \
    }
#ifndef __cplusplus
/** A const tenon_lrn_params with the defaults, except for the members given as arguments. See
 * TENON_LITERAL. */
#define tenon_lrn_params(...)                                                                      \
    TENON_LITERAL(tenon_lrn_params, TENON_LRN_PARAMS_DEFAULTS, __VA_ARGS__)
#endif

/** Sets `params` to the defaults, for languages without macros.
 *  @param size  sizeof(tenon_lrn_params) */
TENON_API void tenon_lrn_params_default(tenon_lrn_params *params, uint32_t size);

/** Computes y = x / (k + alpha / size · S)^beta, where S is the sum of the squares of x in the
 * channels from c - floor((size - 1) / 2) to c + ceil((size - 1) / 2) that exist (A. Krizhevsky, I.
 * Sutskever and G. Hinton, "ImageNet classification with deep convolutional neural networks", 2012,
 * section 3.3; ONNX, operator LRN). Where the base of the power is 0, y is NaN or infinite.
 *  @param params  NULL means the defaults
 *  @param x       N C and any further dimensions; f64, f32, f16 or bf16, any strides, including 0
 *  @param y       of x's type and shape; must not overlap x, nor its own elements
 *  @param sync    may be NULL
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT · TENON_ERROR_UNSUPPORTED (a type) ·
 *          TENON_ERROR_UNSUPPORTED_DEVICE (f64 on a device without it) · TENON_ERROR_BUILD_FAILED ·
 *          TENON_ERROR_SOLVER_BARRED · TENON_ERROR_OUT_OF_MEMORY · TENON_ERROR_OPENCL ·
 *          TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_lrn_forward(tenon_stream *stream, const tenon_lrn_params *params,
                                          const tenon_tensor *x, const tenon_tensor *y,
                                          const tenon_sync *sync);

/** Makes a plan of tenon_lrn_forward with operands x, y. The tensors need no memory; memory that
 * they have is checked.
 *  @param plan  receives the plan, with one reference owned by the caller; NULL on failure
 *  @return as tenon_lrn_forward, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_lrn_forward_plan(tenon_context *context,
                                               const tenon_lrn_params *params,
                                               const tenon_tensor *x, const tenon_tensor *y,
                                               tenon_plan **plan);

/** Computes dx, the gradient of tenon_lrn_forward: with d = k + alpha / size · S, dx = dy·d^-beta -
 * 2·alpha / size·beta·x · the sum of dy·x·d^(-beta - 1) over the channels whose S contains x. A
 * product dy·x that is 0 adds nothing.
 *  @param params  those of the forward call
 *  @param x       the x of the forward call
 *  @param dy      the gradient of y, of x's type and shape, any strides, including 0
 *  @param dx      of x's type and shape; must not overlap x or dy, nor its own elements
 *  @param sync    may be NULL
 *  @return as tenon_lrn_forward */
TENON_CALL tenon_status tenon_lrn_backward(tenon_stream *stream, const tenon_lrn_params *params,
                                           const tenon_tensor *x, const tenon_tensor *dy,
                                           const tenon_tensor *dx, const tenon_sync *sync);

/** Makes a plan of tenon_lrn_backward with operands x, dy, dx. The tensors need no memory; memory
 * that they have is checked.
 *  @param plan  receives the plan, with one reference owned by the caller; NULL on failure
 *  @return as tenon_lrn_backward, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_lrn_backward_plan(tenon_context *context,
                                                const tenon_lrn_params *params,
                                                const tenon_tensor *x, const tenon_tensor *dy,
                                                const tenon_tensor *dx, tenon_plan **plan);

TENON_END_C

#endif
