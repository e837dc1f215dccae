/*
 * Second launch of gemm/split_k and gemm/cpu_split_k: adds the sums that the slices of K left in
 * the workspace, in the order of K, and stores them through the epilogue.
 *
 * The workspace is an acc_t[batch][k_splits][m][n] and is passed as a, with a_offset and a_batch. b
 * is not read.
 *
 * gemm_add_slices: one work-item per element; global size {n, m, batch}, the first two rounded up
 *   to a multiple of the local size.
 * gemm_add_slices_rows: one work-item per args.tile_rows rows, in vectors of TENON_VW; global size
 *   {1, ceil(m / tile_rows), batch}, local size {1, 1, 1}.
 *
 * TENON_DTYPE, TENON_HW_FMA, TENON_ACT_BUILD: see common/types.clh and common/activation.clh.
 */
#ifndef TENON_VW
#define TENON_VW 16
#endif

#include "gemm/epilogue.clh"

TENON_KERNEL void gemm_add_slices(__global const acc_t *sums, __global const data_t *b,
                                  __global const data_t *c, __global const data_t *bias,
                                  __global data_t *d, gemm_args args)
{
    long n = get_global_id(0), m = get_global_id(1), z = get_global_id(2);
    if (m >= args.m || n >= args.n) {
        return;
    }
    gemm_epilogue e = make_epilogue(c, bias, d, &args, z);
    long slice = args.m * args.n;
    sums += GEMM_START(args, a, z) + m * args.n + n;
    acc_t sum = sums[0];
    for (long s = 1; s < args.k_splits; s++) {
        sum += sums[s * slice];
    }
    epilogue_store(&e, m, n, sum);
}

/* Loads up to VW sums; the lanes past them are zero and are not read. */
TENON_INLINE acc_v load_sums(__global const acc_t *p, int lanes)
{
    if (lanes >= TENON_VW) {
        return TENON_VLOAD(0, p);
    }
    acc_t x[TENON_VW];
    TENON_VSTORE(splat(0), 0, x);
    for (int l = 0; l < lanes; l++) {
        x[l] = p[l];
    }
    return TENON_VLOAD(0, x);
}

TENON_VECTOR_KERNEL __attribute__((reqd_work_group_size(1, 1, 1))) void
gemm_add_slices_rows(__global const acc_t *sums, __global const data_t *b, __global const data_t *c,
                     __global const data_t *bias, __global data_t *d, gemm_args args)
{
    __local acc_t waiting[TENON_VW]; /* not used: there is one pass */
    long z = get_global_id(2), slice = args.m * args.n;
    long m0 = get_global_id(1) * args.tile_rows, m1 = min(args.m, m0 + args.tile_rows);
    gemm_epilogue e = make_epilogue(c, bias, d, &args, z);
    sums += GEMM_START(args, a, z);

    for (long m = m0; m < m1; m++) {
        for (long n = 0; n < args.n; n += TENON_VW) {
            int lanes = (int)min((long)TENON_VW, args.n - n);
            __global const acc_t *at = sums + m * args.n + n;
            acc_v sum = load_sums(at, lanes);
            for (long s = 1; s < args.k_splits; s++) {
                sum += load_sums(at + s * slice, lanes);
            }
            epilogue_store_v(&e, m, n, lanes, TENON_PASS_ONLY, waiting, sum);
        }
    }
}
