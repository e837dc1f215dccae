/* GEMM on matrix units: a work-group computes a block of MB x NB elements of d. Any strides.
 *
 * Global size {blocks of d, 1, batch} work-groups. Macros and local size: see gemm/matrix.clh.
 */
#include "gemm/matrix.clh"

#include "gemm/epilogue.clh"

/* The epilogue. Sums pass through local memory, a row of tiles at a time or a part of one, so that
 * neighbouring work-items write neighbouring elements of d, and what is done to an element stands
 * here once. */
TENON_INLINE void store_block(const place *p, const gemm_epilogue *e, const gemm_args *args, long m,
                              long n, __local acc_t *memory,
                              unit_d sums[UNIT_TILES_M][UNIT_TILES_N])
{
    __local acc_t *own = memory + p->warp * UNIT_M * SUM_PITCH;
    m += p->row;
    n += p->col;
#pragma unroll 1
    for (int i = 0; i < UNIT_TILES_M * SUM_PARTS; i++) {
        const long first_row = m + i / SUM_PARTS * UNIT_M, first_col = n + i % SUM_PARTS * PART_N;
        stage_sums(own, p->lane, i, sums);
#pragma unroll 1
        for (int x = p->lane; x < UNIT_M * PART_N; x += UNIT_LANES) {
            const int row = x / PART_N, col = x % PART_N;
            if (first_row + row < args->m && first_col + col < args->n) {
                epilogue_store(e, first_row + row, first_col + col, own[row * SUM_PITCH + col]);
            }
        }
    }
}

UNIT_KERNEL __kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void
gemm_matrix(__global const data_t *a, __global const data_t *b, __global const data_t *c,
            __global const data_t *bias, __global out_t *d, gemm_args args)
{
    __local uint4 memory[LOCAL_BYTES / 16];
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
