/* Convolution and its gradients on GPUs as products of which one factor is gathered from an image
 * (cl_kernels/conv/implicit_tiled.clh). What their solvers share. */
#ifndef TN_OPS_CONV_IMPLICIT_TILED_H
#define TN_OPS_CONV_IMPLICIT_TILED_H

#include "ops/conv/implicit/arguments.h"
#include "ops/conv/implicit/slices.h"
#include "ops/gemm/tiled.h"

/* Tuning parameters: the first of gemm/tiled's, and of the filters' gradient the slices. */
enum {
    CONV_TILED_PARAMETERS = TILED_NR + 1,
    CONV_TILED_SLICES = CONV_TILED_PARAMETERS,
    CONV_TILED_SPLIT_PARAMETERS
};
extern const tn_parameter tn_conv_tiled_parameters[CONV_TILED_SPLIT_PARAMETERS];

/* NULL where the kernels serve the problem, otherwise the reason why they do not. */
const char *tn_conv_tiled_refuses(const conv_problem *problem, conv_direction direction);

/* With so many slices at most, as the pixels and the workspace allow. */
void tn_conv_tiled_lay_out(const conv_problem *problem, conv_direction direction, int32_t most,
                           conv_tiled_layout *layout);

/* The product for one group, with the groups as the outer dimension of its batch; the inner one is
 * the sub-filters of the image's gradient, or `slices` of the sums. Of b and of the strides along n
 * nothing is said. */
gemm_problem tn_conv_tiled_product(const conv_problem *problem, conv_direction direction,
                                   int64_t slices);

/* What the solvers on matrix units share, too. */

/* Instructions of a work-item that compute the address of an element of the image, or of a run of
 * them that is loaded whole: the address and three positions are sums from both tables, and are
 * compared with the image's sizes. A guess until it is measured. */
#define CONV_ADDRESS_INSTRUCTIONS 10.0

/* Completes a launch, which has its kernel and its local size along the first dimension, and
 * records it, and with several slices the one that adds them up; `block` is rows and columns of a
 * work-group. */
tenon_status tn_conv_tiled_launch(const char *caller, tn_recording *recording,
                                  const conv_problem *problem, const conv_tiled_layout *layout,
                                  const int32_t block[2], tn_launch *launch);

/* Bytes of the three tensors. */
double tn_conv_bytes(const conv_problem *problem);

/* Steps of the product's k, on the average of the sub-filters. */
double tn_conv_depth(const conv_problem *problem, const conv_tiled_layout *layout);

/* Their awkward cases: a block of rows and one, and a depth that is loaded as the one at hand is.
 */
#define TN_CONV_TILED_AWKWARD "filters=mb+1 depth=1 stride_w=1; filters=mb+1 depth=1 stride_w=2"

#define TN_CONV_TILED_DATA_AWKWARD "channels=mb+1 depth=1"

/* Columns past a block: each channel has six taps. */
#define TN_CONV_TILED_FILTER_AWKWARD "filters=mb+1 channels=nb/6+2"

#endif
