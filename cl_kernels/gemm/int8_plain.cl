/*
 * Product of i8 or u8 with one work-item per element of d: any strides, any device. The fallback,
 * for small problems.
 *
 * Global size: {n, m, batch}, the first two rounded up to a multiple of the local size.
 * TENON_DTYPE, TENON_HW_FMA, TENON_ACT_BUILD: see gemm/int8.clh.
 */
#include "gemm/int8.clh"

TENON_KERNEL void gemm_int8_plain(INT8_POINTERS, int8_args args)
{
    long n = get_global_id(0), m = get_global_id(1), z = get_global_id(2);
    if (m >= args.gemm.m || n >= args.gemm.n) {
        return;
    }
    int8_epilogue e = MAKE_INT8_EPILOGUE(&args, z);
    long ai = GEMM_START(args.gemm, a, z) + m * args.gemm.a_row;
    long bi = GEMM_START(args.gemm, b, z) + n * args.gemm.b_col;
    uint sum = 0;
    if (depth_at(&args.gemm, z) > 0) {
        int za = zero_point(zero_a, &args, INT8_ZERO_A, m, n, args.a_sign);
        int zb = zero_point(zero_b, &args, INT8_ZERO_B, m, n, args.b_sign);
        for (long k = 0; k < args.gemm.k; k++) {
            sum += as_uint((byte_value(a[ai], args.a_sign) - za) *
                           (byte_value(b[bi], args.b_sign) - zb));
            ai += args.gemm.a_col;
            bi += args.gemm.b_row;
        }
    }
    int8_store(&e, &args, m, n, sum);
}
