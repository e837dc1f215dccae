/*
 * Tests tenon_gemm against its reference: every solver by name and the automatic choice, every
 * type, reals within the bound and integers exactly. This file covers sizes, layouts, batches and
 * the forms of c and the bias, and test_gemm_values.c everything else.
 */
#include "emulation.h"
#include "gemm_case.h"

TEST(empty_products)
{
    test_random random = test_random_for(101);
    for (int i = 0; i < 3; i++) {
        gemm_case p = simple_gemm;
        *(i == 0 ? &p.m : i == 1 ? &p.n : &p.batch[0]) = 0;
        p.batch_rank = i == 2 ? 2 : 0;
        check_gemm(&p, &random);
        p.k = 0;
        check_gemm(&p, &random);
    }
}

/* With K = 0 only the epilogue remains. */
TEST(no_depth)
{
    test_random random = test_random_for(102);
    gemm_case p = gemm_of(&simple_gemm, 13, 37, 0);
    check_gemm(&p, &random);
    p.bias_form = FORM_COLUMNS;
    p.c_form = FORM_FULL;
    p.beta = 2;
    p.batch_rank = 1;
    p.batch[0] = 3;
    check_gemm(&p, &random);
    p.n = 1;
    check_gemm(&p, &random);
}

/* Sizes around all tile edges: rows 6, 12, 14, columns 32, 64, depth 384. */
TEST(sizes_around_tile_edges)
{
    static const int64_t rows[] = {1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 14, 15, 27, 28, 29};
    static const int64_t columns[] = {1, 2, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 129};
    static const int64_t depths[] = {1, 2, 3, 8, 31, 32, 33, 383, 384, 385, 767, 769};
    test_random random = test_random_for(103);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check_gemm_sizes(&simple_gemm, rows[i], i % 2 == 0 ? 65 : 33, 41, &random);
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        check_gemm_sizes(&simple_gemm, 13, columns[i], 41, &random);
    for (size_t i = 0; i < sizeof depths / sizeof *depths; i++)
        check_gemm_sizes(&simple_gemm, 13, 37, depths[i], &random);
    check_gemm_sizes(&simple_gemm, 1, 1, 1, &random);
}

TEST(every_layout)
{
    test_random random = test_random_for(104);
    for (int a = 0; a < TEST_LAYOUTS; a++)
        for (int b = 0; b < TEST_LAYOUTS; b++)
            for (int d = 0; d < TEST_LAYOUTS; d++) {
                gemm_case p = gemm_like(.a = (test_layout)a, .b = (test_layout)b,
                                        .d = (test_layout)d, .offset = a + b);
                if ((a + b + d) % 2 ==
                    0) /* each pair of a and b requires builds; every type of each is covered */
                    check_gemm(&p, &random);
                else
                    check_gemm_typed(&p, TENON_DTYPE_F32, &random);
            }
}

/* Products of a matrix and a vector, in either order, short and long. */
TEST(vectors)
{
    static const int64_t lengths[][2] = {{1, 300},   {7, 5},   {8, 64},    {9, 2047},
                                         {33, 2049}, {701, 3}, {130, 129}, {2500, 17}};
    test_random random = test_random_for(105);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        for (int layout = 0; layout < TEST_LAYOUTS; layout++)
            for (int side = 0; side < 2; side++) {
                const int64_t length = lengths[i][0], k = lengths[i][1];
                gemm_case p = side == 0 ? gemm_of(&simple_gemm, length, 1, k)
                                        : gemm_of(&simple_gemm, 1, length, k);
                *(side == 0 ? &p.a : &p.b) = (test_layout)layout;
                *(side == 0 ? &p.b : &p.a) = (test_layout)((layout + (int)i) % TEST_LAYOUTS);
                p.d = i % 2 == 0 ? TEST_ROW : TEST_STRIDED;
                p.bias_form = (gemm_form)(i % FORM_SAME);
                check_gemm(&p, &random);
            }
}

TEST(batches)
{
    test_random random = test_random_for(106);
    for (uint32_t rank = 1; rank <= MAX_BATCH_RANK; rank++)
        for (uint32_t once = 0; once < (1U << rank); once++)
            for (int gap = 0; gap < 2; gap++) {
                gemm_case p =
                    gemm_like(.m = 7, .n = 37, .k = 9, .batch_rank = rank, .a_once = once,
                              .b_once = ~once & ((1U << rank) - 1), .gap = gap != 0,
                              .c_form = (once & 1) != 0 ? FORM_FULL : FORM_COLUMNS, .beta = 0.5,
                              .bias_form = (once & 1) != 0 ? FORM_ROWS : FORM_FULL);
                check_gemm(&p, &random);
                p.b_once = 0;
                check_gemm(&p, &random);
            }
}

/* Batches that are folded into M or N must give the same results. */
TEST(flat_factors)
{
    test_random random = test_random_for(107);
    for (int i = 0; i < 16; i++) {
        gemm_case p = gemm_like(.m = (i & 4) != 0 ? 1 : 5, .n = (i & 8) != 0 ? 1 : 19, .k = 41,
                                .batch_rank = 2, .batch[0] = 3, .batch[1] = 2,
                                .a_flat = (i & 1) != 0, .b_flat = (i & 2) != 0,
                                .d = i % 3 == 0 ? TEST_COL : TEST_ROW, .bias_form = FORM_FULL);
        check_gemm(&p, &random);
    }
}

TEST(every_form_of_c_and_bias)
{
    test_random random = test_random_for(108);
    for (int c = 0; c < FORMS; c++)
        for (int bias = 0; bias < FORM_SAME; bias++) {
            gemm_case p = gemm_of_forms(&simple_gemm, (gemm_form)c, (gemm_form)bias);
            p.batch_rank = (uint32_t)(c + bias) % 2;
            check_gemm(&p, &random);
        }
}

TEST(every_unit_has_served)
{
    static const int types[] = {MATRIX_F16, MATRIX_BF16, MATRIX_TF32, MATRIX_F32, 0};
    assert_emulated("gemm", types);
}
