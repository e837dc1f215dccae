/*
 * tenon_gemm for i8 and u8 against its reference: every solver by name and the automatic choice.
 * Here types, sizes, layouts and batches; test_gemm_int8_values.c and test_gemm_int8_calls.c have
 * the rest.
 */
#include "emulation.h"
#include "gemm_case.h"

static const tenon_dtype bytes[] = {TENON_DTYPE_I8, TENON_DTYPE_U8};

/* Each pair of factors, each result, without scales and zero points, with one, with many. */
TEST(every_type)
{
    test_random random = test_random_for(1201);
    for (int pair = 0; pair < 4; pair++)
        for (const tenon_dtype *d = int8_results; *d != TENON_DTYPE_INVALID; d++)
            for (int form = 0; form < 3; form++) {
                gemm_case p = simple_int8;
                p.a_type = bytes[pair % 2];
                p.b_type = bytes[pair / 2];
                p.d_type = *d;
                p.vectors = form == 0 ? 0 : ALL_VECTORS;
                p.many = form == 2 ? ALL_VECTORS : 0;
                p.bias_i32 = form == 1;
                p.bias_form = FORM_COLUMNS;
                p.c_form = FORM_FULL;
                p.beta = pair % 2;
                check_gemm(&p, &random);
            }
}

/* Every scale and zero point by itself, of one and of many. */
TEST(every_vector)
{
    test_random random = test_random_for(1202);
    for (int i = 0; i < INT8_VECTORS; i++)
        for (int many = 0; many < 2; many++)
            for (int layout = 0; layout < 2; layout++) {
                gemm_case p = simple_int8;
                p.d_type = TENON_DTYPE_I8;
                p.vectors = 1U << i;
                p.many = many != 0 ? ALL_VECTORS : 0;
                p.d = layout == 0 ? TEST_ROW : TEST_COL;
                check_gemm(&p, &random);
            }
}

static tenon_dtype result_of(size_t i)
{
    return int8_results[i % INT8_RESULTS];
}

TEST(sizes_around_tile_edges)
{
    static const int64_t rows[] = {1, 2, 5, 6, 7, 8, 11, 12, 13, 47, 48, 49, 97};
    static const int64_t columns[] = {1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129};
    static const int64_t depths[] = {1,   2,   3,   4,   15,  16,  17,  63,  64, 65,
                                     255, 256, 257, 383, 384, 385, 512, 513, 769};
    test_random random = test_random_for(1203);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        gemm_case p = gemm_of(&simple_int8, rows[i], 37, 41);
        p.d_type = result_of(i);
        p.many = ALL_VECTORS;
        check_gemm(&p, &random);
    }
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        gemm_case p = gemm_of(&simple_int8, 13, columns[i], 41);
        p.d_type = result_of(i);
        p.many = ALL_VECTORS;
        p.bias_form = FORM_FULL;
        p.b = i % 2 == 0 ? TEST_ROW : TEST_COL;
        check_gemm(&p, &random);
    }
    for (size_t i = 0; i < sizeof depths / sizeof *depths; i++) {
        gemm_case p = gemm_of(&simple_int8, 13, 37, depths[i]);
        p.d_type = result_of(i);
        p.b = i % 2 == 0 ? TEST_COL : TEST_ROW;
        check_gemm(&p, &random);
    }
}

TEST(every_layout)
{
    test_random random = test_random_for(1204);
    for (int a = 0; a < TEST_LAYOUTS; a++)
        for (int b = 0; b < TEST_LAYOUTS; b++)
            for (int d = 0; d < TEST_LAYOUTS; d++) {
                gemm_case p = simple_int8;
                p.a = (test_layout)a;
                p.b = (test_layout)b;
                p.c = (test_layout)((a + d) % TEST_LAYOUTS);
                p.d = (test_layout)d;
                p.offset = a + b;
                p.c_form = FORM_FULL;
                p.beta = 1;
                p.d_type = result_of((size_t)a + (size_t)b + (size_t)d);
                p.many = (uint32_t)(a + 2 * b + 4 * d) * 5;
                check_gemm(&p, &random);
            }
}

/* Rows and columns that begin at multiples of 16 bytes, of 4, and of neither, over more steps of K
 * than a tile has: kernels read them in one piece, by words, or byte by byte, and the ends of each
 * by bytes. */
TEST(alignments)
{
    static const int64_t sizes[][3] = {{48, 64, 208}, {36, 68, 140}, {33, 70, 131}};
    test_random random = test_random_for(1209);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int layout = 0; layout < 4; layout++)
            for (int offset = 0; offset < 2; offset++) {
                gemm_case p = gemm_of(&simple_int8, sizes[i][0], sizes[i][1], sizes[i][2]);
                p.a = layout % 2 == 0 ? TEST_ROW : TEST_COL;
                p.b = layout / 2 == 0 ? TEST_ROW : TEST_COL;
                p.offset = offset * 4;
                check_gemm(&p, &random);
            }
}

/* An operand that is repeated along the batch prevents folding the batch into rows or columns. */
TEST(batches)
{
    test_random random = test_random_for(1205);
    for (uint32_t rank = 1; rank <= MAX_BATCH_RANK; rank++)
        for (uint32_t once = 0; once < (1U << rank); once++)
            for (uint32_t form = 0; form < 4; form++) {
                gemm_case p = gemm_of(&simple_int8, form == 3 ? 1 : 7, form == 2 ? 1 : 19, 9);
                p.batch_rank = rank;
                p.a_once = once;
                p.b_once = ~once & ((1U << rank) - 1);
                p.gap = form == 1;
                p.bias_form = (once & 1) != 0 ? FORM_ROWS : FORM_FULL;
                p.a_flat = form == 0 && once == 0;
                p.d_type = result_of(form + rank);
                p.many = form == 0 ? 0 : ALL_VECTORS >> (once + form);
                check_gemm(&p, &random);
            }
}

TEST(empty_products)
{
    test_random random = test_random_for(1206);
    for (int i = 0; i < 3; i++) {
        gemm_case p = simple_int8;
        *(i == 0 ? &p.m : i == 1 ? &p.n : &p.batch[0]) = 0;
        p.batch_rank = i == 2 ? 1 : 0;
        check_gemm(&p, &random);
        p.k = 0;
        check_gemm(&p, &random);
    }
}

/* K = 0 leaves the epilogue, whatever the zero points are. */
TEST(no_depth)
{
    test_random random = test_random_for(1207);
    for (const tenon_dtype *d = int8_results; *d != TENON_DTYPE_INVALID; d++) {
        gemm_case p = gemm_of(&simple_int8, 13, 37, 0);
        p.d_type = *d;
        check_gemm(&p, &random);
        p.bias_form = FORM_COLUMNS;
        p.c_form = FORM_FULL;
        p.beta = 1;
        p.many = ALL_VECTORS;
        check_gemm(&p, &random);
    }
}

/* A product with a vector, from either side. */
TEST(vectors)
{
    static const int64_t lengths[][2] = {{1, 300}, {7, 5}, {64, 257}, {701, 3}, {130, 129}};
    test_random random = test_random_for(1208);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        for (int layout = 0; layout < TEST_LAYOUTS; layout++)
            for (int side = 0; side < 2; side++) {
                const int64_t length = lengths[i][0], k = lengths[i][1];
                gemm_case p = side == 0 ? gemm_of(&simple_int8, length, 1, k)
                                        : gemm_of(&simple_int8, 1, length, k);
                *(side == 0 ? &p.a : &p.b) = (test_layout)layout;
                p.d = i % 2 == 0 ? TEST_ROW : TEST_STRIDED;
                p.bias_form = (gemm_form)(i % FORM_SAME);
                p.d_type = result_of(i + (size_t)layout);
                p.many = ALL_VECTORS;
                check_gemm(&p, &random);
            }
}

/* The flag has no effect, because no factor is f32. */
TEST(tf32_is_ignored)
{
    test_random random = test_random_for(1209);
    test_fixture f;
    test_begin_line(&f, "gemm_int8 a=u8:33x70 b=i8:70x35 d=f32:33x35 flags=2", TENON_DTYPE_INVALID);
    test_run_fixture(&f, TEST_BOUND, TEST_ONCE, &random);
}

TEST(every_unit_has_served)
{
    static const int types[] = {MATRIX_I8, 0};
    assert_emulated("gemm_int8", types);
}
