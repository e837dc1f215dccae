/* Running error bounds: values with the most that a device's may be off, through the operations of
 * a formula (N. J. Higham, "Accuracy and Stability of Numerical Algorithms", section 3.3). A device
 * may fuse a product and a sum or not: the bounds count both roundings. */
#ifndef TN_OPS_COMMON_RUNNING_H
#define TN_OPS_COMMON_RUNNING_H

#include "ops/common/epilogue.h"

/* What the bounds need to know of the type of the arithmetic. */
typedef struct tn_arithmetic {
    bool is_f64;
    double unit;  /* the roundoff; doubled for f64, since the reference rounds as much */
    double least; /* the least normal number: what may be flushed */
} tn_arithmetic;

tn_arithmetic tn_arithmetic_of(tenon_dtype dtype);

/* A number as the device has it after it was rounded to the type. */
double tn_as_scalar(const tn_arithmetic *t, double value);

/* An operand: exact, unless a device takes it for zero. */
tn_bounded tn_operand_value(const tn_arithmetic *t, double value);

tn_bounded tn_sum(const tn_arithmetic *t, tn_bounded a, tn_bounded b);
tn_bounded tn_product(const tn_arithmetic *t, tn_bounded a, tn_bounded b);
/* `scalar` · a, the scalar exact. */
tn_bounded tn_scaled(const tn_arithmetic *t, double scalar, tn_bounded a);
/* Within 2.5 ulp, and 3 ulp, in f32; what OpenCL's full profile promises. */
tn_bounded tn_quotient(const tn_arithmetic *t, tn_bounded a, tn_bounded b);
tn_bounded tn_square_root(const tn_arithmetic *t, tn_bounded a);

#endif
