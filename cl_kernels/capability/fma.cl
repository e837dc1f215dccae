/*
 * Tries fma(): whether it rounds once, and whether the compiler says that it is an instruction,
 * which else has to be measured (capability/fma_time.cl). OpenCL's macro for that is FP_FAST_FMAF;
 * compilers for CPUs have those of the processor instead.
 */
#include "capability/args.h"
#pragma OPENCL FP_CONTRACT OFF

#if defined(FP_FAST_FMAF) || defined(__FMA__) || defined(__ARM_FEATURE_FMA)
#define FMA_ANSWER TRIAL_TOLD
#else
#define FMA_ANSWER TRIAL_RIGHT
#endif

__kernel void trial(__global int *result, const trial_args args)
{
    float one = (float)args.one, x = one + 1.0f / 4096.0f;
    /* x·x - (1 + 2^-11) is 2^-24 exactly, which a rounded product loses. */
    bool right = fma(x, x, -(one + 1.0f / 2048.0f)) == 1.0f / 16777216.0f;
    result[get_global_id(0)] = right ? FMA_ANSWER : TRIAL_WRONG;
}
