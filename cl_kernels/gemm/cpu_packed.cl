/* GEMM for CPUs: a work-item owns TENON_NTP panels of TENON_NR columns by args.tile_rows rows of d.
 * It goes through K in blocks, copies its block of b into __local, and runs the register tile over
 * it: the block stays in L2, a tile's rows of a in L1.
 *
 * Global size: {ceil(n / (NTP * NR)), ceil(m / tile_rows), batch}, local size {1, 1, 1}, where NR is
 * VW * NV. Any strides.
 *
 * Macros: those of gemm/cpu_tile.clh and gemm/cpu_pack.clh (TENON_VW, TENON_MR, TENON_NV, TENON_KC,
 * TENON_MB, TENON_A_LAYOUT, TENON_B_LAYOUT), and TENON_NTP, the panels of a work-item.
 */
#include "gemm/cpu_defaults.clh"

#include "gemm/cpu_block.clh"

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
gemm_cpu_packed(__global const data_t *a, __global const data_t *b, __global const data_t *c,
                __global const data_t *bias, __global data_t *d, gemm_args args)
{
    __local acc_v packed_b[TENON_NTP * TENON_KC * TENON_NV];
    __local acc_t packed_a[TENON_PACKED_A_SIZE];
    __local acc_t sums[TENON_SUMS_SIZE];
    acc_v tile[TENON_MR * TENON_NV];

    const long z = get_global_id(2), k_end = GEMM_K(args);
    const long b_end = GEMM_SPAN(args.k, args.b_row, args.n, args.b_col);
    const int length = block_length(k_end);
    gemm_epilogue e = make_epilogue(c, bias, d, &args, z);
    cpu_block block = make_block(&args);
    a += GEMM_START(args, a, z);
    b += GEMM_START(args, b, z);
    do {
        block.kc = (int)min((long)length, k_end - block.k0);
        pack_b(packed_b, b, block.k0 * args.b_row + block.n0 * args.b_col, args.b_row, args.b_col,
               block.cols, block.kc, b_end);
        multiply_block(&args, &e, a, &block, k_end, packed_a, packed_b, sums, tile);
        block.k0 += block.kc;
    } while (block.k0 < k_end);
}
