/* A division of 64 bits that takes few registers: included by C11 and by OpenCL C.
 *
 * A turn estimates the quotient of what is left in f32, 20 bits of it at least, rounded towards
 * zero, so that what is left is at most 2^-20 of what it was and one b more. After four turns it
 * lies between -(1 + 2^-20) b and (1 + 2^-20) b, which the last line mends. */
#ifndef TENON_COMMON_DIVIDE_H
#define TENON_COMMON_DIVIDE_H

#include "common/args.h"

/* a / b, of a not negative and b above 0, both below 2^62. */
static inline tenon_i64 divide_by_turns(tenon_i64 a, tenon_i64 b)
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
