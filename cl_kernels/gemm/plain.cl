/*
 * GEMM with one work-item per element of d: any strides, any device. The fallback, for small
 * problems.
 *
 * Global size: {n, m, batch}, the first two rounded up to a multiple of the local size.
 * TENON_DTYPE, TENON_HW_FMA, TENON_ACT_BUILD: see common/types.clh and common/activation.clh.
 */
#include "gemm/plain.clh"

TENON_KERNEL void gemm_plain(__global const data_t *a, __global const data_t *b,
                             __global const data_t *c, __global const data_t *bias,
                             __global data_t *d, GEMM_POST_POINTERS gemm_args args)
{
    long n = get_global_id(0), m = get_global_id(1), z = get_global_id(2);
    if (m >= args.m || n >= args.n) {
        return;
    }
    gemm_epilogue e = MAKE_EPILOGUE(&args, z);
    epilogue_store(&e, m, n,
                   dot_product(&args, a + GEMM_START(args, a, z), b + GEMM_START(args, b, z), m, n,
                               depth_at(&args, z)));
}
