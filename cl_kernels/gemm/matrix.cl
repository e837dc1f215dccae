/* GEMM on matrix units: a work-group computes a block of MB x NB elements of d. Any strides.
 *
 * Global size {blocks of d, 1, batch} work-groups. Macros and local size: see gemm/matrix.clh.
 */
#include "matrix/layout.h"

/* The epilogue's vectors have 16 bytes of d; of f16 (3) and bf16 (4) 8 on AMD and Intel, where
 * twice as much would take registers that the main loop does without. */
#if (TENON_DTYPE == 3 || TENON_DTYPE == 4) && !defined(TENON_PARTIAL) &&                           \
    (TENON_UNIT == MATRIX_NVIDIA || TENON_UNIT == MATRIX_WGMMA)
#define TENON_VW 8
#else
#define TENON_VW 4
#endif
#define TENON_GPU 1

#include "gemm/matrix_product.clh"

#include "gemm/matrix_store.clh"

/* Writes a part of a warp's sums to d, from d[m, n] on: by vectors, which are aligned. */
TENON_INLINE void store_vectors(const gemm_epilogue *e, const gemm_args *args, long m, long n,
                                int lane, __local const acc_t *own)
{
#pragma unroll 1
    for (int x = lane; x < UNIT_M * PART_N / TENON_VW; x += UNIT_LANES) {
        const int row = x / (PART_N / TENON_VW), col = x % (PART_N / TENON_VW) * TENON_VW;
        if (m + row < args->m && n + col < args->n) {
            epilogue_store_aligned(e, m + row, n + col, sums_at(own, row, col));
        }
    }
}

/* The same, element by element. */
TENON_INLINE void store_elements(const gemm_epilogue *e, const gemm_args *args, long m, long n,
                                 int lane, __local const acc_t *own)
{
#pragma unroll 1
    for (int x = lane; x < UNIT_M * PART_N; x += UNIT_LANES) {
        const int row = x / PART_N, col = x % PART_N;
        if (m + row < args->m && n + col < args->n) {
            epilogue_store(e, m + row, n + col, own[sum_place(row, col)]);
        }
    }
}

/* The epilogue. Sums pass through local memory, a row of tiles at a time or a part of one, so that
 * neighbouring work-items write what is neighbouring in d, and what is done to an element stands
 * here once for each way. */
TENON_INLINE void store_block(const place *p, const gemm_epilogue *e, const gemm_args *args, long m,
                              long n, __local acc_t *memory,
                              unit_d sums[UNIT_TILES_M][UNIT_TILES_N])
{
    __local acc_t *own = memory + p->warp * WARP_SUMS;
    /* Of wgmma's smaller blocks two work-groups share a unit with 128 registers each, of which
     * vectors take 156; of pairs of units one fills it. */
    const int by_vectors = (TENON_UNIT != MATRIX_WGMMA || UNIT_TILES_N % 2 == 0) &&
                           epilogue_is_aligned(e) && args->n % TENON_VW == 0;
    m += p->row;
    n += p->col;
#pragma unroll 1
    for (int i = 0; i < UNIT_TILES_M * SUM_PARTS; i++) {
        const long first_row = m + i / SUM_PARTS * UNIT_M, first_col = n + i % SUM_PARTS * PART_N;
        stage_sums(own, p->lane, i, sums);
        if (by_vectors) {
            store_vectors(e, args, first_row, first_col, p->lane, own);
        } else {
            store_elements(e, args, first_row, first_col, p->lane, own);
        }
    }
}

UNIT_KERNEL __kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void
gemm_matrix(__global const data_t *a, __global const data_t *b, __global const data_t *c,
            __global const data_t *bias, __global out_t *d, gemm_args args LOCAL_PARAMETER)
{
    LOCAL_MEMORY(memory, LOCAL_BYTES);
    UNIT_SCRATCH(scratch, WARPS);
    unit_d sums[UNIT_TILES_M][UNIT_TILES_N];
    line_sums none; /* not bytes */
    long m, n;
    const long z = (long)get_global_id(2);
    const place p = make_place(memory, scratch);
    find_block(&args, &m, &n);
    const factor rows = make_factor((__global const bits_t *)a + GEMM_START(args, a, z), args.a_row,
                                    args.a_col, m, args.m, TENON_MB, TENON_A_ALONG_K);
    const factor columns =
        make_factor((__global const bits_t *)b + GEMM_START(args, b, z), args.b_col, args.b_row, n,
                    args.n, TENON_NB, TENON_B_ALONG_K);
    sum_block(&p, &rows, &columns, depth_at(&args, z), sums, &none);
    const gemm_epilogue e = make_epilogue(c, bias, d, &args, z);
    store_block(&p, &e, &args, m, n, (__local acc_t *)memory, sums);
}
