/* Probe of fma(): tests that it rounds once, and reports if the compiler declares it to be a
 * single instruction. If not, capability/fma_time.cl measures it. OpenCL's macro for this is
 * FP_FAST_FMAF; CPU compilers define the macros of the processor instead, and NVIDIA's compiler
 * none: its fma() is PTX's fma.rn.f32, an instruction since sm_20 (PTX ISA, "fma"). */
#include "capability/args.h"
#pragma OPENCL FP_CONTRACT OFF

#if defined(FP_FAST_FMAF) || defined(__FMA__) || defined(__ARM_FEATURE_FMA) ||                     \
    defined(__NV_CL_C_VERSION)
#define FMA_ANSWER TRIAL_TOLD
#else
#define FMA_ANSWER TRIAL_RIGHT
#endif

__kernel void trial(__global int *result, const trial_args args)
{
    float one = (float)args.one, x = one + 1.0f / 4096.0f;
    /* x·x - (1 + 2^-11) is exactly 2^-24, which is lost if the product is rounded. */
    bool right = fma(x, x, -(one + 1.0f / 2048.0f)) == 1.0f / 16777216.0f;
    result[get_global_id(0)] = right ? FMA_ANSWER : TRIAL_WRONG;
}
