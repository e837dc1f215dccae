/* Convolution as a matrix product: filters times columns, for a block of the output. */
#ifndef TN_OPS_CONV_PRODUCT_H
#define TN_OPS_CONV_PRODUCT_H

#include "ops/conv/internal.h"
#include "ops/gemm/internal.h"

/* A box of the output: pixels [first, first + count) in each dimension, of images
 * [image, image + images). */
typedef struct conv_block {
    int64_t image, images;
    int64_t first[3], count[3];
} conv_block;

/* The factors: a filter's taps at strides of one matrix, and the columns' strides. */
typedef struct conv_factors {
    int64_t w_filter, w_tap;
    int64_t image, group, tap, pixel[3];
    int64_t col_shift;              /* elements */
    uint8_t w_operand, col_operand; /* of the run, or TN_WORKSPACE */
    int64_t taps;                   /* of a group: c * t * r * s */
} conv_factors;

/* The problem that GEMM is given; it uses no workspace of its own. */
tenon_status tn_conv_product(const char *operation, const conv_problem *p, const conv_block *block,
                             const conv_factors *factors, gemm_problem *product);

#endif
