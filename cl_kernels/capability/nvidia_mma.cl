/*
 * Tries mma.sync.m16n8k16 with f16 inputs and f32 sums, on one warp. A is all ones and column n of
 * B is n + 1, so that column n of the product is 16 (n + 1). In the fragments of the PTX ISA, lane
 * l holds column l / 4 of B, and columns 2 (l % 4) and 2 (l % 4) + 1 of the product in rows l / 4
 * and l / 4 + 8.
 */
#include "capability/args.h"

__constant uint half_of[8] = {0x3c00, 0x4000, 0x4200, 0x4400, 0x4500, 0x4600, 0x4700, 0x4800};

__kernel void trial(__global int *result, const trial_args args)
{
    uint lane = (uint)get_local_id(0) & 31;
    uint ones = 0x3c003c00u * (uint)args.one, column = half_of[lane >> 2] * 0x00010001u;
    float d0, d1, d2, d3, zero = 0.0f;
    __asm__ volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                     "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};"
                     : "=f"(d0), "=f"(d1), "=f"(d2), "=f"(d3)
                     : "r"(ones), "r"(ones), "r"(ones), "r"(ones), "r"(column), "r"(column),
                       "f"(zero), "f"(zero), "f"(zero), "f"(zero));
    float first = 16.0f * (float)(2 * (lane & 3) + 1), second = first + 16.0f;
    result[get_global_id(0)] = d0 == first && d1 == second && d2 == first && d3 == second;
}
