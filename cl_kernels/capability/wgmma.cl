/*
 * Probe of wgmma.m64n8k16 with f16 inputs by inline PTX, which only sm_90a assembles. A, in
 * registers, is all ones. Column n of B, in local memory, is n + 1, so column n of the product is
 * 16 (n + 1). Local size: 128.
 *
 * B has the same layout as the kernels' blocks (matrix/layout.h): columns of 128 bytes along K,
 * with swizzled vectors. The product uses steps 16 to 31; all other steps are zero.
 */
#include "capability/args.h"
#include "common/ptx.clh"
#include "matrix/layout.h"

#define ROW_BYTES 128
#define COLUMNS   8
#define STEPS     64
#define FIRST     16
#define DEPTH     16

__constant ushort half_of[COLUMNS] = {0x3c00, 0x4000, 0x4200, 0x4400,
                                      0x4500, 0x4600, 0x4700, 0x4800};

__kernel void trial(__global int *result, const trial_args args)
{
    __local ushort b[COLUMNS * STEPS] __attribute__((aligned(1024)));
    const int item = (int)get_local_id(0);
    uint ones = 0x3c003c00u * (uint)args.one;
    float d[4] = {0, 0, 0, 0};
    for (int i = item; i < COLUMNS * STEPS; i += (int)get_local_size(0)) {
        const int column = i / STEPS, step = i % STEPS;
        b[matrix_wgmma_swizzled(ROW_BYTES, column * ROW_BYTES + 2 * step) / 2] =
            step / DEPTH == FIRST / DEPTH ? half_of[column] : 0;
    }
    __asm__ volatile(PTX_LATER "fence.proxy.async;" ::: "memory");
    barrier(CLK_LOCAL_MEM_FENCE);
    const int start = matrix_wgmma_from(1, ROW_BYTES, COLUMNS, 0, FIRST, 2);
    const ulong descriptor = matrix_wgmma_low((uint)(size_t)b + (uint)start,
                                              matrix_wgmma_leading(1, ROW_BYTES, COLUMNS)) |
                             (ulong)matrix_wgmma_high(matrix_wgmma_stride(ROW_BYTES), ROW_BYTES)
                                 << 32;
    /* Prevents the compiler from initializing registers of the product after the fence. */
    __asm__ volatile("" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+r"(ones)::"memory");
    __asm__ volatile(PTX_LATER "wgmma.fence.sync.aligned;" ::: "memory");
    __asm__ volatile(PTX_LATER "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 "
                               "{%0, %1, %2, %3}, {%4, %4, %4, %4}, %5, 1, 1, 1, 0;"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                     : "r"(ones), "l"(descriptor));
    __asm__ volatile(PTX_LATER "wgmma.commit_group.sync.aligned;" ::: "memory");
    __asm__ volatile(PTX_LATER "wgmma.wait_group.sync.aligned 0;"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])::"memory");
    int right = 1;
    for (int i = 0; i < 4; i++) {
        right &= d[i] == 16.0f * (float)(matrix_wgmma_d_col(item, i) + 1);
    }
    result[get_global_id(0)] = right;
}
