/* References of operations based on the sum of a row's exponentials: softmax and cross-entropy.
 * docs/numerics.md derives the bounds. */
#ifndef TN_OPS_COMMON_EXP_SUM_H
#define TN_OPS_COMMON_EXP_SUM_H

#include "ops/common/epilogue.h"

/* A row's maximum, its sum of exp(x - most), and a bound of that sum's relative error on a device.
 */
typedef struct tn_exp_sum {
    double most, sum, relative;
    double unit, least; /* roundoff and least normal number of the row's type */
} tn_exp_sum;

/* Computes the sum of a row of `size` elements with stride `step`. */
tn_exp_sum tn_exp_sum_of(tenon_dtype dtype, const double *x, int64_t step, int64_t size);

/* Return exp(x - most) / sum, and (x - most) - log(sum), with the bounds before the final rounding.
 */
tn_bounded tn_softmax_at(const tn_exp_sum *row, double x);
tn_bounded tn_log_softmax_at(const tn_exp_sum *row, double x);

/* Returns the roundoff for bounds; doubled for f64, since the reference rounds as much. */
double tn_unit(tenon_dtype dtype);

#endif
