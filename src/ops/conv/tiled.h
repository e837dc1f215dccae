/* Convolution and its gradients on GPUs as products of which one factor is gathered from an image
 * (cl_kernels/conv/tiled.clh). What their solvers share. */
#ifndef TN_OPS_CONV_TILED_H
#define TN_OPS_CONV_TILED_H

#include "conv/tiled_args.h"
#include "ops/conv/internal.h"
#include "ops/gemm/tiled.h"

/* What the product is. */
typedef enum conv_direction {
    CONV_RESULT,            /* filters by pixels, over what the pixels see */
    CONV_GRADIENT_OF_IMAGE, /* channels by pixels, over what meets them */
    CONV_GRADIENT_OF_FILTER /* filters by taps, over pixels */
} conv_direction;

/* NULL where the kernels serve the problem, otherwise the reason why they do not. */
const char *tn_conv_tiled_refuses(tenon_context *context, const tn_problem *problem,
                                  conv_direction direction);

/* The product for one group, with the groups as the outer dimension of its batch; the inner one is
 * the residues of the image's gradient, or `slices` of the sums. Of b and of the strides along n
 * nothing is said. */
gemm_problem tn_conv_tiled_product(const conv_problem *problem, conv_direction direction,
                                   int64_t slices);

/* As in tn_solver; the parameters are gemm/tiled's. */
void tn_conv_tiled_tune(tenon_context *context, const conv_problem *problem,
                        conv_direction direction, int32_t *values);
const char *tn_conv_tiled_constrains(tenon_context *context, const conv_problem *problem,
                                     conv_direction direction, const int32_t *values);
double tn_conv_tiled_estimate(tenon_context *context, const conv_problem *problem,
                              conv_direction direction, int64_t slices, const int32_t *values);
void tn_conv_tiled_options(tenon_context *context, const conv_problem *problem,
                           conv_direction direction, int64_t slices, const int32_t *values,
                           char text[TN_OPTIONS_SIZE]);
tenon_status tn_conv_tiled_record(const char *operation, tn_recording *recording,
                                  const conv_problem *problem, conv_direction direction,
                                  int64_t slices, const int32_t *values);

#endif
