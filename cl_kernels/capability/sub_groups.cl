/* Probe of sub-groups of any size: a broadcast and a sum. */
#include "capability/args.h"
#ifdef cl_khr_subgroups
#pragma OPENCL EXTENSION cl_khr_subgroups : enable
#endif
#ifdef cl_intel_subgroups
#pragma OPENCL EXTENSION cl_intel_subgroups : enable
#endif

__kernel void trial(__global int *result, const trial_args args)
{
    int lane = (int)get_sub_group_local_id(), size = (int)get_sub_group_size();
    int first = sub_group_broadcast(lane + args.one, 0u);
    int sum = sub_group_reduce_add(args.one);
    result[get_global_id(0)] = first == 1 && sum == size && lane < size && size > 1;
}
