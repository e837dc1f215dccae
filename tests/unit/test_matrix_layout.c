/* Tests the element layouts of matrix units in cl_kernels/matrix/layout.h against the vendors'
 * documents (matrix_texts.c). */
#include "common/testing.h"
#include "matrix_texts.h"

#include "matrix/layout.h"

/* Sides are at most 128 (wgmma). */
enum { MOST = 128 };

TEST(shapes)
{
    for (int t = 0; t < matrix_text_count; t++) {
        const matrix_text *x = &matrix_texts[t];
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

TEST(every_unit_and_type_has_a_document)
{
    int there = 0;
    for (int unit = MATRIX_NVIDIA; unit <= MATRIX_XMX_8; unit++)
        for (int type = MATRIX_F16; type <= MATRIX_F32; type++)
            there += MATRIX_HAS(unit, type);
    assert_int_equal(there, matrix_text_count);
}

static void differs(const matrix_text *x, char matrix, int lane, int item, place ours, place theirs)
{
    fail_msg("%s: element %d of lane %d is %c[%d, %d], expected %c[%d, %d]", x->instruction, item,
             lane, matrix, theirs.row, theirs.col, matrix, ours.row, ours.col);
}

/* `order` maps the vendor's steps of K to Tenon's. It must be the same in all lanes and for A and
 * B. */
static void same_step(const matrix_text *x, int order[MOST], int ours, int theirs)
{
    if (order[theirs] < 0)
        order[theirs] = ours;
    if (order[theirs] != ours || (ours != theirs && !x->reorders_k))
        fail_msg("%s: step %d of K is %d in this lane, but %d in another", x->instruction, theirs,
                 ours, order[theirs]);
}

TEST(layout_of_a_and_b)
{
    for (int t = 0; t < matrix_text_count; t++) {
        const matrix_text *x = &matrix_texts[t];
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

TEST(layout_of_d)
{
    for (int t = 0; t < matrix_text_count; t++)
        for (int lane = 0; lane < matrix_texts[t].lanes; lane++)
            for (int i = 0; i < matrix_texts[t].d_items; i++) {
                const matrix_text *x = &matrix_texts[t];
                const place theirs = x->d(lane, i);
                const place ours = {matrix_d_row(x->unit, lane, i), matrix_d_col(x->unit, lane, i)};
                if (ours.row != theirs.row || ours.col != theirs.col)
                    differs(x, 'D', lane, i, ours, theirs);
            }
}

/* Number of lanes that hold each element of a matrix. */
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

TEST(lanes_cover_each_matrix)
{
    for (int t = 0; t < matrix_text_count; t++) {
        const matrix_text *x = &matrix_texts[t];
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

/* PTX ISA, "ldmatrix": thread 8 j + r provides the address of row r of matrix j. Each thread
 * receives a fragment of a row: from matrix j, register j of thread T receives elements 2 (T % 4)
 * and 2 (T % 4) + 1, of 16 bits, of row T / 4; with .trans, of column T / 4. */
static int giver_of(int matrix, int row)
{
    return 8 * matrix + row;
}

/* Works for all types: the 32 bits of a row are moved as two elements of 16 bits. The four words of
 * a lane are one A, or two of one B and two of its neighbor. */
TEST(ldmatrix_loads_a_and_b)
{
    static const int types[] = {MATRIX_F16, MATRIX_BF16, MATRIX_TF32, MATRIX_I8};
    for (int t = 0; t < 4; t++)
        for (int i = 0; i < 32 * 4; i++) {
            const int lane = i / 4, w = i % 4, giver = giver_of(w, lane / 4);
            const int pack = MATRIX_PACK(types[t]);
            assert_int_equal(matrix_ldmatrix_a_row(giver),
                             matrix_a_row(MATRIX_NVIDIA, types[t], lane, w * pack));
            assert_int_equal((matrix_ldmatrix_a_word(giver) + lane % 4) * pack,
                             matrix_a_k(MATRIX_NVIDIA, types[t], lane, w * pack));
            assert_int_equal(matrix_ldmatrix_b_col(giver),
                             matrix_b_col(MATRIX_NVIDIA, lane) + 8 * (w / 2));
            assert_int_equal((matrix_ldmatrix_b_word(giver) + lane % 4) * pack,
                             matrix_b_k(MATRIX_NVIDIA, types[t], lane, w % 2 * pack));
        }
}

TEST(ldmatrix_transposes)
{
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
TEST(layout_of_wgmma_d)
{
    tally d = {{{0}}};
    for (int thread = 0; thread < 128; thread++)
        for (int i = 0; i < MATRIX_D_COUNT(MATRIX_WGMMA); i++) {
            const int warp = thread / 32, lane = thread % 32;
            const int row = matrix_d_row(MATRIX_WGMMA, thread, i);
            const int col = matrix_d_col(MATRIX_WGMMA, thread, i);
            assert_int_equal(row, 16 * warp + lane / 4 + 8 * (i % 4 / 2));
            assert_int_equal(col, 8 * (i / 4) + 2 * (lane % 4) + i % 2);
            hold(&d, row, col);
        }
    assert_true(covers(&d, 64, 128, 1));
}

/* A block of a factor: `width` rows (for B, columns) by `depth` steps. */
typedef struct wgmma_block {
    int along_k, width, depth, bits;
    int line_bytes, row_bytes, lines; /* derived by matrix/layout.h */
} wgmma_block;

static wgmma_block block_of(int along_k, int width, int depth, int bits)
{
    wgmma_block b = {.along_k = along_k, .width = width, .depth = depth, .bits = bits};
    b.line_bytes = (along_k ? depth : width) * bits / 8;
    b.row_bytes = matrix_wgmma_row(b.line_bytes);
    b.lines = along_k ? width : depth;
    return b;
}

static int vectors_of(const wgmma_block *b)
{
    return b->width * b->depth * b->bits / 128;
}

/* Checks that copies store each element of a block where a product of 128 columns, which begins at
 * `row` and `k`, reads it. */
static void find_part(const wgmma_block *b, int row, int k)
{
    const int size = b->bits / 8, in_vector = 16 / size;
    const int leading = matrix_wgmma_leading(b->along_k, b->row_bytes, b->lines);
    const int stride = matrix_wgmma_stride(b->row_bytes);
    const int start = matrix_wgmma_from(b->along_k, b->row_bytes, b->lines, row, k, size);
    int found = 0;
    assert_int_equal(start % 16, 0);
    for (int e = 0; e < b->width * b->depth; e++) {
        const int v = e / in_vector, within = e % in_vector;
        const int line = matrix_wgmma_line(v, b->row_bytes, b->lines);
        const int at = matrix_wgmma_start(v, b->row_bytes, b->lines) / size + within;
        const int its_row = (b->along_k ? line : at) - row, its_k = (b->along_k ? at : line) - k;
        const int byte = matrix_wgmma_swizzled(b->row_bytes, 16 * v) + within * size;
        if (its_row < 0 || its_row >= 128 || its_k < 0 || its_k >= 256 / b->bits)
            continue;
        found++;
        assert_int_equal(ptx_wgmma_byte(b->row_bytes, !b->along_k, b->bits, start, its_row, its_k,
                                        leading, stride),
                         byte);
        assert_int_equal(
            matrix_wgmma_at(b->along_k, b->row_bytes, start, leading, stride, its_row, its_k, size),
            byte);
    }
    const int rows = b->width - row < 128 ? b->width - row : 128;
    assert_int_equal(found, rows * 256 / b->bits);
}

static void find_parts(const wgmma_block *b)
{
    for (int row = 0; row < b->width; row += 64)
        for (int k = 0; k < b->depth; k += 256 / b->bits)
            find_part(b, row, k);
}

/* Elements of 16 bits, along K and across it; bytes are always along K. */
TEST(wgmma_operands_are_where_it_reads)
{
    for (int width = 64; width <= 256; width *= 2)
        for (int depth = 16; depth <= 64; depth *= 2) {
            const wgmma_block along = block_of(1, width, depth, 16),
                              across = block_of(0, width, depth, 16),
                              bytes = block_of(1, width, 2 * depth, 8);
            find_parts(&along);
            find_parts(&across);
            find_parts(&bytes);
        }
}

/* Every element of a block has a unique place in it, and every vector its own 16 bytes. */
TEST(blocks_of_wgmma_have_no_gaps)
{
    for (int along_k = 0; along_k < 2; along_k++)
        for (int depth = 16; depth <= 64; depth *= 2) {
            const wgmma_block b = block_of(along_k, 128, depth, 16);
            tally held = {{{0}}};
            bool taken[128 * 64 / 8] = {false};
            for (int v = 0; v < vectors_of(&b); v++) {
                const int at = matrix_wgmma_swizzled(b.row_bytes, 16 * v);
                for (int e = 0; e < 8; e++)
                    hold(&held, matrix_wgmma_line(v, b.row_bytes, b.lines),
                         matrix_wgmma_start(v, b.row_bytes, b.lines) / 2 + e);
                assert_true(at >= 0 && at < 16 * vectors_of(&b) && at % 16 == 0);
                assert_false(taken[at / 16]);
                taken[at / 16] = true;
            }
            assert_true(covers(&held, b.lines, b.line_bytes / 2, 1));
        }
}

/* 8 work-items store the vectors of 8 neighboring lines together, and a product loads the same
 * vector of 8 rows: each access covers 128 bytes in different banks. */
TEST(wgmma_has_no_bank_conflicts)
{
    for (int row_bytes = 32; row_bytes <= 128; row_bytes *= 2)
        for (int v = 0; v < 1024; v += 8) {
            unsigned written = 0, read = 0;
            for (int i = 0; i < 8; i++) {
                const int rows = v / 8 * 8 + i; /* the same vector of 8 rows of a panel */
                written |= 1u << matrix_wgmma_swizzled(row_bytes, 16 * (v + i)) / 16 % 8;
                read |= 1u << matrix_wgmma_swizzled(row_bytes, rows * row_bytes) / 16 % 8;
            }
            assert_int_equal(written, 0xff);
            assert_int_equal(read, 0xff);
        }
}

TEST(wgmma_descriptors)
{
    for (unsigned start = 0; start < 232448; start += 1040)
        for (int row_bytes = 32; row_bytes <= 128; row_bytes *= 2)
            for (int lines = 16; lines <= 256; lines *= 2)
                for (int along_k = 0; along_k < 2; along_k++) {
                    const int leading = matrix_wgmma_leading(along_k, row_bytes, lines);
                    const int stride = matrix_wgmma_stride(row_bytes);
                    const unsigned long long expected =
                        ptx_wgmma_descriptor(start, (unsigned)leading, (unsigned)stride, row_bytes);
                    assert_int_equal(matrix_wgmma_low(start, leading), expected & 0xffffffff);
                    assert_int_equal(matrix_wgmma_high(stride, row_bytes), expected >> 32);
                }
}
