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

#define TILE_B            __local const acc_v *
#define TILE_LOAD_B(b, i) ((b)[(i) / TENON_VW])
#include "gemm/cpu_tile.clh"
#include "gemm/cpu_pack.clh"

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
gemm_cpu_packed(__global const data_t *a, __global const data_t *b, __global const data_t *c,
                __global const data_t *bias, __global out_t *d, gemm_args args)
{
    __local acc_v packed_b[TENON_NTP * TENON_KC * TENON_NV];
#if TENON_A_LAYOUT != TENON_UNIT_K
    __local acc_t packed_a[TENON_PACKED_A_SIZE];
    long a_end = GEMM_SPAN(args.m, args.a_row, depth_at(&args, get_global_id(2)), args.a_col);
#endif
    __local acc_t sums[TENON_SUMS_SIZE];
    acc_v tile[TENON_MR * TENON_NV];

    long z = get_global_id(2), k_end = depth_at(&args, z);
    long n0 = get_global_id(0) * (TENON_NTP * TENON_NR), m0 = get_global_id(1) * args.tile_rows;
    long m1 = min(args.m, m0 + args.tile_rows);
    int cols = (int)min((long)(TENON_NTP * TENON_NR), args.n - n0);
    long b_end = GEMM_SPAN(k_end, args.b_row, args.n, args.b_col);
    int block = block_length(k_end);

    gemm_epilogue e = make_epilogue(c, bias, d, &args, z);
    a += GEMM_START(args, a, z);
    b += GEMM_START(args, b, z);

    long k0 = 0;
    do {
        int kc = (int)min((long)block, k_end - k0);
        int pass = (k0 == 0 ? TENON_PASS_FIRST : 0) | (k0 + kc == k_end ? TENON_PASS_LAST : 0);
        pack_b(packed_b, b, k0 * args.b_row + n0 * args.b_col, args.b_row, args.b_col, cols, kc,
               b_end);
        for (long mb = m0; mb < m1; mb += TENON_MB) {
            long mb1 = min(m1, mb + TENON_MB);
#if TENON_A_LAYOUT == TENON_UNIT_K
            tile_a at = a + mb * args.a_row + k0;
#else
            tile_a at = packed_a;
            pack_a(packed_a, a, mb * args.a_row + k0 * args.a_col, args.a_row, args.a_col,
                   (int)(mb1 - mb), kc, a_end);
#endif
            for (long m = mb; m < mb1;) {
                int rows = tile_height(mb1 - m);
                for (int s = 0; s < cols; s += TENON_NR) {
                    multiply_tile(rows, at, args.a_row, packed_b + s / TENON_VW * TENON_KC,
                                  TENON_NR, kc, tile);
                    store_tile(&e, m, n0 + s, rows, 0, min(TENON_NR, cols - s), pass,
                               TENON_SUMS_AT(sums, m - m0, s), tile);
                }
                m += rows;
                at = next_tile(at, rows, args.a_row);
            }
        }
        k0 += kc;
    } while (k0 < k_end);
}
