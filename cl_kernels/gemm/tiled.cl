/* GEMM for GPUs: a work-group computes a block of MB x NB elements of d, going through K in steps of
 * KB that it brings into local memory; each work-item keeps MR x NR sums in registers. Any strides.
 *
 * Local size {NB / NR, MB / MR, 1}; global size {ceil(n / NB), ceil(m / MB), batch} work-groups.
 *
 *   TENON_MB, TENON_NB  rows and columns of a block
 *   TENON_KB            steps of K at a time
 *   TENON_MR, TENON_NR  rows and columns of a work-item; divisors of MB and NB
 *
 * TENON_DTYPE, TENON_HW_FMA, TENON_ACT_BUILD: see common/types.clh and common/activation.clh.
 *
 * An element is one chain of multiply-adds in the order of k, as in gemm/plain.cl: its bits depend
 * on neither M, N nor the block.
 */
#ifndef TENON_MB
#define TENON_MB 64
#endif
#ifndef TENON_NB
#define TENON_NB 64
#endif
#ifndef TENON_KB
#define TENON_KB 16
#endif
#ifndef TENON_MR
#define TENON_MR 4
#endif
#ifndef TENON_NR
#define TENON_NR 4
#endif

#include "gemm/epilogue.clh"

#define ITEMS_N (TENON_NB / TENON_NR)
#define ITEMS_M (TENON_MB / TENON_MR)
#define ITEMS   (ITEMS_N * ITEMS_M)
/* One element of padding keeps the work-items that write a column apart in the banks. */
#define PITCH_A (TENON_MB + 1)
#define PITCH_B (TENON_NB + 1)

/* Brings `width` rows or columns by KB steps of a factor into tile[step][width], zeros past its end.
 * Neighbouring work-items read along whichever dimension is contiguous. */
TENON_INLINE void load_tile(__local acc_t *tile, __global const data_t *x, int item, int width,
                            int pitch, long stride_width, long stride_k, long left_width,
                            long left_k)
{
    const int along_k = stride_k == 1;
    for (int i = item; i < width * TENON_KB; i += ITEMS) {
        int k = along_k ? i % TENON_KB : i / width;
        int w = along_k ? i / TENON_KB : i % width;
        acc_t value = 0;
        if (w < left_width && k < left_k) {
            value = load_data(x, w * stride_width + k * stride_k);
        }
        tile[k * pitch + w] = value;
    }
}

TENON_INLINE void multiply(acc_t sum[TENON_MR][TENON_NR], __local const acc_t *tile_a,
                           __local const acc_t *tile_b, int row, int col)
{
    for (int k = 0; k < TENON_KB; k++) {
        acc_t a[TENON_MR], b[TENON_NR];
#pragma unroll
        for (int i = 0; i < TENON_MR; i++) {
            a[i] = tile_a[k * PITCH_A + row + i * ITEMS_M];
        }
#pragma unroll
        for (int j = 0; j < TENON_NR; j++) {
            b[j] = tile_b[k * PITCH_B + col + j * ITEMS_N];
        }
#pragma unroll
        for (int i = 0; i < TENON_MR; i++) {
#pragma unroll
            for (int j = 0; j < TENON_NR; j++) {
                sum[i][j] = TENON_FMA(a[i], b[j], sum[i][j]);
            }
        }
    }
}

__kernel __attribute__((reqd_work_group_size(ITEMS_N, ITEMS_M, 1))) void
gemm_tiled(__global const data_t *a, __global const data_t *b, __global const data_t *c,
           __global const data_t *bias, __global out_t *d, gemm_args args)
{
    __local acc_t tile_a[TENON_KB * PITCH_A], tile_b[TENON_KB * PITCH_B];
    acc_t sum[TENON_MR][TENON_NR];
    const int col = (int)get_local_id(0), row = (int)get_local_id(1), item = row * ITEMS_N + col;
    const long n0 = (long)get_group_id(0) * TENON_NB, m0 = (long)get_group_id(1) * TENON_MB;
    const long z = (long)get_global_id(2), k_end = depth_at(&args, z);

    gemm_epilogue e = make_epilogue(c, bias, d, &args, z);
    a += GEMM_START(args, a, z) + m0 * args.a_row;
    b += GEMM_START(args, b, z) + n0 * args.b_col;
#pragma unroll
    for (int i = 0; i < TENON_MR; i++) {
#pragma unroll
        for (int j = 0; j < TENON_NR; j++) {
            sum[i][j] = 0;
        }
    }
    for (long k = 0; k < k_end; k += TENON_KB) {
        load_tile(tile_a, a + k * args.a_col, item, TENON_MB, PITCH_A, args.a_row, args.a_col,
                  args.m - m0, k_end - k);
        load_tile(tile_b, b + k * args.b_row, item, TENON_NB, PITCH_B, args.b_col, args.b_row,
                  args.n - n0, k_end - k);
        barrier(CLK_LOCAL_MEM_FENCE);
        multiply(sum, tile_a, tile_b, row, col);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
#pragma unroll
    for (int i = 0; i < TENON_MR; i++) {
#pragma unroll
        for (int j = 0; j < TENON_NR; j++) {
            long m = m0 + row + i * ITEMS_M, n = n0 + col + j * ITEMS_N;
            if (m < args.m && n < args.n) {
                epilogue_store(&e, m, n, sum[i][j]);
            }
        }
    }
}
