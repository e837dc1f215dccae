/* A product of i8 or u8 for GPUs: a work-group computes a block of MB x NB elements of d, going
 * through K in steps of 4 * KB that it brings into local memory, four bytes of K to a word; each
 * work-item keeps MR x NR sums in registers. Any strides.
 *
 * Local size {NB / NR, MB / MR, 1}; global size {ceil(n / NB), ceil(m / MB), batch} work-groups.
 *
 *   TENON_MB, TENON_NB  rows and columns of a block
 *   TENON_KB            words of K at a time
 *   TENON_MR, TENON_NR  rows and columns of a work-item; divisors of MB and NB
 *   DIALECT             how four signed bytes are multiplied and added: 0, the OpenCL extension; 1,
 *                       inline PTX; left out, byte by byte
 *
 * TENON_DTYPE, TENON_HW_FMA, TENON_ACT_BUILD: see gemm/int8.clh.
 *
 * The bytes of a word are signed. Those of u8 are 128 less than they should be, and so is then their
 * zero point: Σ (a - za)(b - zb) = Σ ab - zb Σ a - za Σ b + K za zb, all modulo 2^32.
 */
#ifndef TENON_MB
#define TENON_MB 64
#endif
#ifndef TENON_NB
#define TENON_NB 64
#endif
#ifndef TENON_KB
#define TENON_KB 8
#endif
#ifndef TENON_MR
#define TENON_MR 4
#endif
#ifndef TENON_NR
#define TENON_NR 4
#endif
#if defined(DIALECT) && DIALECT == 0
#pragma OPENCL EXTENSION cl_khr_integer_dot_product : enable
#endif

#include "gemm/int8.clh"

#define ITEMS_N (TENON_NB / TENON_NR)
#define ITEMS_M (TENON_MB / TENON_MR)
#define ITEMS   (ITEMS_N * ITEMS_M)
/* One word of padding keeps the work-items that write a column apart in the banks. */
#define PITCH_A (TENON_MB + 1)
#define PITCH_B (TENON_NB + 1)
#define ONES    0x01010101u

/* sum + the product of two words of four signed bytes. */
TENON_INLINE uint dot4(uint x, uint y, uint sum)
{
#if !defined(DIALECT)
    int4 p = convert_int4(as_char4(x)) * convert_int4(as_char4(y));
    return sum + as_uint(p.x + p.y + p.z + p.w);
#elif DIALECT == 0
    return sum + as_uint(dot_4x8packed_ss_int(x, y));
#else
    uint result;
    __asm__("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(result) : "r"(x), "r"(y), "r"(sum));
    return result;
#endif
}

/* Four bytes of K as a word, zeros past its end; one load where they lie together and aligned. */
TENON_INLINE uint load_word(__global const uchar *x, long stride_k, long left, int whole, uint flip)
{
    if (whole && left >= 4) {
        return *(__global const uint *)x ^ flip * ONES;
    }
    uint word = 0;
    for (int j = 0; j < min(left, 4L); j++) {
        word |= (x[j * stride_k] ^ flip) << (8 * j);
    }
    return word;
}

/* Brings `width` rows or columns by KB words of a factor into tile[word][width], zeros past its end.
 * `flip` makes u8 signed. Neighbouring work-items read along whichever dimension is contiguous. */
TENON_INLINE void load_words(__local uint *tile, __global const uchar *x, int item, int width,
                             int pitch, long stride_width, long stride_k, long left_width,
                             long left_k, uint flip)
{
    const int along_k = stride_k == 1;
    const int whole = along_k && stride_width % 4 == 0 && (size_t)x % 4 == 0;
    for (int i = item; i < width * TENON_KB; i += ITEMS) {
        int k = along_k ? i % TENON_KB : i / width;
        int w = along_k ? i / TENON_KB : i % width;
        uint word = 0;
        if (w < left_width) {
            long at = w * stride_width + 4 * k * stride_k;
            word = load_word(x + at, stride_k, left_k - 4 * k, whole, flip);
        }
        tile[k * pitch + w] = word;
    }
}

/* Adds a block's products, and where zero points will need them, the sums of a's rows and b's
 * columns. */
TENON_INLINE void multiply(uint sum[TENON_MR][TENON_NR], uint rows[TENON_MR], uint cols[TENON_NR],
                           int sums_of_a, int sums_of_b, __local const uint *tile_a,
                           __local const uint *tile_b, int row, int col)
{
    for (int k = 0; k < TENON_KB; k++) {
        uint a[TENON_MR], b[TENON_NR];
#pragma unroll
        for (int i = 0; i < TENON_MR; i++) {
            a[i] = tile_a[k * PITCH_A + row + i * ITEMS_M];
            if (sums_of_a) {
                rows[i] = dot4(a[i], ONES, rows[i]);
            }
        }
#pragma unroll
        for (int j = 0; j < TENON_NR; j++) {
            b[j] = tile_b[k * PITCH_B + col + j * ITEMS_N];
            if (sums_of_b) {
                cols[j] = dot4(b[j], ONES, cols[j]);
            }
        }
#pragma unroll
        for (int i = 0; i < TENON_MR; i++) {
#pragma unroll
            for (int j = 0; j < TENON_NR; j++) {
                sum[i][j] = dot4(a[i], b[j], sum[i][j]);
            }
        }
    }
}

TENON_KERNEL __attribute__((reqd_work_group_size(ITEMS_N, ITEMS_M, 1))) void
gemm_int8_tiled(INT8_POINTERS, int8_args args)
{
    __local uint tile_a[TENON_KB * PITCH_A], tile_b[TENON_KB * PITCH_B];
    uint sum[TENON_MR][TENON_NR] = {{0}}, rows[TENON_MR] = {0}, cols[TENON_NR] = {0};
    const int col = (int)get_local_id(0), row = (int)get_local_id(1), item = row * ITEMS_N + col;
    const long n0 = (long)get_group_id(0) * TENON_NB, m0 = (long)get_group_id(1) * TENON_MB;
    const long z = (long)get_global_id(2), k_end = depth_at(&args.gemm, z);
    /* 128 for u8, whose bytes are made signed. */
    const int a_shift = 128 - args.a_sign, b_shift = 128 - args.b_sign;
    const int sums_of_a = b_shift != 0 || INT8_HAS(&args, INT8_ZERO_B);
    const int sums_of_b = a_shift != 0 || INT8_HAS(&args, INT8_ZERO_A);

    int8_epilogue e = MAKE_INT8_EPILOGUE(&args, z);
    a += GEMM_START(args.gemm, a, z) + m0 * args.gemm.a_row;
    b += GEMM_START(args.gemm, b, z) + n0 * args.gemm.b_col;
    for (long k = 0; k < k_end; k += 4 * TENON_KB) {
        load_words(tile_a, a + k * args.gemm.a_col, item, TENON_MB, PITCH_A, args.gemm.a_row,
                   args.gemm.a_col, args.gemm.m - m0, k_end - k, (uint)a_shift);
        load_words(tile_b, b + k * args.gemm.b_row, item, TENON_NB, PITCH_B, args.gemm.b_col,
                   args.gemm.b_row, args.gemm.n - n0, k_end - k, (uint)b_shift);
        barrier(CLK_LOCAL_MEM_FENCE);
        multiply(sum, rows, cols, sums_of_a, sums_of_b, tile_a, tile_b, row, col);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
#pragma unroll
    for (int i = 0; i < TENON_MR; i++) {
        long m = m0 + row + i * ITEMS_M;
#pragma unroll
        for (int j = 0; j < TENON_NR; j++) {
            long n = n0 + col + j * ITEMS_N;
            if (m < args.gemm.m && n < args.gemm.n) {
                uint x = sum[i][j];
                if (k_end > 0) {
                    uint za =
                        (uint)(zero_point(zero_a, &args, INT8_ZERO_A, m, n, args.a_sign) - a_shift);
                    uint zb =
                        (uint)(zero_point(zero_b, &args, INT8_ZERO_B, m, n, args.b_sign) - b_shift);
                    x += (uint)k_end * za * zb - zb * rows[i] - za * cols[j];
                }
                int8_store(&e, &args, m, n, x);
            }
        }
    }
}
