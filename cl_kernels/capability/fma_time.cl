/*
 * Times fma() where the compiler does not say what it is. Emulated, it takes tens of times as long
 * as a multiply and an add.
 */
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
