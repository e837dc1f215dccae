/* Weights of the references of resizing, in double with error bounds. */
#ifndef TN_OPS_RESIZE_REFERENCE_H
#define TN_OPS_RESIZE_REFERENCE_H

#include "check/bounds.h"
#include "ops/resize/internal.h"

/* The weights of an output along one dimension, for `count` elements from `low` on, with the error
 * of a device; TN_ANYTHING if the sum that divides them may be 0. */
typedef struct resize_weights {
    int64_t low, count;
    double *weight, *error;
    bool outside; /* the output is the constant */
    int64_t taps;
    double sum, magnitude, sum_error;
    double *room; /* of the first output: the memory of all weights */
} resize_weights;

/* Computes the weights of all outputs along spatial dimension `d`, as the caller counts them, or of
 * the three spatial dimensions. Returns false if memory is short. The caller frees them in any
 * case. */
bool tn_resize_weights_find(const tenon_resize_params *params, uint32_t d, tenon_dtype dtype,
                            int64_t in, int64_t out, resize_weights **weights);
bool tn_resize_weights_of_image(const tenon_resize_params *params, const tenon_tensor *x,
                                const tenon_tensor *y, resize_weights *weights[3]);
void tn_resize_weights_free(resize_weights *weights);

/* A weighted sum and what its bound depends on. */
typedef struct resize_sum {
    double value, magnitude, spread, terms;
    bool anything, inexact;
} resize_sum;

/* Adds x times its weights along the three dimensions. */
void tn_resize_add(resize_sum *sum, double x, const double weight[3], const double error[3]);
tn_bounded tn_resize_result(const resize_sum *sum, tenon_dtype dtype);

#endif
