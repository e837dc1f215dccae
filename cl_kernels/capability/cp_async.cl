/* Probe of cp.async by inline PTX: asynchronous copies of 16 bytes to local memory, and of zero
 * bytes, which write zeros. Local size: 32. */
#include "capability/args.h"
#include "common/types.clh"

TENON_INLINE void copy(__local int *to, __global const int *from, int bytes)
{
    __asm__ volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                     :
                     : "r"((uint)(size_t)to), "l"(from), "r"(bytes)
                     : "memory");
}

__kernel void trial(__global int *result, const trial_args args)
{
    __local int tile[64] __attribute__((aligned(16)));
    const int item = (int)get_local_id(0);
    result[item] = 3 * item + args.one;
    tile[item] = tile[item + 32] = -args.one;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    if (item < 16) {
        copy(tile + 4 * item, result + 4 * (item & 7), item < 8 ? 16 : 0);
    }
    __asm__ volatile("cp.async.commit_group;" ::: "memory");
    __asm__ volatile("cp.async.wait_group 0;" ::: "memory");
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    result[item] = tile[item] == 3 * item + args.one && tile[item + 32] == 0;
}
