/* Tests tenon_mse_forward and _backward: the gradient by finite differences, known values, empty
 * tensors, refusals, a plan. */
#include "fixture.h"

#include "ops/loss/internal.h"

#include <math.h>

TEST(gradients)
{
    static const char *const lines[][2] = {
        {"mse x=T:3x5 t=T:3x5 loss=T:", "mse_backward x=T:3x5 t=T:3x5 dloss=T: dx=T:3x5"},
        {"mse x=T:3x5 t=T:3x5 loss=T:3", "mse_backward x=T:3x5 t=T:3x5 dloss=T:3 dx=T:3x5"}};
    test_random random = test_random_for(1607);
    for (int way = 0; way < 4; way++) {
        test_fixture loss, dx;
        test_begin_line(&loss, lines[way / 2][0], TENON_DTYPE_F64);
        test_begin_line(&dx, lines[way / 2][1], TENON_DTYPE_F64);
        tenon_mse_params *params = test_params(&loss, tenon_mse_params);
        params->flags = way % 2 == 0 ? 0 : TENON_MSE_MEAN;
        params->axis_count = way < 2 ? 0 : 1;
        params->axes[0] = 1;
        params->scale = 1.25;
        test_fill_gradients(&loss, &dx, &random);
        test_check_gradients(&loss, &dx, 1e-8, 0);
    }
}

TEST(empty)
{
    const int64_t shape[] = {2, 0};
    tenon_tensor x = tenon_tensor_view(TENON_DTYPE_F32, 2, shape), loss;
    float got[2];
    loss = test_dense(TENON_DTYPE_F32, 1, shape, NULL);
    tenon_mse_params params = tenon_mse_params(.axis_count = 1, .axes[0] = 1);
    assert_invalid(tenon_mse_forward(test_stream, &params, &x, &x, &loss, NULL), "no element");
    params.flags = 0;
    assert_ok(tenon_mse_forward(test_stream, &params, &x, &x, &loss, NULL));
    assert_ok(tenon_tensor_download(test_stream, &loss, got, sizeof got, NULL));
    assert_true(got[0] == 0 && got[1] == 0);
    assert_ok(tenon_mse_backward(test_stream, &params, &x, &x, &loss, &x, NULL));
    tenon_memory_destroy(&loss.memory);
}

/* Values by the header's formula, immediately and by a plan. */
TEST(known_values)
{
    static const float x[] = {1, 2, 3, 6}, t[] = {1, 0, 6, 5};
    const int64_t shape[] = {4};
    float loss, gradient[4];
    tenon_plan *plan;
    tenon_tensor tx = test_dense(TENON_DTYPE_F32, 1, shape, x);
    tenon_tensor tt = test_dense(TENON_DTYPE_F32, 1, shape, t);
    tenon_tensor tl = test_dense(TENON_DTYPE_F32, 0, NULL, NULL);
    assert_ok(tenon_mse_forward(test_stream, NULL, &tx, &tt, &tl, NULL));
    assert_ok(tenon_tensor_download(test_stream, &tl, &loss, sizeof loss, NULL));
    assert_true(fabsf(loss - 3.5F) < 1e-6F);
    assert_ok(tenon_mse_backward_plan(test_context, NULL, &tx, &tt, NULL, &tx, &plan));
    const tenon_memory memories[] = {tx.memory, tt.memory, {.kind = TENON_MEMORY_NONE}, tx.memory};
    assert_ok(tenon_plan_run(test_stream, plan, memories, 4, NULL));
    assert_ok(tenon_tensor_download(test_stream, &tx, gradient, sizeof gradient, NULL));
    for (int i = 0; i < 4; i++)
        assert_true(fabsf(gradient[i] - (x[i] - t[i]) / 2) < 1e-6F);
    tenon_plan_release(plan);
    test_destroy(&tx, &tt, &tl);
}

TEST(wrong_parameters)
{
    static const test_refusal refusals[] = {
        {"mse x=f16:4x5 t=f16:4x5 loss=f32:4", "loss: shape is 4"},
        {"mse x=f16:4x5 t=f16:4x5 loss=f32:4 axis_count=1 axes=2", "axis is 2"},
        {"mse_backward x=f16:4x5 t=f16:4x5 dloss=f32:4 dx=@t axis_count=1 axes=1", "dloss is f32",
         TENON_ERROR_UNSUPPORTED},
    };
    test_fixture f;
    TEST_REFUSE(refusals);
    test_begin_line(&f, "mse x=f16:4x5 t=f16:4x5 loss=f32:4 axis_count=1 axes=1", TENON_DTYPE_F16);
    test_params(&f, tenon_mse_params)->reserved = 1;
    test_refuse_fixture(&f, TENON_ERROR_INVALID_ARGUMENT, "reserved");
}
