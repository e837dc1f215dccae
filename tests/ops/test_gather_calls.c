/* Tests tenon_gather_forward and _backward: known values, out-of-range indices, the gradient by
 * finite differences, empty tensors, shapes and types that do not match, plans. */
#include "fixture.h"

#include "ops/gather/internal.h"

#include <math.h>

TEST(known_values)
{
    static const float x[] = {1, 2, 3, 4, 5, 6}, dy[] = {1, 2, 3, 4, 5, 6, 7, 8};
    static const int32_t indices[] = {2, 0, 2, 3};
    static const float forward[] = {5, 6, 1, 2, 5, 6}, backward[] = {3, 4, 0, 0, 6, 8};
    const int64_t table[] = {3, 2}, list[] = {4}, picked[] = {4, 2};
    float y[8], dx[6];
    tenon_tensor tx = test_dense(TENON_DTYPE_F32, 2, table, x),
                 ti = test_dense(TENON_DTYPE_I32, 1, list, indices),
                 ty = test_dense(TENON_DTYPE_F32, 2, picked, NULL);
    assert_ok(tenon_gather_forward(test_stream, NULL, &tx, &ti, &ty, NULL));
    assert_ok(tenon_tensor_download(test_stream, &ty, y, sizeof y, NULL));
    assert_memory_equal(y, forward, sizeof forward);
    assert_true(isnan(y[6]) && isnan(y[7]));
    assert_ok(tenon_tensor_upload(test_stream, dy, sizeof dy, &ty, NULL));
    assert_ok(tenon_gather_backward(test_stream, NULL, &ty, &ti, &tx, NULL));
    assert_ok(tenon_tensor_download(test_stream, &tx, dx, sizeof dx, NULL));
    assert_memory_equal(dx, backward, sizeof backward);
    test_destroy(&tx, &ti, &ty);
}

/* Results are NaN, or 0 if the type has no NaN; nothing outside the table is read or written. */
TEST(out_of_range)
{
    static const int32_t indices[] = {-1, INT32_MIN, 2, INT32_MAX, 1 << 30, -3, 1};
    const int64_t table[] = {2, 3}, list[] = {7};
    for (int type = TENON_DTYPE_F64; type <= TENON_DTYPE_I32; type++) {
        const int64_t picked[] = {7, 3};
        static const unsigned char ones[48] = {1, 1, 1};
        tenon_tensor x = test_dense((tenon_dtype)type, 2, table, ones),
                     i = test_dense(TENON_DTYPE_I32, 1, list, indices),
                     y = test_dense((tenon_dtype)type, 2, picked, NULL), wide = y;
        double values[21];
        if (!test_has(TENON_CAPABILITY_F64))
            continue;
        wide = test_dense(TENON_DTYPE_F64, 2, picked, NULL);
        assert_ok(tenon_gather_forward(test_stream, NULL, &x, &i, &y, NULL));
        assert_ok(tenon_copy(test_stream, NULL, &y, &wide, NULL));
        assert_ok(tenon_tensor_download(test_stream, &wide, values, sizeof values, NULL));
        for (int e = 0; e < 18; e++)
            assert_true(type >= TENON_DTYPE_I8 ? values[e] == 0 : isnan(values[e]));
        assert_false(isnan(values[18]));
        test_destroy(&x, &i, &y, &wide);
    }
}

TEST(gradients)
{
    test_random random = test_random_for(541);
    test_fixture y, dx;
    test_begin_line(&y, "gather x=T:2x5x3 indices=i32:9 y=T:2x9x3 axis=1", TENON_DTYPE_F64);
    test_begin_line(&dx, "gather_backward dy=T:2x9x3 indices=i32:9 dx=T:2x5x3 axis=1",
                    TENON_DTYPE_F64);
    test_fill_gradients(&y, &dx, &random);
    for (int i = 0; i < 9; i++)
        test_set(&y.operands[GATHER_INDICES], i, (double)test_between(&random, 0, 4));
    test_check_gradients(&y, &dx, 1e-8, 0);
}

/* Without indices y is empty and dx is zero; without rows dx is empty. */
TEST(empty_tensors)
{
    static const float x[6] = {1, 2, 3, 4, 5, 6};
    const int64_t table[] = {3, 2}, none[] = {0}, nothing[] = {0, 2}, list[] = {4};
    static const char *const solvers[] = {NULL, "gather_backward/scan", "gather_backward/sorted"};
    float dx[6];
    cl_event event = NULL;
    const tenon_sync sync = {.event = &event};
    tenon_tensor tx = test_dense(TENON_DTYPE_F32, 2, table, x),
                 no_indices = tenon_tensor_view(TENON_DTYPE_I32, 1, none),
                 no_rows = tenon_tensor_view(TENON_DTYPE_F32, 2, nothing),
                 indices = test_dense(TENON_DTYPE_I32, 1, list, NULL);
    assert_ok(tenon_gather_forward(test_stream, NULL, &tx, &no_indices, &no_rows, &sync));
    assert_non_null(event);
    clReleaseEvent(event);
    for (int s = 0; s < 3; s++) {
        tenon_gather_params params = tenon_gather_params(.solver = solvers[s]);
        assert_ok(tenon_tensor_upload(test_stream, x, sizeof x, &tx, NULL));
        assert_ok(tenon_gather_backward(test_stream, &params, &no_rows, &no_indices, &tx, NULL));
        assert_ok(tenon_tensor_download(test_stream, &tx, dx, sizeof dx, NULL));
        for (int i = 0; i < 6; i++)
            assert_true(dx[i] == 0);
    }
    const int64_t picked[] = {4, 2};
    tenon_tensor y = test_dense(TENON_DTYPE_F32, 2, picked, NULL);
    assert_invalid(tenon_gather_forward(test_stream, NULL, &no_rows, &indices, &y, NULL),
                   "x: axis 0 has size 0");
    assert_ok(tenon_gather_backward(test_stream, NULL, &y, &indices, &no_rows, NULL));
    test_destroy(&tx, &y, &indices);
}

TEST(bad_input)
{
    static const char op[] = "tenon_gather_forward";
    const int64_t table[] = {3, 2}, list[] = {4}, picked[] = {4, 2}, other[] = {2, 4};
    const tenon_tensor x = tenon_tensor_view(TENON_DTYPE_F32, 2, table),
                       i = tenon_tensor_view(TENON_DTYPE_I32, 1, list),
                       y = tenon_tensor_view(TENON_DTYPE_F32, 2, picked),
                       turned = tenon_tensor_view(TENON_DTYPE_F32, 2, other),
                       half = tenon_tensor_view(TENON_DTYPE_F16, 2, picked),
                       wide = tenon_tensor_view(TENON_DTYPE_F32, 1, list),
                       f8 = tenon_tensor_view(TENON_DTYPE_F8_E4M3, 2, table),
                       f8_picked = tenon_tensor_view(TENON_DTYPE_F8_E4M3, 2, picked);
    assert_invalid(
        tenon_gather_forward(test_stream, NULL, &x, &i, &turned, NULL),
        "y: shape is 2x4, must be that of x with axis 0 replaced by the shape of indices, 4x2");
    assert_refused(tenon_gather_forward(test_stream, NULL, &x, &i, &half, NULL),
                   TENON_ERROR_UNSUPPORTED, op, "y");
    assert_refused(tenon_gather_forward(test_stream, NULL, &x, &wide, &y, NULL),
                   TENON_ERROR_UNSUPPORTED, op, "indices: type is f32");
    assert_refused(tenon_gather_forward(test_stream, NULL, &f8, &i, &f8_picked, NULL),
                   TENON_ERROR_UNSUPPORTED, op, "x: type f8_e4m3");
    tenon_gather_params params = tenon_gather_params(.axis = 2);
    assert_invalid(tenon_gather_forward(test_stream, &params, &x, &i, &y, NULL), "axis is 2");
    params.axis = -3;
    assert_invalid(tenon_gather_forward(test_stream, &params, &x, &i, &y, NULL), "axis is -3");
    params.axis = 0;
    params.mode = 3;
    assert_invalid(tenon_gather_forward(test_stream, &params, &x, &i, &y, NULL), "mode is 3");
    tenon_tensor many = x;
    many.shape[0] = INT64_C(1) << 31;
    assert_refused(tenon_gather_backward(test_stream, NULL, &y, &i, &many, NULL),
                   TENON_ERROR_UNSUPPORTED, "tenon_gather_backward", "2147483648");
}

/* A plan runs on other memory than it was created with; the solver without workspace scans all
 * indices. */
TEST(plans)
{
    static const int32_t indices[] = {1, 1, 0};
    static const float dy[] = {1, 2, 4}, right[] = {4, 3};
    const int64_t table[] = {2}, list[] = {3};
    tenon_plan *plan;
    float dx[2];
    tenon_tensor ti = test_dense(TENON_DTYPE_I32, 1, list, indices),
                 ty = test_dense(TENON_DTYPE_F32, 1, list, dy),
                 tx = test_dense(TENON_DTYPE_F32, 1, table, NULL);
    const tenon_tensor vi = tenon_tensor_view(TENON_DTYPE_I32, 1, list),
                       vy = tenon_tensor_view(TENON_DTYPE_F32, 1, list),
                       vx = tenon_tensor_view(TENON_DTYPE_F32, 1, table);
    const tenon_memory memories[] = {ty.memory, ti.memory, tx.memory};
    tenon_gather_params params = TENON_GATHER_PARAMS_INIT;
    params.solver = "gather_backward/sorted";
    for (int way = 0; way < 2; way++) {
        assert_ok(tenon_gather_backward_plan(test_context, &params, &vy, &vi, &vx, &plan));
        assert_true((tenon_plan_workspace(plan) > 0) == (way == 0));
        assert_ok(tenon_plan_run(test_stream, plan, memories, 3, NULL));
        assert_ok(tenon_tensor_download(test_stream, &tx, dx, sizeof dx, NULL));
        assert_memory_equal(dx, right, sizeof right);
        tenon_plan_release(plan);
        params.solver = "gather_backward/scan";
    }
    test_destroy(&ti, &ty, &tx);
}
