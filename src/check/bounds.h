/* Error bounds of results relative to a double-precision reference; docs/numerics.md derives them.
 */
#ifndef TN_CHECK_BOUNDS_H
#define TN_CHECK_BOUNDS_H

#include <tenon/tensor.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A reference value and the allowed deviation of a device's result, or TN_ANYTHING. */
typedef struct tn_bounded tn_bounded;
struct tn_bounded {
    double value, bound;
};

/* The bound of a result that may be anything, including NaN. */
#define TN_ANYTHING (-1.0)

/* The bound of an integer that must be exact and may need 64 bits: `value` then holds its bits. */
#define TN_WHOLE (-2.0)

/* Return an integer as an exact result, and the integer of such a result. */
tn_bounded tn_whole(int64_t value);
int64_t tn_whole_value(tn_bounded x);

/* Returns the unit roundoff of arithmetic on a type: half the distance from 1 to the next number.
 */
double tn_roundoff(tenon_dtype dtype);

/* Returns the size in bytes of the type that an element is computed in: f32 for the 16-bit types.
 */
size_t tn_acc_size(uint32_t dtype);

/* Returns n·u / (1 - n·u), the factor of a chain of n roundings (Higham, "Accuracy and Stability
 * of Numerical Algorithms", section 3.1). */
double tn_gamma(double n, double u);

/* Returns the smallest normal number of a type: the error of a device that flushes denormals. */
double tn_least_normal(tenon_dtype dtype);

/* Returns true if a product may be infinite or NaN, depending on the device: an infinity times a
 * factor that may be flushed to zero. */
bool tn_may_be_nan(double number, tn_bounded factor);

/* Returns a result after rounding to a 16-bit storage type. Other types are computed in their own
 * precision, and their last rounding is already counted. */
tn_bounded tn_stored(tenon_dtype dtype, tn_bounded x);

#endif
