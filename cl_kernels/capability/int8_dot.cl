/* Probe of a dot product of four signed bytes as one operation. DIALECT 0: the OpenCL extension;
 * 1: inline PTX. */
#include "capability/args.h"
#ifndef DIALECT
#define DIALECT 0
#endif
#if DIALECT == 0
#pragma OPENCL EXTENSION cl_khr_integer_dot_product : enable
#endif

__kernel void trial(__global int *result, const trial_args args)
{
    /* (1, -2, 3, -4) · (1, 1, 1, 1) */
    uint a = 0xfc03fe00u | (uint)args.one, b = 0x01010100u | (uint)args.one;
    int sum;
#if DIALECT == 0
    sum = dot_4x8packed_ss_int(a, b);
#else
    __asm__ volatile("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(sum) : "r"(a), "r"(b), "r"(0));
#endif
    result[get_global_id(0)] = sum == -2;
}
