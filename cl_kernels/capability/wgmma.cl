/* Tries wgmma.m64n8k16 with f16 inputs by inline PTX, which sm_90a alone assembles: A, from
 * registers, is all ones, and column n of B, in local memory, is n + 1, so that column n of the
 * product is 16 (n + 1). Local size: 128.
 *
 * The descriptor of B says where it is, in units of 16 bytes (PTX ISA, "Matrix descriptor format"):
 * it is two squares of 8 columns of 16 bytes along K, 128 bytes apart, without swizzling.
 */
#include "capability/args.h"
#include "matrix/layout.h"

__constant ushort half_of[8] = {0x3c00, 0x4000, 0x4200, 0x4400, 0x4500, 0x4600, 0x4700, 0x4800};

__kernel void trial(__global int *result, const trial_args args)
{
    __local ushort b[128] __attribute__((aligned(128)));
    const int item = (int)get_local_id(0);
    const uint ones = 0x3c003c00u * (uint)args.one;
    float d[4] = {0, 0, 0, 0};
    b[item] = half_of[item / 8 % 8];
    __asm__ volatile("fence.proxy.async;" ::: "memory");
    barrier(CLK_LOCAL_MEM_FENCE);
    const ulong descriptor = ((ulong)(size_t)b >> 4 & 0x3fff) | 8ul << 16 | 16ul << 32;
    /* The sums are operands: what sets them must stand before the fence. */
    __asm__ volatile("wgmma.fence.sync.aligned;"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])::"memory");
    __asm__ volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 "
                     "{%0, %1, %2, %3}, {%4, %4, %4, %4}, %5, 1, 1, 1, 0;"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                     : "r"(ones), "l"(descriptor));
    __asm__ volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    __asm__ volatile("wgmma.wait_group.sync.aligned 0;"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])::"memory");
    int right = 1;
    for (int i = 0; i < 4; i++) {
        right &= d[i] == 16.0f * (float)(matrix_wgmma_d_col(item, i) + 1);
    }
    result[get_global_id(0)] = right;
}
