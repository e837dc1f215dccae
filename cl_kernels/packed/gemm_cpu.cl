/*
 * Product with a b that has been packed in panels (packed/args.h), for CPUs. A work-item computes
 * args.tile_rows rows by args.tile_cols columns of d, a multiple of the tile width. It reads the
 * panels in place, and copies the rows of a for a tile to __local memory, as acc_t: rows whose
 * distance is a power of two would share a few cache sets.
 *
 * Global size: {ceil(n / tile_cols), ceil(m / tile_rows), batch}, local size {1, 1, 1}. a, c, bias
 * and d may have any strides; b_batch counts elements of the panels.
 *
 * The macros are those of packed/tile.clh.
 */
#include "packed/tile.clh"

/* The rows of a: its first element, and its strides. */
typedef struct panel_source {
    __global const data_t *a;
    long row, col;
} panel_source;

/* Copies rows: see packed/product.clh. */
TENON_INLINE void fill_rows(const panel_source *source, __local acc_t *out, long m, int rows,
                            long k0, int kc)
{
    const long a_row = source->row, a_col = source->col;
    __global const data_t *a = source->a + m * a_row + k0 * a_col;
    if (a_col == 1) {
        for (int i = 0; i < rows; i++) {
            __global const data_t *from = a + i * a_row;
            __local acc_t *to = out + i * TENON_A_PITCH;
            int k = 0;
            for (; k + TENON_VW <= kc; k += TENON_VW) {
                *(__local acc_v *)(to + k) = load_data_v(from, k);
            }
            for (; k < kc; k++) {
                to[k] = load_data(from, k);
            }
        }
        return;
    }
    for (int k = 0; k < kc; k++) {
        for (int i = 0; i < rows; i++) {
            out[i * TENON_A_PITCH + k] = load_data(a, i * a_row + k * a_col);
        }
    }
}

#include "packed/product.clh"

TENON_VECTOR_KERNEL __attribute__((reqd_work_group_size(1, 1, 1))) void
packed_gemm_cpu(__global const data_t *a, __global const data_t *b, __global const data_t *c,
                __global const data_t *bias, __global out_t *d,
                GEMM_POST_POINTERS const packed_gemm_args args)
{
    __local acc_v rows_of_a[TENON_MR * TENON_A_PITCH / TENON_VW]; /* as vectors, for alignment */
    __local acc_t sums[TENON_SUMS_SIZE];
    acc_v tile[PANEL_TILE_VECTORS];
    const long z = get_global_id(2);
    const gemm_epilogue e = MAKE_EPILOGUE(&args.gemm, z);
    const panel_source source = {a + GEMM_START(args.gemm, a, z), args.gemm.a_row, args.gemm.a_col};
    panel_block block;
    block.m0 = (long)get_global_id(1) * args.gemm.tile_rows;
    block.m1 = min(args.gemm.m, block.m0 + args.gemm.tile_rows);
    block.n0 = (long)get_global_id(0) * args.gemm.tile_cols;
    block.n1 = min(args.gemm.n, block.n0 + args.gemm.tile_cols);
    block.k_end = depth_at(&args.gemm, z);
    block.panel = args.gemm.k * TENON_PANEL;
    block.last = (args.gemm.n - 1) / TENON_PANEL;
    panel_product(&source, &e, b + GEMM_START(args.gemm, b, z), &block, (__local acc_t *)rows_of_a,
                  sums, tile);
}
