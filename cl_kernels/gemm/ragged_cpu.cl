/*
 * Ragged product for CPUs: a work-item computes args.tile_rows rows by TENON_NTP panels of TENON_NR
 * columns of d, one group's rows at a time.
 *
 * Global size: {ceil(n / (NTP * NR)), ceil(m / tile_rows)}, local size {1, 1}. Any strides. Macros:
 * see gemm/cpu_packed.clh.
 */
#include "gemm/cpu_packed.clh"
#include "gemm/ragged.clh"

TENON_VECTOR_KERNEL __attribute__((reqd_work_group_size(1, 1, 1))) void
gemm_ragged_cpu(__global const data_t *a, __global const data_t *b, __global const data_t *c,
                __global const data_t *bias, __global data_t *d, __global const int *offsets,
                ragged_args args)
{
    __local TENON_DECLARE_PACKED_B;
    __local TENON_DECLARE_PACKED_A;
    __local TENON_DECLARE_SUMS;
    long n0 = get_global_id(0) * (TENON_NTP * TENON_NR);
    long m0 = get_global_id(1) * args.gemm.tile_rows;
    long m1 = min(args.gemm.m, m0 + args.gemm.tile_rows);
    segment s = next_segment(offsets, &args, -1, m0, m1);
    while (s.row < s.end) {
        gemm_epilogue e = make_epilogue(c, bias, d, &args.gemm, s.group);
        multiply_packed(&args.gemm, &e, a + args.gemm.a_offset,
                        b + GEMM_START(args.gemm, b, s.group), s.row, s.end, n0,
                        depth_at(&args.gemm, s.group), packed_b, packed_a, sums);
        s = next_segment(offsets, &args, s.group, s.end, m1);
    }
}
