/* A product of i8 or u8 on matrix units: a work-group computes a block of MB x NB elements of d.
 * Any strides.
 *
 * Global size {blocks of d, 1, batch} work-groups. Macros and local size: see gemm/matrix.clh,
 * whose TENON_UNIT_TYPE is 4 and TENON_STAGES 1 here; TENON_DTYPE: see gemm/int8.clh.
 *
 * The units multiply signed bytes; see int8_unshifted for those of u8.
 */
#ifndef TENON_UNIT_TYPE
#define TENON_UNIT_TYPE 4
#endif
#ifndef TENON_KB
#define TENON_KB 64
#endif

#include "gemm/matrix_product.clh"

#include "gemm/int8.clh"

#define FLIPS 0x80808080u

/* The sums of rows and columns, where every work-item finds them. */
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

/* As gemm/matrix.cl; `lines` are the sums of rows, and then of columns. */
TENON_INLINE void store_block(const place *p, const int8_epilogue *e, const int8_args *args,
                              __global const uchar *zero_a, __global const uchar *zero_b, long m0,
                              long n0, uint k_end, __local int *memory, __local const uint *lines,
                              unit_d sums[UNIT_TILES_M][UNIT_TILES_N])
{
    __local int *own = memory + p->warp * WARP_SUMS;
#pragma unroll 1
    for (int i = 0; i < UNIT_TILES_M * SUM_PARTS; i++) {
        const int first_row = p->row + i / SUM_PARTS * UNIT_M,
                  first_col = p->col + i % SUM_PARTS * PART_N;
        stage_sums(own, p->lane, i, sums);
#pragma unroll 1
        for (int x = p->lane; x < UNIT_M * PART_N; x += UNIT_LANES) {
            const int row = first_row + x / PART_N, col = first_col + x % PART_N;
            const long m = m0 + row, n = n0 + col;
            if (m < args->gemm.m && n < args->gemm.n) {
                const uint products = as_uint(own[sum_place(x / PART_N, x % PART_N)]);
                const uint sum = int8_unshifted(args, zero_a, zero_b, m, n, k_end, products,
                                                lines[row], lines[TENON_MB + col]);
                int8_store(e, args, m, n, sum);
            }
        }
    }
}

UNIT_KERNEL __kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void
gemm_int8_matrix(INT8_POINTERS, int8_args args LOCAL_PARAMETER)
{
    LOCAL_MEMORY(memory, LOCAL_BYTES);
    __local uint shared[TENON_MB + TENON_NB];
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
    store_block(&p, &e, &args, zero_a, zero_b, m, n, (uint)max(k_end, 0L), (__local int *)memory,
                shared, sums);
}
