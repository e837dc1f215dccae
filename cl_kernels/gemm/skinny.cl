/*
 * GEMM for GPUs with few rows, or one: a is thin, and the time is spent reading b once.
 *
 * gemm_skinny_axpy: the N stride of b is one. A work-item computes TENON_VL neighboring columns of
 *   d; the TENON_K_SPLIT work-items of a column split K among themselves. Local size {TENON_COLS,
 *   TENON_K_SPLIT, 1}; a work-group computes COLS * VL columns.
 * gemm_skinny_dot: the K stride of b is one. Neighboring work-items read along K, VL steps each; a
 *   work-group of {TENON_COLS * TENON_K_SPLIT, 1, 1} computes TENON_NR columns of d.
 *
 * A work-group computes all rows of its columns, TENON_MR at a time. Any strides except for b.
 * Vectors of b are read if they are aligned and within the matrix, otherwise element by element.
 *
 * TENON_MR: rows at a time.
 * TENON_NR: columns of a work-group in gemm_skinny_dot.
 * TENON_COLS: columns of work-items of a work-group in gemm_skinny_axpy.
 * TENON_K_SPLIT: work-items per column; COLS * SHARES is a power of two.
 * TENON_VL: elements of b that a work-item reads at once: 2, 4 or 8.
 *
 * The sums of work-items are added pairwise: the bits of an element depend on K and VL alone.
 * TENON_DTYPE, TENON_HW_FMA, TENON_ACT_BUILD: see common/types.clh and common/activation.clh.
 */
#ifndef TENON_MR
#define TENON_MR 8
#endif
#ifndef TENON_NR
#define TENON_NR 4
#endif
#ifndef TENON_COLS
#define TENON_COLS 8
#endif
#ifndef TENON_K_SPLIT
#define TENON_K_SPLIT 16
#endif
#ifndef TENON_VL
#define TENON_VL 4
#endif

#include "gemm/epilogue.clh"
#include "gemm/raw.clh"
#include "common/kernel.clh"

#define ITEMS  (TENON_COLS * TENON_K_SPLIT)
#define WIDTH  (TENON_COLS * TENON_VL) /* columns of a work-group in gemm_skinny_axpy */
#define SHARED (TENON_K_SPLIT * WIDTH) /* partial sums per row */
#define KC     GEMM_SKINNY_DEPTH       /* steps of K whose part of a is in local memory */

/* Adds up `many` neighboring sums, a power of two, in each of `rows` rows, [row][pitch]. The
 * result replaces the first one. */
TENON_INLINE void add_up(__local acc_t *sums, int rows, int pitch, int many, int step, int item)
{
    for (int lower = many / 2; lower > 0; lower /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int i = item; i < rows * lower * step; i += ITEMS) {
            const int row = i / (lower * step), at = row * pitch + i - row * (lower * step);
            sums[at] += sums[at + lower * step];
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}

/* thin[k][r] = a[r, k] for KC steps, with zeros past step kc. Rows past the last repeat the last
 * row; their sums are not used. */
TENON_INLINE void load_thin(__local acc_t *thin, __global const data_t *a, long a_row, long a_col,
                            int rows, int kc, int item)
{
    for (int i = item; i < KC * TENON_MR; i += ITEMS) {
        const int r = a_col == 1 ? i / KC : i % TENON_MR, k = a_col == 1 ? i % KC : i / TENON_MR;
        acc_t value = 0;
        if (k < kc) {
            value = load_data(a, min(r, rows - 1) * a_row + k * a_col);
        }
        thin[k * TENON_MR + r] = value;
    }
}

/* Reads VL neighboring elements from b[at] on, `left` of which exist; the others are zero. */
TENON_INLINE void read_b(acc_t *x, __global const data_t *b, long at, long left, int vectors)
{
    raw_t raw[TENON_VL];
    if (vectors && left >= TENON_VL) {
        RAW_READ(b + at, raw);
    } else {
#pragma unroll
        for (int j = 0; j < TENON_VL; j++) {
            raw[j] = j < left ? ((__global const raw_t *)b)[at + j] : 0;
        }
    }
#pragma unroll
    for (int j = 0; j < TENON_VL; j++) {
        x[j] = raw_value(raw[j]);
    }
}

TENON_KERNEL
__attribute__((reqd_work_group_size(TENON_COLS, TENON_K_SPLIT, 1))) void
gemm_skinny_axpy(__global const data_t *a, __global const data_t *b, __global const data_t *c,
                 __global const data_t *bias, __global out_t *d, gemm_args args)
{
    __local acc_t thin[KC * TENON_MR], sums[TENON_MR * SHARED];
    const int col = (int)get_local_id(0), share = (int)get_local_id(1);
    const int item = share * TENON_COLS + col;
    const long z = (long)get_global_id(2), k_end = depth_at(&args, z);
    const long n0 = (long)get_group_id(0) * WIDTH, left = args.n - n0 - col * TENON_VL;
    gemm_epilogue e = make_epilogue(c, bias, d, &args, z);
    a += GEMM_START(args, a, z);
    b += GEMM_START(args, b, z) + n0;
    const int vectors = RAW_ALIGNED(b) && args.b_row % TENON_VL == 0;

    for (long m = 0; m < args.m; m += TENON_MR) {
        int rows = (int)min((long)TENON_MR, args.m - m);
        acc_t sum[TENON_MR][TENON_VL];
#pragma unroll
        for (int r = 0; r < TENON_MR; r++) {
#pragma unroll
            for (int j = 0; j < TENON_VL; j++) {
                sum[r][j] = 0;
            }
        }
        for (long k0 = 0; k0 < k_end; k0 += KC) {
            int kc = (int)min((long)KC, k_end - k0);
            barrier(CLK_LOCAL_MEM_FENCE);
            load_thin(thin, a + m * args.a_row + k0 * args.a_col, args.a_row, args.a_col, rows, kc,
                      item);
            barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll 4
            for (int i = 0; i < KC / TENON_K_SPLIT; i++) {
                const int k = i * TENON_K_SPLIT + share;
                acc_t x[TENON_VL];
                read_b(x, b, (k0 + k) * args.b_row + col * TENON_VL, k < kc ? left : 0, vectors);
#pragma unroll
                for (int r = 0; r < TENON_MR; r++) {
#pragma unroll
                    for (int j = 0; j < TENON_VL; j++) {
                        sum[r][j] = TENON_FMA(thin[k * TENON_MR + r], x[j], sum[r][j]);
                    }
                }
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
        for (int r = 0; r < TENON_MR; r++) {
#pragma unroll
            for (int j = 0; j < TENON_VL; j++) {
                sums[r * SHARED + share * WIDTH + col * TENON_VL + j] = sum[r][j];
            }
        }
        add_up(sums, TENON_MR, SHARED, TENON_K_SPLIT, WIDTH, item);
        for (int i = item; i < rows * WIDTH; i += ITEMS) {
            const int r = i / WIDTH, n = i % WIDTH;
            if (n0 + n < args.n) {
                epilogue_store(&e, m + r, n0 + n, sums[r * SHARED + n]);
            }
        }
    }
}

TENON_KERNEL __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void
gemm_skinny_dot(__global const data_t *a, __global const data_t *b, __global const data_t *c,
                __global const data_t *bias, __global out_t *d, gemm_args args)
{
    /* One element of padding avoids bank conflicts between rows of sums. */
    __local acc_t sums[TENON_MR * TENON_NR * (ITEMS + 1)];
    const int item = (int)get_local_id(0);
    const long z = (long)get_global_id(2), k_end = depth_at(&args, z);
    const long n0 = (long)get_group_id(0) * TENON_NR;
    gemm_epilogue e = make_epilogue(c, bias, d, &args, z);
    a += GEMM_START(args, a, z);
    b += GEMM_START(args, b, z);
    const int vectors = RAW_ALIGNED(b) && (args.b_col % TENON_VL == 0 || args.n == 1);

    for (long m = 0; m < args.m; m += TENON_MR) {
        acc_t sum[TENON_MR][TENON_NR];
#pragma unroll
        for (int r = 0; r < TENON_MR; r++) {
#pragma unroll
            for (int j = 0; j < TENON_NR; j++) {
                sum[r][j] = 0;
            }
        }
        for (long k = (long)item * TENON_VL; k < k_end; k += ITEMS * TENON_VL) {
            acc_t x[TENON_NR][TENON_VL];
#pragma unroll
            for (int j = 0; j < TENON_NR; j++) { /* columns past the last repeat it */
                read_b(x[j], b, min(n0 + j, (long)args.n - 1) * args.b_col + k, k_end - k, vectors);
            }
#pragma unroll
            for (int r = 0; r < TENON_MR; r++) {
                const long row = min(m + r, (long)args.m - 1) * args.a_row;
#pragma unroll
                for (int l = 0; l < TENON_VL; l++) {
                    const acc_t y = k + l < k_end ? load_data(a, row + (k + l) * args.a_col) : 0;
#pragma unroll
                    for (int j = 0; j < TENON_NR; j++) {
                        sum[r][j] = TENON_FMA(y, x[j][l], sum[r][j]);
                    }
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
        add_up(sums, TENON_MR * TENON_NR, ITEMS + 1, ITEMS, 1, item);
        for (int i = item; i < TENON_MR * TENON_NR; i += ITEMS) {
            const long row = m + i / TENON_NR, n = n0 + i % TENON_NR;
            if (row < args.m && n < args.n) {
                epilogue_store(&e, row, n, sums[i * (ITEMS + 1)]);
            }
        }
    }
}
