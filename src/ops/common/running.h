/* Running error bounds: each value has a bound of a device's error, which is propagated through the
 * operations of a formula (N. J. Higham, "Accuracy and Stability of Numerical Algorithms", section
 * 3.3). A device may fuse a product and a sum or not; the bounds count both roundings. */
#ifndef TN_OPS_COMMON_RUNNING_H
#define TN_OPS_COMMON_RUNNING_H

#include "ops/common/epilogue.h"

/* Properties of the arithmetic's type that the bounds depend on. */
typedef struct tn_arithmetic {
    bool is_f64;
    double unit;  /* the roundoff; doubled for f64, because the reference rounds as much */
    double least; /* the least normal number; smaller results may be flushed */
} tn_arithmetic;

tn_arithmetic tn_arithmetic_of(tenon_dtype dtype);

/* Returns a number as the device has it, rounded to the type. */
double tn_as_scalar(const tn_arithmetic *t, double value);

/* Returns an operand, exact except that a device may flush it to zero. */
tn_bounded tn_operand_value(const tn_arithmetic *t, double value);

tn_bounded tn_sum(const tn_arithmetic *t, tn_bounded a, tn_bounded b);
tn_bounded tn_product(const tn_arithmetic *t, tn_bounded a, tn_bounded b);
/* Returns `scalar` · a for an exact scalar. */
tn_bounded tn_scaled(const tn_arithmetic *t, double scalar, tn_bounded a);
/* Return results within 2.5 ulp (quotient) and 3 ulp (root) in f32, as OpenCL's full profile does.
 */
tn_bounded tn_quotient(const tn_arithmetic *t, tn_bounded a, tn_bounded b);
tn_bounded tn_square_root(const tn_arithmetic *t, tn_bounded a);

#endif
