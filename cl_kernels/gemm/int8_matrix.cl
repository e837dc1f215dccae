/*
 * Product of i8 or u8 on matrix units: a work-group computes a block of MB x NB elements of d. Any
 * strides.
 *
 * Global size {blocks of d, 1, batch} work-groups. Macros and local size: see gemm/matrix.clh;
 * TENON_UNIT_TYPE is 4 and TENON_STAGES 1 here. TENON_DTYPE: see gemm/int8.clh.
 *
 * The units multiply signed bytes; see int8_unshifted for u8.
 */
#ifndef TENON_UNIT_TYPE
#define TENON_UNIT_TYPE 4
#endif
#ifndef TENON_KB
#define TENON_KB 64
#endif

#include "matrix/layout.h"

/* Only NVIDIA's units use vectors in the epilogue: AMD's and Intel's sums leave no registers for
 * them. */
#if TENON_UNIT == MATRIX_NVIDIA || TENON_UNIT == MATRIX_WGMMA
#define TENON_VW 4
#endif
#define TENON_GPU 1

#include "gemm/matrix_product.clh"

#include "gemm/matrix_store.clh"

#include "gemm/int8.clh"

#define FLIPS 0x80808080u

/* Stores the sums of rows and columns to local memory, for all work-items. */
TENON_INLINE void share_lines(const place *p, __local uint *shared, const line_sums *lines)
{
#pragma unroll
    for (int i = 0; i < LINES; i++) {
        const int line = p->item + i * ITEMS;
        if (line < TENON_MB + TENON_NB) {
            shared[line] = lines->sum[i];
        }
    }
}

/* State for gemm/matrix_results.clh. `lines` has the sums of rows, then of columns. */
typedef struct result {
    const int8_epilogue *e;
    const int8_args *args;
    __global const uchar *zero_a, *zero_b;
    __local const uint *lines;
    uint k_end;
    int needs_lines;
    long m, n; /* start of the block */
} result;

TENON_INLINE void result_store(const result *r, long m, long n, int sum)
{
    int8_store(r->e, r->args, m, n,
               int8_unshifted(r->args, r->zero_a, r->zero_b, m, n, r->k_end, as_uint(sum),
                              r->lines[m - r->m], r->lines[TENON_MB + n - r->n]));
}

#ifdef TENON_VW
TENON_INLINE void result_store_v(const result *r, long m, long n, sums_v sums)
{
    if (r->needs_lines) {
        sums = int8_unshifted_v(r->args, r->zero_a, r->zero_b, m, n, r->k_end, sums,
                                r->lines[m - r->m],
                                *(__local const uint4 *)(r->lines + TENON_MB + n - r->n));
    }
    int8_store_v(r->e, r->args, m, n, TENON_VW, 1, sums);
}
#else
#define int8_is_aligned(e, args) 0
#endif

#include "gemm/matrix_results.clh"

UNIT_KERNEL __kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void
gemm_int8_matrix(INT8_POINTERS, int8_args args LOCAL_PARAMETER)
{
    LOCAL_MEMORY(memory, LOCAL_BYTES);
    __local uint shared[TENON_MB + TENON_NB] __attribute__((aligned(16)));
    UNIT_SCRATCH(scratch, WARPS);
    unit_d sums[UNIT_TILES_M][UNIT_TILES_N];
    line_sums lines;
    long m, n;
    const long z = (long)get_global_id(2), k_end = depth_at(&args.gemm, z);
    const place p = make_place(memory, scratch);
    find_block(&args.gemm, &m, &n);
    factor rows = make_factor(a + GEMM_START(args.gemm, a, z), args.gemm.a_row, args.gemm.a_col, m,
                              args.gemm.m, TENON_MB, TENON_A_ALONG_K);
    factor columns = make_factor(b + GEMM_START(args.gemm, b, z), args.gemm.b_col, args.gemm.b_row,
                                 n, args.gemm.n, TENON_NB, TENON_B_ALONG_K);
    rows.flip = args.a_sign == 0 ? FLIPS : 0;
    columns.flip = args.b_sign == 0 ? FLIPS : 0;
    lines.wanted = int8_needs_lines(&args);
#pragma unroll
    for (int i = 0; i < LINES; i++) {
        lines.sum[i] = 0;
    }
    sum_block(&p, &rows, &columns, k_end, sums, &lines);
    share_lines(&p, shared, &lines);
    const int8_epilogue e = MAKE_INT8_EPILOGUE(&args, z);
    const result r = {&e, &args, zero_a, zero_b, shared, (uint)max(k_end, 0L), lines.wanted, m, n};
    store_block(&p, &r, m, n, rows.width, columns.width, int8_is_aligned(&e, &args),
                (__local int *)memory, sums);
}
