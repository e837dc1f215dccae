/*
 * A 64-bit division that uses few registers. Included by C11 and by OpenCL C.
 *
 * Each iteration estimates the quotient of the remainder in f32, with at least 20 correct bits,
 * rounded toward zero. The remainder shrinks to at most 2^-20 of its value plus one b. After four
 * iterations it is between -(1 + 2^-20) b and (1 + 2^-20) b, and the last line corrects the
 * quotient.
 */
#ifndef TENON_COMMON_DIVIDE_H
#define TENON_COMMON_DIVIDE_H

#include "common/args.h"

/* Returns a / b for a ≥ 0 and b > 0, both below 2^62. */
static inline tenon_i64 divide_iteratively(tenon_i64 a, tenon_i64 b)
{
    const float inverse = 1.0f / (float)b;
    tenon_i64 quotient = 0, left = a;
#if defined(__OPENCL_VERSION__) || defined(__OPENCL_C_VERSION__)
#pragma unroll 1
#endif
    for (int turn = 0; turn < 4; turn++) {
        quotient += (tenon_i64)((float)left * inverse);
        left = a - quotient * b;
    }
    return quotient + (left >= b) - (left < 0) - (left < -b);
}

#endif
