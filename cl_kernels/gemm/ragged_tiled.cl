/*
 * Ragged product for GPUs: a work-group computes a block of MB x NB elements of d, whose rows
 * belong to one group. Blocks are counted from each group's first row, which gives at most m / MB +
 * groups blocks of rows; work-groups past the last block do nothing.
 *
 * Local size {NB / NR, MB / MR}; global size {ceil(n / NB), m / MB + min(groups, m)} work-groups.
 * Macros: see gemm/tiled_block.clh.
 */
#include "gemm/ragged.clh"
#include "gemm/tiled_block.clh"

TENON_KERNEL TILED_GROUP void gemm_ragged_tiled(__global const data_t *a, __global const data_t *b,
                                                __global const data_t *c,
                                                __global const data_t *bias, __global data_t *d,
                                                __global const int *offsets, ragged_args args)
{
    __local TILE_MEMORY(area, BLOCK_AREA);
    acc_t sum[TENON_MR][TENON_NR];
    const int item = local_item();
    long block = (long)get_group_id(1);
    segment s = next_segment(offsets, &args, -1, 0, args.gemm.m);
    while (s.row < s.end) {
        long blocks = (s.end - s.row + TENON_MB - 1) / TENON_MB;
        if (block < blocks) {
            break;
        }
        block -= blocks;
        s = next_segment(offsets, &args, s.group, s.end, args.gemm.m);
    }
    /* A work-group without a block has no steps of K, and stores no rows. */
    long group = max(s.group, 0L), k_end = s.row < s.end ? depth_at(&args.gemm, group) : 0;
    const long m0 = s.row + block * TENON_MB, n0 = (long)get_group_id(0) * TENON_NB;
    multiply_block(&args.gemm, a + args.gemm.a_offset, b + GEMM_START(args.gemm, b, group), m0,
                   s.end, n0, k_end, item, area, sum);
    const gemm_epilogue e = make_epilogue(c, bias, d, &args.gemm, group);
    store_block(&e, &args.gemm, m0, s.end, n0, item, sum, area);
}
