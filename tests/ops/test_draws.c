/* Tests tenon_bernoulli, tenon_categorical and tenon_permutation: against the reference, and their
 * distributions with fixed seeds. */
#include "lines_case.h"

#include "ops/random/internal.h"
#include "ops/registry.h"

#include <math.h>

TEST(bernoulli)
{
    static const tenon_dtype integers[] = {TENON_DTYPE_U8, TENON_DTYPE_I32, TENON_DTYPE_BOOL,
                                           TENON_DTYPE_I64, TENON_DTYPE_INVALID};
    test_random random = test_random_for(1951);
    for (int n = 0; n < 10; n++)
        for (const tenon_dtype *type = test_float_types(); *type != 0; type++) {
            const int64_t shape[] = {3, n % 2 == 0 ? 7 : 41, n % 3 == 0 ? 5 : 67};
            const tenon_bernoulli_params params =
                tenon_bernoulli_params(.seed = test_next(&random), .sequence = (uint64_t)n);
            const tenon_dtype integer = integers[n % 5];
            const tenon_dtype types[] = {*type, integer != TENON_DTYPE_INVALID ? integer : *type};
            test_fixture f;
            lines_begin(&f, &tn_operation_bernoulli, &params, types);
            lines_lay(&f, 3, shape, (test_layout)(n % TEST_LAYOUTS), n % 2 == 0, n % 4);
            if (n == 9)
                memset(f.c.views[DRAW_X].stride, 0, sizeof shape);
            test_make(&f);
            test_fill_plainly(&f, TEST_BOUND, 1, &random);
            test_finish(&f, TEST_ALL);
        }
}

/* Probabilities that are no numbers between 0 and 1, and small ones. */
TEST(special_probabilities)
{
    static const float p[] = {0, -1, 1, 2, (float)NAN, (float)INFINITY, -(float)INFINITY, 1e-40f};
    static const uint8_t expected[] = {0, 0, 1, 1, 0, 1, 0, 0};
    const int64_t shape[] = {8};
    uint8_t got[8];
    tenon_tensor x = test_dense(TENON_DTYPE_F32, 1, shape, p),
                 y = test_dense(TENON_DTYPE_U8, 1, shape, NULL);
    assert_ok(tenon_bernoulli(test_stream, NULL, &x, &y, NULL));
    test_read(&y, got);
    assert_memory_equal(got, expected, sizeof got);
    test_destroy(&x, &y);
}

/* The numbers are those of tenon_random with the same probability. */
TEST(same_as_random)
{
    const int64_t shape[] = {5000};
    const float p = 0.3f;
    int32_t got[5000], expected[5000];
    tenon_tensor x = test_dense(TENON_DTYPE_F32, 1, (const int64_t[]){1}, &p),
                 y = test_dense(TENON_DTYPE_I32, 1, shape, NULL);
    x.shape[0] = shape[0];
    x.stride[0] = 0;
    const tenon_bernoulli_params params = tenon_bernoulli_params(.seed = 5, .sequence = 6);
    const tenon_random_params random =
        tenon_random_params(.kind = TENON_RANDOM_BERNOULLI, .seed = 5, .sequence = 6,
                            .probability = (double)p);
    assert_ok(tenon_bernoulli(test_stream, &params, &x, &y, NULL));
    test_read(&y, got);
    assert_ok(tenon_random(test_stream, &random, &y, NULL));
    test_read(&y, expected);
    assert_memory_equal(got, expected, sizeof got);
    test_destroy(&x, &y);
}

TEST(categorical)
{
    test_random random = test_random_for(1952);
    for (int n = 0; n < 12; n++)
        for (const tenon_dtype *type = test_float_types(); *type != 0; type++) {
            const int64_t many = n < 2 ? 1301 : 3 + 40 * (n % 4);
            const int64_t shape[] = {n % 3 == 0 ? 1 : 7, 30 + n, n % 4 == 0 && n > 0 ? 1 : many};
            const tenon_categorical_params params =
                tenon_categorical_params(.flags = n % 2 == 0 ? TENON_CATEGORICAL_LOGITS : 0,
                                         .seed = test_next(&random), .sequence = (uint64_t)n);
            test_fixture f;
            test_begin(&f, &tn_operation_categorical);
            memcpy(f.c.params.bytes, &params, sizeof params);
            f.c.views[DRAW_X] =
                test_view(*type, (test_layout)(n % TEST_LAYOUTS), n % 2 == 0, 3, shape, n % 4);
            f.c.views[DRAW_Y] = test_view(n % 5 == 0 ? TENON_DTYPE_I64 : TENON_DTYPE_I32,
                                          (test_layout)(n % TEST_LAYOUTS), false, 2, shape, n % 3);
            test_make(&f);
            test_fill_plainly(&f, TEST_BOUND, n % 2 == 0 ? 20 : 1, &random);
            test_finish(&f, TEST_ALL);
        }
}

/* Rows without a class to draw give -1; a class of weight 0 is never drawn. */
TEST(special_weights)
{
    static const float inf = (float)INFINITY, nan = (float)NAN;
    const float x[] = {0, 0, 0, -1, 0, -2, nan, 1, 1, inf, 1, 1, 0, 1e-30f, 0, -inf, 0, 1};
    static const int32_t weights[] = {-1, -1, -1, -1, 1, 2};
    const float logits[] = {-inf, -inf, -inf, nan, 1, 2, inf, 1, 2, -inf, -3e38f, -inf};
    static const int32_t by_logits[] = {-1, -1, -1, 1};
    const int64_t shape[] = {6, 3};
    const tenon_categorical_params params =
        tenon_categorical_params(.flags = TENON_CATEGORICAL_LOGITS);
    int32_t got[6];
    tenon_tensor v = test_dense(TENON_DTYPE_F32, 2, shape, x),
                 y = test_dense(TENON_DTYPE_I32, 1, shape, NULL);
    assert_ok(tenon_categorical(test_stream, NULL, &v, &y, NULL));
    test_read(&y, got);
    assert_memory_equal(got, weights, sizeof weights);
    test_destroy(&v, &y);
    v = test_dense(TENON_DTYPE_F32, 2, (const int64_t[]){4, 3}, logits);
    y = test_dense(TENON_DTYPE_I32, 1, (const int64_t[]){4}, NULL);
    assert_ok(tenon_categorical(test_stream, &params, &v, &y, NULL));
    test_read(&y, got);
    assert_memory_equal(got, by_logits, sizeof by_logits);
    test_destroy(&v, &y);
}

/* Chi-squared statistic of 40000 draws with the weights 1, 2, 3, 0, 4 (3 degrees of freedom: below
 * 16.3 in 999 of 1000 cases). */
TEST(distribution_of_classes)
{
    static const float weights[] = {1, 2, 3, 0, 4};
    enum { DRAWS = 40000 };
    const int64_t shape[] = {DRAWS, 5};
    tenon_tensor x = test_dense(TENON_DTYPE_F32, 2, (const int64_t[]){1, 5}, weights),
                 y = test_dense(TENON_DTYPE_I32, 1, shape, NULL);
    int32_t *got = malloc(DRAWS * sizeof *got);
    double counts[5] = {0}, statistic = 0;
    assert_non_null(got);
    x.shape[0] = DRAWS;
    x.stride[0] = 0;
    assert_ok(tenon_categorical(test_stream, NULL, &x, &y, NULL));
    test_read(&y, got);
    for (int i = 0; i < DRAWS; i++)
        counts[got[i]]++;
    assert_true(counts[3] == 0);
    for (int k = 0; k < 5; k++)
        if (weights[k] > 0) {
            const double expected = (double)weights[k] * DRAWS / 10;
            statistic += (counts[k] - expected) * (counts[k] - expected) / expected;
        }
    assert_true(statistic < 16.3);
    free(got);
    test_destroy(&x, &y);
}

TEST(permutation)
{
    static const int64_t sizes[] = {0, 1, 2, 3, 15, 16, 17, 64, 255, 256, 257, 4097, 20000};
    test_random random = test_random_for(1953);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const tenon_permutation_params params =
            tenon_permutation_params(.seed = test_next(&random), .sequence = i);
        const tenon_dtype type = i % 2 == 0 ? TENON_DTYPE_I32 : TENON_DTYPE_I64;
        test_fixture f;
        lines_begin(&f, &tn_operation_permutation, &params, &type);
        lines_lay(&f, 1, &sizes[i], i % 3 == 0 ? TEST_STRIDED : TEST_ROW, false, (int64_t)i % 4);
        test_make(&f);
        test_finish(&f, TEST_ALL);
    }
}

/* Each number from 0 to n - 1 occurs once. */
TEST(is_a_permutation)
{
    enum { COUNT = 5003 };
    const int64_t shape[] = {COUNT};
    tenon_tensor y = test_dense(TENON_DTYPE_I32, 1, shape, NULL);
    int32_t got[COUNT];
    for (uint64_t seed = 0; seed < 3; seed++) {
        const tenon_permutation_params params = tenon_permutation_params(.seed = seed);
        bool seen[COUNT] = {false};
        assert_ok(tenon_permutation(test_stream, &params, &y, NULL));
        test_read(&y, got);
        for (int i = 0; i < COUNT; i++) {
            assert_in_range(got[i], 0, COUNT - 1);
            assert_false(seen[got[i]]);
            seen[got[i]] = true;
        }
    }
    test_destroy(&y);
}

/* Chi-squared statistic of the 24 permutations of four elements in 4800 sequences (23 degrees of
 * freedom: below 49.7 in 999 of 1000 cases). */
TEST(distribution_of_permutations)
{
    enum { DRAWS = 4800 };
    const int64_t shape[] = {4};
    tenon_tensor y = test_dense(TENON_DTYPE_I32, 1, shape, NULL);
    double counts[256] = {0}, statistic = 0;
    for (uint64_t sequence = 0; sequence < DRAWS; sequence++) {
        const tenon_permutation_params params = tenon_permutation_params(.sequence = sequence);
        int32_t got[4];
        assert_ok(tenon_permutation(test_stream, &params, &y, NULL));
        test_read(&y, got);
        counts[got[0] + 4 * got[1] + 16 * got[2] + 64 * got[3]]++;
    }
    int kinds = 0;
    for (int i = 0; i < 256; i++) {
        kinds += counts[i] > 0;
        statistic += counts[i] > 0 ? (counts[i] - 200) * (counts[i] - 200) / 200 : 0;
    }
    assert_int_equal(kinds, 24);
    assert_true(statistic < 49.7);
    test_destroy(&y);
}

TEST(refusals)
{
    static const test_refusal refusals[] = {
        {"bernoulli p=f32:3 y=f32:4", "y: shape is 4, must be that of p, 3", TENON_OK},
        {"bernoulli p=f32:3 y=f16:3", "y is f16, must be f32, u8, bool, i32 or i64",
         TENON_ERROR_UNSUPPORTED},
        {"bernoulli p=i32:3 y=i32:3", "p: type i32", TENON_ERROR_UNSUPPORTED},
        {"categorical x=f32:3x4 y=i32:4", "y: shape is 4, must be 3", TENON_OK},
        {"categorical x=f32:3x0 y=i32:3", "x: shape is 3x0", TENON_OK},
        {"categorical x=f32:3x4 y=u8:3", "y is u8, must be i32 or i64", TENON_ERROR_UNSUPPORTED},
        {"categorical x=f32:3x4 y=i32:3 flags=2", "flags is 0x2", TENON_OK},
        {"permutation y=i32:3x4", "y: shape is 3x4, must be one dimension", TENON_OK},
        {"permutation y=f32:3", "y is f32, must be i32 or i64", TENON_ERROR_UNSUPPORTED}};
    TEST_REFUSE(refusals);
}
