/*
 * GEMM for CPUs that reads b without packing it, for so few rows that packing would not pay off. It
 * shares the macros of gemm/cpu_packed.cl and differs from it in two ways:
 *
 * - The stride of b along n must be one, and n must be at least NR = VW * NV.
 * - For a block of K each panel is completed before the next one: a packed block of a serves all
 *   panels.
 *
 * Global size: {ceil(n / (NTP * NR)), ceil(m / tile_rows), batch}, local size {1, 1, 1}.
 */
#include "gemm/cpu_defaults.clh"

#define TILE_B            __global const data_t *
#define TILE_LOAD_B(b, i) load_data_v(b, i)
#define TILE_B_IS_GLOBAL
#include "gemm/cpu_tile.clh"
#include "gemm/cpu_pack.clh"

TENON_VECTOR_KERNEL __attribute__((reqd_work_group_size(1, 1, 1))) void
gemm_cpu_direct(__global const data_t *a, __global const data_t *b, __global const data_t *c,
                __global const data_t *bias, __global out_t *d, GEMM_POST_POINTERS gemm_args args)
{
    __local acc_t packed_a[TENON_PACKED_A_SIZE];
    __local acc_t sums[TENON_SUMS_SIZE];
    acc_v tile[TENON_MR * TENON_NV + 1]; /* a partial panel reads past its last row */

    long z = get_global_id(2), k_end = depth_at(&args, z);
    long n0 = get_global_id(0) * (TENON_NTP * TENON_NR), m0 = get_global_id(1) * args.tile_rows;
    long m1 = min(args.m, m0 + args.tile_rows);
    long n1 = min(args.n, n0 + TENON_NTP * TENON_NR);
    const long a_row = row_of_a(&args);
    int block = block_length(k_end);

    gemm_epilogue e = MAKE_EPILOGUE(&args, z);
    a += GEMM_START(args, a, z);
    b += GEMM_START(args, b, z);

    long k0 = 0;
    do {
        int kc = (int)min((long)block, k_end - k0);
        int pass = (k0 == 0 ? TENON_PASS_FIRST : 0) | (k0 + kc == k_end ? TENON_PASS_LAST : 0);
        const int finished = finished_pass(&e, pass);
        for (long mb = m0; mb < m1; mb += TENON_MB) {
            long mb1 = min(m1, mb + TENON_MB);
            tile_a first = block_of_a(&args, a, packed_a, mb, (int)(mb1 - mb), k0, kc, k_end);
            for (long n = n0; n < n1; n += TENON_NR) {
                /* The last panel of a matrix, or the last vectors of a narrow one, are moved left
                 * until they are complete. Nothing past b is read, and the store skips the columns
                 * that have been computed before. */
                const int cols = (int)min((long)TENON_NR, args.n - n);
                const bool is_narrow = cols <= TENON_NARROW;
                const int skip =
                    is_narrow ? (TENON_VW - cols % TENON_VW) % TENON_VW : TENON_NR - cols;
                __global const data_t *panel = b + k0 * args.b_row + (n - skip);
                tile_a at = first;
                for (long m = mb; m < mb1;) {
                    int rows = tile_height(mb1 - m);
                    __local acc_t *waiting = TENON_SUMS_AT(sums, m - m0, n - n0);
                    tile_place to = place_of(&e, m, n, rows, cols, finished, waiting);
                    if (is_narrow) {
                        multiply_narrow(rows, at, a_row, panel, args.b_row, kc, skip + cols, tile);
                    } else {
                        multiply_tile(rows, at, a_row, panel, args.b_row, kc, &to, tile);
                    }
                    tile[rows * TENON_NV] = splat(0);
                    complete_tile(&to, rows, skip, cols, pass, waiting, tile);
                    m += rows;
                    at = next_tile(at, rows, a_row);
                }
            }
        }
        k0 += kc;
    } while (k0 < k_end);
}
