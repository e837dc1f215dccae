/*
 * Product with a b that is packed in panels, with one work-item per element of d: any device, any
 * strides, any panel width. The fallback.
 *
 * Global size: {n, m, batch}, the first two rounded up to a multiple of the local size. b_batch
 * counts elements of the panels; the other strides of b are not used. TENON_DTYPE, TENON_HW_FMA,
 * TENON_ACT_BUILD: see common/types.clh and common/activation.clh.
 */
#include "gemm/plain.clh"
#include "packed/args.h"

TENON_KERNEL void packed_gemm_plain(__global const data_t *a, __global const data_t *b,
                                    __global const data_t *c, __global const data_t *bias,
                                    __global data_t *d,
                                    GEMM_POST_POINTERS const packed_gemm_args args)
{
    const long n = get_global_id(0), m = get_global_id(1), z = get_global_id(2);
    if (m >= args.gemm.m || n >= args.gemm.n) {
        return;
    }
    const long number = n / args.panel;
    const gemm_epilogue e = MAKE_EPILOGUE(&args.gemm, z);
    gemm_args column = args.gemm; /* the column of the panel, as a separate matrix */
    column.b_row = args.panel;
    b += GEMM_START(args.gemm, b, z) + number * args.gemm.k * args.panel + n - number * args.panel;
    epilogue_store(&e, m, n,
                   dot_product(&column, a + GEMM_START(args.gemm, a, z) + m * column.a_row, b, 0, 0,
                               depth_at(&args.gemm, z)));
}
