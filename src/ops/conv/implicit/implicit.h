/* Implicit GEMM: the product of filters and columns, which are gathered from the image during the
 * multiplication, without workspace. Declarations shared by all its solvers. */
#ifndef TN_OPS_CONV_IMPLICIT_IMPLICIT_H
#define TN_OPS_CONV_IMPLICIT_IMPLICIT_H

#include "ops/conv/problem/product.h"

/* Returns true if the pixels of y, and those of the residual, merge into one dimension; sets their
 * strides. */
bool tn_conv_pixels_join(const conv_problem *problem, int64_t *y_stride, int64_t *res_stride);

/* Returns true if all positions that a tap can read fit the 31 bits of the CPU kernels. */
bool tn_conv_positions_fit(const conv_window *window);

/* Returns why the convolution is not such a product, or NULL. */
const char *tn_conv_implicit_refuses(const conv_problem *problem);

/* Returns the product for one image and group, with images and groups as its batch. Of b only the
 * batch strides are meaningful. */
gemm_problem tn_conv_implicit_product(const conv_problem *problem);

/* Returns true if the pixels under most vectors of `lanes` lanes are loaded as vectors. */
bool tn_conv_implicit_by_vectors(const conv_problem *problem, int64_t lanes);

/* Completes `launch`, whose kernel and sizes are set except for the batch, and records it. */
tenon_status tn_conv_implicit_record(const char *caller, tn_recording *recording,
                                     const conv_problem *problem, const gemm_problem *product,
                                     int64_t tile_rows, tn_launch *launch);

/* The product that a kernel computes; on GPUs one kernel serves all directions. */
typedef enum conv_direction {
    CONV_RESULT,            /* filters × pixels, summed over the inputs under each pixel */
    CONV_GRADIENT_OF_IMAGE, /* channels × pixels, summed over the outputs that read them */
    CONV_GRADIENT_OF_FILTER /* filters × taps, summed over pixels */
} conv_direction;

/* Returns the strides of the tensor that is gathered. */
const int64_t *tn_conv_gathered(const conv_problem *problem, conv_direction direction);

/* Returns true if adjacent work-items gather along k, i.e. along contiguous channels or pixels. */
bool tn_conv_gathers_along_k(const conv_problem *problem, conv_direction direction);

/* Returns true if channels, rather than taps, are the fastest index of the columns of the filters'
 * gradient. */
bool tn_conv_sums_channels_last(const conv_problem *problem);

/* Returns the pixels of all images, which are the product's columns or its k. */
int64_t tn_conv_pixels(const conv_problem *problem);

/* Returns the number of sub-filters along dimension d. The image's gradient at positions that
 * differ modulo the stride is computed from different taps. */
int64_t tn_conv_phases(const conv_window *window, int d);

#endif
