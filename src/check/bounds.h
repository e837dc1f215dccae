/* How far a right result may be from a reference in double; docs/numerics.md derives the bounds. */
#ifndef TN_CHECK_BOUNDS_H
#define TN_CHECK_BOUNDS_H

#include <tenon/tensor.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A value with how far a device's result may be from it, or TN_ANYTHING. */
typedef struct tn_bounded tn_bounded;
struct tn_bounded {
    double value, bound;
};

/* The bound of a result of which nothing can be said, not even whether it is NaN. */
#define TN_ANYTHING (-1.0)

/* The unit roundoff of arithmetic on a type: half the distance from 1 to the next number. */
double tn_roundoff(tenon_dtype dtype);

/* Bytes of what an element is computed in: f32 for the 16-bit types. */
size_t tn_acc_size(uint32_t dtype);

/* n·u / (1 - n·u), the factor of a chain of n roundings (Higham, "Accuracy and Stability of
 * Numerical Algorithms", section 3.1). */
double tn_gamma(double n, double u);

/* The least normal number of a type: what is lost where a device flushes denormals. */
double tn_least_normal(tenon_dtype dtype);

/* Whether a number times a device's factor is infinite or NaN as the device likes: an infinity
 * meets a factor that may be flushed to zero. */
bool tn_may_be_nan(double number, tn_bounded factor);

/* A result after it is rounded to a 16-bit type of storage; the others are what is computed in, and
 * their last rounding is among those counted. */
tn_bounded tn_stored(tenon_dtype dtype, tn_bounded x);

#endif
