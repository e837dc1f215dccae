/* Tests tenon_dropout: against its reference with any strides, the mask against tenon_random's
 * numbers, and the gradient against finite differences. */
#include "lines_case.h"

#include "ops/dropout/internal.h"
#include "ops/registry.h"

#include <math.h>

static void begin(test_fixture *f, const tenon_dropout_params *params, tenon_dtype dtype)
{
    const tenon_dtype types[] = {dtype, dtype};
    lines_begin(f, &tn_operation_dropout, params, types);
}

static tenon_dropout_params draw_params(test_random *random)
{
    tenon_dropout_params params = TENON_DROPOUT_PARAMS_INIT;
    params.seed = test_next(random);
    params.sequence = test_next(random);
    params.probability = test_real(random, 0, 1);
    return params;
}

TEST(sizes_around_groups)
{
    static const int64_t sizes[] = {0,  1,  2,   15,  16,  17,   31,   32,   33,  63,
                                    64, 65, 127, 128, 129, 4095, 4096, 4097, 8193};
    test_random random = test_random_for(911);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (const tenon_dtype *type = test_float_types(); *type != 0; type++) {
            tenon_dropout_params params = draw_params(&random);
            for (int judge = TEST_BOUND; judge <= TEST_EXACT; judge++) {
                test_fixture f;
                if (judge == TEST_EXACT)
                    params.probability = 0.5; /* kept elements are doubled, which is exact */
                begin(&f, &params, *type);
                lines_dense(&f, sizes[i], (int64_t)i % 5);
                f.c.same[DROPOUT_X] = i % 2 == 1 ? 1 + DROPOUT_Y : 0;
                test_run_fixture(&f, (test_judge)judge, TEST_ALL, &random);
            }
        }
}

TEST(layouts)
{
    test_random random = test_random_for(912);
    for (int n = 0; n < TEST_LAYOUTS * TEST_LAYOUTS; n++)
        for (const tenon_dtype *type = test_float_types(); *type != 0; type++) {
            const int64_t shape[] = {3, n % 2 == 0 ? 11 : 67, n % 3 == 0 ? 5 : 71};
            const tenon_dropout_params params = draw_params(&random);
            test_fixture f;
            begin(&f, &params, *type);
            f.c.views[DROPOUT_X] =
                test_view(*type, (test_layout)(n % TEST_LAYOUTS), true, 3, shape, 0);
            f.c.views[DROPOUT_Y] =
                test_view(*type, (test_layout)(n / TEST_LAYOUTS), n % 2 == 0, 3, shape, 0);
            if (n % 4 == 3)
                f.c.views[DROPOUT_X].stride[n % 3] = 0;
            test_run_fixture(&f, TEST_BOUND, TEST_ALL, &random);
        }
}

TEST(random_problems)
{
    test_random random = test_random_for(913);
    const int count = test_problems(20);
    for (const tenon_dtype *type = test_float_types(); *type != 0; type++)
        for (int n = 0; n < count; n++) {
            const tenon_dropout_params params = draw_params(&random);
            test_fixture f;
            begin(&f, &params, *type);
            lines_draw(&f, &random, 20000);
            f.c.same[DROPOUT_X] = test_one_in(&random, 3) ? 1 + DROPOUT_Y : 0;
            test_run_fixture(&f, TEST_BOUND, TEST_ONCE, &random);
        }
}

TEST(large)
{
    test_random random = test_random_for(914);
    tenon_dropout_params params = draw_params(&random);
    test_fixture f;
    begin(&f, &params, TENON_DTYPE_F32);
    lines_dense(&f, (1 << 20) + 7, 0);
    test_run_fixture(&f, TEST_BOUND, TEST_ONCE, &random);
}

/* A dropped NaN or infinity is 0, a kept one is unchanged. p = 0 copies x bit for bit; p = 1 gives
 * zeros. */
TEST(special_values)
{
    static const double values[] = {NAN, INFINITY, -INFINITY, 0, -0.0, 1e-40, 65504, 1e38, -1};
    static const double chances[] = {0, 0.5, 0.9, 1};
    for (const tenon_dtype *type = test_float_types(); *type != 0; type++)
        for (int c = 0; c < 4; c++) {
            tenon_dropout_params params = TENON_DROPOUT_PARAMS_INIT;
            test_fixture f;
            params.probability = chances[c];
            begin(&f, &params, *type);
            lines_dense(&f, 300, 0);
            test_make(&f);
            for (int64_t i = 0; i < 300; i++)
                test_set(test_operand(&f, DROPOUT_X), i, values[i % 9]);
            test_finish(&f, TEST_ALL);
        }
}

/* Checks which elements are dropped, and how many. */
TEST(mask_is_bernoulli)
{
    enum { SIZE = 20000 };
    const int64_t shape[] = {SIZE};
    tenon_dropout_params params = TENON_DROPOUT_PARAMS_INIT;
    float *x = malloc(SIZE * sizeof *x), *y = malloc(SIZE * sizeof *y);
    int dropped = 0;
    tenon_random_params numbers = tenon_random_params(.kind = TENON_RANDOM_BERNOULLI);
    numbers.seed = params.seed = 123;
    numbers.sequence = params.sequence = 456;
    numbers.probability = params.probability = 0.2;
    tenon_tensor t = test_dense(TENON_DTYPE_F32, 1, shape, NULL);
    assert_ok(tenon_random(test_stream, &numbers, &t, NULL));
    assert_ok(tenon_tensor_download(test_stream, &t, x, SIZE * sizeof *x, NULL));
    assert_ok(tenon_tensor_fill(test_stream, &t, 4, NULL));
    assert_ok(tenon_dropout(test_stream, &params, &t, &t, NULL));
    assert_ok(tenon_tensor_download(test_stream, &t, y, SIZE * sizeof *y, NULL));
    for (int i = 0; i < SIZE; i++) {
        assert_true(y[i] == (x[i] != 0 ? 0 : 5));
        dropped += y[i] == 0;
    }
    assert_true(fabs(dropped / (double)SIZE - 0.2) < 5 * sqrt(0.16 / SIZE));
    tenon_memory_destroy(&t.memory);
    free(x);
    free(y);
}

/* The gradient of L = sum of w · y is the dropout of w. */
TEST(gradients)
{
    const int64_t shape[] = {10, 10};
    test_random random = test_random_for(915);
    tenon_dropout_params params = draw_params(&random);
    test_fixture y, dx;
    params.probability = 0.4;
    begin(&y, &params, TENON_DTYPE_F64);
    begin(&dx, &params, TENON_DTYPE_F64);
    lines_lay(&y, 2, shape, TEST_ROW, false, 0);
    lines_lay(&dx, 2, shape, TEST_ROW, false, 0);
    test_fill_gradients(&y, &dx, &random);
    test_expect(&dx);
    test_slopes(&y, DROPOUT_X, &dx.operands[DROPOUT_X], dx.expected, 1e-8, 0);
    test_release(&y);
    test_release(&dx);
}

TEST(plans)
{
    const int64_t shape[] = {100};
    tenon_tensor x, y, none = tenon_tensor_view(TENON_DTYPE_F32, 1, shape);
    tenon_plan *plan;
    float planned[100], direct[100];
    tenon_dropout_params params = tenon_dropout_params(.seed = UINT64_MAX);
    x = test_dense(TENON_DTYPE_F32, 1, shape, NULL);
    y = test_dense(TENON_DTYPE_F32, 1, shape, NULL);
    assert_ok(tenon_tensor_fill(test_stream, &x, 3, NULL));
    assert_ok(tenon_dropout(test_stream, &params, &x, &y, NULL));
    assert_ok(tenon_tensor_download(test_stream, &y, direct, sizeof direct, NULL));
    assert_ok(tenon_dropout_plan(test_context, &params, &none, &none, &plan));
    const tenon_memory memories[] = {x.memory, x.memory};
    assert_ok(tenon_plan_run(test_stream, plan, memories, 2, NULL));
    tenon_plan_release(plan);
    assert_ok(tenon_tensor_download(test_stream, &x, planned, sizeof planned, NULL));
    assert_memory_equal(planned, direct, sizeof planned);
    const uint32_t before = lines_plans();
    for (params.sequence = 0; params.sequence < 10; params.sequence++) {
        params.probability = 0.1 * (double)params.sequence;
        assert_ok(tenon_dropout(test_stream, &params, &x, &y, NULL));
    }
    assert_int_equal(lines_plans(), before);
    test_destroy(&x, &y);
}

TEST(bad_input)
{
    static const double wrong[] = {-0.1, 1.1, NAN, INFINITY};
    const int64_t shape[] = {4, 6}, stride[] = {6, 1};
    test_tensor x, y;
    test_tensor_create(&x, TENON_DTYPE_F32, 2, shape, stride, 0);
    test_tensor_create(&y, TENON_DTYPE_F32, 2, shape, stride, 0);
    test_upload(&y);
    for (int i = 0; i < 4; i++) {
        tenon_dropout_params params = tenon_dropout_params(.probability = wrong[i]);
        assert_invalid(tenon_dropout(test_stream, &params, &x.view, &y.view, NULL), "probability");
    }
    tenon_tensor turned = tenon_tensor_transpose(x.view, 0, 1);
    assert_invalid(tenon_dropout(test_stream, NULL, &turned, &y.view, NULL), "y: shape is 4x6");
    assert_untouched(&y);
    test_tensor_destroy(&x);
    test_tensor_destroy(&y);
}
