#include "matrix_texts.h"

#include "matrix/layout.h"

/* Defines a formula: that of `general` with this width. */
#define LAYOUT(name, general, width)                                                               \
    static place name(int lane, int item)                                                          \
    {                                                                                              \
        return general(lane, item, width);                                                         \
    }

/* --- PTX ISA, "Matrix Fragments for mma.m16n8k16 with floating point type" ---
 * A: groupID = %laneid >> 2; threadID_in_group = %laneid % 4;
 *   row = groupID for ai where 0 <= i < 2 || 4 <= i < 6, groupID + 8 otherwise;
 *   col = (threadID_in_group * 2) + (i & 0x1) for i < 4, + 8 for i >= 4 */
static place ptx_a_16(int laneid, int i)
{
    const int groupID = laneid >> 2, threadID_in_group = laneid % 4;
    const int row = (0 <= i && i < 2) || (4 <= i && i < 6) ? groupID : groupID + 8;
    const int col = threadID_in_group * 2 + (i & 0x1) + (i >= 4 ? 8 : 0);
    return (place){row, col};
}

/* B: row = (threadID_in_group * 2) + (i & 0x1) for i < 2, + 8 for i >= 2; col = groupID */
static place ptx_b_16(int laneid, int i)
{
    const int groupID = laneid >> 2, threadID_in_group = laneid % 4;
    return (place){threadID_in_group * 2 + (i & 0x1) + (i >= 2 ? 8 : 0), groupID};
}

/* C, D (of all shapes m16n8): row = groupID for ci where i < 2, groupID + 8 for i >= 2;
 *   col = (threadID_in_group * 2) + (i & 0x1) */
static place ptx_d(int laneid, int i)
{
    const int groupID = laneid >> 2, threadID_in_group = laneid % 4;
    return (place){i < 2 ? groupID : groupID + 8, threadID_in_group * 2 + (i & 0x1)};
}

/* "mma.m16n8k8" with .tf32. A: row = groupID for a0 and a2, groupID + 8 for a1 and a3;
 *   col = threadID_in_group for a0 and a1, threadID_in_group + 4 for a2 and a3 */
static place ptx_a_tf32(int laneid, int i)
{
    const int groupID = laneid >> 2, threadID_in_group = laneid % 4;
    return (place){i == 0 || i == 2 ? groupID : groupID + 8,
                   i == 0 || i == 1 ? threadID_in_group : threadID_in_group + 4};
}

/* B: row = threadID_in_group for b0, threadID_in_group + 4 for b1; col = groupID */
static place ptx_b_tf32(int laneid, int i)
{
    const int groupID = laneid >> 2, threadID_in_group = laneid % 4;
    return (place){i == 0 ? threadID_in_group : threadID_in_group + 4, groupID};
}

/* "mma.m16n8k32" with .s8. A: row = groupID for ai where 0 <= i < 4 || 8 <= i < 12, groupID + 8
 *   otherwise; col = (threadID_in_group * 4) + (i & 0x3) for i < 8, + 16 for i >= 8 */
static place ptx_a_8(int laneid, int i)
{
    const int groupID = laneid >> 2, threadID_in_group = laneid % 4;
    const int row = (0 <= i && i < 4) || (8 <= i && i < 12) ? groupID : groupID + 8;
    return (place){row, threadID_in_group * 4 + (i & 0x3) + (i >= 8 ? 16 : 0)};
}

/* B: row = (threadID_in_group * 4) + (i & 0x3) for i < 4, + 16 for i >= 4; col = groupID */
static place ptx_b_8(int laneid, int i)
{
    const int groupID = laneid >> 2, threadID_in_group = laneid % 4;
    return (place){threadID_in_group * 4 + (i & 0x3) + (i >= 4 ? 16 : 0), groupID};
}

/* --- PTX ISA, "Asynchronous warpgroup-level matrix shared memory layout" ---
 * Canonical layouts with swizzling, in units of T elements of 128 bits together; N is 2, 4 or 8 for
 * swizzling of 32, 64 and 128 bytes:
 *   K-major   Swizzle<log2 N, 4, 3> o ((8, m), (T, 2k)) : ((N T, SBO), (1, T))
 *   MN-major  Swizzle<log2 N, 4, 3> o ((T, N, m), (8, k)) : ((1, T, LBO), (N T, SBO))
 * Swizzle<B, M, S> replaces the B bits of an address from bit M on by their exclusive or with the
 * bits S positions higher. */
static int swizzle_bits(int address, int B, int M, int S)
{
    const int mask = ((1 << B) - 1) << (M + S);
    return address ^ ((address & mask) >> S);
}

int ptx_wgmma_byte(int swizzle, bool mn_major, int bits, int start, int mn, int k, int leading,
                   int stride)
{
    const int T = 128 / bits, N = swizzle / 16, size = bits / 8;
    const int LBO = leading / size, SBO = stride / size;
    const int element =
        mn_major ? mn % T * 1 + mn / T % N * T + mn / T / N * LBO + k % 8 * N * T + k / 8 * SBO
                 : mn % 8 * N * T + mn / 8 * SBO + k % T * 1 + k / T * T;
    return swizzle_bits(start + element * size, N == 8 ? 3 : N == 4 ? 2 : 1, 4, 3);
}

/* matrix-descriptor-encode(x) = (x & 0x3FFFF) >> 4 */
static unsigned long long descriptor_encode(unsigned x)
{
    return (x & 0x3FFFF) >> 4;
}

/* Bits 13-0: start address; 29-16: leading dimension byte offset; 45-32: stride dimension byte
 * offset; 51-49: base offset (0 if the repeating pattern begins at a multiple of its size); 63-62:
 * swizzle mode, 0 none, 1 of 128 bytes, 2 of 64, 3 of 32. */
unsigned long long ptx_wgmma_descriptor(unsigned address, unsigned leading, unsigned stride,
                                        int swizzle)
{
    const unsigned long long mode = swizzle == 128 ? 1 : swizzle == 64 ? 2 : 3;
    return descriptor_encode(address) | descriptor_encode(leading) << 16 |
           descriptor_encode(stride) << 32 | mode << 62;
}

/* --- AMD, CDNA 3 ISA, "Dense Matrix Arithmetic" ---
 * For an M x N x K instruction of one block, the K values of a row of A are distributed over 64 / M
 * groups of lanes. The registers of each lane hold K / (64 / M) consecutive values; lane = i + M *
 * (k / (K / (64 / M))). B is distributed likewise by columns. */
static place cdna_a(int lane, int item, int k_per_group)
{
    return (place){lane % 32, k_per_group * (lane / 32) + item};
}

static place cdna_b(int lane, int item, int k_per_group)
{
    return (place){k_per_group * (lane / 32) + item, lane % 32};
}

LAYOUT(cdna_a_1, cdna_a, 1)
LAYOUT(cdna_b_1, cdna_b, 1)
LAYOUT(cdna_a_4, cdna_a, 4)
LAYOUT(cdna_b_4, cdna_b, 4)
LAYOUT(cdna_a_8, cdna_a, 8)
LAYOUT(cdna_b_8, cdna_b, 8)

/* D of 32 x 32: j = lane % 32, i = 8 * (item / 4) + 4 * (lane / 32) + item % 4 */
static place cdna_d(int lane, int item)
{
    return (place){8 * (item / 4) + 4 * (lane / 32) + item % 4, lane % 32};
}

/* --- AMD, RDNA 3 ISA, "Wave Matrix Multiply Accumulate", wave32 ---
 * Lane n from 0 to 15 holds row n of A, with all of K in its registers in order, and column n of B;
 * lanes 16 to 31 hold copies. Register i of D holds row 2 i in lanes 0 to 15 and row 2 i + 1 in
 * lanes 16 to 31. */
static place rdna3_a(int lane, int item)
{
    return (place){lane < 16 ? lane : lane - 16, item};
}

static place rdna3_b(int lane, int item)
{
    return (place){item, lane < 16 ? lane : lane - 16};
}

static place rdna3_d(int lane, int item)
{
    return lane < 16 ? (place){2 * item, lane} : (place){2 * item + 1, lane - 16};
}

/* --- AMD, RDNA 4 ISA, same chapter ---
 * 16 bits: registers 0 and 1 hold K 0 to 3 in lanes 0 to 15 and 4 to 7 in lanes 16 to 31; registers
 * 2 and 3 hold 8 to 11 and 12 to 15. 8 bits: both registers hold K 0 to 7 in lanes 0 to 15 and 8 to
 * 15 in lanes 16 to 31. Register i of D holds row i in lanes 0 to 15 and row i + 8 in lanes 16 to
 * 31. */
static int rdna4_k_16(int lane, int item)
{
    const int vgpr = item / 2, first_of_pair = vgpr < 2 ? 0 : 8;
    return first_of_pair + (lane < 16 ? 0 : 4) + item % 4;
}

static place rdna4_a_16(int lane, int item)
{
    return (place){lane % 16, rdna4_k_16(lane, item)};
}

static place rdna4_b_16(int lane, int item)
{
    return (place){rdna4_k_16(lane, item), lane % 16};
}

static place rdna4_a_8(int lane, int item)
{
    return (place){lane % 16, lane < 16 ? item : 8 + item};
}

static place rdna4_b_8(int lane, int item)
{
    return (place){lane < 16 ? item : 8 + item, lane % 16};
}

static place rdna4_d(int lane, int item)
{
    return (place){lane < 16 ? item : item + 8, lane % 16};
}

/* --- Intel, cl_intel_subgroup_matrix_multiply_accumulate ---
 * Component r of a is row r of A; each work-item holds K / sub-group size neighboring elements, in
 * the order of the work-items. A work-item holds one column of B: component k of b holds its rows 2
 * k and 2 k + 1 for 16 bits, 4 k to 4 k + 3 for 8 bits, the first in the low bits. It holds the
 * same column of the result, one row per component. */
static place intel_a(int lane, int item, int of_row)
{
    return (place){item / of_row, lane * of_row + item % of_row};
}

LAYOUT(intel_a_1, intel_a, 1)
LAYOUT(intel_a_2, intel_a, 2)
LAYOUT(intel_a_4, intel_a, 4)

static place intel_b(int lane, int item, int of_component)
{
    return (place){of_component * (item / of_component) + item % of_component, lane};
}

LAYOUT(intel_b_16, intel_b, 2)
LAYOUT(intel_b_8, intel_b, 4)

static place intel_d(int lane, int item)
{
    return (place){item, lane};
}

const matrix_text matrix_texts[] = {
    {"mma.m16n8k16 f16", MATRIX_NVIDIA, MATRIX_F16, 16, 8, 16, 32, 8, 4, 4, 1, ptx_a_16, ptx_b_16,
     ptx_d, false},
    {"mma.m16n8k16 bf16", MATRIX_NVIDIA, MATRIX_BF16, 16, 8, 16, 32, 8, 4, 4, 1, ptx_a_16, ptx_b_16,
     ptx_d, false},
    {"mma.m16n8k8 tf32", MATRIX_NVIDIA, MATRIX_TF32, 16, 8, 8, 32, 4, 2, 4, 1, ptx_a_tf32,
     ptx_b_tf32, ptx_d, false},
    {"mma.m16n8k32 s8", MATRIX_NVIDIA, MATRIX_I8, 16, 8, 32, 32, 16, 8, 4, 1, ptx_a_8, ptx_b_8,
     ptx_d, false},
    {"mfma_f32_32x32x8_f16", MATRIX_MFMA, MATRIX_F16, 32, 32, 8, 64, 4, 4, 16, 1, cdna_a_4,
     cdna_b_4, cdna_d, false},
    {"mfma_f32_32x32x8_bf16", MATRIX_MFMA, MATRIX_BF16, 32, 32, 8, 64, 4, 4, 16, 1, cdna_a_4,
     cdna_b_4, cdna_d, false},
    {"mfma_i32_32x32x16_i8", MATRIX_MFMA, MATRIX_I8, 32, 32, 16, 64, 8, 8, 16, 1, cdna_a_8,
     cdna_b_8, cdna_d, false},
    {"mfma_f32_32x32x2_f32", MATRIX_MFMA, MATRIX_F32, 32, 32, 2, 64, 1, 1, 16, 1, cdna_a_1,
     cdna_b_1, cdna_d, false},
    {"wmma_f32_16x16x16_f16, gfx11", MATRIX_WMMA_11, MATRIX_F16, 16, 16, 16, 32, 16, 16, 8, 2,
     rdna3_a, rdna3_b, rdna3_d, false},
    {"wmma_f32_16x16x16_bf16, gfx11", MATRIX_WMMA_11, MATRIX_BF16, 16, 16, 16, 32, 16, 16, 8, 2,
     rdna3_a, rdna3_b, rdna3_d, false},
    {"wmma_i32_16x16x16_iu8, gfx11", MATRIX_WMMA_11, MATRIX_I8, 16, 16, 16, 32, 16, 16, 8, 2,
     rdna3_a, rdna3_b, rdna3_d, false},
    {"wmma_f32_16x16x16_f16, gfx12", MATRIX_WMMA_12, MATRIX_F16, 16, 16, 16, 32, 8, 8, 8, 1,
     rdna4_a_16, rdna4_b_16, rdna4_d, true},
    {"wmma_f32_16x16x16_bf16, gfx12", MATRIX_WMMA_12, MATRIX_BF16, 16, 16, 16, 32, 8, 8, 8, 1,
     rdna4_a_16, rdna4_b_16, rdna4_d, true},
    {"wmma_i32_16x16x16_iu8, gfx12", MATRIX_WMMA_12, MATRIX_I8, 16, 16, 16, 32, 8, 8, 8, 1,
     rdna4_a_8, rdna4_b_8, rdna4_d, false},
    {"f16_f16_matrix_mad_k16, 16", MATRIX_XMX_16, MATRIX_F16, 8, 16, 16, 16, 8, 16, 8, 1, intel_a_1,
     intel_b_16, intel_d, false},
    {"bf16_bf16_matrix_mad_k16, 16", MATRIX_XMX_16, MATRIX_BF16, 8, 16, 16, 16, 8, 16, 8, 1,
     intel_a_1, intel_b_16, intel_d, false},
    {"i8_i8_matrix_mad_k32, 16", MATRIX_XMX_16, MATRIX_I8, 8, 16, 32, 16, 16, 32, 8, 1, intel_a_2,
     intel_b_8, intel_d, false},
    {"f16_f16_matrix_mad_k16, 8", MATRIX_XMX_8, MATRIX_F16, 8, 8, 16, 8, 16, 16, 8, 1, intel_a_2,
     intel_b_16, intel_d, false},
    {"bf16_bf16_matrix_mad_k16, 8", MATRIX_XMX_8, MATRIX_BF16, 8, 8, 16, 8, 16, 16, 8, 1, intel_a_2,
     intel_b_16, intel_d, false},
    {"i8_i8_matrix_mad_k32, 8", MATRIX_XMX_8, MATRIX_I8, 8, 8, 32, 8, 32, 32, 8, 1, intel_a_4,
     intel_b_8, intel_d, false},
};
const int matrix_text_count = sizeof matrix_texts / sizeof *matrix_texts;
