/*
 * gemm_matrix: a matrix product on matrix units (tensor cores, MFMA, WMMA, XMX). A work-group
 * computes a block of MB x NB elements of d. Any strides.
 *
 * Global size in work-groups: {number of blocks of d, 1, batch}. gemm/matrix.clh documents the
 * macros and the local size.
 */
#include "matrix/layout.h"

/* Vector width of the stores to d: 16 bytes. For f16 (TENON_DTYPE 3) and bf16 (4), 8 bytes on AMD
 * and Intel, where 16 bytes would need more registers than the main loop. */
#if (TENON_DTYPE == 3 || TENON_DTYPE == 4) && !defined(TENON_PARTIAL) &&                           \
    (TENON_UNIT == MATRIX_NVIDIA || TENON_UNIT == MATRIX_WGMMA)
#define TENON_VW 8
#else
#define TENON_VW 4
#endif
#define TENON_GPU 1

#include "gemm/matrix_product.clh"

#include "gemm/matrix_store.clh"

typedef gemm_epilogue result;

TENON_INLINE void result_store(const result *e, long m, long n, unit_acc sum)
{
    epilogue_store(e, m, n, sum);
}

TENON_INLINE void result_store_v(const result *e, long m, long n, sums_v sums)
{
    epilogue_store_aligned(e, m, n, sums);
}

#define RESULT_IS_PLAIN(e) epilogue_is_plain(e)

TENON_INLINE void result_store_plain_v(const result *e, long m, long n, sums_v sums)
{
    epilogue_store_plain(e, m, n, sums);
}

#include "gemm/matrix_results.clh"

UNIT_KERNEL __kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void
gemm_matrix(__global const data_t *a, __global const data_t *b, __global const data_t *c,
            __global const data_t *bias, __global out_t *d, gemm_args args LOCAL_PARAMETER)
{
    LOCAL_MEMORY(memory, LOCAL_BYTES);
    UNIT_SCRATCH(scratch, WARPS);
    unit_d sums[UNIT_TILES_M][UNIT_TILES_N];
    line_sums none; /* only used by int8_matrix.cl */
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
    /* Stores vectors if d is aligned, except with wgmma if a warp has an odd number of tiles. Two
     * work-groups of 128 x 128 share a compute unit, with 128 registers per work-item; vector
     * stores would need 156. */
    store_block(&p, &e, m, n, rows.width, columns.width,
                (TENON_UNIT != MATRIX_WGMMA || UNIT_TILES_N % 2 == 0) && epilogue_is_aligned(&e) &&
                    args.n % TENON_VW == 0,
                (__local unit_acc *)memory, sums);
}
