/*
 * GEMM for GPUs: a work-group computes a block of MB x NB elements of d. Any strides.
 *
 * Local size {NB / NR, MB / MR, 1}; global size {ceil(n / NB), ceil(m / MB), batch} work-groups.
 * Macros: see gemm/tiled_block.clh.
 */
#include "gemm/tiled_block.clh"

TENON_KERNEL TILED_GROUP void gemm_tiled(__global const data_t *a, __global const data_t *b,
                                         __global const data_t *c, __global const data_t *bias,
                                         __global out_t *d, gemm_args args)
{
    __local TILE_MEMORY(area, BLOCK_AREA);
    acc_t sum[TENON_MR][TENON_NR];
    const long z = (long)get_global_id(2);
    const int item = local_item();
    const block_place block = place_of_group();
    const long m0 = block.row * TENON_MB, n0 = block.col * TENON_NB;
    multiply_block(&args, a + GEMM_START(args, a, z), b + GEMM_START(args, b, z), m0, args.m, n0,
                   depth_at(&args, z), item, area, sum);
    const gemm_epilogue e = make_epilogue(c, bias, d, &args, z);
    store_block(&e, &args, m0, args.m, n0, item, sum, area);
}
