/* Convolution and its gradients on GPUs as products in which one factor is gathered from an image
 * (cl_kernels/conv/implicit_tiled.clh). Declarations shared by their solvers. */
#ifndef TN_OPS_CONV_IMPLICIT_TILED_H
#define TN_OPS_CONV_IMPLICIT_TILED_H

#include "ops/conv/implicit/arguments.h"
#include "ops/conv/implicit/slices.h"
#include "ops/gemm/tiled.h"

/* Tuning parameters: the first ones of gemm/tiled, and the slices for the filters' gradient. */
enum {
    CONV_TILED_PARAMETERS = TILED_NR + 1,
    CONV_TILED_SLICES = CONV_TILED_PARAMETERS,
    CONV_TILED_SPLIT_PARAMETERS
};
extern const tn_parameter tn_conv_tiled_parameters[CONV_TILED_SPLIT_PARAMETERS];

/* Returns why the kernels do not serve the problem, or NULL. */
const char *tn_conv_tiled_refuses(const conv_problem *problem, conv_direction direction);

/* Lays out the product with at most `most` slices, within the limits of the pixels and the
 * workspace. */
void tn_conv_tiled_lay_out(const conv_problem *problem, conv_direction direction, int32_t most,
                           conv_tiled_layout *layout);

/* Returns the product for one group, with the groups as the outer batch dimension. The inner one
 * is the sub-filters of the image's gradient, or `slices` slices. b and the strides along n are
 * not set. */
gemm_problem tn_conv_tiled_product(const conv_problem *problem, conv_direction direction,
                                   int64_t slices);

/* Shared with the matrix-unit solvers: */

/* Instructions of a work-item for the address of an image element, or of a run that is loaded
 * whole: the address and three positions are sums from two tables and are compared with the
 * image's sizes. A guess until measured. */
#define CONV_ADDRESS_INSTRUCTIONS 10.0

/* Completes and records a launch whose kernel and local size along the first dimension are set.
 * With several slices it also records the launch that adds them up. `block` has the rows and
 * columns of a work-group. */
tenon_status tn_conv_tiled_launch(const char *caller, tn_recording *recording,
                                  const conv_problem *problem, const conv_tiled_layout *layout,
                                  const int32_t block[2], tn_launch *launch);

/* Returns the bytes of the three tensors. */
double tn_conv_bytes(const conv_problem *problem);

/* Returns the steps of the product's k, averaged over the sub-filters. */
double tn_conv_depth(const conv_problem *problem, const conv_tiled_layout *layout);

/* Awkward cases of these solvers: one block of rows plus one row, and a depth that is loaded in the
 * same way as the given one. */
#define TN_CONV_TILED_AWKWARD "filters=mb+1 depth=1 stride_w=1; filters=mb+1 depth=1 stride_w=2"

#define TN_CONV_TILED_DATA_AWKWARD "channels=mb+1 depth=1"

/* More columns than a block: each channel has six taps. */
#define TN_CONV_TILED_FILTER_AWKWARD "filters=mb+1 channels=nb/6+2"

#endif
