/* Arguments of conv/implicit_tiled.clh and conv/implicit_matrix.clh, and the factors and results
 * that are loaded or stored as vectors. */
#ifndef TN_OPS_CONV_IMPLICIT_ARGUMENTS_H
#define TN_OPS_CONV_IMPLICIT_ARGUMENTS_H

#include "conv/implicit_args.h"
#include "ops/conv/implicit/implicit.h"

/* The division of the work of a choice. */
typedef struct conv_tiled_layout {
    conv_direction direction;
    int64_t slices; /* slices of the filters' gradient; otherwise 1 */
    gemm_problem product;
} conv_tiled_layout;

/* Returns `width` if that many steps of k are contiguous in the image and either all inside or all
 * outside it; otherwise 1. */
int32_t tn_conv_run(const conv_problem *problem, conv_direction direction, int32_t kb,
                    int32_t width);

/* Elements of f16 and bf16 in 16 bytes. */
#define CONV_VECTOR 8

/* Factors that matrix units load as whole vectors: `a` along k or along its rows, the image along k
 * or along the columns. `image_aligned`: the vectors of the image are aligned to 16 bytes if its
 * first element is. The vectors of `a` always are aligned if its first element is. */
typedef struct conv_vectors {
    bool a, a_along_k, image, image_along_k, image_aligned;
} conv_vectors;
conv_vectors tn_conv_find_vectors(const conv_problem *problem, const conv_tiled_layout *layout);

/* Direction of vectors of 8 elements of d that are all aligned if d is: TENON_D_ALONG of
 * cl_kernels/conv/implicit_matrix.clh. */
typedef enum conv_along { CONV_ALONG_NONE, CONV_ALONG_M, CONV_ALONG_N } conv_along;
conv_along tn_conv_results_along(const conv_problem *problem, const conv_tiled_layout *layout);

/* Sets the column stride of the product's c to that of the residual's pixels if d is stored as such
 * vectors along n. */
void tn_conv_results_take(const conv_problem *problem, conv_tiled_layout *layout);

/* Fills in the kernel's arguments except gemm, which must be set; `mb` is the number of rows of
 * its block. */
void tn_conv_tiled_arguments(const conv_problem *problem, const conv_tiled_layout *layout,
                             int32_t mb, conv_tiled_args *args);

#endif
