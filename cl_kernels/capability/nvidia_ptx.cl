/* Probe of inline PTX: reads the lane index. */
#include "capability/args.h"

__kernel void trial(__global int *result, const trial_args args)
{
    uint lane;
    __asm__ volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
    result[get_global_id(0)] = lane == (get_local_id(0) & 31) ? args.one : 0;
}
