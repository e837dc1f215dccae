/* Convolution and its gradients on GPUs as products of which one factor is gathered from an image
 * (cl_kernels/conv/implicit_tiled.clh). What their solvers share. */
#ifndef TN_OPS_CONV_IMPLICIT_TILED_H
#define TN_OPS_CONV_IMPLICIT_TILED_H

#include "conv/implicit_args.h"
#include "ops/conv/internal.h"
#include "ops/gemm/tiled.h"

/* Tuning parameters: the first of gemm/tiled's, and of the filters' gradient the slices. */
enum {
    CONV_TILED_PARAMETERS = TILED_NR + 1,
    CONV_TILED_SLICES = CONV_TILED_PARAMETERS,
    CONV_TILED_SPLIT_PARAMETERS
};
extern const tn_parameter tn_conv_tiled_parameters[CONV_TILED_SPLIT_PARAMETERS];

/* What the product is. */
typedef enum conv_direction {
    CONV_RESULT,            /* filters by pixels, over what the pixels see */
    CONV_GRADIENT_OF_IMAGE, /* channels by pixels, over what meets them */
    CONV_GRADIENT_OF_FILTER /* filters by taps, over pixels */
} conv_direction;

/* How the work of a choice is laid out. */
typedef struct conv_tiled_layout {
    conv_direction direction;
    int64_t slices; /* of the filters' gradient; else 1 */
    gemm_problem product;
} conv_tiled_layout;

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

/* Whether neighbouring work-items gather along k: channels that are neighbours, or pixels. */
bool tn_conv_gathers_along_k(const conv_problem *problem, conv_direction direction);

/* `width`, where so many steps of k lie one after the other in the image and are in it together;
 * otherwise 1. */
int32_t tn_conv_run(const conv_problem *problem, conv_direction direction, int32_t kb,
                    int32_t width);

/* Elements of f16 and bf16 in 16 bytes. */
#define CONV_VECTOR 8

/* Which factors matrix units are brought by whole vectors: of `a` along k or along its rows, of the
 * image along k or along the columns; and whether those of the image are aligned to 16 bytes where
 * its first element is, as those of `a` are. */
typedef struct conv_vectors {
    bool a, a_along_k, image, image_along_k, image_aligned;
} conv_vectors;
conv_vectors tn_conv_find_vectors(const conv_problem *problem, const conv_tiled_layout *layout);

/* Along what vectors of 8 elements of d lie, of which all are aligned wherever d is: TENON_D_ALONG
 * of cl_kernels/conv/implicit_matrix.clh. */
typedef enum conv_along { CONV_ALONG_NONE, CONV_ALONG_M, CONV_ALONG_N } conv_along;
conv_along tn_conv_results_along(const conv_problem *problem, const conv_tiled_layout *layout);

/* Has a product say how far the elements of c are apart that such vectors along n meet. */
void tn_conv_results_take(const conv_problem *problem, conv_tiled_layout *layout);

/* The pixels of all images, of which the product's columns are made, or its sums. */
int64_t tn_conv_pixels(const conv_problem *problem);

/* Sub-filters along dimension d: the image's gradient at positions that differ modulo the stride is
 * computed from different taps. */
int64_t tn_conv_phases(const conv_window *window, int d);

/* Completes a launch, which has its kernel and its local size along the first dimension, and
 * records it, and with several slices the one that adds them up; `block` is rows and columns of a
 * work-group. */
tenon_status tn_conv_tiled_launch(const char *operation, tn_recording *recording,
                                  const conv_problem *problem, const conv_tiled_layout *layout,
                                  const int32_t block[2], tn_launch *launch);

/* The filters' gradient in slices of the pixels, whose sums are added in order: pixels of each of
 * so many; how many there are where `most` are asked for, as the pixels and the workspace allow;
 * how many to ask for where there are so many work-groups without, and a slice is worth `least`
 * pixels. */
int64_t tn_conv_slice(const conv_problem *problem, int64_t slices);
int64_t tn_conv_slices(const conv_problem *problem, int64_t most);
int32_t tn_conv_tune_slices(tenon_context *context, const conv_problem *problem, int64_t groups,
                            int64_t least);

/* Whether columns of that product, and so the slices' sums, count channels fastest, and not taps.
 */
bool tn_conv_sums_channels_last(const conv_problem *problem);

/* Bytes of the slices' sums, what they take, and adding them up: nothing for one slice. */
uint64_t tn_conv_slices_size(const conv_problem *problem, int64_t slices);
tn_work tn_conv_slices_work(const conv_problem *problem, int64_t slices);
tenon_status tn_conv_record_slices(const char *operation, tn_recording *recording,
                                   const conv_problem *problem, int64_t slices);

/* The kernel's arguments but for gemm, which are filled in: mb is the rows of its block. */
void tn_conv_tiled_arguments(const conv_problem *problem, const conv_tiled_layout *layout,
                             int32_t mb, conv_tiled_args *args);

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
