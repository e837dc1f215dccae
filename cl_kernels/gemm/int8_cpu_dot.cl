/*
 * Product of i8 or u8 for CPUs with an instruction that adds products of small integers
 * (common/x86_dot.clh). Blocks of both factors are packed into local memory as words, each with a
 * group of consecutive steps of K. Sums are integers modulo 2^32, hence exact in any order.
 *
 * Global size: {ceil(n / (NTP * NR)), ceil(m / tile_rows), batch}, local size {1, 1, 1}, where NR
 * is VW * NV, and tile_rows is at most 32 * MR. Any strides.
 *
 * Macros: TENON_VW, TENON_MR, TENON_NV, TENON_KC, TENON_NTP: as in gemm/cpu_tile.clh, with TENON_KC
 * a multiple of 64. TENON_DTYPE and others: see gemm/int8.clh.
 *
 * With groups of four bytes, those of a are unsigned and those of b are signed: 128 is added to a
 * of i8 and subtracted from b of u8. With groups of two, bytes are extended. Let a' and b' be the
 * packed values, and A and B the zero points in these terms. Then
 *   Σ (a' - A)(b' - B) = Σ a'b' - B (Σ a' - K A) - A Σ b'
 * which uses the sums of the rows of a' and of the columns of b'.
 */
#include "gemm/cpu_defaults.clh"

#include "gemm/cpu_unroll.clh"
#include "gemm/int8_words.clh"

#define TENON_NR (TENON_VW * TENON_NV)
#define COLS     (TENON_NTP * TENON_NR)      /* of a work-group */
#define ROWS     (INT8_SUM_TILES * TENON_MR) /* maximum per work-group */
#define GROUPS   (TENON_KC / TENON_GROUP)    /* words of a row or column of a block */
#define PITCH    (GROUPS + TENON_VW)         /* words between rows of a */
#define UNIT     64                          /* multiple of block lengths */

/* Packs `rows` x kc of a, contiguous along K, as rows of PITCH words, and sums each row if
 * `counts` is true. */
TENON_INLINE void pack_rows_along(__local uint *out, __global const uchar *a, long row, int rows,
                                  int kc, int code, bool counts, __local uint *sums, bool first)
{
    for (int r = 0; r < rows; r++) {
        dot_v count = (dot_v)(0);
        for (int k = 0; k < kc; k += TENON_GROUP * TENON_VW) {
            const dot_v x = words_along(a + r * row + k, kc - k, code);
            TENON_VSTORE(x, 0, out + r * PITCH + k / TENON_GROUP);
            count = dot_words(count, x, (dot_v)(ALL_STEPS));
        }
        if (counts) {
            uint lanes[TENON_VW], sum = first ? 0 : sums[r];
            TENON_VSTORE(count, 0, lanes);
            for (int l = 0; l < TENON_VW; l++) {
                sum += lanes[l];
            }
            sums[r] = sum;
        }
    }
}

/* Packs a of any other layout in the same form. Lanes past the last row are zero. */
TENON_INLINE void pack_rows_across(__local uint *out, __global const uchar *a, long row, long col,
                                   int rows, int kc, int code, __local uint *sums, bool first)
{
    for (int r = 0; r < rows; r += TENON_VW) {
        dot_v count = (dot_v)(0);
        for (int k = 0; k < kc; k += TENON_GROUP * TENON_VW) {
            dot_v x[TENON_VW];
            for (int l = 0; l < TENON_VW; l++) {
                const int at = k + l * TENON_GROUP;
                x[l] = words_across(a + r * row + at * col, col, row, rows - r, kc - at, code);
                count = dot_words(count, x[l], (dot_v)(ALL_STEPS));
            }
            transpose_words(x);
            for (int l = 0; l < min(TENON_VW, rows - r); l++) {
                TENON_VSTORE(x[l], 0, out + (r + l) * PITCH + k / TENON_GROUP);
            }
        }
        add_sums(sums + r, count, first);
    }
}

/* Packs kc x cols of b, contiguous along K, as a panel of [group][NR], and sums each column. */
TENON_INLINE void pack_panel_along(__local dot_v *out, __global const uchar *b, long col, int cols,
                                   int kc, int code, __local uint *sums, bool first)
{
    const int groups = (kc + TENON_GROUP - 1) / TENON_GROUP;
    for (int v = 0; v < TENON_NV; v++) {
        dot_v count = (dot_v)(0);
        for (int g = 0; g < groups; g += TENON_VW) {
            dot_v x[TENON_VW];
            for (int l = 0; l < TENON_VW; l++) {
                const int n = v * TENON_VW + l, k = g * TENON_GROUP;
                x[l] = n < cols ? words_along(b + n * col + k, kc - k, code) : (dot_v)(0);
            }
            transpose_words(x);
            for (int l = 0; l < min(TENON_VW, groups - g); l++) {
                out[(g + l) * TENON_NV + v] = x[l];
                count = dot_words(count, (dot_v)(ALL_STEPS), x[l]);
            }
        }
        add_sums(sums + v * TENON_VW, count, first);
    }
}

/* Packs b of any other layout in the same form. */
TENON_INLINE void pack_panel_across(__local dot_v *out, __global const uchar *b, long row, long col,
                                    int cols, int kc, int code, __local uint *sums, bool first)
{
    dot_v count[TENON_NV];
    for (int v = 0; v < TENON_NV; v++) {
        count[v] = (dot_v)(0);
    }
    for (int k = 0; k < kc; k += TENON_GROUP) {
        for (int v = 0; v < TENON_NV; v++) {
            const int n = v * TENON_VW;
            const dot_v x = words_across(b + k * row + n * col, row, col, cols - n, kc - k, code);
            out[k / TENON_GROUP * TENON_NV + v] = x;
            count[v] = dot_words(count[v], (dot_v)(ALL_STEPS), x);
        }
    }
    for (int v = 0; v < TENON_NV; v++) {
        add_sums(sums + v * TENON_VW, count[v], first);
    }
}

TENON_INLINE void multiply_group(const int rows, dot_v sum[TENON_MR][TENON_NV],
                                 __local const uint *a, int pitch, __local const dot_v *b, int g)
{
    dot_v bg[TENON_NV];
    TILE_EACH_VECTOR(bg[v] = b[g * TENON_NV + v]);
    TILE_EACH_ROW(rows, const dot_v aig = (dot_v)(a[i * pitch + g]);
                  TILE_EACH_VECTOR(sum[i][v] = dot_words(sum[i][v], aig, bg[v])));
}

/* Adds the products of `rows` rows and a panel to the sums of a block, or initializes them. A
 * constant `rows` unrolls the loops over rows and vectors. */
TENON_INLINE void multiply_rows(const int rows, __local const uint *a, int pitch,
                                __local const dot_v *b, int groups, __local uint *sums, bool first)
{
    dot_v sum[TENON_MR][TENON_NV];
    TILE_EACH_SUM(rows, sum[i][v] = (dot_v)(0));
    int g = 0;
    if (groups & 1) {
        multiply_group(rows, sum, a, pitch, b, g++);
    }
    for (; g < groups; g += 2) { /* unrolled by hand as in gemm/cpu_tile.clh */
        multiply_group(rows, sum, a, pitch, b, g);
        multiply_group(rows, sum, a, pitch, b, g + 1);
    }
    TILE_EACH_SUM(rows, add_sums(sums + i * COLS + v * TENON_VW, sum[i][v], first));
}

/* Multiplies packed rows by a packed panel. A single last row is computed as two equal ones: the
 * sums have room for the second. */
TENON_INLINE void multiply_tile(int rows, __local const uint *a, __local const dot_v *b, int groups,
                                __local uint *sums, bool first)
{
#if TENON_MR > 2
    if (rows == TENON_MR) {
        multiply_rows(TENON_MR, a, PITCH, b, groups, sums, first);
        return;
    }
#endif
    multiply_rows(min(TENON_MR, 2), a, rows == 1 ? 0 : PITCH, b, groups, sums, first);
}

TENON_INLINE int tile_height(long left)
{
    return left >= TENON_MR ? TENON_MR : left >= 2 ? 2 : 1;
}

/* Returns the length of K blocks, which are about equal. */
TENON_INLINE int block_of_k(long k)
{
    const long blocks = (k + TENON_KC - 1) / TENON_KC;
    return blocks ? (int)(((k + blocks - 1) / blocks + UNIT - 1) / UNIT * UNIT) : UNIT;
}

/* True if the zero points of b, in terms of packed values, are not all zero. */
TENON_INLINE bool counts_rows(const int8_args *args)
{
    return B_SHIFT(args) != 0 || INT8_HAS(args, INT8_ZERO_B);
}

/* Packs kc x cols of b, from its element `b` on, as panels. */
TENON_LOCAL_FUNCTION void pack_block_b(__local dot_v *out, const int8_args *args,
                                       __global const uchar *b, int cols, int kc,
                                       __local uint *sums, bool first)
{
    const long row = args->gemm.b_row, col = args->gemm.b_col;
    const int code = code_of_b(args);
    for (int s = 0; s < cols; s += TENON_NR) {
        __local dot_v *to = out + s / TENON_VW * GROUPS;
        if (row == 1 && col != 1) {
            pack_panel_along(to, b + s * col, col, cols - s, kc, code, sums + s, first);
        } else {
            pack_panel_across(to, b + s * col, row, col, cols - s, kc, code, sums + s, first);
        }
    }
}

/* Packs `rows` x kc of a, from its element `a` on. */
TENON_INLINE void pack_block_a(__local uint *out, const int8_args *args, __global const uchar *a,
                               int rows, int kc, __local uint *sums, bool first)
{
    const long row = args->gemm.a_row, col = args->gemm.a_col;
    const int code = code_of_a(args);
    if (col == 1) {
        pack_rows_along(out, a, row, rows, kc, code, counts_rows(args), sums, first);
    } else {
        pack_rows_across(out, a, row, col, rows, kc, code, sums, first);
    }
}

/* Multiplies packed rows of a by all panels of a block. */
TENON_LOCAL_FUNCTION void multiply_rows_of_block(__local const uint *a, __local const dot_v *b,
                                                 int rows, int cols, int groups, __local uint *sums,
                                                 bool first)
{
    for (int m = 0; m < rows;) {
        const int height = tile_height(rows - m);
        for (int s = 0; s < cols; s += TENON_NR) {
            multiply_tile(height, a + m * PITCH, b + s / TENON_VW * GROUPS, groups,
                          sums + m * COLS + s, first);
        }
        m += height;
    }
}

/* Stores rows [m, m + rows) of d. Zero points of an empty product are not read. */
TENON_LOCAL_FUNCTION void store_rows(const int8_epilogue *e, const int8_args *args,
                                     __global const uchar *zero_a, __global const uchar *zero_b,
                                     long m, int rows, long n, int cols, uint k_end,
                                     __local const uint *sums, __local const uint *row_sums,
                                     __local const uint *col_sums)
{
    const bool counts = k_end > 0 && counts_rows(args), plain = stores_sums(e, args);
    for (int r = 0; r < rows; r++) {
        uint za = 0;
        if (k_end > 0) {
            za = (uint)(zero_point(zero_a, args, INT8_ZERO_A, m + r, 0, args->a_sign) +
                        A_SHIFT(args));
        }
        __global int *d = (__global int *)e->d + e->d_start + (m + r) * args->gemm.d_row + n;
        for (int s = 0; s < cols; s += TENON_VW) {
            dot_v x =
                TENON_VLOAD(0, sums + r * COLS + s) - (dot_v)(za)*TENON_VLOAD(0, col_sums + s);
            if (counts) {
                const int_v zb =
                    zero_points(zero_b, args, INT8_ZERO_B, 0, n + s, cols - s, args->b_sign) +
                    (int_v)(B_SHIFT(args));
                x -= (dot_v)(row_sums[r] - k_end * za) * TENON_TO_UINT_V(zb);
            }
            if (plain && cols - s >= TENON_VW) {
                TENON_VSTORE(TENON_CAT(as_int, TENON_VW)(x), 0, d + s);
            } else {
                int8_store_v(e, args, m + r, n + s, cols - s, 0, x);
            }
        }
    }
}

TENON_VECTOR_KERNEL __attribute__((reqd_work_group_size(1, 1, 1))) void
gemm_int8_cpu_dot(INT8_POINTERS, int8_args args)
{
    __local dot_v packed_b[TENON_NTP * GROUPS * TENON_NV];
    __local uint packed_a[TENON_MB * PITCH];
    __local uint sums[(ROWS + 1) * COLS];
    __local uint row_sums[ROWS + TENON_VW], col_sums[COLS];

    const long z = get_global_id(2), k_end = depth_at(&args.gemm, z);
    const long n0 = get_global_id(0) * COLS, m0 = get_global_id(1) * args.gemm.tile_rows;
    const long m1 = min(args.gemm.m, m0 + args.gemm.tile_rows);
    const int cols = (int)min((long)COLS, args.gemm.n - n0), block = block_of_k(k_end);

    const int8_epilogue e = MAKE_INT8_EPILOGUE(&args, z);
    a += GEMM_START(args.gemm, a, z);
    b += GEMM_START(args.gemm, b, z) + n0 * args.gemm.b_col;

    long k0 = 0;
    do {
        const int kc = (int)min((long)block, k_end - k0);
        const bool first = k0 == 0, last = k0 + kc >= k_end;
        pack_block_b(packed_b, &args, b + k0 * args.gemm.b_row, cols, kc, col_sums, first);
        for (long m = m0; m < m1; m += TENON_MB) {
            const int rows = (int)min((long)TENON_MB, m1 - m), at = (int)(m - m0);
            pack_block_a(packed_a, &args, a + m * args.gemm.a_row + k0 * args.gemm.a_col, rows, kc,
                         row_sums + at, first);
            multiply_rows_of_block(packed_a, packed_b, rows, cols,
                                   (kc + TENON_GROUP - 1) / TENON_GROUP, sums + at * COLS, first);
            if (last) { /* while the sums are in the first-level cache */
                store_rows(&e, &args, zero_a, zero_b, m, rows, n0, cols, (uint)max(k_end, 0L),
                           sums + at * COLS, row_sums + at, col_sums);
            }
        }
        k0 += kc;
    } while (k0 < k_end);
}
