/* Where the elements of matrices lie in the registers of matrix units' lanes: included by C11 and
 * by OpenCL C.
 *
 * A unit multiplies A (M x K) by B (K x N) and adds the product to D (M x N), all spread over the
 * lanes of a warp (wave, sub-group), which hold their elements packed in 32-bit words, the first in
 * the lowest bits. Element i of a lane's part of A is A[matrix_a_row, matrix_a_k], of B
 * B[matrix_b_k, matrix_b_col], of D D[matrix_d_row, matrix_d_col].
 *
 * A unit pairs steps of K of A with those of B, whatever their numbers: where another order than
 * the vendor's suits loads better, both have that one. So does gfx12 with types of 16 bits, of
 * which a lane holds steps 0 to 7, or 8 to 15, where the vendor counts 0 to 3 and 8 to 11, or 4 to
 * 7 and 12 to 15.
 *
 * The formulas are those of
 *   NVIDIA   PTX ISA, "Matrix Fragments for mma.m16n8k8", "... mma.m16n8k16", "... mma.m16n8k32"
 * and "Warp-level matrix load instruction: ldmatrix" AMD      the ISA guides of CDNA 2 and 3 and of
 * RDNA 3 and 4 (chapters on matrix arithmetic), and AMD's matrix instruction calculator Intel
 * cl_intel_subgroup_matrix_multiply_accumulate
 */
#ifndef TENON_MATRIX_LAYOUT_H
#define TENON_MATRIX_LAYOUT_H

/* Units, as TENON_UNIT numbers them. */
#define MATRIX_NVIDIA  1 /* mma.sync */
#define MATRIX_MFMA    2 /* AMD's, of 64 lanes */
#define MATRIX_WMMA_11 3 /* AMD's, of 32 lanes, gfx11: A and B in each half of them */
#define MATRIX_WMMA_12 4 /* the same, gfx12: each half has its part */
#define MATRIX_XMX_16  5 /* Intel's, of sub-groups of 16 */
#define MATRIX_XMX_8   6 /* and of 8 */
#define MATRIX_WGMMA   7 /* NVIDIA's wgmma of four warps; its factors stay in local memory */

/* Types of A and B, as TENON_UNIT_TYPE numbers them. D is i32 for i8, and f32 for all others. */
#define MATRIX_F16  1
#define MATRIX_BF16 2
#define MATRIX_TF32 3 /* f32 of which 10 bits of the fraction count */
#define MATRIX_I8   4
#define MATRIX_F32  5

/* Whether a unit multiplies a type. */
#define MATRIX_HAS(unit, type)                                                                     \
    ((type) == MATRIX_F16 || (type) == MATRIX_BF16 || (type) == MATRIX_I8 ||                       \
     ((type) == MATRIX_TF32 && (unit) == MATRIX_NVIDIA) ||                                         \
     ((type) == MATRIX_F32 && (unit) == MATRIX_MFMA))

/* The table of shapes, in constant expressions that the preprocessor takes, too. */
#define MATRIX_BITS(type)                                                                          \
    ((type) == MATRIX_I8 ? 8 : (type) == MATRIX_TF32 || (type) == MATRIX_F32 ? 32 : 16)
#define MATRIX_PACK(type) (32 / MATRIX_BITS(type)) /* elements in a word */
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
/* How many lanes hold the same element of A, and of B. */
#define MATRIX_COPIES(unit) ((unit) == MATRIX_WMMA_11 ? 2 : 1)

/* Elements of a lane. */
#define MATRIX_A_COUNT(unit, type)                                                                 \
    (MATRIX_M(unit) * MATRIX_K(unit, type) * MATRIX_COPIES(unit) / MATRIX_LANES(unit))
#define MATRIX_B_COUNT(unit, type)                                                                 \
    (MATRIX_N(unit) * MATRIX_K(unit, type) * MATRIX_COPIES(unit) / MATRIX_LANES(unit))
#define MATRIX_D_COUNT(unit) (MATRIX_M(unit) * MATRIX_N(unit) / MATRIX_LANES(unit))

/* Elements of A of one row that a lane of Intel's holds: a word in sub-groups of 8, half of one in
 * those of 16. */
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

/* D of NVIDIA's wgmma.m64nNk16, whose four warps take 16 rows each; `lane` counts the 128 lanes of
 * all four, and i the N / 2 elements of a lane. */
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

/* NVIDIA's ldmatrix loads four (.x4) or two (.x2) squares of 8 rows of 16 bytes, one word of each
 * to a lane. Lane l gives the address of row l % 8 of square l / 8. These say which row or column
 * of a tile contiguous along K that is, and from which word of K on; squares are then the words of
 * A and of B. */
static inline int matrix_ldmatrix_a_row(int lane)
{
    return lane & 15;
}

static inline int matrix_ldmatrix_a_word(int lane)
{
    return 4 * (lane >> 4);
}

/* Of B, .x2: lanes 0 to 15 count. .x4 loads two units' B, the second 8 columns further. */
static inline int matrix_ldmatrix_b_col(int lane)
{
    return (lane & 7) + 8 * (lane >> 4);
}

static inline int matrix_ldmatrix_b_word(int lane)
{
    return 4 * (lane >> 3 & 1);
}

/* With .trans, of a tile of 16-bit elements contiguous along rows or columns: at which step of K a
 * lane's address is, and from which row or column on. */
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

/* Blocks of a factor lie in local memory as lines of `pitch` elements. NVIDIA's local memory has 32
 * banks of 4 bytes and serves 8 lanes at a time that read or write 16 bytes each, at the speed of
 * one access where their vectors lie in different eighths of 128 bytes. Lanes write vectors of a
 * line, and ldmatrix reads 8 lines at the same vector: both find all eighths where a line of a
 * power of two of vectors has its vectors exchanged by pairs, another way in each of the lines that
 * begin at the same bank. This is where element `at` of a line then is. */
static inline int matrix_swizzled(int pack, int pitch, int line, int at)
{
    const int vector = 4 * pack, vectors = pitch / vector;
    const int turn = vectors < 8 ? (line * vectors >> 3) & (vectors - 1) : line & 7;
    return line * pitch + (at ^ turn * vector);
}

/* Sums pass through local memory on their way to d, as rows of `width` (a multiple of 8) that lie
 * `pitch` apart. Lanes that read 8 neighbouring sums each, as two vectors of 16 bytes, want only
 * every other such vector at a time: in the odd 128 bytes of them the two have changed places. */
static inline int matrix_sum_place(int pitch, int width, int row, int col)
{
    return row * pitch + (col ^ ((row * width + col) >> 3 & 4));
}

/* wgmma's factors lie in local memory as lines along the dimension in which the factor is
 * contiguous: `along_k`, or across K; bytes lie along K alone. A line is cut into rows of 128
 * bytes, or is one row where it has 64 or 32; rows of the same place in all `lines` lines of a
 * block lie one after the other (a panel), and then come those of the next place. Within a row the
 * vectors of 16 bytes change places by the row's address ("swizzling"), so that the same vector of
 * 8 neighbouring rows lies in 8 different groups of banks.
 *
 * Offsets are bytes, from a multiple of 1024 on. */
static inline int matrix_wgmma_row(int line_bytes)
{
    return line_bytes < 128 ? line_bytes : 128;
}

/* Where a byte lies that would lie at `at` if vectors kept their places. */
static inline int matrix_wgmma_swizzled(int row_bytes, int at)
{
    return at ^ (at >> 7 & (row_bytes / 16 - 1)) << 4;
}

/* Vector v of a block in the order of memory without swizzling: its line, and its first byte in
 * that. */
static inline int matrix_wgmma_line(int v, int row_bytes, int lines)
{
    return v / (row_bytes / 16) % lines;
}

static inline int matrix_wgmma_start(int v, int row_bytes, int lines)
{
    return v / (row_bytes / 16) / lines * row_bytes + v % (row_bytes / 16) * 16;
}

/* What a descriptor says of such a block: how many bytes a panel is from the next ("leading
 * dimension"; along K one panel is all of a product's steps, and it is not used), and 8 rows from
 * the next 8 ("stride dimension"). */
static inline int matrix_wgmma_leading(int along_k, int row_bytes, int lines)
{
    return along_k ? 16 : lines * row_bytes;
}

static inline int matrix_wgmma_stride(int row_bytes)
{
    return 8 * row_bytes;
}

/* The halves of the descriptor of what starts at this address; the upper one says how wide rows
 * are. */
static inline unsigned matrix_wgmma_low(unsigned start, int leading)
{
    return (start >> 4 & 0x3fff) | (unsigned)leading >> 4 << 16;
}

static inline unsigned matrix_wgmma_high(int stride, int row_bytes)
{
    return (unsigned)stride >> 4 | (row_bytes == 128 ? 1u : row_bytes == 64 ? 2u : 3u) << 30;
}

/* How far a product that begins at this row (of B, column) and step of K starts from the block's
 * beginning, which an address in its descriptor says before swizzling. */
static inline int matrix_wgmma_from(int along_k, int row_bytes, int lines, int row, int k,
                                    int element_bytes)
{
    const int line = along_k ? row : k, byte = (along_k ? k : row) * element_bytes;
    return byte / row_bytes * lines * row_bytes + line * row_bytes + byte % row_bytes;
}

/* And where what is described has an element of a product. */
static inline int matrix_wgmma_at(int along_k, int row_bytes, int start, int leading, int stride,
                                  int row, int k, int element_bytes)
{
    const int line = along_k ? row : k, byte = (along_k ? k : row) * element_bytes;
    return matrix_wgmma_swizzled(row_bytes, start + byte / row_bytes * leading + byte % row_bytes +
                                                line / 8 * stride + line % 8 * row_bytes);
}

#endif
