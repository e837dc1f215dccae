/*
 * GEMM on matrix units: a work-group computes a block of MB x NB elements of d. Any strides.
 *
 * Global size {blocks of d, 1, batch} work-groups. Macros and local size: see gemm/matrix.clh.
 */
#include "matrix/layout.h"

/* The epilogue's vectors have 16 bytes of d. For f16 (3) and bf16 (4) they have 8 bytes on AMD
 * and Intel, where 16 bytes would increase the register count beyond that of the main loop. */
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

#include "gemm/matrix_results.clh"

UNIT_KERNEL __kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void
gemm_matrix(__global const data_t *a, __global const data_t *b, __global const data_t *c,
            __global const data_t *bias, __global out_t *d, gemm_args args LOCAL_PARAMETER)
{
    LOCAL_MEMORY(memory, LOCAL_BYTES);
    UNIT_SCRATCH(scratch, WARPS);
    unit_d sums[UNIT_TILES_M][UNIT_TILES_N];
    line_sums none; /* unused: not bytes */
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
    /* With wgmma's smaller blocks two work-groups share a compute unit with 128 registers per
     * work-item, but vectors need 156. With pairs of units one work-group fills a compute unit. */
    store_block(&p, &e, m, n, rows.width, columns.width,
                (TENON_UNIT != MATRIX_WGMMA || UNIT_TILES_N % 2 == 0) && epilogue_is_aligned(&e) &&
                    args.n % TENON_VW == 0,
                (__local unit_acc *)memory, sums);
}
