/* GEMM for GPUs: a work-group computes a block of MB x NB elements of d. Any strides.
 *
 * Local size {NB / NR, MB / MR, 1}; global size {ceil(n / NB), ceil(m / MB), batch} work-groups.
 * Macros: see gemm/tiled.clh.
 */
#include "gemm/tiled.clh"

__kernel __attribute__((reqd_work_group_size(ITEMS_N, ITEMS_M, 1))) void
gemm_tiled(__global const data_t *a, __global const data_t *b, __global const data_t *c,
           __global const data_t *bias, __global out_t *d, gemm_args args)
{
    __local acc_t tile_a[TENON_KB * PITCH_A], tile_b[TENON_KB * PITCH_B];
    const long z = (long)get_global_id(2);
    gemm_epilogue e = make_epilogue(c, bias, d, &args, z);
    multiply_block(&args, &e, a + GEMM_START(args, a, z), b + GEMM_START(args, b, z),
                   (long)get_group_id(1) * TENON_MB, args.m, (long)get_group_id(0) * TENON_NB,
                   depth_at(&args, z), tile_a, tile_b);
}
