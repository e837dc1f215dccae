/* Probe of half-precision arithmetic. Some drivers support it without reporting it. */
#include "capability/args.h"
#ifdef cl_khr_fp16
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#endif

__kernel void trial(__global int *result, const trial_args args)
{
    half x = (half)(float)(args.one + 2);
    half y = x * x + (half)0.5f;
    /* 2048 + 1 is a tie in half and rounds to 2048; in any wider type it is 2049. */
    half big = (half)(float)(args.one * 2048);
    half sum = big + (half)(float)args.one;
    result[get_global_id(0)] = (float)y == 9.5f && (float)sum == 2048.0f;
}
