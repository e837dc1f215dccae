/* References of operations based on the sum of a row's exponentials: softmax and cross-entropy.
 * docs/numerics.md derives the bounds. */
#ifndef TN_OPS_COMMON_EXP_SUM_H
#define TN_OPS_COMMON_EXP_SUM_H

#include "ops/common/epilogue.h"

/* The largest element of a row, the sum of exp(x - most), and a bound of the relative error of that
 * sum on a device. */
typedef struct tn_exp_sum {
    double most, sum, relative;
    double unit, least; /* roundoff and least normal number of the row's type */
} tn_exp_sum;

/* Computes the sum of a row of `size` elements with stride `step`. */
tn_exp_sum tn_exp_sum_of(tenon_dtype dtype, const double *x, int64_t step, int64_t size);

/* Return exp(x - most) / sum, and (x - most) - log(sum), with the bounds before rounding to the
 * output type. */
tn_bounded tn_softmax_at(const tn_exp_sum *row, double x);
tn_bounded tn_log_softmax_at(const tn_exp_sum *row, double x);

/* Returns the unit roundoff for bounds: doubled for f64, because the reference, in double, rounds
 * as much as the device. */
double tn_unit(tenon_dtype dtype);

#endif
