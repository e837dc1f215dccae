/*
 * Product of i8 or u8 for GPUs: a work-group computes a block of MB x NB elements of d as
 * gemm/tiled.cl does, on words of four bytes along K instead of real numbers. Any strides.
 *
 * Local size {NB / NR, MB / MR, 1}; global size {ceil(n / NB), ceil(m / MB), batch} work-groups.
 *
 * TENON_KB: words of K at a time; a multiple of 4, as are MB and NB.
 * DIALECT: the instruction that multiplies and adds four signed bytes: 0: the OpenCL extension; 1:
 *   inline PTX; undefined: byte by byte.
 *
 * Other macros: see gemm/tiled.clh and gemm/int8_load.clh; TENON_DTYPE: gemm/int8.clh.
 *
 * The bytes of a word are signed; see int8_unshifted for u8.
 */
#ifndef TENON_KB
#define TENON_KB 16
#endif
#if defined(DIALECT) && DIALECT == 0
#pragma OPENCL EXTENSION cl_khr_integer_dot_product : enable
#endif

#include "common/types.clh"

/* Returns sum + the dot product of two words of four signed bytes. */
TENON_INLINE uint dot4(uint x, uint y, uint sum)
{
#if !defined(DIALECT)
    const int4 p = convert_int4(as_char4(x)) * convert_int4(as_char4(y));
    return sum + as_uint(p.x) + as_uint(p.y) + as_uint(p.z) + as_uint(p.w);
#elif DIALECT == 0
    return sum + as_uint(dot_4x8packed_ss_int(x, y));
#else
    uint result;
    __asm__("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(result) : "r"(x), "r"(y), "r"(sum));
    return result;
#endif
}

#define TILE_ELEMENT                 uint
#define TILE_MULTIPLY_ADD(a, b, sum) dot4(a, b, sum)
/* AMD's compiler, if the loop is unrolled, first loads the words of several steps into
 * registers, which halves the occupancy. */
#if defined(DIALECT) && DIALECT == 1
#define TILE_UNROLL _Pragma("unroll 8")
#else
#define TILE_UNROLL _Pragma("unroll 1")
#endif

#include "gemm/int8.clh"
#include "gemm/int8_load.clh"

#define ONES 0x01010101u

/* Double-buffered tiles of each factor: one is filled while the other is read. The memory is
 * then reused for staged results. */
#define TILES (2 * (TILE_A + TILE_B))
#define AREA  (TILES > STAGED ? TILES : STAGED)

/* Zero points require the sums of a's rows and of b's columns (lines). Each work-item sums some
 * of them. */
#define LINES      (TENON_MB + TENON_NB)
#define ITEM_LINES ((LINES + ITEMS - 1) / ITEMS)

TENON_INLINE void count_lines(uint lines[ITEM_LINES], __local const uint *tile_a,
                              __local const uint *tile_b, int item)
{
#pragma unroll
    for (int i = 0; i < ITEM_LINES; i++) {
        const int line = item + i * ITEMS, of_a = line < TENON_MB;
        __local const uint *from = of_a ? tile_a + line : tile_b + (line - TENON_MB);
        if (line < LINES) {
#pragma unroll
            for (int k = 0; k < TENON_KB; k++) {
                lines[i] = dot4(from[k * (of_a ? PITCH_A : PITCH_B)], ONES, lines[i]);
            }
        }
    }
}

/* Computes the sums of d[m0 .. m0 + MB, n0 .. n0 + NB), and of the work-item's lines. a and b
 * point to the first bytes of the matrices. */
TENON_INLINE void multiply_bytes(const int8_args *args, __global const uchar *a,
                                 __global const uchar *b, long m0, long n0, long k_end, int item,
                                 __local uint *area, uint sum[TENON_MR][TENON_NR],
                                 uint lines[ITEM_LINES])
{
    uint next_a[ITEM_PATCHES(TENON_MB) * WORD], next_b[ITEM_PATCHES(TENON_NB) * WORD];
    long offset_a[ITEM_PATCHES(TENON_MB)], offset_b[ITEM_PATCHES(TENON_NB)];
    const gemm_args *g = &args->gemm;
    const int row = item_row(item), col = item_col(item), counts = int8_needs_lines(args);
    __local uint *now = area, *next = area + TILE_A + TILE_B;
    byte_reader read_a = open_bytes(a + m0 * g->a_row, item, TENON_MB, PITCH_A, TENON_A_ALONG_K,
                                    g->a_row, g->a_col, g->m - m0, args->a_sign, offset_a);
    byte_reader read_b = open_bytes(b + n0 * g->b_col, item, TENON_NB, PITCH_B, TENON_B_ALONG_K,
                                    g->b_col, g->b_row, g->n - n0, args->b_sign, offset_b);
    read_patches(next_a, &read_a, offset_a, k_end);
    read_patches(next_b, &read_b, offset_b, k_end);
    for (long left = k_end; left > 0; left -= STEPS) {
        put_patches(now, &read_a, next_a);
        put_patches(now + TILE_A, &read_b, next_b);
        barrier(CLK_LOCAL_MEM_FENCE);
        if (left > STEPS) {
            read_patches(next_a, &read_a, offset_a, left - STEPS);
            read_patches(next_b, &read_b, offset_b, left - STEPS);
        }
        multiply(sum, now, now + TILE_A, row, col);
        if (counts) {
            count_lines(lines, now, now + TILE_A, item);
        }
        /* The tiles of the previous step are free: every work-item has passed a barrier since
         * reading them. */
        __local uint *done = now;
        now = next;
        next = done;
    }
}

TENON_KERNEL TILED_GROUP void gemm_int8_tiled(INT8_POINTERS, int8_args args)
{
    __local TILE_MEMORY(area, AREA);
    __local uint shared[LINES];
    uint sum[TENON_MR][TENON_NR], lines[ITEM_LINES] = {0};
    const int item = local_item(), row = item_row(item), col = item_col(item);
    const block_place block = place_of_group();
    const long m0 = block.row * TENON_MB, n0 = block.col * TENON_NB;
    const long z = (long)get_global_id(2), k_end = depth_at(&args.gemm, z);

    clear_sums(sum);
    if (k_end > 0) {
        multiply_bytes(&args, a + GEMM_START(args.gemm, a, z), b + GEMM_START(args.gemm, b, z), m0,
                       n0, k_end, item, area, sum, lines);
    }
    for (int i = 0; i < ITEM_LINES; i++) {
        if (item + i * ITEMS < LINES) {
            shared[item + i * ITEMS] = lines[i];
        }
    }
    const int8_epilogue e = MAKE_INT8_EPILOGUE(&args, z);
    TILE_STORE_UNROLL
    for (int i = 0; i < TENON_MR; i++) {
        stage_row(i, row, col, sum, area);
#pragma unroll 1
        for (int at = item; at < STAGED; at += ITEMS) {
            const int block_m = block_row(at / TENON_NB, i), block_n = at % TENON_NB;
            const long m = m0 + block_m, n = n0 + block_n;
            if (m < args.gemm.m && n < args.gemm.n) {
                const uint whole =
                    int8_unshifted(&args, zero_a, zero_b, m, n, (uint)max(k_end, 0L), area[at],
                                   shared[block_m], shared[TENON_MB + block_n]);
                int8_store(&e, &args, m, n, whole);
            }
        }
    }
}
