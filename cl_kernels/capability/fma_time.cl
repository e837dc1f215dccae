/* Timing of fma(), if the compiler does not declare it to be fast. An emulated fma() takes tens
 * of times as long as a multiplication and an addition. */
#include "capability/args.h"
#pragma OPENCL FP_CONTRACT OFF

__kernel void time_fma(__global int *result, const trial_args args)
{
    float x = (float)args.one, y = x;
    for (int i = 0; i < args.iterations; i++) {
        x = fma(x, 0.5f, 0.25f);
        y = fma(y, 0.25f, 0.5f);
    }
    result[get_global_id(0)] = x + y < 4.0f;
}

__kernel void time_mul_add(__global int *result, const trial_args args)
{
    float x = (float)args.one, y = x;
    for (int i = 0; i < args.iterations; i++) {
        x = x * 0.5f + 0.25f;
        y = y * 0.25f + 0.5f;
    }
    result[get_global_id(0)] = x + y < 4.0f;
}
