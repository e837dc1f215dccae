/*
 * GEMM for CPUs that packs b. A work-item computes args.tile_rows rows by TENON_NTP panels of
 * TENON_NR columns of d.
 *
 * Global size: {ceil(n / (NTP * NR)), ceil(m / tile_rows), batch}, local size {1, 1, 1}, where NR
 * is VW * NV. Any strides. Macros: see gemm/cpu_packed.clh.
 */
#include "gemm/cpu_packed.clh"

TENON_VECTOR_KERNEL __attribute__((reqd_work_group_size(1, 1, 1))) void
gemm_cpu_packed(__global const data_t *a, __global const data_t *b, __global const data_t *c,
                __global const data_t *bias, __global out_t *d, GEMM_POST_POINTERS gemm_args args)
{
    __local TENON_DECLARE_PACKED_B;
    __local TENON_DECLARE_PACKED_A;
    __local TENON_DECLARE_SUMS;
    long z = get_global_id(2), m0 = get_global_id(1) * args.tile_rows;
    gemm_epilogue e = MAKE_EPILOGUE(&args, z);
    multiply_packed(&args, &e, a + GEMM_START(args, a, z), b + GEMM_START(args, b, z), m0,
                    min(args.m, m0 + args.tile_rows), get_global_id(0) * (TENON_NTP * TENON_NR),
                    depth_at(&args, z), packed_b, packed_a, sums);
}
