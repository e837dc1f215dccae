/* Random elements of every type, and combinations of them in double precision with error bounds. */
#ifndef TEST_VALUES_H
#define TEST_VALUES_H

#include "cluster.h"

#include <math.h>

static inline bool is_16_bit(tenon_dtype dtype)
{
    return dtype == TENON_DTYPE_F16 || dtype == TENON_DTYPE_BF16;
}

/* The value of a floating-point element. */
static inline double value_of(tenon_dtype dtype, const unsigned char *bytes)
{
    uint16_t half;
    float single;
    double value;
    if (dtype == TENON_DTYPE_F64) {
        memcpy(&value, bytes, sizeof value);
        return value;
    }
    if (dtype == TENON_DTYPE_F32) {
        memcpy(&single, bytes, sizeof single);
        return (double)single;
    }
    memcpy(&half, bytes, sizeof half);
    if (dtype == TENON_DTYPE_BF16) {
        const uint32_t bits = (uint32_t)half << 16;
        memcpy(&single, &bits, sizeof single);
        return (double)single;
    }
    const int exponent = half >> 10 & 31, mantissa = half & 1023;
    value = exponent == 31  ? (mantissa == 0 ? (double)INFINITY : (double)NAN)
            : exponent == 0 ? ldexp(mantissa, -24)
                            : ldexp(1024 + mantissa, exponent - 25);
    return half >> 15 != 0 ? -value : value;
}

/* Writes an element: any bits of an integer; a float between 2^-4 and 2 with either sign. */
static inline void make_element(tenon_dtype dtype, uint64_t seed, uint32_t rank, int64_t index,
                                unsigned char *bytes)
{
    uint64_t state = seed + 0x1000003u * (uint64_t)rank + 0x9e3779b1u * (uint64_t)index;
    const uint64_t bits = cluster_next(&state);
    const double exponent = ldexp(1, -(int)(bits >> 60 & 3) - 1), sign = bits >> 63 != 0 ? -1 : 1;
    const double value = sign * exponent * (1 + (double)(bits & 0xfffffff) * 0x1p-28);
    const float single = (float)value;
    uint32_t word;
    uint16_t half;
    switch (dtype) {
    case TENON_DTYPE_F64:
        memcpy(bytes, &value, sizeof value);
        return;
    case TENON_DTYPE_F32:
        memcpy(bytes, &single, sizeof single);
        return;
    case TENON_DTYPE_BF16:
        memcpy(&word, &single, sizeof word);
        half = (uint16_t)(word >> 16);
        memcpy(bytes, &half, sizeof half);
        return;
    case TENON_DTYPE_F16: /* exponents -4 to 0 have the bits 11 to 15 */
        half = (uint16_t)((bits >> 63) << 15 | (11 + (bits >> 32) % 5) << 10 | (bits & 1023));
        memcpy(bytes, &half, sizeof half);
        return;
    default:
        memcpy(bytes, &bits, tenon_dtype_size(dtype));
    }
}

static inline int64_t whole_of(tenon_dtype dtype, const unsigned char *bytes)
{
    int64_t value = 0;
    int32_t word;
    if (dtype == TENON_DTYPE_I32) {
        memcpy(&word, bytes, sizeof word);
        return word;
    }
    memcpy(&value, bytes, sizeof value);
    return value;
}

static inline const char *check_whole(tenon_dtype dtype, tenon_group_kind kind, uint32_t size,
                                      unsigned char inputs[][8], const unsigned char *got)
{
    int64_t expected = whole_of(dtype, inputs[0]);
    for (uint32_t r = 1; r < size; r++) {
        const int64_t value = whole_of(dtype, inputs[r]);
        if (kind == TENON_GROUP_MAX)
            expected = value > expected ? value : expected;
        else if (kind == TENON_GROUP_MIN)
            expected = value < expected ? value : expected;
        else if (kind == TENON_GROUP_PRODUCT)
            expected = (int64_t)((uint64_t)expected * (uint64_t)value);
        else
            expected = (int64_t)((uint64_t)expected + (uint64_t)value);
    }
    /* The lowest bytes: results wrap around. */
    return memcmp(got, &expected, tenon_dtype_size(dtype)) == 0 ? NULL : "a wrong integer";
}

/* Compares an element with the combination of the inputs in double precision. Sums and products are
 * rounded to the type in which members combine once for each of them, a mean twice more (a quotient
 * of f32 has an error of 2.5 units), and 16-bit results once more.
 *  Returns NULL, or what is wrong. */
static inline const char *check_combination(tenon_dtype dtype, tenon_group_kind kind, uint32_t size,
                                            unsigned char inputs[][8], const unsigned char *got)
{
    static char text[160];
    if (dtype == TENON_DTYPE_I32 || dtype == TENON_DTYPE_I64)
        return check_whole(dtype, kind, size, inputs, got);
    double expected = value_of(dtype, inputs[0]), magnitude = fabs(expected);
    for (uint32_t r = 1; r < size; r++) {
        const double value = value_of(dtype, inputs[r]);
        if (kind == TENON_GROUP_MAX || kind == TENON_GROUP_MIN) {
            expected = kind == TENON_GROUP_MAX ? fmax(expected, value) : fmin(expected, value);
        } else if (kind == TENON_GROUP_PRODUCT) {
            expected *= value;
            magnitude *= fabs(value);
        } else {
            expected += value;
            magnitude += fabs(value);
        }
    }
    if (kind == TENON_GROUP_MEAN) {
        expected /= size;
        magnitude /= size;
    }
    const double unit = dtype == TENON_DTYPE_F64 ? 0x1p-52 : 0x1p-23;
    const double last = dtype == TENON_DTYPE_F16    ? fmax(0x1p-11 * fabs(expected), 0x1p-25)
                        : dtype == TENON_DTYPE_BF16 ? 0x1p-8 * fabs(expected)
                                                    : 0;
    const bool is_exact = kind == TENON_GROUP_MAX || kind == TENON_GROUP_MIN;
    const double bound = is_exact ? 0 : 1.01 * ((size + 3) * unit * magnitude + last);
    const double result = value_of(dtype, got);
    if (fabs(result - expected) <= bound)
        return NULL;
    snprintf(text, sizeof text, "%.17g, expected %.17g, bound %.3g", result, expected, bound);
    return text;
}

#endif
