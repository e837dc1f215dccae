/* GEMM for GPUs with few rows: a is thin and b, which is read once, takes the time.
 *
 *   gemm_skinny_axpy  b's N stride is one: a work-item has a column of d; the TENON_SHARES
 *                     work-items of a column share K out among them, and their sums are added in
 *                     the order of the shares. Local size {TENON_COLS, TENON_SHARES, 1}, a work-group
 *                     for COLS columns.
 *   gemm_skinny_dot   b's K stride is one: neighbouring work-items read along K, and a work-group of
 *                     {TENON_COLS * TENON_SHARES, 1, 1} has TENON_NR columns of d.
 *
 * A work-group does all rows of its columns, TENON_MR at a time. Any strides but b's.
 *
 *   TENON_MR      rows at a time
 *   TENON_NR      columns of a work-group of the dot products
 *   TENON_COLS    columns of a work-group otherwise
 *   TENON_SHARES  work-items for each of them; COLS * SHARES must not be less than MR * NR
 *
 * An element's bits depend on K alone.
 * TENON_DTYPE, TENON_HW_FMA, TENON_ACT_BUILD: see common/types.clh and common/activation.clh.
 */
#ifndef TENON_MR
#define TENON_MR 8
#endif
#ifndef TENON_NR
#define TENON_NR 4
#endif
#ifndef TENON_COLS
#define TENON_COLS 32
#endif
#ifndef TENON_SHARES
#define TENON_SHARES 4
#endif

#include "gemm/epilogue.clh"

#define ITEMS (TENON_COLS * TENON_SHARES)
#define KC    64 /* steps of K whose part of a is in local memory */

/* thin[k][r] = a[r, k]; rows past the last repeat it, into sums that nobody uses. */
TENON_INLINE void load_thin(__local acc_t *thin, __global const data_t *a, long a_row, long a_col,
                            int rows, int kc, int item)
{
    for (int i = item; i < kc * TENON_MR; i += ITEMS) {
        int k = i / TENON_MR, r = i % TENON_MR;
        thin[i] = load_data(a, min(r, rows - 1) * a_row + k * a_col);
    }
}

__kernel __attribute__((reqd_work_group_size(TENON_COLS, TENON_SHARES, 1))) void
gemm_skinny_axpy(__global const data_t *a, __global const data_t *b, __global const data_t *c,
                 __global const data_t *bias, __global out_t *d, gemm_args args)
{
    __local acc_t thin[KC * TENON_MR], sums[TENON_SHARES * TENON_MR * TENON_COLS];
    const int col = (int)get_local_id(0), share = (int)get_local_id(1);
    const int item = share * TENON_COLS + col;
    const long z = (long)get_global_id(2), k_end = depth_at(&args, z);
    const long n = (long)get_group_id(0) * TENON_COLS + col;
    const long b_at = min(n, (long)args.n - 1); /* columns past the last read it, too */
    gemm_epilogue e = make_epilogue(c, bias, d, &args, z);
    a += GEMM_START(args, a, z);
    b += GEMM_START(args, b, z) + b_at;

    for (long m = 0; m < args.m; m += TENON_MR) {
        int rows = (int)min((long)TENON_MR, args.m - m);
        acc_t sum[TENON_MR];
#pragma unroll
        for (int r = 0; r < TENON_MR; r++) {
            sum[r] = 0;
        }
        for (long k0 = 0; k0 < k_end; k0 += KC) {
            int kc = (int)min((long)KC, k_end - k0);
            barrier(CLK_LOCAL_MEM_FENCE);
            load_thin(thin, a + m * args.a_row + k0 * args.a_col, args.a_row, args.a_col, rows, kc,
                      item);
            barrier(CLK_LOCAL_MEM_FENCE);
            for (int k = share; k < kc; k += TENON_SHARES) {
                acc_t bk = load_data(b, (k0 + k) * args.b_row);
#pragma unroll
                for (int r = 0; r < TENON_MR; r++) {
                    sum[r] = TENON_FMA(thin[k * TENON_MR + r], bk, sum[r]);
                }
            }
        }
#pragma unroll
        for (int r = 0; r < TENON_MR; r++) {
            sums[(share * TENON_MR + r) * TENON_COLS + col] = sum[r];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int r = share; r < rows; r += TENON_SHARES) {
            acc_t total = sums[r * TENON_COLS + col];
            for (int s = 1; s < TENON_SHARES; s++) {
                total += sums[(s * TENON_MR + r) * TENON_COLS + col];
            }
            if (n < args.n) {
                epilogue_store(&e, m + r, n, total);
            }
        }
    }
}

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void
gemm_skinny_dot(__global const data_t *a, __global const data_t *b, __global const data_t *c,
                __global const data_t *bias, __global out_t *d, gemm_args args)
{
    /* One element of padding keeps the work-items that add up apart in the banks. */
    __local acc_t sums[TENON_MR * TENON_NR * (ITEMS + 1)];
    const int item = (int)get_local_id(0), r_own = item / TENON_NR, j_own = item % TENON_NR;
    const long z = (long)get_global_id(2), k_end = depth_at(&args, z);
    const long n = (long)get_group_id(0) * TENON_NR;
    gemm_epilogue e = make_epilogue(c, bias, d, &args, z);
    a += GEMM_START(args, a, z);
    b += GEMM_START(args, b, z);

    for (long m = 0; m < args.m; m += TENON_MR) {
        acc_t sum[TENON_MR][TENON_NR];
#pragma unroll
        for (int r = 0; r < TENON_MR; r++) {
#pragma unroll
            for (int j = 0; j < TENON_NR; j++) {
                sum[r][j] = 0;
            }
        }
        for (long k = item; k < k_end; k += ITEMS) {
            acc_t bk[TENON_NR];
#pragma unroll
            for (int j = 0; j < TENON_NR; j++) {
                bk[j] = load_data(b, min(n + j, (long)args.n - 1) * args.b_col + k);
            }
#pragma unroll
            for (int r = 0; r < TENON_MR; r++) {
                acc_t ak = load_data(a, min(m + r, (long)args.m - 1) * args.a_row + k * args.a_col);
#pragma unroll
                for (int j = 0; j < TENON_NR; j++) {
                    sum[r][j] = TENON_FMA(ak, bk[j], sum[r][j]);
                }
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
        for (int r = 0; r < TENON_MR; r++) {
#pragma unroll
            for (int j = 0; j < TENON_NR; j++) {
                sums[(r * TENON_NR + j) * (ITEMS + 1) + item] = sum[r][j];
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (item < TENON_MR * TENON_NR && m + r_own < args.m && n + j_own < args.n) {
            acc_t total = 0;
            for (int i = 0; i < ITEMS; i++) {
                total += sums[item * (ITEMS + 1) + i];
            }
            epilogue_store(&e, m + r_own, n + j_own, total);
        }
    }
}
