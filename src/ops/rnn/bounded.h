/* Values of the references of recurrent layers with bounds of their errors on a device, and
 * arithmetic on them (docs/numerics.md, "Recurrent layers"). */
#ifndef TN_OPS_RNN_BOUNDED_H
#define TN_OPS_RNN_BOUNDED_H

#include "check/bounds.h"

#include <math.h>

/* Roundings of a sum besides those of its products: biases, blocks of K, and spares. */
#define OTHER_ROUNDINGS 16

static inline double tn_rnn_unit(tenon_dtype dtype)
{
    /* For f64 the reference, also in double, rounds as much again. */
    return tn_roundoff(dtype) * (dtype == TENON_DTYPE_F64 ? 2 : 1);
}

/* Returns a rounded result whose value has an error of `bound` before the rounding. */
static inline tn_bounded tn_rnn_rounded(tenon_dtype dtype, double value, double bound)
{
    return (tn_bounded){value, bound + tn_rnn_unit(dtype) * (fabs(value) + bound) +
                                   tn_least_normal(dtype)};
}

static inline tn_bounded tn_rnn_add(tenon_dtype dtype, tn_bounded a, tn_bounded b)
{
    return tn_rnn_rounded(dtype, a.value + b.value, a.bound + b.bound);
}

static inline tn_bounded tn_rnn_multiply(tenon_dtype dtype, tn_bounded a, tn_bounded b)
{
    return tn_rnn_rounded(dtype, a.value * b.value,
                          fabs(a.value) * b.bound + fabs(b.value) * a.bound + a.bound * b.bound);
}

/* A sum of products with its magnitude. Factors may have errors. */
typedef struct rnn_sum {
    double value, magnitude, error, terms;
} rnn_sum;

static inline void tn_rnn_add_product(rnn_sum *s, double weight, tn_bounded x)
{
    s->value += weight * x.value;
    s->magnitude += fabs(weight) * (fabs(x.value) + x.bound);
    s->error += fabs(weight) * x.bound;
    s->terms++;
}

static inline tn_bounded tn_rnn_total(tenon_dtype dtype, const rnn_sum *s)
{
    const double roundings = s->terms + s->terms / 32 + OTHER_ROUNDINGS;
    return (tn_bounded){s->value, s->error +
                                      tn_gamma(roundings, tn_rnn_unit(dtype)) * s->magnitude +
                                      roundings * tn_least_normal(dtype)};
}

#endif
