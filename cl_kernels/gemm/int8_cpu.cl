/*
 * Product of i8 or u8 for CPUs: uses the blocks and the register tile of gemm/cpu_packed.cl on
 * floats that hold integers. A float represents integers up to 2^24 exactly: the sums of a block
 * are exact in any order if the block has at most args.gemm.k_chunk products. They are then added
 * to i32 sums in local memory.
 *
 * Global size: {ceil(n / (NTP * NR)), ceil(m / tile_rows), batch}, local size {1, 1, 1}, where NR
 * is VW * NV, and tile_rows is at most 32 * MR. Any strides.
 *
 * Macros: those of gemm/cpu_tile.clh and gemm/cpu_pack.clh, with TENON_KC a multiple of 4;
 * TENON_NTP, the panels per work-item. TENON_DTYPE and others: see gemm/int8.clh.
 */
#define TENON_A_LAYOUT 4 /* TENON_LOCAL_K */
#include "gemm/cpu_defaults.clh"

#define TILE_B            __local const acc_v *
#define TILE_LOAD_B(b, i) ((b)[(i) / TENON_VW])
#include "common/transpose.clh"
#include "gemm/cpu_tile.clh"
#include "gemm/cpu_pack.clh"
#include "gemm/int8.clh"

#define ROWS (INT8_SUM_TILES * TENON_MR) /* maximum per work-group */

/* Packs rows x kc of a, from element `at` on, as rows of TENON_KC. The first row is row m of the
 * matrix. */
TENON_LOCAL_FUNCTION void pack_rows(__local acc_t *out, __global const uchar *a,
                                    __global const uchar *zero, const int8_args *args, long m,
                                    long at, int rows, int kc)
{
    const long row = args->gemm.a_row, col = args->gemm.a_col;
    for (int r = 0; r < rows; r++) {
        const int za = zero_point(zero, args, INT8_ZERO_A, m + r, 0, args->a_sign);
        int k = 0;
        if (col == 1) {
            for (; k + TENON_VW <= kc; k += TENON_VW) {
                int_v x = byte_values(TENON_VLOAD(0, a + at + r * row + k), args->a_sign);
                TENON_VSTORE(TENON_TO_ACC_V(x - (int_v)(za)), 0, out + r * TENON_KC + k);
            }
        }
        for (; k < kc; k++) {
            out[r * TENON_KC + k] = byte_value(a[at + r * row + k * col], args->a_sign) - za;
        }
    }
}

/* Packs VW columns of b by kc steps; each column is contiguous. */
TENON_INLINE void pack_bytes_along_k(__local acc_v *to, __global const uchar *b, long at,
                                     long b_col, int cols, int kc, int sign, acc_v zb)
{
    for (int k = 0; k < kc; k += TENON_VW) {
        acc_v x[TENON_VW];
        for (int l = 0; l < TENON_VW; l++) {
            x[l] = l < cols ? TENON_TO_ACC_V(
                                  byte_values(load_bytes(b, at + l * b_col + k, 1, kc - k), sign))
                            : splat(0);
        }
        transpose_square(x);
        for (int l = 0; l < min(TENON_VW, kc - k); l++) {
            to[(k + l) * TENON_NV] = x[l] - zb;
        }
    }
}

/* Packs kc x cols of b, from element `at` on, as panels of [k][NR]. The first column is column n
 * of the matrix. Vectors past the last column are zero: arbitrary values might be denormals,
 * which are slow. */
TENON_LOCAL_FUNCTION void pack_panels(__local acc_v *out, __global const uchar *b,
                                      __global const uchar *zero, const int8_args *args, long n,
                                      long at, int cols, int kc)
{
    const long row = args->gemm.b_row, col = args->gemm.b_col;
    for (int s = 0; s < (cols + TENON_NR - 1) / TENON_NR * TENON_NR; s += TENON_VW) {
        __local acc_v *to = out + s / TENON_NR * (TENON_KC * TENON_NV) + s % TENON_NR / TENON_VW;
        const long first = at + s * col;
        if (s >= cols) {
            for (int k = 0; k < kc; k++) {
                to[k * TENON_NV] = splat(0);
            }
            continue;
        }
        acc_v zb =
            TENON_TO_ACC_V(zero_points(zero, args, INT8_ZERO_B, 0, n + s, cols - s, args->b_sign));
        if (row == 1 && col != 1) {
            pack_bytes_along_k(to, b, first, col, cols - s, kc, args->b_sign, zb);
            continue;
        }
        for (int k = 0; k < kc; k++) {
            int_v x = byte_values(load_bytes(b, first + k * row, col, cols - s), args->b_sign);
            to[k * TENON_NV] = TENON_TO_ACC_V(x) - zb;
        }
    }
}

/* Returns the length of K blocks, which are equal as in block_length(). Multiples of 4 keep all
 * but the last block aligned. */
TENON_INLINE int exact_block(const int8_args *args, long k)
{
    long most = min((long)TENON_KC, args->gemm.k_chunk), blocks = (k + most - 1) / most;
    return blocks ? (int)(((k + blocks - 1) / blocks + 3) / 4 * 4) : TENON_KC;
}

/* Adds a tile of a block to the sums, or initializes them with it. */
TENON_INLINE void add_tile(__local uint *sums, const acc_v *tile, int rows, bool first)
{
    for (int i = 0; i < rows; i++) {
#pragma nounroll
        for (int v = 0; v < TENON_NV; v++) {
            __local uint *to = sums + i * TENON_SUM_COLS + v * TENON_VW;
            uint_v x = TENON_CAT(as_uint, TENON_VW)(TENON_TO_INT_V(tile[i * TENON_NV + v]));
            TENON_VSTORE(first ? x : x + TENON_VLOAD(0, to), 0, to);
        }
    }
}

TENON_VECTOR_KERNEL __attribute__((reqd_work_group_size(1, 1, 1))) void
gemm_int8_cpu(INT8_POINTERS, int8_args args)
{
    __local acc_v packed_b[TENON_NTP * TENON_KC * TENON_NV];
    __local acc_t packed_a[TENON_MB * TENON_KC];
    __local uint sums[ROWS * TENON_SUM_COLS];
    acc_v tile[TENON_MR * TENON_NV];

    long z = get_global_id(2), k_end = depth_at(&args.gemm, z);
    long n0 = get_global_id(0) * TENON_SUM_COLS, m0 = get_global_id(1) * args.gemm.tile_rows;
    long m1 = min(args.gemm.m, m0 + args.gemm.tile_rows);
    int cols = (int)min((long)TENON_SUM_COLS, args.gemm.n - n0), block = exact_block(&args, k_end);

    int8_epilogue e = MAKE_INT8_EPILOGUE(&args, z);
    a += GEMM_START(args.gemm, a, z);
    b += GEMM_START(args.gemm, b, z);

    long k0 = 0;
    do {
        int kc = (int)min((long)block, k_end - k0);
        pack_panels(packed_b, b, zero_b, &args, n0, k0 * args.gemm.b_row + n0 * args.gemm.b_col,
                    cols, kc);
        for (long mb = m0; mb < m1; mb += TENON_MB) {
            long mb1 = min(m1, mb + TENON_MB);
            tile_a at = packed_a;
            pack_rows(packed_a, a, zero_a, &args, mb, mb * args.gemm.a_row + k0 * args.gemm.a_col,
                      (int)(mb1 - mb), kc);
            for (long m = mb; m < mb1;) {
                int rows = tile_height(mb1 - m);
                for (int s = 0; s < cols; s += TENON_NR) {
                    multiply_tile(rows, at, TENON_KC, packed_b + s / TENON_VW * TENON_KC, TENON_NR,
                                  kc, 0, tile);
                    add_tile(sums + (m - m0) * TENON_SUM_COLS + s, tile, rows, k0 == 0);
                }
                m += rows;
                at = next_tile(at, rows, TENON_KC);
            }
        }
        k0 += kc;
    } while (k0 < k_end);
    for (long m = m0; m < m1; m++) {
        for (int s = 0; s < cols; s += TENON_VW) {
            int8_store_v(&e, &args, m, n0 + s, cols - s, 0,
                         TENON_VLOAD(0, sums + (m - m0) * TENON_SUM_COLS + s));
        }
    }
}
