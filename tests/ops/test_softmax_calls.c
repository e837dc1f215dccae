/* Tests tenon_softmax_forward and _backward: known values, gradients by finite differences,
 * parameters, empty tensors, plans. */
#include "fixture.h"

#include "ops/softmax/internal.h"

#include <math.h>

/* ln 1, ln 2, ln 5 give 1/8, 2/8, 5/8, even if exp(x) alone would overflow. */
TEST(known_values)
{
    static const double shifts[] = {0, 1000, -1000, 60000};
    const int64_t shape[] = {3};
    for (size_t s = 0; s < sizeof shifts / sizeof *shifts; s++)
        for (int log_too = 0; log_too < 2; log_too++) {
            tenon_softmax_params params = TENON_SOFTMAX_PARAMS_INIT;
            float x[3] = {(float)shifts[s], (float)(shifts[s] + log(2)),
                          (float)(shifts[s] + log(5))};
            float y[3];
            static const double right[] = {1. / 8, 2. / 8, 5. / 8};
            params.flags = log_too ? TENON_SOFTMAX_LOG : 0;
            tenon_tensor tensor = test_dense(TENON_DTYPE_F32, 1, shape, x);
            assert_ok(tenon_softmax_forward(test_stream, &params, &tensor, &tensor, NULL));
            assert_ok(tenon_tensor_download(test_stream, &tensor, y, sizeof y, NULL));
            for (int i = 0; i < 3; i++) {
                double want = log_too ? log(right[i]) : right[i];
                /* The inputs themselves are rounded. */
                if (!(fabs(y[i] - want) <= fabs(shifts[s]) * 0x1p-22 + 1e-6))
                    fail_msg("element %d at shift %g is %g, must be %g", i, shifts[s], (double)y[i],
                             want);
            }
            tenon_memory_destroy(&tensor.memory);
        }
}

/* A row with a NaN or +inf, or with only -inf, gives only NaNs, and so does its gradient. Values
 * are those of the header, not of the reference. */
TEST(poisoned_rows)
{
    static const float x[4][3] = {
        {1, NAN, 2}, {1, INFINITY, 2}, {-INFINITY, -INFINITY, -INFINITY}, {0, -INFINITY, 0}};
    const int64_t shape[] = {4, 3};
    float y[4][3];
    tenon_softmax_params params = TENON_SOFTMAX_PARAMS_INIT;
    tenon_tensor tensor = test_dense(TENON_DTYPE_F32, 2, shape, NULL);
    for (params.flags = 0; params.flags <= TENON_SOFTMAX_LOG; params.flags++) {
        const bool is_log = params.flags == TENON_SOFTMAX_LOG;
        assert_ok(tenon_tensor_upload(test_stream, x, sizeof x, &tensor, NULL));
        assert_ok(tenon_softmax_forward(test_stream, &params, &tensor, &tensor, NULL));
        assert_ok(tenon_tensor_download(test_stream, &tensor, y, sizeof y, NULL));
        for (int i = 0; i < 9; i++)
            assert_true(isnan(y[i / 3][i % 3]));
        assert_true(fabs(y[3][0] - (is_log ? log(0.5) : 0.5)) < 1e-6 && y[3][2] == y[3][0]);
        assert_true(is_log ? y[3][1] == -INFINITY : y[3][1] == 0);
        assert_ok(tenon_softmax_backward(test_stream, &params, &tensor, &tensor, &tensor, NULL));
        assert_ok(tenon_tensor_download(test_stream, &tensor, y, sizeof y, NULL));
        for (int i = 0; i < 9; i++)
            assert_true(isnan(y[i / 3][i % 3]));
    }
    tenon_memory_destroy(&tensor.memory);
}

TEST(gradients)
{
    test_random random = test_random_for(506);
    for (int way = 0; way < 4; way++) {
        test_fixture y, dx;
        test_begin_line(&y, "softmax x=T:3x5 y=T:3x5", TENON_DTYPE_F64);
        test_begin_line(&dx, "softmax_backward y=T:3x5 dy=T:3x5 dx=T:3x5", TENON_DTYPE_F64);
        test_params(&y, tenon_softmax_params)->axis = way / 2;
        test_params(&y, tenon_softmax_params)->flags = way % 2 == 0 ? 0 : TENON_SOFTMAX_LOG;
        test_fill_gradients(&y, &dx, &random);
        test_check_gradients(&y, &dx, 1e-8, 0);
    }
}

TEST(empty)
{
    for (int i = 0; i < 3; i++) {
        int64_t shape[] = {2, 3, 4};
        shape[i] = 0;
        tenon_tensor x = tenon_tensor_view(TENON_DTYPE_F32, 3, shape), y = x;
        assert_ok(tenon_memory_create(test_context, 64, &x.memory));
        assert_ok(tenon_memory_create(test_context, 64, &y.memory));
        assert_ok(tenon_softmax_forward(test_stream, NULL, &x, &y, NULL));
        assert_ok(tenon_softmax_backward(test_stream, NULL, &x, &x, &y, NULL));
        test_destroy(&x, &y);
    }
}

TEST(wrong_parameters)
{
    static const test_refusal refusals[] = {
        {"softmax x=T:4x5 y=T:4x5 axis=2", "axis"},
        {"softmax_backward y=T:4x5 dy=T:4x5 dx=T:4x5 axis=2", "axis"},
        {"softmax x=T:4x5 y=T:4x5 axis=-3", "axis"},
        {"softmax_backward y=T:4x5 dy=T:4x5 dx=T:4x5 axis=-3", "axis"},
        {"softmax x=T:4x5 y=T:4x5 axis=2147483647", "axis"},
        {"softmax_backward y=T:4x5 dy=T:4x5 dx=T:4x5 axis=2147483647", "axis"},
        {"softmax x=T:4x5 y=T:4x5 axis=-2147483648", "axis"},
        {"softmax_backward y=T:4x5 dy=T:4x5 dx=T:4x5 axis=-2147483648", "axis"},
        {"softmax x=T:4x5 y=T:5x4", "shape is 5x4"},
        {"softmax x=T: y=T:", "rank 0"},
    };
    test_fixture f;
    TEST_REFUSE(refusals);
    test_begin_line(&f, "softmax x=T:4x5 y=T:4x5", TENON_DTYPE_F32);
    test_params(&f, tenon_softmax_params)->reserved = 3;
    test_refuse_fixture(&f, TENON_ERROR_INVALID_ARGUMENT, "reserved");
}

TEST(plans)
{
    const int64_t shape[] = {4, 5};
    float x[20], y[20], again[20];
    tenon_plan *plan;
    for (int i = 0; i < 20; i++)
        x[i] = (float)(i * 7 % 11);
    tenon_tensor tx = test_dense(TENON_DTYPE_F32, 2, shape, x);
    tenon_tensor ty = test_dense(TENON_DTYPE_F32, 2, shape, NULL);
    assert_ok(tenon_softmax_forward(test_stream, NULL, &tx, &ty, NULL));
    assert_ok(tenon_tensor_download(test_stream, &ty, y, sizeof y, NULL));
    assert_ok(tenon_softmax_forward_plan(test_context, NULL, &tx, &ty, &plan));
    const tenon_memory memories[] = {tx.memory, tx.memory}; /* in place */
    assert_ok(tenon_plan_run(test_stream, plan, memories, 2, NULL));
    assert_ok(tenon_tensor_download(test_stream, &tx, again, sizeof again, NULL));
    assert_memory_equal(y, again, sizeof y);
    tenon_plan_release(plan);
    test_destroy(&tx, &ty);
}
