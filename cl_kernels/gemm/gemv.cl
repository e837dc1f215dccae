/*
 * Matrix-vector products: n == 1, and b and d are columns. (If m == 1, the caller swaps the
 * operands.)
 *
 * gemv_dot: the K stride of a is one. Computes dot products of several rows at once.
 * gemv_axpy: the M stride of a is one. Scales and adds columns of a, in strips of TENON_STRIP
 *   outputs.
 * gemv_axpy_partial: the split-K form of gemv_axpy, for few outputs or a device with many cores.
 *   Each slice of K stores its sums in a workspace.
 * gemv_reduce: adds the sums of gemv_axpy_partial in the order of k.
 *
 * A work-item computes args.tile_rows outputs; local size {1, 1, 1}. Global sizes:
 *
 * gemv_dot, gemv_axpy: {1, ceil(m / tile_rows), batch}.
 * gemv_axpy_partial: {k_splits, ceil(m / tile_rows), batch}. The workspace, an
 *   acc_t[batch][k_splits][m], is passed as d; d_offset is its first element.
 * gemv_reduce: {1, ceil(m / tile_rows), batch}. The workspace is passed as a, with a_offset.
 *
 * The vectors b, c, bias and d may have any stride. Each lane adds in the order of k: the bits of
 * an output depend on K (and k_chunk), not on M or tile_rows.
 *
 * TENON_VW: lanes of a vector.
 * TENON_ROWS: rows that gemv_dot sums at once: enough independent chains of multiply-adds to hide
 *   their latency.
 * TENON_STRIP: outputs whose sums gemv_axpy keeps in L1; a multiple of VW.
 * TENON_STRIP_ROWS: rows that share a block of b in gemv_dot; a multiple of ROWS.
 * TENON_KC: elements of b in that block; a multiple of VW.
 *
 * TENON_DTYPE, TENON_HW_FMA, TENON_ACT_BUILD: see common/types.clh and common/activation.clh.
 */
#ifndef TENON_VW
#define TENON_VW 16
#endif
#ifndef TENON_ROWS
#define TENON_ROWS 8
#endif
#ifndef TENON_STRIP
#define TENON_STRIP 2048
#endif
#ifndef TENON_STRIP_ROWS
#define TENON_STRIP_ROWS 64
#endif
#ifndef TENON_KC
#define TENON_KC 2048
#endif

#include "gemm/epilogue.clh"
#include "gemm/lanes.clh"

/* sum[r] += a[r, 0 .. kc) * x[0 .. kc) for ROWS rows. x is zero from kc to the end of the
 * vector. Rows past the last read the last row again; their sums are not used. */
TENON_INLINE void dot_rows(acc_v *sum, __global const data_t *a, long a_row, int rows,
                           __local const acc_t *x, int kc)
{
    acc_v s[TENON_ROWS];
    __global const data_t *row[TENON_ROWS];
#pragma unroll
    for (int r = 0; r < TENON_ROWS; r++) {
        s[r] = sum[r];
        row[r] = a + min(r, rows - 1) * a_row;
    }
    int k = 0;
    for (; k + TENON_VW <= kc; k += TENON_VW) {
        acc_v xk = TENON_VLOAD(0, x + k);
#pragma unroll
        for (int r = 0; r < TENON_ROWS; r++) {
            s[r] = TENON_FMA(load_data_v(row[r], k), xk, s[r]);
        }
    }
    if (k < kc) {
        acc_v xk = TENON_VLOAD(0, x + k);
#pragma unroll
        for (int r = 0; r < TENON_ROWS; r++) {
            s[r] = TENON_FMA(load_lanes(row[r], k, 1, kc - k), xk, s[r]);
        }
    }
#pragma unroll
    for (int r = 0; r < TENON_ROWS; r++) {
        sum[r] = s[r];
    }
}

TENON_VECTOR_KERNEL __attribute__((reqd_work_group_size(1, 1, 1))) void
gemv_dot(__global const data_t *a, __global const data_t *b, __global const data_t *c,
         __global const data_t *bias, __global data_t *d, gemm_args args)
{
    __local acc_t x[TENON_KC];
    acc_v sum[TENON_STRIP_ROWS];
    long z = get_global_id(2), k_end = depth_at(&args, z);
    long m0 = get_global_id(1) * args.tile_rows, m1 = min(args.m, m0 + args.tile_rows);
    gemm_epilogue e = make_epilogue(c, bias, d, &args, z);
    a += GEMM_START(args, a, z);
    b += GEMM_START(args, b, z);

    for (long m = m0; m < m1; m += TENON_STRIP_ROWS) {
        int strip = (int)min((long)TENON_STRIP_ROWS, m1 - m);
        for (int r = 0; r < TENON_STRIP_ROWS; r++) {
            sum[r] = splat(0);
        }
        for (long k = 0; k < k_end; k += TENON_KC) {
            int kc = (int)min((long)TENON_KC, k_end - k);
            for (int i = 0; i < (kc + TENON_VW - 1) / TENON_VW * TENON_VW; i++) {
                x[i] = i < kc ? load_data(b, (k + i) * args.b_row) : 0;
            }
            for (int r = 0; r < strip; r += TENON_ROWS) {
                dot_rows(sum + r, a + (m + r) * args.a_row + k, args.a_row, strip - r, x, kc);
            }
        }
        for (int r = 0; r < strip; r++) {
            epilogue_store(&e, m + r, 0, sum_lanes(sum[r]));
        }
    }
}

/* sum[0 .. rows) = a[0 .. rows, k0 .. k1) * b[k0 .. k1), four columns of a at a time. */
TENON_INLINE void axpy_strip(__local acc_t *sum, __global const data_t *a, long a_col,
                             __global const data_t *b, long b_row, int rows, long k0, long k1)
{
    for (int i = 0; i < rows; i += TENON_VW) {
        TENON_VSTORE(splat(0), 0, sum + i);
    }
    long k = k0;
    for (; k + 4 <= k1; k += 4) {
        __global const data_t *col = a + k * a_col;
        acc_v x0 = splat(load_data(b, k * b_row)), x1 = splat(load_data(b, (k + 1) * b_row));
        acc_v x2 = splat(load_data(b, (k + 2) * b_row)), x3 = splat(load_data(b, (k + 3) * b_row));
        int i = 0;
        for (; i + TENON_VW <= rows; i += TENON_VW) {
            acc_v s = TENON_VLOAD(0, sum + i);
            s = TENON_FMA(load_data_v(col, i), x0, s);
            s = TENON_FMA(load_data_v(col, a_col + i), x1, s);
            s = TENON_FMA(load_data_v(col, 2 * a_col + i), x2, s);
            s = TENON_FMA(load_data_v(col, 3 * a_col + i), x3, s);
            TENON_VSTORE(s, 0, sum + i);
        }
        for (int j = 0; i < rows && j < 4; j++) {
            acc_v x = splat(load_data(b, (k + j) * b_row));
            acc_v s =
                TENON_FMA(load_lanes(col, j * a_col + i, 1, rows - i), x, TENON_VLOAD(0, sum + i));
            TENON_VSTORE(s, 0, sum + i);
        }
    }
    for (; k < k1; k++) {
        acc_v x = splat(load_data(b, k * b_row));
        for (int i = 0; i < rows; i += TENON_VW) {
            acc_v s =
                TENON_FMA(load_lanes(a, k * a_col + i, 1, rows - i), x, TENON_VLOAD(0, sum + i));
            TENON_VSTORE(s, 0, sum + i);
        }
    }
}

TENON_VECTOR_KERNEL __attribute__((reqd_work_group_size(1, 1, 1))) void
gemv_axpy(__global const data_t *a, __global const data_t *b, __global const data_t *c,
          __global const data_t *bias, __global data_t *d, gemm_args args)
{
    __local acc_t sum[TENON_STRIP];
    long z = get_global_id(2), k_end = depth_at(&args, z);
    long m0 = get_global_id(1) * args.tile_rows, m1 = min(args.m, m0 + args.tile_rows);
    gemm_epilogue e = make_epilogue(c, bias, d, &args, z);
    a += GEMM_START(args, a, z);
    b += GEMM_START(args, b, z);

    for (long m = m0; m < m1; m += TENON_STRIP) {
        int rows = (int)min((long)TENON_STRIP, m1 - m);
        axpy_strip(sum, a + m, args.a_col, b, args.b_row, rows, 0, k_end);
        for (int r = 0; r < rows; r++) {
            epilogue_store(&e, m + r, 0, sum[r]);
        }
    }
}

TENON_VECTOR_KERNEL __attribute__((reqd_work_group_size(1, 1, 1))) void
gemv_axpy_partial(__global const data_t *a, __global const data_t *b, __global const data_t *c,
                  __global const data_t *bias, __global acc_t *workspace, gemm_args args)
{
    __local acc_t sum[TENON_STRIP];
    long split = get_global_id(0), z = get_global_id(2), k_end = depth_at(&args, z);
    long k0 = min(k_end, split * args.k_chunk), k1 = min(k_end, k0 + args.k_chunk);
    long m0 = get_global_id(1) * args.tile_rows, m1 = min(args.m, m0 + args.tile_rows);
    a += GEMM_START(args, a, z);
    b += GEMM_START(args, b, z);
    workspace += args.d_offset + (z * args.k_splits + split) * args.m;

    for (long m = m0; m < m1; m += TENON_STRIP) {
        int rows = (int)min((long)TENON_STRIP, m1 - m);
        axpy_strip(sum, a + m, args.a_col, b, args.b_row, rows, k0, k1);
        for (int r = 0; r < rows; r++) {
            workspace[m + r] = sum[r];
        }
    }
}

TENON_VECTOR_KERNEL __attribute__((reqd_work_group_size(1, 1, 1))) void
gemv_reduce(__global const acc_t *workspace, __global const data_t *b, __global const data_t *c,
            __global const data_t *bias, __global data_t *d, gemm_args args)
{
    __local acc_t sum[TENON_STRIP];
    long z = get_global_id(2);
    long m0 = get_global_id(1) * args.tile_rows, m1 = min(args.m, m0 + args.tile_rows);
    gemm_epilogue e = make_epilogue(c, bias, d, &args, z);
    workspace += args.a_offset + z * args.k_splits * args.m;

    for (long m = m0; m < m1; m += TENON_STRIP) {
        int rows = (int)min((long)TENON_STRIP, m1 - m);
        for (int r = 0; r < rows; r++) {
            sum[r] = workspace[m + r];
        }
        for (long split = 1; split < args.k_splits; split++) {
            for (int r = 0; r < rows; r++) {
                sum[r] += workspace[split * args.m + m + r];
            }
        }
        for (int r = 0; r < rows; r++) {
            epilogue_store(&e, m + r, 0, sum[r]);
        }
    }
}
