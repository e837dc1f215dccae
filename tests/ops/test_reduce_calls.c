/* Tests tenon_reduce and tenon_moments: known values, empty tensors, parameters, result types,
 * plans, a workspace limit of zero. */
#include "fixture.h"

#include "ops/reduce/internal.h"

#include <math.h>

#define REDUCE_KINDS TN_REDUCE_KINDS

/* Values by the header's definitions, not by the reference. */
TEST(known_values)
{
    static const float x[2][3] = {{3, -4, 0}, {1, 1, 4}};
    static const double all[REDUCE_KINDS] = {5,         5. / 6, 4,  -4, 5, 1, 43, 6.557438524302,
                                             233. / 36, 0,      13, 4,  1, 0, 5,  4.39615838757,
                                             5,         1},
                        rows[REDUCE_KINDS][2] = {
                            {-1, 6},      {-1. / 3, 2}, {3, 4},   {-4, 1},
                            {0, 2},       {1, 0},       {25, 18}, {5, 4.242640687119},
                            {74. / 9, 2}, {0, 4},       {7, 6},   {4, 4},
                            {1, 1},       {0, 1},       {2, 3},   {3.0494556097, 4.09492295642},
                            {0, 2},       {1, 1}};
    const int64_t shape[] = {2, 3};
    tenon_tensor tx = test_dense(TENON_DTYPE_F32, 2, shape, x);
    for (uint32_t kind = 0; kind < REDUCE_KINDS; kind++)
        for (uint32_t axes = 0; axes < 2; axes++) {
            const tenon_dtype type = tn_reduce_result(kind, TENON_DTYPE_F32);
            tenon_tensor ty = test_dense(type, axes, shape, NULL);
            float y[2];
            int32_t places[2];
            uint8_t flags[2];
            tenon_reduce_params params =
                tenon_reduce_params(.kind = kind, .axis_count = axes, .axes[0] = -1);
            assert_ok(tenon_reduce(test_stream, &params, &tx, &ty, NULL));
            test_read(&ty, type == TENON_DTYPE_I32    ? (void *)places
                           : type == TENON_DTYPE_BOOL ? (void *)flags
                                                      : (void *)y);
            for (uint32_t i = 0; i < 1 + axes; i++) {
                double want = axes == 0 ? all[kind] : rows[kind][i];
                double got = type == TENON_DTYPE_I32    ? places[i]
                             : type == TENON_DTYPE_BOOL ? flags[i]
                                                        : (double)y[i];
                if (!(fabs(got - want) <= 1e-6 * fabs(want)))
                    fail_msg("kind %u of %s, result %u is %g, must be %g", kind,
                             axes == 0 ? "all" : "rows", i, got, want);
            }
            tenon_memory_destroy(&ty.memory);
        }
    tenon_memory_destroy(&tx.memory);
}

/* The accuracy of predictions, as in the header's example. */
TEST(accuracy)
{
    static const float logits[4][3] = {{1, 5, 2}, {9, 1, 9}, {-3, -2, -1}, {0, NAN, 7}};
    static const int32_t labels[] = {1, 2, 2, 1};
    const int64_t shape[] = {4, 3};
    tenon_tensor x = test_dense(TENON_DTYPE_F32, 2, shape, logits),
                 guesses = test_dense(TENON_DTYPE_I32, 1, shape, NULL);
    int32_t found[4];
    int right = 0;
    tenon_reduce_params params =
        tenon_reduce_params(.kind = TENON_REDUCE_ARGMAX, .axis_count = 1, .axes[0] = -1);
    assert_ok(tenon_reduce(test_stream, &params, &x, &guesses, NULL));
    test_read(&guesses, found);
    for (int i = 0; i < 4; i++)
        right += found[i] == labels[i];
    assert_int_equal(right, 3); /* in the second row, the first of equal values is class 0 */
    test_destroy(&x, &guesses);
}

TEST(empty)
{
    const int64_t shape[] = {3, 0, 2}, kept[] = {3, 2};
    tenon_tensor x = tenon_tensor_view(TENON_DTYPE_F32, 3, shape),
                 y = test_dense(TENON_DTYPE_F32, 2, kept, NULL),
                 places = test_dense(TENON_DTYPE_I32, 2, kept, NULL),
                 bytes = test_dense(TENON_DTYPE_BOOL, 2, kept, NULL);
    tenon_reduce_params params = tenon_reduce_params(.axis_count = 1, .axes[0] = 1);
    for (params.kind = 0; params.kind < REDUCE_KINDS; params.kind++) {
        const bool place = tn_reduce_is_place(params.kind) || params.kind == TENON_REDUCE_COUNT;
        assert_ok(tenon_tensor_fill(test_stream, &y, 7, NULL));
        if (params.kind == TENON_REDUCE_SUM || params.kind == TENON_REDUCE_SUM_SQUARES ||
            params.kind == TENON_REDUCE_NORM || params.kind == TENON_REDUCE_PRODUCT ||
            params.kind == TENON_REDUCE_SUM_ABS || params.kind == TENON_REDUCE_LOG_SUM_EXP) {
            const float want = params.kind == TENON_REDUCE_PRODUCT       ? 1
                               : params.kind == TENON_REDUCE_LOG_SUM_EXP ? -INFINITY
                                                                         : 0;
            float got[6];
            assert_ok(tenon_reduce(test_stream, &params, &x, &y, NULL));
            test_read(&y, got);
            for (int i = 0; i < 6; i++)
                assert_true(got[i] == want);
        } else if (params.kind == TENON_REDUCE_ANY || params.kind == TENON_REDUCE_ALL) {
            uint8_t got[6];
            assert_ok(tenon_reduce(test_stream, &params, &x, &bytes, NULL));
            test_read(&bytes, got);
            for (int i = 0; i < 6; i++)
                assert_true(got[i] == (params.kind == TENON_REDUCE_ALL));
        } else if (params.kind == TENON_REDUCE_COUNT) {
            int32_t got[6];
            assert_ok(tenon_reduce(test_stream, &params, &x, &places, NULL));
            test_read(&places, got);
            for (int i = 0; i < 6; i++)
                assert_true(got[i] == 0);
        } else {
            assert_invalid(tenon_reduce(test_stream, &params, &x, place ? &places : &y, NULL),
                           "no element");
        }
    }
    /* Without rows y is empty. */
    params.kind = TENON_REDUCE_MAX;
    params.axes[0] = 0;
    tenon_tensor none = tenon_tensor_view(TENON_DTYPE_F32, 2, shape + 1);
    assert_ok(tenon_reduce(test_stream, &params, &x, &none, NULL));
    /* A size of 0 with others whose product would overflow. */
    const int64_t vast[] = {0, INT64_C(1) << 40, INT64_C(1) << 40};
    x = (tenon_tensor){.dtype = TENON_DTYPE_F32, .rank = 3};
    memcpy(x.shape, vast, sizeof vast);
    none = tenon_tensor_view(TENON_DTYPE_F32, 1, vast);
    params.axis_count = 2;
    params.axes[0] = 1;
    params.axes[1] = 2;
    assert_ok(tenon_reduce(test_stream, &params, &x, &none, NULL));
    test_destroy(&y, &places, &bytes);
}

TEST(wrong_calls)
{
    static const test_refusal refusals[] = {
        {"reduce x=T:4x5 y=T:4 axis_count=1 axes=2",
         "axis is 2, must be from -2 to 1: x has rank 2"},
        {"reduce x=T:4x5 y=T:4 axis_count=1 axes=-2147483648", "axis"},
        {"reduce x=T:4x5 y=T:4 axis_count=2 axes=1,-1", "axes[1] is -1"},
        {"reduce x=T:4x5 y=T:4 axis_count=9", "axis_count is 9"},
        {"reduce x=T:4x5 y=T:4 axis_count=1 axes=0", "shape is 4, must be 5 or 1x5"},
        {"reduce x=T:4x5 y=T:4 axis_count=1 axes=1 kind=18", "kind"},
        {"reduce tenon_moments x=T:4x5 mean=T:4 variance=T:4 axis_count=1 axes=1 kind=sum",
         "kind is sum, must be variance"},
        {"reduce tenon_moments x=T:4x5 mean=T:4 variance=T:4 axis_count=1 axes=1 kind=mean",
         "kind"},
        {"reduce tenon_moments x=T:4x5 mean=T:4 variance=@mean axis_count=1 axes=1", "overlap"},
        {"reduce x=T:4x1 y=@x axis_count=1 axes=1", "overlap"},
        {"reduce x=T:4x5 y=T:4 axis_count=1 axes=1 kind=variance correction=5", "correction is 5"},
        {"reduce x=T:4x5 y=T:4 axis_count=1 axes=1 kind=argmax", "type is f32, must be i32",
         TENON_ERROR_UNSUPPORTED},
        {"reduce x=T:4x5 y=T:4 axis_count=1 axes=1 kind=any", "type is f32, must be bool",
         TENON_ERROR_UNSUPPORTED},
        {"reduce x=u8:4x5 y=u8:4 axis_count=1 axes=1 kind=max_abs", "u8", TENON_ERROR_UNSUPPORTED},
        {"reduce x=f32:4x5 y=f16:", "y is", TENON_ERROR_UNSUPPORTED},
        {"reduce x=f32:4x5 y=f64:", "y is", TENON_ERROR_UNSUPPORTED},
        {"reduce x=f16:4x5 y=bf16:", "y is", TENON_ERROR_UNSUPPORTED},
        {"reduce x=bf16:4x5 y=i32:", "y is", TENON_ERROR_UNSUPPORTED},
    };
    test_fixture f;
    TEST_REFUSE(refusals);
    test_begin_line(&f, "reduce x=T:4x5 y=T:4 axis_count=1 axes=1", TENON_DTYPE_F32);
    test_params(&f, tenon_reduce_params)->reserved = 1;
    test_refuse_fixture(&f, TENON_ERROR_INVALID_ARGUMENT, "reserved");
}

/* Planning needs only views, so the refused tensor needs no memory. */
TEST(more_than_an_index_holds)
{
    const int64_t shape[] = {1 << 16, 1 << 15}, more[] = {1 << 16, (1 << 15) + 1};
    tenon_tensor x = tenon_tensor_view(TENON_DTYPE_F32, 2, shape),
                 y = tenon_tensor_view(TENON_DTYPE_I32, 0, NULL);
    tenon_plan *plan;
    tenon_reduce_params params = tenon_reduce_params(.kind = TENON_REDUCE_ARGMIN);
    assert_ok(tenon_reduce_plan(test_context, &params, &x, &y, &plan));
    tenon_plan_release(plan);
    x = tenon_tensor_view(TENON_DTYPE_F32, 2, more);
    assert_refused(tenon_reduce_plan(test_context, &params, &x, &y, &plan), TENON_ERROR_UNSUPPORTED,
                   "tenon_reduce_plan", "i32 is too small for the");
}

TEST(plans)
{
    const int64_t shape[] = {3000, 3}, kept[] = {1, 3};
    static float x[9000];
    float mean[3], variance[3], again[2][3];
    tenon_plan *plan;
    for (int i = 0; i < 9000; i++)
        x[i] = (float)(i * 7 % 11);
    tenon_tensor tx = test_dense(TENON_DTYPE_F32, 2, shape, x),
                 tm = test_dense(TENON_DTYPE_F32, 2, kept, NULL),
                 tv = test_dense(TENON_DTYPE_F32, 2, kept, NULL);
    tenon_reduce_params params =
        tenon_reduce_params(.kind = TENON_REDUCE_VARIANCE, .axis_count = 1, .axes[0] = 0);
    assert_ok(tenon_moments(test_stream, &params, &tx, &tm, &tv, NULL));
    test_read(&tm, mean);
    test_read(&tv, variance);
    assert_ok(tenon_moments_plan(test_context, &params, &tx, &tm, &tv, &plan));
    const tenon_memory memories[] = {tx.memory, tv.memory,
                                     tm.memory}; /* mean and variance exchanged */
    assert_ok(tenon_plan_run(test_stream, plan, memories, 3, NULL));
    test_read(&tv, again[0]);
    test_read(&tm, again[1]);
    assert_memory_equal(mean, again[0], sizeof mean);
    assert_memory_equal(variance, again[1], sizeof variance);
    tenon_plan_release(plan);
    test_destroy(&tx, &tm, &tv);
}

/* Reductions of any size are possible without workspace. */
TEST(without_workspace)
{
    const int64_t shape[] = {1 << 20};
    tenon_plan *plan;
    tenon_tensor x = tenon_tensor_view(TENON_DTYPE_F32, 1, shape),
                 y = tenon_tensor_view(TENON_DTYPE_F32, 0, NULL);
    tenon_context *context = test_context_with(.workspace_limit = 0);
    assert_ok(tenon_reduce_plan(context, NULL, &x, &y, &plan));
    assert_int_equal(tenon_plan_workspace(plan), 0);
    tenon_plan_release(plan);
    tenon_context_release(context);
}
