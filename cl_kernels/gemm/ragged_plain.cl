/*
 * Ragged product with one work-item per element of d: any strides, any device. The fallback, for
 * small problems.
 *
 * Global size: {n, m}, rounded up to a multiple of the local size. TENON_DTYPE, TENON_HW_FMA,
 * TENON_ACT_BUILD: see common/types.clh and common/activation.clh.
 */
#include "gemm/plain.clh"
#include "gemm/ragged.clh"

TENON_KERNEL void gemm_ragged_plain(__global const data_t *a, __global const data_t *b,
                                    __global const data_t *c, __global const data_t *bias,
                                    __global data_t *d, __global const int *offsets,
                                    ragged_args args)
{
    long n = get_global_id(0), m = get_global_id(1);
    if (m >= args.gemm.m || n >= args.gemm.n) {
        return;
    }
    segment s = next_segment(offsets, &args, -1, m, m + 1);
    if (s.row == s.end) {
        return;
    }
    gemm_epilogue e = make_epilogue(c, bias, d, &args.gemm, s.group);
    epilogue_store(&e, m, n,
                   dot_product(&args.gemm, a + args.gemm.a_offset,
                               b + GEMM_START(args.gemm, b, s.group), m, n,
                               depth_at(&args.gemm, s.group)));
}
