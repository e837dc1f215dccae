/* GEMM for GPUs: a work-group computes a block of MB x NB elements of d, going through K in steps of
 * KB that it brings into local memory; each work-item keeps MR x NR sums in registers. Any strides.
 *
 * Local size {NB / NR, MB / MR, 1}; global size {ceil(n / NB), ceil(m / MB), batch} work-groups.
 *
 * TENON_MB, TENON_NB, TENON_KB, TENON_MR, TENON_NR: see gemm/tiled.clh.
 * TENON_DTYPE, TENON_HW_FMA, TENON_ACT_BUILD: see common/types.clh and common/activation.clh.
 *
 * An element is one chain of multiply-adds in the order of k, as in gemm/plain.cl: its bits depend
 * on neither M, N nor the block.
 */
#include "gemm/tiled.clh"

__kernel __attribute__((reqd_work_group_size(ITEMS_N, ITEMS_M, 1))) void
gemm_tiled(__global const data_t *a, __global const data_t *b, __global const data_t *c,
           __global const data_t *bias, __global data_t *d, gemm_args args)
{
    __local acc_t tile_a[TENON_KB * PITCH_A], tile_b[TENON_KB * PITCH_B];
    acc_t sum[TENON_MR][TENON_NR];
    const int col = (int)get_local_id(0), row = (int)get_local_id(1), item = row * ITEMS_N + col;
    const long n0 = (long)get_group_id(0) * TENON_NB, m0 = (long)get_group_id(1) * TENON_MB;
    const long z = (long)get_global_id(2), k_end = GEMM_K(args);

    gemm_epilogue e = make_epilogue(c, bias, d, &args, z);
    a += GEMM_START(args, a, z) + m0 * args.a_row;
    b += GEMM_START(args, b, z) + n0 * args.b_col;
    clear_sums(sum);
    for (long k = 0; k < k_end; k += TENON_KB) {
        load_tile(tile_a, a + k * args.a_col, item, TENON_MB, PITCH_A, args.a_row, args.a_col,
                  args.m - m0, k_end - k);
        load_tile(tile_b, b + k * args.b_row, item, TENON_NB, PITCH_B, args.b_col, args.b_row,
                  args.n - n0, k_end - k);
        barrier(CLK_LOCAL_MEM_FENCE);
        multiply(sum, tile_a, tile_b, row, col);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    store_block(&e, &args, m0, n0, row, col, sum);
}
