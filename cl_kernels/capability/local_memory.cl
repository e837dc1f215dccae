/* Probe of TRIAL_BYTES of local memory per work-group, allocated by the method of
 * common/local.clh. Work-items fill all of it, and each reads what others have written. Local
 * size: any. */
#include "capability/args.h"
#include "common/local.clh"

#ifndef TRIAL_BYTES
#define TRIAL_BYTES 1024
#endif

__kernel void trial(__global int *result, const trial_args args LOCAL_PARAMETER)
{
    LOCAL_MEMORY(memory, TRIAL_BYTES);
    __local uint *words = (__local uint *)memory;
    const uint item = (uint)get_local_id(0), items = (uint)get_local_size(0);
    const uint factor = 2654435761u * (uint)args.one;
    int right = 1;
    for (uint i = item; i < TRIAL_BYTES / 4; i += items) {
        words[i] = i * factor;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = (item + 1) % items; i < TRIAL_BYTES / 4; i += items) {
        right &= words[i] == i * factor;
    }
    result[get_global_id(0)] = right;
}
