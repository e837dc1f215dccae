/* Tests normalization: known values, running statistics, parameters, empty tensors, overlapping
 * operands, plans, a stream without workspace. */
#include "fixture.h"

#include "ops/norm/internal.h"

#include <math.h>

#define expect_values(tensor, values)                                                              \
    expect_all((tensor), (values), (int64_t)(sizeof(values) / sizeof *(values)))
static void expect_all(const tenon_tensor *tensor, const double *values, int64_t count)
{
    float got[64] = {0};
    assert_int_equal(tenon_tensor_elements(tensor), count);
    assert_ok(tenon_tensor_download(test_stream, tensor, got, (size_t)count * sizeof *got, NULL));
    for (int64_t i = 0; i < count; i++)
        if (!(fabs(got[i] - values[i]) <= 1e-6 * (1 + fabs(values[i]))))
            fail_msg("element %lld is %g, must be %g", (long long)i, (double)got[i], values[i]);
}

static tenon_norm_params params_of(tenon_norm_kind kind, double epsilon)
{
    tenon_norm_params params = tenon_norm_params(.kind = (int32_t)kind, .epsilon = epsilon);
    return params;
}

/* 1, 3, 5, 7 have mean 4 and variance 5; with epsilon 4, rstd is 1/3. 3, 4 have mean square 12.5.
 */
TEST(known_values)
{
    static const int64_t row[] = {1, 4}, four[] = {4}, one[] = {1}, pair[] = {2};
    static const float x[] = {1, 3, 5, 7}, gamma[] = {1, 2, 3, -3}, beta[] = {0, 0, 1, 2};
    static const double y[] = {-1, -2. / 3, 2, -1}, mean[] = {4}, rstd[] = {1. / 3};
    const double rms[] = {3 / sqrt(12.5), 4 / sqrt(12.5)};
    tenon_norm_params params = params_of(TENON_NORM_LAYER, 4);
    tenon_tensor tx = test_dense(TENON_DTYPE_F32, 2, row, x),
                 tg = test_dense(TENON_DTYPE_F32, 1, four, gamma),
                 tb = test_dense(TENON_DTYPE_F32, 1, four, beta);
    tenon_tensor tm = test_dense(TENON_DTYPE_F32, 1, one, x),
                 tr = test_dense(TENON_DTYPE_F32, 1, one, x),
                 pairs = test_dense(TENON_DTYPE_F32, 1, pair, x + 1);
    assert_ok(
        tenon_norm_forward(test_stream, &params, &tx, &tg, &tb, &tx, &tm, &tr, NULL, NULL, NULL));
    expect_values(&tx, y);
    expect_values(&tm, mean);
    expect_values(&tr, rstd);
    params = params_of(TENON_NORM_RMS, 0);
    const float three_four[] = {3, 4};
    assert_ok(tenon_tensor_upload(test_stream, three_four, sizeof three_four, &pairs, NULL));
    assert_ok(tenon_norm_forward(test_stream, &params, &pairs, NULL, NULL, &pairs, NULL, NULL, NULL,
                                 NULL, NULL));
    expect_values(&pairs, rms);
    test_destroy(&tx, &tg, &tb, &tm, &tr, &pairs);
}

/* Two forward calls, whose variance has divisor n - 1; then inference with given statistics, and
 * its gradients. */
TEST(running_statistics)
{
    static const int64_t image[] = {2, 2, 2}, channels[] = {2};
    static const float x[] = {1, 3, 10, 10, 5, 7, 10, 14}, zeros[] = {0, 0}, ones[] = {1, 1};
    /* Channels 1 3 5 7 and 10 10 10 14: means 4, 11, unbiased variances 20/3, 4. */
    static const double mean[] = {0.75 * 4, 0.75 * 11};
    static const double variance[] = {0.25 + 0.75 * 20 / 3, 0.25 + 0.75 * 4};
    static const double inferred[] = {0, 2, 8, 8, 4, 6, 8, 12};
    tenon_norm_params params = params_of(TENON_NORM_BATCH, 0.25);
    params.momentum = 0.5;
    tenon_tensor tx = test_dense(TENON_DTYPE_F32, 3, image, x),
                 ty = test_dense(TENON_DTYPE_F32, 3, image, x),
                 rm = test_dense(TENON_DTYPE_F32, 1, channels, zeros),
                 rv = test_dense(TENON_DTYPE_F32, 1, channels, ones),
                 m = test_dense(TENON_DTYPE_F32, 1, channels, ones);
    for (int i = 0; i < 2; i++)
        assert_ok(tenon_norm_forward(test_stream, &params, &tx, NULL, NULL, &ty, NULL, NULL, &rm,
                                     &rv, NULL));
    expect_values(&rm, mean);
    expect_values(&rv, variance);
    const float means[] = {1, 2}, quarters[] = {0, 0};
    params.epsilon = 1;
    assert_ok(tenon_tensor_upload(test_stream, means, sizeof means, &m, NULL));
    assert_ok(tenon_tensor_upload(test_stream, quarters, sizeof quarters, &rv, NULL));
    assert_ok(tenon_norm_inference(test_stream, &params, &tx, NULL, NULL, &m, &rv, &ty, NULL));
    expect_values(&ty, inferred);
    assert_ok(tenon_norm_inference_backward(test_stream, &params, &tx, &tx, NULL, &m, &rv, &ty, &rm,
                                            NULL, NULL));
    const double dx[] = {1, 3, 10, 10, 5, 7, 10, 14};
    const double dgamma[] = {0 + 6 + 20 + 42, 80 + 80 + 80 + 168};
    expect_values(&ty, dx);
    expect_values(&rm, dgamma);
    test_destroy(&tx, &ty, &rm, &rv, &m);
}

TEST(wrong_parameters)
{
    static const test_refusal refusals[] = {
        {"norm x=T:1x6x1 y=T:1x6x1 dimensions=0", "dimensions is 0"},
        {"norm x=T:1x6x1 y=T:1x6x1 dimensions=4", "dimensions is 4"},
        {"norm x=T:1x6x1 y=T:1x6x1 gamma=T:6", "gamma: shape is 6, must be 1"},
        {"norm x=T:1x6x1 y=T:1x6x1 mean=T:6", "mean: shape is 6, must be 1x6"},
        {"norm x=T:1x6x1 y=T:1x6x1 running_mean=T:6", "running_mean"},
        {"norm x=T:1x6x1 y=T:1x6x1 epsilon=-1e-9", "epsilon"},
        {"norm x=T:1x6x1 y=T:1x6x1 epsilon=inf", "epsilon"},
        {"norm x=T:1x6x1 y=T:1x6x1 epsilon=nan", "epsilon"},
        {"norm x=T:1x6x1 y=T:1x6x1 kind=4294967295", "kind is"},
        {"norm x=T:1x6x1 y=T:1x6x1 kind=5", "kind is"},
        {"norm x=T:1x6x1 y=T:1x6x1 beta=T:1 kind=rms", "beta"},
        {"norm x=T:1x6x1 y=T:1x6x1 mean=T:6 kind=rms", "mean"},
        {"norm x=T:1x6x1 y=T:1x6x1 kind=group groups=0", "groups is"},
        {"norm x=T:1x6x1 y=T:1x6x1 kind=group groups=-1", "groups is"},
        {"norm x=T:1x6x1 y=T:1x6x1 kind=group groups=4", "groups is"},
        {"norm x=T:1x6x1 y=T:1x6x1 kind=group groups=12", "groups is"},
        {"norm x=T:1x6x1 y=T:1x6x1 kind=batch", "one element"},
        {"norm x=T:1x6x1 y=T:1x6x1 kind=batch momentum=-0.1", "momentum"},
        {"norm x=T:1x6x1 y=T:1x6x1 kind=batch momentum=1.1", "momentum"},
        {"norm x=T:1x6x1 y=T:1x6x1 kind=batch momentum=nan", "momentum"},
        {"norm x=T:1x6 y=T:1x6x1 kind=instance", "rank is 2"},
        {"norm tenon_norm_inference x=T:1x6x1 mean=T:6 variance=T:6 y=T:1x6x1 kind=instance",
         "kind is instance, must be batch"},
        {"norm_backward x=T:1x6x1 dy=T:1x6x1 mean=T:6 rstd=T:6 kind=batch", "all NULL"},
    };
    TEST_REFUSE(refusals);
}

/* Parameters of 16-bit data have its type or f32; its statistics are f32. */
TEST(wrong_types)
{
    static const test_refusal refusals[] = {
        {"norm x=f16:2x6x3 y=f16:2x6x3 kind=batch gamma=bf16:6", "gamma is bf16",
         TENON_ERROR_UNSUPPORTED},
        {"norm x=f16:2x6x3 y=f16:2x6x3 kind=batch gamma=f16:6 beta=f32:6", "beta is f32",
         TENON_ERROR_UNSUPPORTED},
        {"norm x=f16:2x6x3 y=f16:2x6x3 kind=batch mean=f16:6", "mean is f16",
         TENON_ERROR_UNSUPPORTED},
        {"norm x=f16:2x6x3 y=f16:2x6x3 kind=batch running_mean=f16:6", "running_mean is f16",
         TENON_ERROR_UNSUPPORTED},
    };
    TEST_REFUSE(refusals);
}

TEST(empty)
{
    static const int64_t shape[] = {0, 3, 4}, three[] = {3};
    static const float values[] = {1, 2, 3};
    static const double same[] = {1, 2, 3};
    tenon_norm_params params = params_of(TENON_NORM_BATCH, 1e-5);
    tenon_tensor x = tenon_tensor_view(TENON_DTYPE_F32, 3, shape),
                 c = test_dense(TENON_DTYPE_F32, 1, three, values),
                 d = test_dense(TENON_DTYPE_F32, 1, three, values);
    tenon_plan *plan;
    cl_event event = NULL;
    const tenon_sync sync = {.event = &event};
    assert_ok(
        tenon_norm_forward(test_stream, &params, &x, NULL, NULL, &x, &c, NULL, &d, NULL, &sync));
    assert_int_equal(clWaitForEvents(1, &event), CL_SUCCESS);
    clReleaseEvent(event);
    assert_ok(tenon_norm_backward(test_stream, &params, &x, &x, NULL, &c, &c, &x, &d, NULL, NULL));
    expect_values(&c, same);
    expect_values(&d, same);
    params.solver = "norm/sets";
    assert_ok(tenon_norm_forward_plan(test_context, &params, &x, NULL, NULL, &x, NULL, NULL, NULL,
                                      NULL, &plan));
    tenon_plan_release(plan);
    test_destroy(&c, &d);
}

/* y may be x, and dx may be x or dy; no other output may share memory with an input. */
TEST(operands_apart)
{
    static const test_refusal refusals[] = {
        {"norm_backward x=T:6 dy=T:6 mean=T: rstd=T: dgamma=@x", "overlap"},
        {"norm_backward x=T:6 dy=T:6 mean=T: rstd=T: dx=@dy dbeta=@dy", "overlap"},
        {"norm x=T:2x6 y=T:2x6 mean=@x kind=group groups=6", "overlap"},
    };
    TEST_REFUSE(refusals);
}

/* Plans with some operands absent, whose scalars are not shared with other calls. */
TEST(plans)
{
    static const int64_t image[] = {2, 2, 2}, channels[] = {2};
    static const float x[] = {1, 3, 10, 10, 5, 7, 10, 14};
    static const double mean[] = {4, 11};
    tenon_norm_params params = params_of(TENON_NORM_BATCH, 4);
    tenon_tensor tx = test_dense(TENON_DTYPE_F32, 3, image, x),
                 ty = test_dense(TENON_DTYPE_F32, 3, image, x),
                 tm = test_dense(TENON_DTYPE_F32, 1, channels, x),
                 again = test_dense(TENON_DTYPE_F32, 3, image, x);
    tenon_plan *plan;
    float y[8], planned[8];
    assert_ok(tenon_norm_forward_plan(test_context, &params, &tx, NULL, NULL, &ty, &tm, NULL, NULL,
                                      NULL, &plan));
    assert_int_equal(tenon_plan_operands(plan), NORM_FORWARD_OPERANDS);
    const tenon_memory none = {.kind = TENON_MEMORY_NONE};
    const tenon_memory memories[] = {tx.memory, none, none, again.memory,
                                     tm.memory, none, none, none};
    assert_ok(tenon_plan_run(test_stream, plan, memories, NORM_FORWARD_OPERANDS, NULL));
    expect_values(&tm, mean);
    assert_ok(tenon_tensor_download(test_stream, &again, planned, sizeof planned, NULL));
    assert_ok(tenon_norm_forward(test_stream, &params, &tx, NULL, NULL, &ty, NULL, NULL, NULL, NULL,
                                 NULL));
    assert_ok(tenon_tensor_download(test_stream, &ty, y, sizeof y, NULL));
    assert_memory_equal(y, planned, sizeof y);
    tenon_plan_release(plan);
    /* Immediate calls that differ only in epsilon share a plan, but not the value. */
    params.epsilon = 11;
    assert_ok(tenon_norm_forward(test_stream, &params, &tx, NULL, NULL, &ty, NULL, NULL, NULL, NULL,
                                 NULL));
    const double other[] = {-0.75, -0.25, -1 / sqrt(14), -1 / sqrt(14),
                            0.25,  0.75,  -1 / sqrt(14), 3 / sqrt(14)};
    expect_values(&ty, other);
    test_destroy(&tx, &ty, &tm, &again);
}

/* Sums in pieces require workspace; without it another solver is chosen. */
TEST(without_workspace)
{
    static const int64_t image[] = {4, 1, 30011};
    tenon_norm_params params = params_of(TENON_NORM_BATCH, 1e-5);
    tenon_tensor x = test_dense(TENON_DTYPE_F32, 3, image, NULL);
    tenon_stream *stream = test_new_stream(test_context);
    tenon_memory small;
    assert_ok(tenon_memory_create(test_context, 16, &small));
    assert_ok(tenon_stream_set_workspace(stream, &small, 0, 16));
    assert_ok(
        tenon_norm_forward(stream, &params, &x, NULL, NULL, &x, NULL, NULL, NULL, NULL, NULL));
    params.solver = "norm/split";
    assert_refused(
        tenon_norm_forward(stream, &params, &x, NULL, NULL, &x, NULL, NULL, NULL, NULL, NULL),
        TENON_ERROR_WORKSPACE_TOO_SMALL, "tenon_norm_forward", "workspace");
    assert_ok(tenon_stream_finish(stream));
    tenon_stream_destroy(stream);
    tenon_memory_destroy(&small);
    tenon_memory_destroy(&x.memory);
}
