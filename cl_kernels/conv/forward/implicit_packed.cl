/*
 * Convolution for CPUs as the product of gemm/cpu_packed.cl with blocks of b packed directly from
 * the image (implicit GEMM: columns without a workspace). For each image and group, d is filters by
 * pixels, and a is filters by taps.
 *
 * Global size: {ceil(pixels / (NTP * NR)), ceil(filters / tile_rows), images * groups}, local size
 * {1, 1, 1}. Macros: those of gemm/cpu_packed.cl. Positions of taps in the padded image must fit
 * into 30 bits.
 */
#include "gemm/cpu_defaults.clh"

#include "conv/forward/pack_taps.clh"

TENON_VECTOR_KERNEL __attribute__((reqd_work_group_size(1, 1, 1))) void
conv_implicit_packed(__global const data_t *w, __global const data_t *x, __global const data_t *c,
                     __global const data_t *bias, __global out_t *y, conv_product_args args)
{
    __local acc_v packed_b[TENON_NTP * TENON_KC * TENON_NV];
    __local acc_t packed_a[TENON_PACKED_A_SIZE];
    __local acc_t sums[TENON_SUMS_SIZE];
    __local pixel_table pixels;
    acc_v tile[TENON_MR * TENON_NV];

    const long z = get_global_id(2), k_end = depth_at(&args.gemm, z);
    const int length = block_length(k_end);
    gemm_epilogue e = make_epilogue(c, bias, y, &args.gemm, z);
    cpu_block block = make_block(&args.gemm);
    w += GEMM_START(args.gemm, a, z);
    x += GEMM_START(args.gemm, b, z);
    find_pixels(&pixels, &args, &block);
    do {
        block.kc = (int)min((long)length, k_end - block.k0);
        pack_taps(packed_b, x, &args, &pixels, &block);
        multiply_block(&args.gemm, &e, w, &block, k_end, packed_a, packed_b, sums, tile);
        block.k0 += block.kc;
    } while (block.k0 < k_end);
}
