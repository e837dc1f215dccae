/* Tries double-precision arithmetic: a sum that f32 would round away. */
#include "capability/args.h"
#pragma OPENCL EXTENSION cl_khr_fp64 : enable

__kernel void trial(__global int *result, const trial_args args)
{
    double one = (double)args.one, tiny = one / 1099511627776.0;
    double sum = one + tiny;
    result[get_global_id(0)] = (sum - one) * 1099511627776.0 == 1.0 && fma(one, tiny, one) == sum;
}
