/*
 * Matrix-vector product of i8 or u8 for CPUs: n is 1. The time is spent reading a once.
 *
 * Local size {1, 1, 1}.
 *
 * TENON_A_LAYOUT: 1: a is contiguous along K. A work-item computes args.gemm.tile_rows rows, four
 *   at a time; global size {ceil(m / tile_rows), 1, batch}. 2: a is contiguous along M. A work-item
 *   computes TENON_ROWS rows; global size {ceil(m / TENON_ROWS), 1, batch}.
 * TENON_ROWS: a multiple of TENON_VW; layout 2 only.
 *
 * TENON_DTYPE and others: see gemm/int8.clh.
 *
 * Bytes of a are read as a + sign, from 0 to 255. Bytes of b minus their zero point have 9 bits.
 * Both fit into 16 bits with sign, and a compiler that sees this can use 16-bit instead of 32-bit
 * multiplications. The result is Σ (a - za)(b - zb) = Σ (a + sign)(b - zb) - (sign + za) Σ (b -
 * zb).
 */
#ifndef TENON_VW
#define TENON_VW 16
#endif
#ifndef TENON_A_LAYOUT
#define TENON_A_LAYOUT 1
#endif
#ifndef TENON_ROWS
#define TENON_ROWS (8 * TENON_VW)
#endif

#include "gemm/int8.clh"

#define TENON_TO_SHORT_V TENON_CAT(convert_short, TENON_VW)
#define TENON_TO_UINT_V  TENON_CAT(as_uint, TENON_VW)

TENON_INLINE int_v shifted_bytes(uchar_v x, int sign)
{
    return TENON_TO_INT_V(x ^ (uchar_v)((uchar)sign));
}

TENON_INLINE uint sum_lanes(uint_v x)
{
    uint lanes[TENON_VW], sum = 0;
    TENON_VSTORE(x, 0, lanes);
    for (int l = 0; l < TENON_VW; l++) {
        sum += lanes[l];
    }
    return sum;
}

#if TENON_A_LAYOUT == 1

/* Computes Σ (a + sign)(b - zb) for rows that start at elements at[], and returns Σ (b - zb). */
TENON_INLINE uint dot_rows(uint sums[INT8_TOGETHER], __global const uchar *a,
                           const long at[INT8_TOGETHER], __global const uchar *b,
                           const int8_args *args, int zb)
{
    const long k_end = args->gemm.k, step = args->gemm.b_row;
    uint_v sum[INT8_TOGETHER], total = (uint_v)(0);
    long k = 0;
#pragma unroll
    for (int i = 0; i < INT8_TOGETHER; i++) {
        sum[i] = (uint_v)(0);
    }
    for (; k + TENON_VW <= k_end; k += TENON_VW) {
        int_v bytes = byte_values(load_bytes(b, k * step, step, TENON_VW), args->b_sign);
        int_v y = TENON_TO_INT_V(TENON_TO_SHORT_V(bytes - (int_v)(zb)));
        total += TENON_TO_UINT_V(y);
#pragma unroll
        for (int i = 0; i < INT8_TOGETHER; i++) {
            int_v x = shifted_bytes(TENON_VLOAD(0, a + at[i] + k), args->a_sign);
            sum[i] += TENON_TO_UINT_V(x * y);
        }
    }
    uint total_sum = sum_lanes(total);
#pragma unroll
    for (int i = 0; i < INT8_TOGETHER; i++) {
        sums[i] = sum_lanes(sum[i]);
    }
    for (; k < k_end; k++) {
        int y = byte_value(b[k * step], args->b_sign) - zb;
        total_sum += (uint)y;
        for (int i = 0; i < INT8_TOGETHER; i++) {
            sums[i] += (uint)(((int)a[at[i] + k] ^ args->a_sign) * y);
        }
    }
    return total_sum;
}

TENON_VECTOR_KERNEL __attribute__((reqd_work_group_size(1, 1, 1))) void
gemm_int8_gemv(INT8_POINTERS, int8_args args)
{
    long z = get_global_id(2), m0 = get_global_id(0) * args.gemm.tile_rows;
    long m1 = min(args.gemm.m, m0 + args.gemm.tile_rows);
    int zb = zero_point(zero_b, &args, INT8_ZERO_B, 0, 0, args.b_sign);
    int8_epilogue e = MAKE_INT8_EPILOGUE(&args, z);
    args.gemm.k = depth_at(&args.gemm, z);
    a += GEMM_START(args.gemm, a, z);
    b += GEMM_START(args.gemm, b, z);
    for (long m = m0; m < m1; m += INT8_TOGETHER) {
        uint sums[INT8_TOGETHER];
        long at[INT8_TOGETHER];
        for (int i = 0; i < INT8_TOGETHER; i++) {
            at[i] = min(m + i, m1 - 1) * args.gemm.a_row;
        }
        uint total = dot_rows(sums, a, at, b, &args, zb);
        for (int i = 0; i < min((long)INT8_TOGETHER, m1 - m); i++) {
            int za = zero_point(zero_a, &args, INT8_ZERO_A, m + i, 0, args.a_sign);
            int8_store(&e, &args, m + i, 0, sums[i] - (uint)(args.a_sign + za) * total);
        }
    }
}
#else
#define VECTORS (TENON_ROWS / TENON_VW)

TENON_VECTOR_KERNEL __attribute__((reqd_work_group_size(1, 1, 1))) void
gemm_int8_gemv(INT8_POINTERS, int8_args args)
{
    long z = get_global_id(2), m0 = get_global_id(0) * TENON_ROWS;
    int rows = (int)min(args.gemm.m - m0, (long)TENON_ROWS);
    int zb = zero_point(zero_b, &args, INT8_ZERO_B, 0, 0, args.b_sign);
    int8_epilogue e = MAKE_INT8_EPILOGUE(&args, z);
    uint_v sum[VECTORS];
    uint total = 0, sums[TENON_ROWS];
#pragma unroll
    for (int v = 0; v < VECTORS; v++) {
        sum[v] = (uint_v)(0);
    }
    a += GEMM_START(args.gemm, a, z) + m0;
    b += GEMM_START(args.gemm, b, z);
    for (long k = depth_at(&args.gemm, z); k > 0; k--) {
        int y = (short)(byte_value(*b, args.b_sign) - zb);
        total += (uint)y;
#pragma unroll
        for (int v = 0; v < VECTORS; v++) {
            uchar_v x = load_bytes(a, v * TENON_VW, 1, rows - v * TENON_VW);
            sum[v] += TENON_TO_UINT_V(shifted_bytes(x, args.a_sign) * (int_v)(y));
        }
        a += args.gemm.a_col;
        b += args.gemm.b_row;
    }
#pragma unroll
    for (int v = 0; v < VECTORS; v++) {
        TENON_VSTORE(sum[v], v, sums);
    }
    for (int i = 0; i < rows; i++) {
        int za = zero_point(zero_a, &args, INT8_ZERO_A, m0 + i, 0, args.a_sign);
        int8_store(&e, &args, m0 + i, 0, sums[i] - (uint)(args.a_sign + za) * total);
    }
}
#endif
