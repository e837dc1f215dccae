/*
 * Tries Intel's matrix multiply-accumulate on f16, of 8 rows and depth 16: a product of ones is 16
 * everywhere. SUB_GROUP: 16 (Xe-HPC) or 8 (Xe-HPG).
 */
#include "capability/args.h"
#ifndef SUB_GROUP
#define SUB_GROUP 16
#endif
#pragma OPENCL EXTENSION cl_intel_subgroups : enable
#if SUB_GROUP == 16
float8 intel_sub_group_f16_f16_matrix_mad_k16(short8 a, int8 b, float8 acc);
typedef short8 a_fragment;
#define A_ONE ((short8)(short)0x3c00)
#else
float8 intel_sub_group_f16_f16_matrix_mad_k16(int8 a, int8 b, float8 acc);
typedef int8 a_fragment;
#define A_ONE ((int8)0x3c003c00)
#endif

__attribute__((intel_reqd_sub_group_size(SUB_GROUP))) __kernel void trial(__global int *result,
                                                                          const trial_args args)
{
    a_fragment a = A_ONE;
    int8 b = (int8)(0x3c003c00 * args.one);
    float8 d = intel_sub_group_f16_f16_matrix_mad_k16(a, b, (float8)(0.0f));
    result[get_global_id(0)] = all(d == (float8)(16.0f));
}
