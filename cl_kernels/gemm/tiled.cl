/* GEMM for GPUs: a work-group computes a block of MB x NB elements of d. Any strides.
 *
 * Local size {NB / NR, MB / MR, 1}; global size {ceil(n / NB), ceil(m / MB), batch} work-groups.
 * Macros: see gemm/tiled_block.clh.
 */
#include "gemm/tiled_block.clh"

__kernel __attribute__((reqd_work_group_size(ITEMS_N, ITEMS_M, 1))) void
gemm_tiled(__global const data_t *a, __global const data_t *b, __global const data_t *c,
           __global const data_t *bias, __global out_t *d, gemm_args args)
{
    __local TILE_MEMORY(area, BLOCK_AREA);
    const long z = (long)get_global_id(2);
    const block_place block = place_of_group();
    gemm_epilogue e = make_epilogue(c, bias, d, &args, z);
    multiply_block(&args, &e, a + GEMM_START(args, a, z), b + GEMM_START(args, b, z),
                   block.row * TENON_MB, args.m, block.col * TENON_NB, depth_at(&args, z), area);
}
