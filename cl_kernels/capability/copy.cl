/* Bandwidth measurement: copies memory. A work-item copies four vectors; accesses are coalesced. */
#include "capability/args.h"

__kernel void copy_vectors(__global const float4 *from, __global float4 *to, const trial_args args)
{
    const size_t group = get_local_size(0), at = get_group_id(0) * group * 4 + get_local_id(0);
    const float4 a = from[at], b = from[at + group], c = from[at + 2 * group],
                 d = from[at + 3 * group];
    if (args.one == 1) {
        to[at] = a;
        to[at + group] = b;
        to[at + 2 * group] = c;
        to[at + 3 * group] = d;
    }
}
