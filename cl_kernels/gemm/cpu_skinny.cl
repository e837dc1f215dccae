/*
 * GEMM for CPUs with few rows: a is thin, and the time is spent reading b once. b is not packed; a
 * block of a is copied to __local memory as acc_t.
 *
 * gemm_cpu_skinny_axpy: the N stride of b is one. Scales and adds rows of b, in strips of
 *   TENON_STRIP columns, AXPY_KC rows at a time.
 * gemm_cpu_skinny_dot: the K stride of b is one. Computes dot products of TENON_NR columns of b at
 *   a time.
 *
 * A work-item computes args.tile_cols columns of d and all of its rows, TENON_MR at a time; b
 * remains in cache for the rows after the first TENON_MR. Global size: {ceil(n / tile_cols), 1,
 * batch}, local size {1, 1, 1}. a, c, bias and d may have any strides.
 *
 * TENON_VW: lanes of a vector.
 * TENON_MR: rows at a time.
 * TENON_STRIP: columns whose sums stay in L1; a multiple of VW.
 * TENON_NV: vectors of a strip at a time; MR * NV sums are in registers.
 * TENON_NR: columns of b per tile of dot products; MR * NR sums are in registers.
 * TENON_TILES: tiles that share a block of a.
 * TENON_KC: steps of K in that block; a multiple of VW.
 * TENON_BUILTIN_PREFETCH: 1: prefetches b by clang's __builtin_prefetch. 0 (the default): no
 *   prefetching. The hardware's prefetcher stops at the end of each page of 4 KiB, and rows
 *   of b are often that long.
 *
 * Each lane adds in the order of k: the bits of an element depend on K alone. TENON_DTYPE,
 * TENON_HW_FMA, TENON_ACT_BUILD: see common/types.clh and common/activation.clh.
 */
#ifndef TENON_VW
#define TENON_VW 16
#endif
#ifndef TENON_MR
#define TENON_MR 8
#endif
#ifndef TENON_STRIP
#define TENON_STRIP 2048
#endif
#ifndef TENON_NV
#define TENON_NV 2
#endif
#ifndef TENON_NR
#define TENON_NR 3
#endif
#ifndef TENON_TILES
#define TENON_TILES (96 / TENON_NR)
#endif
#ifndef TENON_KC
#define TENON_KC 1024
#endif

#include "gemm/epilogue.clh"
#include "gemm/lanes.clh"

#define AXPY_KC   16                           /* rows of b at a time, one memory stream each */
#define PITCH     (TENON_STRIP / TENON_VW + 1) /* row pitch of the sums in vectors, padded */
#define DOT_STRIP (TENON_NR * TENON_TILES)

/* Prefetches a vector of b, whose address may be past the end of b, into L1. */
TENON_INLINE void prefetch_l1(__global const data_t *b)
{
#if TENON_BUILTIN_PREFETCH
    __builtin_prefetch((const void *)(size_t)b, 0, 3);
#endif
}

/* The same into L2. */
TENON_INLINE void prefetch_l2(__global const data_t *b)
{
#if TENON_BUILTIN_PREFETCH
    __builtin_prefetch((const void *)(size_t)b, 0, 2);
#endif
}

/* thin[k][r] = a[r, k]. Rows past the last repeat the last row; their sums are not used. */
TENON_INLINE void pack_steps(__local acc_t *thin, __global const data_t *a, long a_row, long a_col,
                             int rows, int kc)
{
    for (int k = 0; k < kc; k++) {
        for (int r = 0; r < TENON_MR; r++) {
            thin[k * TENON_MR + r] = load_data(a, min(r, rows - 1) * a_row + k * a_col);
        }
    }
}

/* sums[r][i] += a[r, 0 .. kc) * b[0 .. kc, i] for `vectors` vectors of columns, of which `cols`
 * columns exist. Prefetches the same columns of the next block of rows: to L2, because rows that
 * are multiples of 4 KiB apart would displace each other in L1. */
TENON_INLINE void add_columns(const int vectors, __local acc_v *sums, __local const acc_t *thin,
                              __global const data_t *b, long b_row, int cols, int kc)
{
    acc_v s[TENON_MR][TENON_NV], bk[TENON_NV];
#pragma unroll
    for (int r = 0; r < TENON_MR; r++) {
#pragma unroll
        for (int v = 0; v < vectors; v++) {
            s[r][v] = sums[r * PITCH + v];
        }
    }
    for (int k = 0; k < kc; k++) {
#pragma unroll
        for (int v = 0; v < vectors; v++) {
            bk[v] = load_lanes(b, k * b_row + v * TENON_VW, 1, cols - v * TENON_VW);
            prefetch_l2(b + (k + AXPY_KC) * b_row + v * TENON_VW);
        }
#pragma unroll
        for (int r = 0; r < TENON_MR; r++) {
            acc_v ak = splat(thin[k * TENON_MR + r]);
#pragma unroll
            for (int v = 0; v < vectors; v++) {
                s[r][v] = TENON_FMA(ak, bk[v], s[r][v]);
            }
        }
    }
#pragma unroll
    for (int r = 0; r < TENON_MR; r++) {
#pragma unroll
        for (int v = 0; v < vectors; v++) {
            sums[r * PITCH + v] = s[r][v];
        }
    }
}

/* Calls add_columns for all columns of a strip. */
TENON_LOCAL_FUNCTION void add_strip(__local acc_v *sums, __local const acc_t *thin,
                                    __global const data_t *b, long b_row, int cols, int kc)
{
    int i = 0;
    for (; i + TENON_NV * TENON_VW <= cols; i += TENON_NV * TENON_VW) {
        add_columns(TENON_NV, sums + i / TENON_VW, thin, b + i, b_row, TENON_NV * TENON_VW, kc);
    }
    for (; i < cols; i += TENON_VW) {
        add_columns(1, sums + i / TENON_VW, thin, b + i, b_row, cols - i, kc);
    }
}

/* Applies the epilogue to rows of sums, `pitch` apart, for d[m .. m + rows, n .. n + cols). */
TENON_LOCAL_FUNCTION void store_rows(const gemm_epilogue *e, long m, long n, int rows, int cols,
                                     __local acc_t *sums, int pitch)
{
    for (int r = 0; r < rows; r++) {
        for (int i = 0; i < cols; i += TENON_VW) {
            acc_v sum = TENON_VLOAD(0, sums + r * pitch + i);
            epilogue_store_v(e, m + r, n + i, cols - i, TENON_PASS_ONLY, sums, sum);
        }
    }
}

TENON_VECTOR_KERNEL __attribute__((reqd_work_group_size(1, 1, 1))) void
gemm_cpu_skinny_axpy(__global const data_t *a, __global const data_t *b, __global const data_t *c,
                     __global const data_t *bias, __global out_t *d, gemm_args args)
{
    __local acc_v sums[TENON_MR * PITCH];
    __local acc_t thin[AXPY_KC * TENON_MR];
    long z = get_global_id(2), k_end = depth_at(&args, z);
    long n0 = get_global_id(0) * args.tile_cols, n1 = min(args.n, n0 + args.tile_cols);
    gemm_epilogue e = make_epilogue(c, bias, d, &args, z);
    a += GEMM_START(args, a, z);
    b += GEMM_START(args, b, z);

    for (long n = n0; n < n1; n += TENON_STRIP) {
        int cols = (int)min((long)TENON_STRIP, n1 - n);
        for (long m = 0; m < args.m; m += TENON_MR) {
            int rows = (int)min((long)TENON_MR, args.m - m);
            for (int i = 0; i < TENON_MR * PITCH; i++) {
                sums[i] = splat(0);
            }
            for (long k = 0; k < k_end; k += AXPY_KC) {
                int kc = (int)min((long)AXPY_KC, k_end - k);
                pack_steps(thin, a + m * args.a_row + k * args.a_col, args.a_row, args.a_col, rows,
                           kc);
                add_strip(sums, thin, b + k * args.b_row + n, args.b_row, cols, kc);
            }
            store_rows(&e, m, n, rows, cols, (__local acc_t *)sums, PITCH * TENON_VW);
        }
    }
}

/* thin[r][k] = a[r, k], zero from kc to the end of the vector. Rows past the last repeat the
 * last row. */
TENON_INLINE void pack_rows(__local acc_t *thin, __global const data_t *a, long a_row, long a_col,
                            int rows, int kc)
{
    if (a_col == 1) {
        for (int r = 0; r < TENON_MR; r++) {
            __global const data_t *row = a + min(r, rows - 1) * a_row;
            for (int k = 0; k < kc; k += TENON_VW) {
                TENON_VSTORE(load_lanes(row, k, 1, kc - k), 0, thin + r * TENON_KC + k);
            }
        }
        return;
    }
    for (int k = 0; k < (kc + TENON_VW - 1) / TENON_VW * TENON_VW; k++) {
        for (int r = 0; r < TENON_MR; r++) {
            thin[r * TENON_KC + k] =
                k < kc ? load_data(a, min(r, rows - 1) * a_row + k * a_col) : 0;
        }
    }
}

/* sum[j][r] += a[r, k .. k + VW) * bk[j], lane by lane. */
TENON_INLINE void dot_step(acc_v s[TENON_NR][TENON_MR], __local const acc_t *thin, const acc_v *bk)
{
#pragma unroll
    for (int r = 0; r < TENON_MR; r++) {
        acc_v ak = TENON_VLOAD(0, thin + r * TENON_KC);
#pragma unroll
        for (int j = 0; j < TENON_NR; j++) {
            s[j][r] = TENON_FMA(bk[j], ak, s[j][r]);
        }
    }
}

/* Adds the products of NR columns of b, of which `cols` exist, over kc steps of K. Prefetches the
 * next NR columns. */
TENON_LOCAL_FUNCTION void dot_tile(acc_v *sum, __global const data_t *b, long b_col, int cols,
                                   __local const acc_t *thin, int kc)
{
    acc_v s[TENON_NR][TENON_MR], bk[TENON_NR];
    __global const data_t *col[TENON_NR];
#pragma unroll
    for (int j = 0; j < TENON_NR; j++) {
        col[j] = b + min(j, cols - 1) * b_col;
#pragma unroll
        for (int r = 0; r < TENON_MR; r++) {
            s[j][r] = sum[j * TENON_MR + r];
        }
    }
    int k = 0;
    for (; k + TENON_VW <= kc; k += TENON_VW) {
#pragma unroll
        for (int j = 0; j < TENON_NR; j++) {
            bk[j] = load_data_v(col[j], k);
            prefetch_l1(col[j] + TENON_NR * b_col + k);
        }
        dot_step(s, thin + k, bk);
    }
    if (k < kc) {
#pragma unroll
        for (int j = 0; j < TENON_NR; j++) {
            bk[j] = load_lanes(col[j], k, 1, kc - k);
        }
        dot_step(s, thin + k, bk);
    }
#pragma unroll
    for (int j = 0; j < TENON_NR; j++) {
#pragma unroll
        for (int r = 0; r < TENON_MR; r++) {
            sum[j * TENON_MR + r] = s[j][r];
        }
    }
}

TENON_VECTOR_KERNEL __attribute__((reqd_work_group_size(1, 1, 1))) void
gemm_cpu_skinny_dot(__global const data_t *a, __global const data_t *b, __global const data_t *c,
                    __global const data_t *bias, __global out_t *d, gemm_args args)
{
    __local acc_t thin[TENON_MR * TENON_KC], results[TENON_MR * (DOT_STRIP + TENON_VW)];
    acc_v sum[DOT_STRIP * TENON_MR];
    long z = get_global_id(2), k_end = depth_at(&args, z);
    long n0 = get_global_id(0) * args.tile_cols, n1 = min(args.n, n0 + args.tile_cols);
    gemm_epilogue e = make_epilogue(c, bias, d, &args, z);
    a += GEMM_START(args, a, z);
    b += GEMM_START(args, b, z);

    for (long n = n0; n < n1; n += DOT_STRIP) {
        int cols = (int)min((long)DOT_STRIP, n1 - n);
        for (long m = 0; m < args.m; m += TENON_MR) {
            int rows = (int)min((long)TENON_MR, args.m - m);
            for (int i = 0; i < DOT_STRIP * TENON_MR; i++) {
                sum[i] = splat(0);
            }
            for (long k = 0; k < k_end; k += TENON_KC) {
                int kc = (int)min((long)TENON_KC, k_end - k);
                pack_rows(thin, a + m * args.a_row + k * args.a_col, args.a_row, args.a_col, rows,
                          kc);
                for (int j = 0; j < cols; j += TENON_NR) {
                    dot_tile(sum + j * TENON_MR, b + (n + j) * args.b_col + k, args.b_col, cols - j,
                             thin, kc);
                }
            }
            for (int j = 0; j < cols; j++) {
                for (int r = 0; r < TENON_MR; r++) {
                    results[r * (DOT_STRIP + TENON_VW) + j] = sum_lanes(sum[j * TENON_MR + r]);
                }
            }
            store_rows(&e, m, n, rows, cols, results, DOT_STRIP + TENON_VW);
        }
    }
}
