/* Where elements lie in the lanes of matrix units: cl_kernels/matrix/layout.h against what the vendors'
 * texts say, written here once more from their own words. */
#include "common/testing.h"

#include "matrix/layout.h"

/* Sides are 32 at most, and lanes 128 (wgmma). */
enum { MOST = 64 };

typedef struct place {
    int row, col;
} place;

typedef place (*formula)(int laneid, int i);

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

/* --- AMD, CDNA 3 ISA, "Dense Matrix Arithmetic": of a matrix instruction M x N x K of one block, the
 * K values of a row of A are spread over 64 / M groups of lanes, K / (64 / M) consecutive ones in the
 * registers of each; lane = i + M * (k / that many). B likewise by columns. --- */
static place cdna_a(int lane, int item, int k_per_group)
{
    return (place){lane % 32, k_per_group * (lane / 32) + item};
}

static place cdna_b(int lane, int item, int k_per_group)
{
    return (place){k_per_group * (lane / 32) + item, lane % 32};
}

static place cdna_a_4(int lane, int item)
{
    return cdna_a(lane, item, 4);
}

static place cdna_b_4(int lane, int item)
{
    return cdna_b(lane, item, 4);
}

static place cdna_a_8(int lane, int item)
{
    return cdna_a(lane, item, 8);
}

static place cdna_b_8(int lane, int item)
{
    return cdna_b(lane, item, 8);
}

static place cdna_a_1(int lane, int item)
{
    return cdna_a(lane, item, 1);
}

static place cdna_b_1(int lane, int item)
{
    return cdna_b(lane, item, 1);
}

/* D of 32 x 32: j = lane % 32, i = 8 * (item / 4) + 4 * (lane / 32) + item % 4 */
static place cdna_d(int lane, int item)
{
    return (place){8 * (item / 4) + 4 * (lane / 32) + item % 4, lane % 32};
}

/* --- AMD, RDNA 3 ISA, "Wave Matrix Multiply Accumulate", wave32: lane n of 0 to 15 has row n of A, all
 * of K in its registers in order, and column n of B; lanes 16 to 31 have them again. Register i of D
 * has row 2 i in lanes 0 to 15, row 2 i + 1 in lanes 16 to 31. --- */
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

/* --- AMD, RDNA 4 ISA, the same chapter. 16 bits: registers 0 and 1 have K 0 to 3 in lanes 0 to 15, and
 * 4 to 7 in lanes 16 to 31; registers 2 and 3 have 8 to 11, and 12 to 15. 8 bits: both registers have
 * K 0 to 7 in lanes 0 to 15, and 8 to 15 in lanes 16 to 31. Register i of D has row i in lanes 0 to 15,
 * row i + 8 in lanes 16 to 31. --- */
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

/* --- Intel, cl_intel_subgroup_matrix_multiply_accumulate: component r of a is row r of A, of which a
 * work-item has K / sub-group size neighbours, in the order of the work-items. A work-item has one
 * column of B; component k of b has rows 2 k and 2 k + 1 of it of 16 bits, 4 k to 4 k + 3 of 8, the
 * first in the low bits. It has the same column of the result, one row a component. --- */
static place intel_a(int lane, int item, int of_row)
{
    return (place){item / of_row, lane * of_row + item % of_row};
}

static place intel_a_1(int lane, int item)
{
    return intel_a(lane, item, 1);
}

static place intel_a_2(int lane, int item)
{
    return intel_a(lane, item, 2);
}

static place intel_a_4(int lane, int item)
{
    return intel_a(lane, item, 4);
}

static place intel_b_16(int lane, int item)
{
    const int component = item / 2;
    return (place){2 * component + item % 2, lane};
}

static place intel_b_8(int lane, int item)
{
    const int component = item / 4;
    return (place){4 * component + item % 4, lane};
}

static place intel_d(int lane, int item)
{
    return (place){item, lane};
}

/* What the texts say of an instruction. */
typedef struct text {
    const char *instruction;
    int unit, type;
    int m, n, k, lanes, a_items, b_items, d_items, copies;
    formula a, b, d;
    bool reorders_k;
} text;

static const text texts[] = {
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
enum { TEXTS = sizeof texts / sizeof *texts };

static void shapes(void **state)
{
    (void)state;
    for (int t = 0; t < TEXTS; t++) {
        const text *x = &texts[t];
        assert_true(MATRIX_HAS(x->unit, x->type));
        assert_int_equal(MATRIX_M(x->unit), x->m);
        assert_int_equal(MATRIX_N(x->unit), x->n);
        assert_int_equal(MATRIX_K(x->unit, x->type), x->k);
        assert_int_equal(MATRIX_LANES(x->unit), x->lanes);
        assert_int_equal(MATRIX_A_COUNT(x->unit, x->type), x->a_items);
        assert_int_equal(MATRIX_B_COUNT(x->unit, x->type), x->b_items);
        assert_int_equal(MATRIX_D_COUNT(x->unit), x->d_items);
        assert_int_equal(MATRIX_COPIES(x->unit), x->copies);
    }
}

/* Every unit and type that there is has a text. */
static void none_is_left_out(void **state)
{
    int there = 0;
    (void)state;
    for (int unit = MATRIX_NVIDIA; unit <= MATRIX_XMX_8; unit++)
        for (int type = MATRIX_F16; type <= MATRIX_F32; type++)
            there += MATRIX_HAS(unit, type);
    assert_int_equal(there, TEXTS);
}

static void differs(const text *x, char matrix, int lane, int item, place ours, place theirs)
{
    fail_msg("%s: element %d of lane %d is %c[%d, %d], and not %c[%d, %d]", x->instruction, item,
             lane, matrix, theirs.row, theirs.col, matrix, ours.row, ours.col);
}

/* `order` is where Tenon has the vendor's steps of K: the same in all lanes, and of A and B alike. */
static void same_step(const text *x, int order[MOST], int ours, int theirs)
{
    if (order[theirs] < 0)
        order[theirs] = ours;
    if (order[theirs] != ours || (ours != theirs && !x->reorders_k))
        fail_msg("%s: step %d of K is %d here, and %d there", x->instruction, theirs, ours,
                 order[theirs]);
}

static void every_lane_of_a_and_b(void **state)
{
    (void)state;
    for (int t = 0; t < TEXTS; t++) {
        const text *x = &texts[t];
        int order[MOST];
        memset(order, -1, sizeof order);
        for (int lane = 0; lane < x->lanes; lane++) {
            for (int i = 0; i < x->a_items; i++) {
                const place theirs = x->a(lane, i);
                const place ours = {matrix_a_row(x->unit, x->type, lane, i),
                                    matrix_a_k(x->unit, x->type, lane, i)};
                if (ours.row != theirs.row)
                    differs(x, 'A', lane, i, ours, theirs);
                same_step(x, order, ours.col, theirs.col);
            }
            for (int i = 0; i < x->b_items; i++) {
                const place theirs = x->b(lane, i);
                const place ours = {matrix_b_k(x->unit, x->type, lane, i),
                                    matrix_b_col(x->unit, lane)};
                if (ours.col != theirs.col)
                    differs(x, 'B', lane, i, ours, theirs);
                same_step(x, order, ours.row, theirs.row);
            }
        }
    }
}

static void every_lane_of_d(void **state)
{
    (void)state;
    for (int t = 0; t < TEXTS; t++)
        for (int lane = 0; lane < texts[t].lanes; lane++)
            for (int i = 0; i < texts[t].d_items; i++) {
                const text *x = &texts[t];
                const place theirs = x->d(lane, i);
                const place ours = {matrix_d_row(x->unit, lane, i), matrix_d_col(x->unit, lane, i)};
                if (ours.row != theirs.row || ours.col != theirs.col)
                    differs(x, 'D', lane, i, ours, theirs);
            }
}

/* How often each element of a matrix is held. */
typedef struct tally {
    int count[MOST][MOST];
} tally;

static void hold(tally *held, int row, int col)
{
    assert_in_range(row, 0, MOST - 1);
    assert_in_range(col, 0, MOST - 1);
    held->count[row][col]++;
}

static bool covers(const tally *held, int rows, int columns, int copies)
{
    for (int row = 0; row < MOST; row++)
        for (int col = 0; col < MOST; col++)
            if (held->count[row][col] != (row < rows && col < columns ? copies : 0))
                return false;
    return true;
}

static void lanes_share_a_matrix(void **state)
{
    (void)state;
    for (int t = 0; t < TEXTS; t++) {
        const text *x = &texts[t];
        tally a = {{{0}}}, b = {{{0}}}, d = {{{0}}};
        for (int lane = 0; lane < x->lanes; lane++) {
            for (int i = 0; i < x->a_items; i++)
                hold(&a, matrix_a_row(x->unit, x->type, lane, i),
                     matrix_a_k(x->unit, x->type, lane, i));
            for (int i = 0; i < x->b_items; i++)
                hold(&b, matrix_b_k(x->unit, x->type, lane, i), matrix_b_col(x->unit, lane));
            for (int i = 0; i < x->d_items; i++)
                hold(&d, matrix_d_row(x->unit, lane, i), matrix_d_col(x->unit, lane, i));
        }
        assert_true(covers(&a, x->m, x->k, x->copies));
        assert_true(covers(&b, x->k, x->n, x->copies));
        assert_true(covers(&d, x->m, x->n, 1));
    }
}

/* PTX ISA, "ldmatrix": thread 8 j + r gives the address of row r of matrix j. Each thread receives a
 * fragment of a row: of matrix j, thread T has in its register j elements 2 (T % 4) and
 * 2 (T % 4) + 1 of 16 bits of row T / 4; with .trans, of column T / 4. */
static int giver_of(int matrix, int row)
{
    return 8 * matrix + row;
}

/* All types: what 32 bits of a row hold goes as two elements of 16 bits. */
static void ldmatrix_gives_a(void **state)
{
    static const int types[] = {MATRIX_F16, MATRIX_BF16, MATRIX_TF32, MATRIX_I8};
    (void)state;
    for (int t = 0; t < 4; t++)
        for (int lane = 0; lane < 32; lane++)
            for (int w = 0; w < 4; w++) {
                const int giver = giver_of(w, lane / 4), pack = MATRIX_PACK(types[t]);
                const int word = matrix_ldmatrix_a_word(giver) + lane % 4;
                assert_int_equal(matrix_ldmatrix_a_row(giver),
                                 matrix_a_row(MATRIX_NVIDIA, types[t], lane, w * pack));
                assert_int_equal(word * pack, matrix_a_k(MATRIX_NVIDIA, types[t], lane, w * pack));
            }
}

static void ldmatrix_gives_b(void **state)
{
    static const int types[] = {MATRIX_F16, MATRIX_BF16, MATRIX_TF32, MATRIX_I8};
    (void)state;
    for (int t = 0; t < 4; t++)
        for (int lane = 0; lane < 32; lane++)
            for (int w = 0; w < 4; w++) { /* two words of one B, and two of its neighbour */
                const int giver = giver_of(w, lane / 4), pack = MATRIX_PACK(types[t]);
                const int word = matrix_ldmatrix_b_word(giver) + lane % 4;
                assert_int_equal(matrix_ldmatrix_b_col(giver),
                                 matrix_b_col(MATRIX_NVIDIA, lane) + 8 * (w / 2));
                assert_int_equal(word * pack,
                                 matrix_b_k(MATRIX_NVIDIA, types[t], lane, w % 2 * pack));
            }
}

static void ldmatrix_turns(void **state)
{
    (void)state;
    for (int lane = 0; lane < 32; lane++)
        for (int i = 0; i < 8; i++) {
            const int matrix = i / 2, row = 2 * (lane % 4) + i % 2, column = lane / 4;
            const int giver = giver_of(matrix, row);
            assert_int_equal(matrix_ldmatrix_trans_a_k(giver),
                             matrix_a_k(MATRIX_NVIDIA, MATRIX_F16, lane, i));
            assert_int_equal(matrix_ldmatrix_trans_a_row(giver) + column,
                             matrix_a_row(MATRIX_NVIDIA, MATRIX_F16, lane, i));
            assert_int_equal(matrix_ldmatrix_trans_b_k(giver),
                             matrix_b_k(MATRIX_NVIDIA, MATRIX_F16, lane, i % 4));
            assert_int_equal(matrix_ldmatrix_trans_b_col(giver) + column,
                             matrix_b_col(MATRIX_NVIDIA, lane) + 8 * (i / 4));
        }
}

/* PTX ISA, "Register Fragments and Shared Memory Matrix Layouts" of wgmma.m64nNk16, D: row = 16 w +
 * lane / 4 + 8 ((i % 4) / 2) of warp w, col = 8 (i / 4) + 2 (lane % 4) + i % 2. */
static void wgmma_shares_d(void **state)
{
    tally d = {{{0}}};
    (void)state;
    for (int thread = 0; thread < 128; thread++)
        for (int i = 0; i < 32; i++) { /* N = 64 */
            const int warp = thread / 32, lane = thread % 32;
            assert_int_equal(matrix_wgmma_d_row(thread, i), 16 * warp + lane / 4 + 8 * (i % 4 / 2));
            assert_int_equal(matrix_wgmma_d_col(thread, i), 8 * (i / 4) + 2 * (lane % 4) + i % 2);
            hold(&d, matrix_wgmma_d_row(thread, i), matrix_wgmma_d_col(thread, i));
        }
    assert_true(covers(&d, 64, 64, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes),
        cmocka_unit_test(none_is_left_out),
        cmocka_unit_test(every_lane_of_a_and_b),
        cmocka_unit_test(every_lane_of_d),
        cmocka_unit_test(lanes_share_a_matrix),
        cmocka_unit_test(ldmatrix_gives_a),
        cmocka_unit_test(ldmatrix_gives_b),
        cmocka_unit_test(ldmatrix_turns),
        cmocka_unit_test(wgmma_shares_d),
    };
    return cmocka_run_group_tests_name("matrix layouts", tests, NULL, NULL);
}
