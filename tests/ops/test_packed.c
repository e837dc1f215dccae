/*
 * Tests tenon_gemm_packed against the reference of tenon_gemm: sizes around every tile, layouts,
 * batches, epilogues, special values; the same bits for any number of rows; and the layout "rows",
 * which GEMM's own solvers multiply.
 */
#include "gemm_case.h"

#include <math.h>

/* Sizes around all edges: rows 4, 8, 12 and their sums; panels of 32 columns, an odd or even number
 * of them; blocks of 1024 steps, which are divided evenly. */
TEST(sizes_around_tile_edges)
{
    static const int64_t rows[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 15, 16, 23, 24, 25, 37};
    static const int64_t columns[] = {1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 95, 96, 97, 129};
    static const int64_t depths[] = {1, 2, 15, 16, 17, 1023, 1024, 1025, 1030, 2048, 2049, 2055};
    test_random random = test_random_for(831);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check_gemm_sizes(&simple_packed, rows[i], 37, 41, &random);
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        check_gemm_sizes(&simple_packed, i % 2 == 0 ? 3 : 13, columns[i], 41, &random);
    for (size_t i = 0; i < sizeof depths / sizeof *depths; i++)
        check_gemm_sizes(&simple_packed, i % 2 == 0 ? 13 : 2, 37, depths[i], &random);
}

TEST(empty_products)
{
    test_random random = test_random_for(832);
    for (int i = 0; i < 4; i++) {
        gemm_case p = gemm_like(.pack = IN_PANELS, .batch_rank = 1);
        *(i == 0 ? &p.m : i == 1 ? &p.n : i == 2 ? &p.k : &p.batch[0]) = 0;
        p.bias_form = FORM_COLUMNS;
        check_gemm(&p, &random);
    }
}

TEST(every_layout)
{
    test_random random = test_random_for(833);
    for (int a = 0; a < TEST_LAYOUTS; a++)
        for (int b = 0; b < TEST_LAYOUTS; b++) {
            gemm_case p = gemm_like(.pack = IN_PANELS, .a = (test_layout)a, .b = (test_layout)b,
                                    .d = (test_layout)((a + b) % TEST_LAYOUTS));
            p.m = b == 1 ? 1 : p.m;
            p.offset = a + b;
            check_gemm(&p, &random);
        }
}

/* Weights for each entry of a batch, for the whole batch, or for some of its dimensions; a may
 * repeat as well. */
TEST(batches)
{
    test_random random = test_random_for(834);
    for (uint32_t once = 0; once < 8; once++)
        for (uint32_t a_once = 0; a_once < 8; a_once += 3) {
            gemm_case p =
                gemm_like(.m = 5, .n = once == 5 ? 1 : 33, .k = 19, .pack = IN_PANELS, .alpha = 2,
                          .batch_rank = 3, .b_once = once, .a_once = a_once, .b_flat = once == 7,
                          .gap = a_once != 0, .b = (test_layout)(once % TEST_LAYOUTS),
                          .c_form = once % 2 == 0 ? FORM_FULL : FORM_SAME, .beta = -1);
            check_gemm_typed(&p, once % 2 == 0 ? TENON_DTYPE_F32 : TENON_DTYPE_BF16, &random);
        }
}

TEST(every_form_of_c_and_bias)
{
    test_random random = test_random_for(835);
    for (int c = 0; c < FORMS; c++)
        for (int bias = 0; bias < FORM_SAME; bias++) {
            gemm_case p = gemm_of_forms(&simple_packed, (gemm_form)c, (gemm_form)bias);
            p.alpha = c == 2 && bias == 2 ? 0 : 2;
            p.k = c == bias ? 1100 : p.k; /* several blocks of K, between which sums are stored */
            check_gemm(&p, &random);
        }
}

TEST(activations)
{
    test_random random = test_random_for(836);
    for (size_t i = 0; i < GEMM_ACTIVATIONS; i++) {
        gemm_case p = gemm_like(.pack = IN_PANELS, .activation = gemm_activations[i],
                                .bias_form = FORM_COLUMNS);
        p.k = i == 0 ? 1100 : p.k;
        if (tn_activation_is_build(p.activation.kind)) /* requires a build in every type */
            check_gemm_typed(&p, TENON_DTYPE_F32, &random);
        else
            check_gemm(&p, &random);
    }
}

/* An element in padding columns of a panel must not affect other columns. */
TEST(nan_and_infinity_propagate)
{
    static const double specials[] = {NAN, INFINITY, -INFINITY};
    test_random random = test_random_for(837);
    for (int i = 0; i < 3; i++)
        for (int operand = GEMM_A; operand < GEMM_D; operand++) {
            test_fixture f;
            gemm_case p = gemm_like(.pack = IN_PANELS, .c_form = FORM_FULL, .bias_form = FORM_FULL,
                                    .beta = 1);
            make_gemm(&f, &p, TENON_DTYPE_F32, TEST_BOUND, &random);
            int64_t count = tenon_tensor_elements(&f.operands[operand].view);
            test_set(&f.operands[operand], test_between(&random, 0, count - 1), specials[i]);
            test_finish(&f, TEST_ALL);
        }
}

TEST(larger_problems)
{
    test_random random = test_random_for(838);
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++) {
        gemm_case p = gemm_of(&simple_packed, 203, 300, 1050);
        p.bias_form = FORM_COLUMNS;
        check_gemm_typed(&p, *type, &random);
        p.m = 1;
        p.n = 1030;
        check_gemm_typed(&p, *type, &random);
    }
}

TEST(tiles_by_name)
{
    static const char *const names[] = {"cpu:mr1,kc64", "cpu:mr2,np3", "cpu:mr4,kc80,np1",
                                        "cpu:mr6,np4",  "cpu:mr13",    NULL};
    test_random random = test_random_for(839);
    test_fixture f;
    gemm_case p = gemm_of(&simple_packed, 40, 150, 203);
    p.bias_form = FORM_ROWS;
    make_gemm(&f, &p, TENON_DTYPE_F32, TEST_EXACT, &random);
    test_finish_by(&f, names);
}

/* If the rows of a tile are forced, the block of K is reduced until they fit. With vectors of any
 * width, the usual block does not fit this size and the smaller one does. */
TEST(little_local_memory)
{
    static const char *const lines[] = {
        "gemm_packed/cpu:mr13 a=f32:40x203 d=f32:40x150 k=203 n=150", NULL};
    assert_int_equal(test_with_local_memory(26 << 10, lines), 1);
}

TEST(random_problems)
{
    test_random random = test_random_for(840);
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++)
        for (int i = test_problems(30); i > 0; i--) {
            gemm_case p = random_gemm(&random);
            p.b = (test_layout)test_between(&random, 0, TEST_LAYOUTS - 1);
            p.alpha = test_real(&random, -2, 2);
            p.pack = IN_PANELS;
            test_fixture f;
            make_gemm(&f, &p, *type, TEST_BOUND, &random);
            test_finish(&f, TEST_ONCE);
        }
}

/* Checks that the product of rows [0, m) of a has the same bits as the product of all rows. */
static void same_bits_for(const tenon_packed *packed, const test_tensor *a, const test_tensor *d,
                          const unsigned char *all, int64_t m)
{
    tenon_gemm_params params = tenon_gemm_params(.flags = TENON_GEMM_BATCH_INVARIANT);
    const tenon_tensor rows = tenon_tensor_slice(a->view, 0, 0, m),
                       out = tenon_tensor_slice(d->view, 0, 0, m);
    test_upload(d);
    assert_ok(tenon_gemm_packed(test_stream, &params, &rows, packed, NULL, NULL, &out, NULL));
    unsigned char *got = test_download_bits(d);
    const size_t bytes = (size_t)(m * d->view.shape[1]) * tenon_dtype_size(d->view.dtype);
    if (memcmp(got, all, bytes) != 0)
        fail_msg("%s: %lld rows have other bits than all", tenon_dtype_string(d->view.dtype),
                 (long long)m);
    free(got);
}

TEST(any_number_of_rows_gives_the_same_bits)
{
    test_random random = test_random_for(841);
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++)
        for (int layout = TEST_ROW; layout <= TEST_COL; layout++) {
            gemm_case p = gemm_of(&simple_gemm, 61, 70, 1050);
            test_fixture f;
            p.a = (test_layout)layout;
            make_gemm(&f, &p, *type, TEST_BOUND, &random);
            test_upload_all(&f);
            tenon_packed *packed = pack_matrix(&f.operands[GEMM_B].view, "panels");
            const test_tensor *a = &f.operands[GEMM_A], *d = &f.operands[GEMM_D];
            tenon_gemm_params params = TENON_GEMM_PARAMS_INIT;
            params.flags = TENON_GEMM_BATCH_INVARIANT;
            assert_ok(tenon_gemm_packed(test_stream, &params, &a->view, packed, NULL, NULL,
                                        &d->view, NULL));
            unsigned char *all = test_download_bits(d);
            for (int64_t m = 1; m < p.m; m += m < 14 ? 1 : 9)
                same_bits_for(packed, a, d, all, m);
            free(all);
            tenon_packed_release(packed);
            test_release(&f);
        }
}

TEST(rows_are_multiplied_by_every_solver)
{
    test_random random = test_random_for(853);
    for (int i = 0; i < 3; i++) {
        test_fixture f;
        gemm_case p =
            gemm_like(.m = i == 0 ? 1 : 13, .n = i == 1 ? 1 : 37, .k = 41,
                      .b = (test_layout)(i + 1), .batch_rank = i == 2 ? 1 : 0, .pack = IN_ROWS);
        make_gemm(&f, &p, TENON_DTYPE_F32, TEST_EXACT, &random);
        test_finish(&f, TEST_ALL);
    }
}
