/* Implicit GEMM: filters times columns that are gathered from the image where they are multiplied,
 * and so need no workspace. Shared by all its solvers. */
#ifndef TN_OPS_CONV_IMPLICIT_IMPLICIT_H
#define TN_OPS_CONV_IMPLICIT_IMPLICIT_H

#include "ops/conv/problem/product.h"

/* Whether y's pixels are one dimension, and the residual's, and their strides. */
bool tn_conv_pixels_join(const conv_problem *problem, int64_t *y_stride, int64_t *res_stride);

/* Whether all that a tap can read lies within what kernels for CPUs count in 31 bits. */
bool tn_conv_positions_fit(const conv_window *window);

/* NULL where the convolution is such a product, otherwise the reason why it is not. */
const char *tn_conv_implicit_refuses(const conv_problem *problem);

/* The product for one image and group, with these as its batch; of its b, the batch's strides alone
 * count. */
gemm_problem tn_conv_implicit_product(const conv_problem *problem);

/* Whether the pixels under most vectors of so many lanes are loaded as vectors. */
bool tn_conv_implicit_by_vectors(const conv_problem *problem, int64_t lanes);

/* Completes `launch`, which has its kernel and sizes but for the batch, and records it. */
tenon_status tn_conv_implicit_record(const char *caller, tn_recording *recording,
                                     const conv_problem *problem, const gemm_problem *product,
                                     int64_t tile_rows, tn_launch *launch);

/* On GPUs one kernel serves all directions: which product it computes. */
typedef enum conv_direction {
    CONV_RESULT,            /* filters by pixels, over what the pixels see */
    CONV_GRADIENT_OF_IMAGE, /* channels by pixels, over what meets them */
    CONV_GRADIENT_OF_FILTER /* filters by taps, over pixels */
} conv_direction;

/* Strides of the tensor that is gathered. */
const int64_t *tn_conv_gathered(const conv_problem *problem, conv_direction direction);

/* Whether neighbouring work-items gather along k: channels that are neighbours, or pixels. */
bool tn_conv_gathers_along_k(const conv_problem *problem, conv_direction direction);

/* Whether the columns of the filters' gradient count channels fastest, and not taps. */
bool tn_conv_sums_channels_last(const conv_problem *problem);

/* The pixels of all images, of which the product's columns are made, or its sums. */
int64_t tn_conv_pixels(const conv_problem *problem);

/* Sub-filters along dimension d: the image's gradient at positions that differ modulo the stride is
 * computed from different taps. */
int64_t tn_conv_phases(const conv_window *window, int d);

#endif
