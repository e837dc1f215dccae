/* The references of all that rests on the sum of a row's exponentials: softmax, cross-entropy.
 * docs/numerics.md derives the bounds. */
#ifndef TN_OPS_COMMON_EXP_SUM_H
#define TN_OPS_COMMON_EXP_SUM_H

#include "ops/common/epilogue.h"

/* The sum of exp(x - most) over a row, and how far, relative to it, a device's may be off. */
typedef struct tn_exp_sum {
    double most, sum, relative;
    double unit, least; /* of the type that it was made for */
} tn_exp_sum;

/* `size` elements `step` apart. */
tn_exp_sum tn_exp_sum_of(tenon_dtype dtype, const double *x, int64_t step, int64_t size);

/* exp(x - most) / sum, and (x - most) - log(sum), with their bounds before they are stored. */
tn_bounded tn_softmax_at(const tn_exp_sum *row, double x);
tn_bounded tn_log_softmax_at(const tn_exp_sum *row, double x);

/* The unit roundoff to count with: a reference, in double, rounds as much as f64 itself. */
double tn_unit(tenon_dtype dtype);

#endif
