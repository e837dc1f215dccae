/* Tests tenon_gated_forward and _backward against their references: every activation, special
 * values, halves of one tensor, gradients by finite differences, refusals. test_pointwise.c tests
 * their shapes. */
#include "fixture.h"

#include "ops/gated/internal.h"
#include "ops/registry.h"

#include <math.h>

static void begin(test_fixture *f, bool backward, uint32_t kind, tenon_dtype dtype, int64_t size)
{
    test_begin(f, backward ? &tn_operation_gated_backward : &tn_operation_gated);
    test_params(f, tenon_gated_params)->activation =
        (tenon_activation){.kind = kind, .alpha = 0.25, .beta = 0.75};
    for (uint32_t i = 0; i < f->c.operation->operand_count; i++)
        f->c.views[i] = test_view(dtype, TEST_ROW, false, 1, &size, i + 1);
    test_make(f);
}

TEST(every_activation)
{
    test_random random = test_random_for(701);
    for (uint32_t kind = 0; kind < TN_ACTIVATION_KINDS; kind++)
        for (int backward = 0; backward < 2; backward++) {
            test_fixture f;
            begin(&f, backward != 0, kind, TENON_DTYPE_F32, 1000);
            test_fill_plainly(&f, TEST_BOUND, 6, &random);
            test_finish(&f, TEST_ALL);
        }
}

/* Every pair of values, with activations that do not overflow. */
TEST(special_values)
{
    static const double values[] = {0,       -0.0,    1,        -1,      NAN,  INFINITY, -INFINITY,
                                    0x1p-14, 0x1p-24, 1e-30,    0.1,     3,    -7,       50,
                                    -100,    1e-40,   0x1p-126, 60000.0, -1e30};
    static const uint32_t kinds[] = {TENON_ACTIVATION_RELU, TENON_ACTIVATION_SIGMOID,
                                     TENON_ACTIVATION_SILU, TENON_ACTIVATION_IDENTITY};
    const int64_t count = sizeof values / sizeof *values;
    for (int n = 0; n < 8; n++)
        for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++) {
            test_fixture f;
            begin(&f, n >= 4, kinds[n % 4], *type, count * count);
            for (int64_t i = 0; i < count * count; i++) {
                test_set(&f.operands[GATED_A], i, values[i / count]);
                test_set(&f.operands[GATED_B], i, values[i % count]);
                if (n >= 4)
                    test_set(&f.operands[GATED_DY], i, i % 3 == 0 ? -2 : 0.5);
            }
            test_finish(&f, TEST_ALL);
        }
}

/* GLU of the two halves of one tensor, as in PyTorch, and its gradient into the halves of another
 * tensor, immediately and by plans. */
TEST(halves)
{
    static const float x[2][4] = {{1, -2, 0, 30}, {3, 0.5F, -200, 0}};
    static const float wanted[2][2] = {{0.5F, -2}, {0, 0.25F}};
    static const float gradient[2][4] = {{0.5F, 1, 0.25F, 0}, {0, 0.5F, 0, 0.125F}};
    const int64_t shape[] = {2, 4}, half[] = {2, 2};
    float y[2][2], dx[2][4], ones[4] = {1, 1, 1, 1};
    tenon_plan *plan;
    tenon_tensor tx = test_dense(TENON_DTYPE_F32, 2, shape, x);
    tenon_tensor tdx = test_dense(TENON_DTYPE_F32, 2, shape, NULL);
    tenon_tensor ty = test_dense(TENON_DTYPE_F32, 2, half, NULL);
    tenon_tensor tdy = test_dense(TENON_DTYPE_F32, 2, half, ones);
    const tenon_tensor a = tenon_tensor_slice(tx, 1, 0, 2), b = tenon_tensor_slice(tx, 1, 2, 2);
    const tenon_tensor da = tenon_tensor_slice(tdx, 1, 0, 2), db = tenon_tensor_slice(tdx, 1, 2, 2);
    for (int way = 0; way < 2; way++) {
        if (way == 0) {
            assert_ok(tenon_gated_forward(test_stream, NULL, &a, &b, &ty, NULL));
            assert_ok(tenon_gated_backward(test_stream, NULL, &a, &b, &tdy, &da, &db, NULL));
        } else {
            const tenon_memory forward[] = {tx.memory, tx.memory, ty.memory};
            const tenon_memory backward[] = {tx.memory, tx.memory, tdy.memory, tdx.memory,
                                             tdx.memory};
            assert_ok(tenon_gated_forward_plan(test_context, NULL, &a, &b, &ty, &plan));
            assert_ok(tenon_plan_run(test_stream, plan, forward, 3, NULL));
            tenon_plan_release(plan);
            assert_ok(tenon_gated_backward_plan(test_context, NULL, &a, &b, &tdy, &da, &db, &plan));
            assert_ok(tenon_plan_run(test_stream, plan, backward, 5, NULL));
            tenon_plan_release(plan);
        }
        assert_ok(tenon_tensor_download(test_stream, &ty, y, sizeof y, NULL));
        assert_ok(tenon_tensor_download(test_stream, &tdx, dx, sizeof dx, NULL));
        for (int i = 0; i < 4; i++)
            assert_true(fabs(y[i / 2][i % 2] - wanted[i / 2][i % 2]) < 1e-6);
        for (int i = 0; i < 8; i++)
            assert_true(fabs(dx[i / 4][i % 4] - gradient[i / 4][i % 4]) < 1e-6);
    }
    test_destroy(&tx, &tdx, &ty, &tdy);
}

/* The gradient of the sum of y·w with respect to a and b, away from kinks. */
TEST(gradients)
{
    test_random random = test_random_for(705);
    for (uint32_t kind = 0; kind < TN_ACTIVATION_KINDS; kind++) {
        test_fixture y, dx;
        test_begin_line(&y, "gated a=T:12 b=T:12 y=T:12", TENON_DTYPE_F64);
        test_begin_line(&dx, "gated_backward a=T:12 b=T:12 dy=T:12 da=T:12 db=T:12",
                        TENON_DTYPE_F64);
        test_params(&y, tenon_gated_params)->activation =
            (tenon_activation){.kind = kind, .alpha = 0.3, .beta = 0.9};
        test_fill_gradients(&y, &dx, &random);
        for (int i = 0; i < 12; i++) {
            test_set(&y.operands[GATED_A], i, test_real(&random, -2, 2));
            test_set(&y.operands[GATED_B], i, 0.31 * (i - 6) + 0.07);
        }
        test_check_gradients(&y, &dx, 1e-7, 0);
    }
}

/* Invalid input that the tests of every operation do not cover. */
TEST(bad_input)
{
    const int64_t shape[] = {4, 6};
    tenon_tensor v[5];
    tenon_gated_params params = TENON_GATED_PARAMS_INIT;
    for (int i = 0; i < 5; i++)
        v[i] = test_dense(TENON_DTYPE_F32, 2, shape, NULL);
    params.activation.kind = TN_ACTIVATION_KINDS;
    assert_invalid(tenon_gated_forward(test_stream, &params, &v[0], &v[1], &v[2], NULL),
                   "is not a tenon_activation_kind");
    params.activation.kind = TENON_ACTIVATION_CELU;
    assert_invalid(
        tenon_gated_backward(test_stream, &params, &v[0], &v[1], &v[2], &v[3], &v[4], NULL),
        "celu");
    assert_invalid(tenon_gated_backward(test_stream, NULL, &v[0], &v[1], &v[2], &v[3], &v[3], NULL),
                   "db");
    const tenon_tensor row = tenon_tensor_slice(v[1], 0, 0, 1);
    assert_invalid(tenon_gated_forward(test_stream, NULL, &v[0], &row, &v[2], NULL),
                   "b: shape is 1x6");
    for (int i = 0; i < 5; i++)
        tenon_memory_destroy(&v[i].memory);
}
