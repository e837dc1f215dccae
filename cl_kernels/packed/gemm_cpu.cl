/*
 * Product with a b that has been packed in panels (packed/args.h), for CPUs. A work-item computes
 * args.tile_rows rows by args.tile_cols columns of d, a multiple of the tile width. It reads the
 * panels in place, and copies the rows of a for a tile to __local memory, as acc_t: rows whose
 * distance is a power of two would share a few cache sets.
 *
 * Global size: {ceil(n / tile_cols), ceil(m / tile_rows), batch}, local size {1, 1, 1}. a, c, bias
 * and d may have any strides; b_batch counts elements of the panels.
 *
 * TENON_MR, TENON_NV: rows of a tile, and vectors per row.
 * TENON_PV: vectors per row of a panel; TENON_NV is this or twice this number.
 * TENON_KC: the maximum length of a block of K; a multiple of VW.
 * TENON_NTP: if d has a 16-bit type: the maximum number of neighboring tiles whose sums are in
 *   __local memory.
 * TENON_VW: lanes of a vector.
 *
 * TENON_DTYPE, TENON_HW_FMA, TENON_ACT_BUILD: see common/types.clh and common/activation.clh.
 *
 * An element of d is computed by the same chain of fused multiply-adds, in the order of k, in every
 * tile: its bits depend on K and TENON_KC alone.
 */
#ifndef TENON_VW
#define TENON_VW 16
#endif
#ifndef TENON_MR
#define TENON_MR 12
#endif
#ifndef TENON_NV
#define TENON_NV 2
#endif
#ifndef TENON_PV
#define TENON_PV 2
#endif
#ifndef TENON_KC
#define TENON_KC 1024
#endif
#ifndef TENON_NTP
#define TENON_NTP 4
#endif

#define TENON_A_LAYOUT    4 /* TENON_LOCAL_K */
#define TILE_B            __global const data_t *
#define TILE_LOAD_B(b, i) load_data_v(b, i)
#include "gemm/cpu_tile.clh"
#include "packed/args.h"

#define TENON_PANEL   (TENON_PV * TENON_VW) /* columns per panel */
#define TENON_A_PITCH PACKED_A_PITCH(TENON_KC, TENON_VW)
/* Maximum number of accumulators for which the registers can hold the operands of two steps of
 * k. */
#define TENON_MAX_PAIRED 24

/* Copies rows x kc of a, from a[0] on; `out` is aligned to a vector. */
TENON_INLINE void copy_rows(__local acc_t *out, __global const data_t *a, long a_row, long a_col,
                            int rows, int kc)
{
    if (a_col == 1) {
        for (int i = 0; i < rows; i++) {
            __global const data_t *from = a + i * a_row;
            __local acc_t *to = out + i * TENON_A_PITCH;
            int k = 0;
            for (; k + TENON_VW <= kc; k += TENON_VW) {
                *(__local acc_v *)(to + k) = load_data_v(from, k);
            }
            for (; k < kc; k++) {
                to[k] = load_data(from, k);
            }
        }
        return;
    }
    for (int k = 0; k < kc; k++) {
        for (int i = 0; i < rows; i++) {
            out[i * TENON_A_PITCH + k] = load_data(a, i * a_row + k * a_col);
        }
    }
}

/* sum[i][v] += a[i, k] * b[k, vector v], for one panel, or two that are `panel` elements apart. */
TENON_INLINE void panel_step(const int rows, acc_v sum[TENON_MR][TENON_NV], tile_a a,
                             __global const data_t *b, long panel, long k)
{
    acc_v bk[TENON_NV];
    TILE_EACH_VECTOR(
        bk[v] = load_data_v(b, v / TENON_PV * panel + k * TENON_PANEL + v % TENON_PV * TENON_VW));
    TILE_EACH_ROW(rows, const acc_v aik = splat(TILE_LOAD_A(a, TENON_A_PITCH, i, k));
                  TILE_EACH_VECTOR(sum[i][v] = TENON_FMA(aik, bk[v], sum[i][v])));
}

/* multiply_rows of gemm/cpu_tile.clh, for panels. Only tiles of TENON_MR rows are finished in
 * registers. `rows` is a constant in every inlined copy. */
TENON_INLINE void panel_rows(const int rows, tile_a a, __global const data_t *b, long panel, int kc,
                             const tile_place *to, acc_v *tile)
{
    acc_v sum[TENON_MR][TENON_NV];
    TILE_EACH_SUM(rows, sum[i][v] = splat(0));
    long k = 0;
    if (rows * TENON_NV <= TENON_MAX_PAIRED) {
        for (; k + 2 <= kc; k += 2) {
            panel_step(rows, sum, a, b, panel, k);
            panel_step(rows, sum, a, b, panel, k + 1);
        }
    }
    for (; k < kc; k++) {
        panel_step(rows, sum, a, b, panel, k);
    }
#if TENON_FINISHES
    if (rows == TENON_MR && to->pass != 0) {
        finish_rows(rows, sum, to);
        return;
    }
#endif
    TILE_EACH_SUM(rows, tile[i * TENON_NV + v] = sum[i][v]);
}

/* Returns the number of rows of the next tile if `left` rows remain. Each height is compiled
 * separately. A few heights suffice: small tiles waste little, since the panels are cached by
 * the second. */
TENON_INLINE int panel_height(long left)
{
    if (left >= TENON_MR) {
        return TENON_MR;
    }
#if TENON_MR > 8
    if (left >= 8) {
        return 8;
    }
#endif
#if TENON_MR > 4
    if (left >= 4) {
        return 4;
    }
#endif
#if TENON_MR == 4
    if (left == 3) {
        return 3;
    }
#endif
    return left >= 2 ? 2 : 1;
}

TENON_INLINE void panel_tile(int rows, tile_a a, __global const data_t *b, long panel, int kc,
                             const tile_place *to, acc_v *tile)
{
    if (rows == TENON_MR) {
        panel_rows(TENON_MR, a, b, panel, kc, to, tile);
#if TENON_MR > 8
    } else if (rows == 8) {
        panel_rows(8, a, b, panel, kc, to, tile);
#endif
#if TENON_MR > 4
    } else if (rows == 4) {
        panel_rows(4, a, b, panel, kc, to, tile);
#endif
#if TENON_MR == 4
    } else if (rows == 3) {
        panel_rows(3, a, b, panel, kc, to, tile);
#endif
#if TENON_MR > 2
    } else if (rows == 2) {
        panel_rows(2, a, b, panel, kc, to, tile);
#endif
    } else {
        panel_rows(1, a, b, panel, kc, to, tile);
    }
}

/* Rows and columns of d that a work-item computes, and its block of K. */
typedef struct panel_block {
    long m0, m1, n0, n1, k0, k_end;
    int kc;
} panel_block;

/* Multiplies one block of K. a and b point to the first elements of the matrices. */
TENON_INLINE void panel_multiply(const gemm_args *args, const gemm_epilogue *e,
                                 __global const data_t *a, __global const data_t *b,
                                 const panel_block *block, __local acc_t *rows_of_a,
                                 __local acc_t *sums, acc_v *tile)
{
    const long k0 = block->k0, m1 = block->m1, panel = args->k * TENON_PANEL;
    const long last = (args->n - 1) / TENON_PANEL;
    const int kc = block->kc, pass = (k0 == 0 ? TENON_PASS_FIRST : 0) |
                                     (k0 + kc == block->k_end ? TENON_PASS_LAST : 0);
    const int finished = finished_pass(e, pass);
    for (long m = block->m0; m < m1;) {
        const int rows = panel_height(m1 - m);
        copy_rows(rows_of_a, a + m * args->a_row + k0 * args->a_col, args->a_row, args->a_col, rows,
                  kc);
        for (long n = block->n0; n < block->n1; n += TENON_NR) {
            const long number = n / TENON_PANEL;
            const int cols = (int)min((long)TENON_NR, block->n1 - n);
            const tile_place to = place_of(e, m, n, rows, cols, finished);
            /* A tile that extends past the last panel reads that panel again. */
            panel_tile(rows, rows_of_a, b + number * panel + k0 * TENON_PANEL,
                       number < last ? panel : 0, kc, &to, tile);
            complete_tile(&to, rows, 0, cols, pass,
                          TENON_SUMS_AT(sums, m - block->m0, n - block->n0), tile);
        }
        m += rows;
    }
}

TENON_VECTOR_KERNEL __attribute__((reqd_work_group_size(1, 1, 1))) void
packed_gemm_cpu(__global const data_t *a, __global const data_t *b, __global const data_t *c,
                __global const data_t *bias, __global out_t *d, const packed_gemm_args args)
{
    __local acc_v rows_of_a[TENON_MR * TENON_A_PITCH / TENON_VW]; /* as vectors, for alignment */
    __local acc_t sums[TENON_SUMS_SIZE];
    acc_v tile[TENON_MR * TENON_NV];
    const long z = get_global_id(2);
    const gemm_epilogue e = make_epilogue(c, bias, d, &args.gemm, z);
    panel_block block;
    block.m0 = (long)get_global_id(1) * args.gemm.tile_rows;
    block.m1 = min(args.gemm.m, block.m0 + args.gemm.tile_rows);
    block.n0 = (long)get_global_id(0) * args.gemm.tile_cols;
    block.n1 = min(args.gemm.n, block.n0 + args.gemm.tile_cols);
    block.k0 = 0;
    block.k_end = depth_at(&args.gemm, z);
    const int length = block_length(block.k_end);
    a += GEMM_START(args.gemm, a, z);
    b += GEMM_START(args.gemm, b, z);
    do {
        block.kc = (int)min((long)length, block.k_end - block.k0);
        panel_multiply(&args.gemm, &e, a, b, &block, (__local acc_t *)rows_of_a, sums, tile);
        block.k0 += block.kc;
    } while (block.k0 < block.k_end);
}
