/* Tries half-precision arithmetic. Some drivers have it without saying so. */
#include "capability/args.h"
#ifdef cl_khr_fp16
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#endif

__kernel void trial(__global int *result, const trial_args args)
{
    half x = (half)(float)(args.one + 2);
    half y = x * x + (half)0.5f;
    /* 2048 + 1 ties to 2048 in half, and is 2049 in anything wider. */
    half big = (half)(float)(args.one * 2048);
    half sum = big + (half)(float)args.one;
    result[get_global_id(0)] = (float)y == 9.5f && (float)sum == 2048.0f;
}
