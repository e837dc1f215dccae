/* The arguments of conv/implicit_tiled.clh and conv/implicit_matrix.clh, and which factors and
 * results are read and written by vectors. */
#ifndef TN_OPS_CONV_IMPLICIT_ARGUMENTS_H
#define TN_OPS_CONV_IMPLICIT_ARGUMENTS_H

#include "conv/implicit_args.h"
#include "ops/conv/implicit/implicit.h"

/* How the work of a choice is laid out. */
typedef struct conv_tiled_layout {
    conv_direction direction;
    int64_t slices; /* of the filters' gradient; else 1 */
    gemm_problem product;
} conv_tiled_layout;

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

/* The kernel's arguments but for gemm, which are filled in: mb is the rows of its block. */
void tn_conv_tiled_arguments(const conv_problem *problem, const conv_tiled_layout *layout,
                             int32_t mb, conv_tiled_args *args);

#endif
