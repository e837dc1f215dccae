/*
 * Layout of matrix fragments in the registers of the lanes of matrix units. Included by C11 and by
 * OpenCL C.
 *
 * A unit multiplies A (M x K) by B (K x N) and adds the product to D (M x N). All three are
 * distributed over the lanes of a warp (wave, sub-group), which hold their elements packed in
 * 32-bit words, the first element in the lowest bits. Element i of a lane is A[matrix_a_row,
 * matrix_a_k] in its part of A, B[matrix_b_k, matrix_b_col] in its part of B, and D[matrix_d_row,
 * matrix_d_col] in its part of D.
 *
 * A unit pairs the steps of K of A with those of B in any order that both share. Where an order
 * other than the vendor's is better for loads, both factors use it. One case is gfx12 with 16-bit
 * types: here a lane holds steps 0 to 7 or 8 to 15, where the vendor's layout has 0 to 3 and 8 to
 * 11, or 4 to 7 and 12 to 15.
 *
 * Sources of the formulas:
 *
 * - NVIDIA: PTX ISA, "Matrix Fragments for mma.m16n8k8", "… mma.m16n8k16", "… mma.m16n8k32" and
 *   "Warp-level matrix load instruction: ldmatrix"
 * - AMD: the ISA guides of CDNA 2 and 3 and of RDNA 3 and 4 (chapters on matrix arithmetic), and
 *   AMD's matrix instruction calculator
 * - Intel: cl_intel_subgroup_matrix_multiply_accumulate
 */
#ifndef TENON_MATRIX_LAYOUT_H
#define TENON_MATRIX_LAYOUT_H

/* Matrix units, the values of TENON_UNIT. */
#define MATRIX_NVIDIA  1 /* mma.sync */
#define MATRIX_MFMA    2 /* AMD, 64 lanes */
#define MATRIX_WMMA_11 3 /* AMD, 32 lanes, gfx11: each half of the lanes holds all of A and B */
#define MATRIX_WMMA_12 4 /* AMD, 32 lanes, gfx12: each half of the lanes holds its own part */
#define MATRIX_XMX_16  5 /* Intel, sub-groups of 16 */
#define MATRIX_XMX_8   6 /* Intel, sub-groups of 8 */
#define MATRIX_WGMMA   7 /* NVIDIA's wgmma of four warps; its factors stay in local memory */

/* Types of A and B, the values of TENON_UNIT_TYPE. D is i32 for i8, and f32 for all others. */
#define MATRIX_F16  1
#define MATRIX_BF16 2
#define MATRIX_TF32 3 /* f32 of which 10 bits of the fraction count */
#define MATRIX_I8   4
#define MATRIX_F32  5

/* True if a unit multiplies a type. */
#define MATRIX_HAS(unit, type)                                                                     \
    ((type) == MATRIX_F16 || (type) == MATRIX_BF16 || (type) == MATRIX_I8 ||                       \
     ((type) == MATRIX_TF32 && (unit) == MATRIX_NVIDIA) ||                                         \
     ((type) == MATRIX_F32 && (unit) == MATRIX_MFMA))

/* Shapes of the units, as constant expressions that the preprocessor can evaluate as well. */
#define MATRIX_BITS(type)                                                                          \
    ((type) == MATRIX_I8 ? 8 : (type) == MATRIX_TF32 || (type) == MATRIX_F32 ? 32 : 16)
#define MATRIX_PACK(type) (32 / MATRIX_BITS(type)) /* elements per word */
#define MATRIX_LANES(unit)                                                                         \
    ((unit) == MATRIX_WGMMA    ? 128                                                               \
     : (unit) == MATRIX_MFMA   ? 64                                                                \
     : (unit) == MATRIX_XMX_16 ? 16                                                                \
     : (unit) == MATRIX_XMX_8  ? 8                                                                 \
                               : 32)
#define MATRIX_M(unit)                                                                             \
    ((unit) == MATRIX_WGMMA                              ? 64                                      \
     : (unit) == MATRIX_MFMA                             ? 32                                      \
     : (unit) == MATRIX_XMX_16 || (unit) == MATRIX_XMX_8 ? 8                                       \
                                                         : 16)
#define MATRIX_N(unit)                                                                             \
    ((unit) == MATRIX_WGMMA                              ? 128                                     \
     : (unit) == MATRIX_MFMA                             ? 32                                      \
     : (unit) == MATRIX_NVIDIA || (unit) == MATRIX_XMX_8 ? 8                                       \
                                                         : 16)
#define MATRIX_K(unit, type)                                                                       \
    ((unit) == MATRIX_WMMA_11 || (unit) == MATRIX_WMMA_12 ? 16                                     \
     : (unit) == MATRIX_MFMA ? ((type) == MATRIX_F32 ? 2 : 128 / MATRIX_BITS(type))                \
                             : 256 / MATRIX_BITS(type))
/* Number of lanes that hold the same element of A, and of B. */
#define MATRIX_COPIES(unit) ((unit) == MATRIX_WMMA_11 ? 2 : 1)

/* Elements per lane. */
#define MATRIX_A_COUNT(unit, type)                                                                 \
    (MATRIX_M(unit) * MATRIX_K(unit, type) * MATRIX_COPIES(unit) / MATRIX_LANES(unit))
#define MATRIX_B_COUNT(unit, type)                                                                 \
    (MATRIX_N(unit) * MATRIX_K(unit, type) * MATRIX_COPIES(unit) / MATRIX_LANES(unit))
#define MATRIX_D_COUNT(unit) (MATRIX_M(unit) * MATRIX_N(unit) / MATRIX_LANES(unit))

/* Consecutive elements of one row of A that a lane of Intel's units holds: a word in sub-groups
 * of 8, half a word in sub-groups of 16. */
#define MATRIX_XMX_RUN(unit, type)                                                                 \
    ((unit) == MATRIX_XMX_8 ? MATRIX_PACK(type) : (MATRIX_PACK(type) + 1) / 2)

static inline int matrix_a_row(int unit, int type, int lane, int i)
{
    if (unit == MATRIX_NVIDIA)
        return (lane >> 2) + 8 * (i / MATRIX_PACK(type) & 1);
    if (unit == MATRIX_XMX_16 || unit == MATRIX_XMX_8)
        return i / MATRIX_XMX_RUN(unit, type);
    return lane % MATRIX_M(unit);
}

static inline int matrix_a_k(int unit, int type, int lane, int i)
{
    const int pack = MATRIX_PACK(type);
    if (unit == MATRIX_NVIDIA)
        return pack * (lane & 3) + i % pack + 4 * pack * (i / pack >> 1);
    if (unit == MATRIX_XMX_16 || unit == MATRIX_XMX_8)
        return MATRIX_XMX_RUN(unit, type) * lane + i % MATRIX_XMX_RUN(unit, type);
    return unit == MATRIX_WMMA_11 ? i : MATRIX_A_COUNT(unit, type) * (lane / MATRIX_M(unit)) + i;
}

static inline int matrix_b_col(int unit, int lane)
{
    return unit == MATRIX_NVIDIA ? lane >> 2 : lane % MATRIX_N(unit);
}

static inline int matrix_b_k(int unit, int type, int lane, int i)
{
    const int pack = MATRIX_PACK(type);
    if (unit == MATRIX_NVIDIA)
        return pack * (lane & 3) + i % pack + 4 * pack * (i / pack);
    return unit == MATRIX_WMMA_11 ? i : MATRIX_B_COUNT(unit, type) * (lane / MATRIX_N(unit)) + i;
}

/* D of NVIDIA's wgmma.m64nNk16, whose four warps have 16 rows each. `lane` counts the 128 lanes
 * of all four warps, and i the N / 2 elements of a lane. */
static inline int matrix_wgmma_d_row(int lane, int i)
{
    return 16 * (lane >> 5) + (lane >> 2 & 7) + 8 * (i >> 1 & 1);
}

static inline int matrix_wgmma_d_col(int lane, int i)
{
    return 8 * (i >> 2) + 2 * (lane & 3) + (i & 1);
}

static inline int matrix_d_row(int unit, int lane, int i)
{
    switch (unit) {
    case MATRIX_NVIDIA:
        return (lane >> 2) + 8 * (i >> 1);
    case MATRIX_MFMA:
        return 8 * (i >> 2) + 4 * (lane >> 5) + (i & 3);
    case MATRIX_WMMA_11:
        return 2 * i + (lane >> 4);
    case MATRIX_WMMA_12:
        return 8 * (lane >> 4) + i;
    case MATRIX_WGMMA:
        return matrix_wgmma_d_row(lane, i);
    default:
        return i;
    }
}

static inline int matrix_d_col(int unit, int lane, int i)
{
    if (unit == MATRIX_WGMMA)
        return matrix_wgmma_d_col(lane, i);
    return unit == MATRIX_NVIDIA ? 2 * (lane & 3) + (i & 1) : lane % MATRIX_N(unit);
}

/* NVIDIA's ldmatrix loads four (.x4) or two (.x2) 8 x 8 matrices, of 8 rows of 16 bytes, and
 * gives each lane one word of each matrix. Lane l provides the address of row l % 8 of matrix l
 * / 8. These functions return the row or column of that address in a tile that is contiguous
 * along K, and the first word of K. The matrices then are the words of A and of B. */
static inline int matrix_ldmatrix_a_row(int lane)
{
    return lane & 15;
}

static inline int matrix_ldmatrix_a_word(int lane)
{
    return 4 * (lane >> 4);
}

/* For B with .x2, only lanes 0 to 15 provide addresses. .x4 loads B for two units, the second
 * one 8 columns further. */
static inline int matrix_ldmatrix_b_col(int lane)
{
    return (lane & 7) + 8 * (lane >> 4);
}

static inline int matrix_ldmatrix_b_word(int lane)
{
    return 4 * (lane >> 3 & 1);
}

/* For .trans, with a tile of 16-bit elements contiguous along rows or columns: the step of K of
 * a lane's address, and its first row or column. */
static inline int matrix_ldmatrix_trans_a_k(int lane)
{
    return (lane & 7) + 8 * (lane >> 4);
}

static inline int matrix_ldmatrix_trans_a_row(int lane)
{
    return 8 * (lane >> 3 & 1);
}

static inline int matrix_ldmatrix_trans_b_k(int lane)
{
    return lane & 15;
}

static inline int matrix_ldmatrix_trans_b_col(int lane)
{
    return 8 * (lane >> 4);
}

/*
 * Returns the position of element `at` of a line in a swizzled block.
 *
 * A factor's block is stored in local memory as lines of `pitch` elements. NVIDIA's local memory
 * has 32 banks of 4 bytes. It serves 8 lanes that access 16 bytes each in one access if their
 * vectors are in different eighths of 128 bytes. Stores write the vectors of one line, and ldmatrix
 * reads the same vector of 8 lines. If a line has a power of two of vectors, exchanging them in
 * pairs, differently in each line that starts at the same bank, makes both conflict-free.
 */
static inline int matrix_swizzled(int pack, int pitch, int line, int at)
{
    const int vector = 4 * pack, vectors = pitch / vector;
    const int turn = vectors < 8 ? (line * vectors >> 3) & (vectors - 1) : line & 7;
    return line * pitch + (at ^ turn * vector);
}

/*
 * Returns the position of a sum in the staging buffer through which sums are stored to d.
 *
 * The buffer has rows of `width` (a multiple of 8) sums, `pitch` apart. A lane reads 8 neighboring
 * sums as two vectors of 16 bytes, and the lanes therefore access only every other vector at a
 * time. To avoid bank conflicts, the two vectors are exchanged in every odd 128 bytes.
 */
static inline int matrix_sum_place(int pitch, int width, int row, int col)
{
    return row * pitch + (col ^ ((row * width + col) >> 3 & 4));
}

/*
 * wgmma's factors are stored in local memory as lines along the contiguous dimension of the factor:
 * K if `along_k`, else across K. Bytes are contiguous only along K. A line is divided into rows of
 * 128 bytes, or is a single row if it has 64 or 32 bytes. The rows with the same index in all
 * `lines` lines of a block are consecutive and form a panel; panels follow one another. Within a
 * row the 16-byte vectors are permuted by the row's address (swizzling), which puts the same vector
 * of 8 neighboring rows into 8 different groups of banks.
 *
 * Offsets are in bytes, from a multiple of 1024 on.
 */
static inline int matrix_wgmma_row(int line_bytes)
{
    return line_bytes < 128 ? line_bytes : 128;
}

/* Returns the swizzled position of the byte at offset `at`. */
static inline int matrix_wgmma_swizzled(int row_bytes, int at)
{
    return at ^ (at >> 7 & (row_bytes / 16 - 1)) << 4;
}

/* Return the line of vector v of a block, in memory order without swizzling, and the vector's
 * first byte within that line. */
static inline int matrix_wgmma_line(int v, int row_bytes, int lines)
{
    return v / (row_bytes / 16) % lines;
}

static inline int matrix_wgmma_start(int v, int row_bytes, int lines)
{
    return v / (row_bytes / 16) / lines * row_bytes + v % (row_bytes / 16) * 16;
}

/* Descriptor fields of such a block, in bytes: the distance from one panel to the next ("leading
 * dimension"; not used along K, where one panel has all steps of a product), and from 8 rows to
 * the next 8 ("stride dimension"). */
static inline int matrix_wgmma_leading(int along_k, int row_bytes, int lines)
{
    return along_k ? 16 : lines * row_bytes;
}

static inline int matrix_wgmma_stride(int row_bytes)
{
    return 8 * row_bytes;
}

/* Return the lower and upper half of the descriptor of a block at address `start`. The upper
 * half contains the row width. */
static inline unsigned matrix_wgmma_low(unsigned start, int leading)
{
    return (start >> 4 & 0x3fff) | (unsigned)leading >> 4 << 16;
}

static inline unsigned matrix_wgmma_high(int stride, int row_bytes)
{
    return (unsigned)stride >> 4 | (row_bytes == 128 ? 1u : row_bytes == 64 ? 2u : 3u) << 30;
}

/* Returns the offset within the block of the product that begins at this row (column, for B) and
 * step of K. The descriptor contains the resulting address, before swizzling. */
static inline int matrix_wgmma_from(int along_k, int row_bytes, int lines, int row, int k,
                                    int element_bytes)
{
    const int line = along_k ? row : k, byte = (along_k ? k : row) * element_bytes;
    return byte / row_bytes * lines * row_bytes + line * row_bytes + byte % row_bytes;
}

/* Returns the position of an element of a product in the block that a descriptor describes. */
static inline int matrix_wgmma_at(int along_k, int row_bytes, int start, int leading, int stride,
                                  int row, int k, int element_bytes)
{
    const int line = along_k ? row : k, byte = (along_k ? k : row) * element_bytes;
    return matrix_wgmma_swizzled(row_bytes, start + byte / row_bytes * leading + byte % row_bytes +
                                                line / 8 * stride + line % 8 * row_bytes);
}

#endif
