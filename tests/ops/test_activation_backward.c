/* tenon_activation_backward: gradients at special values and kinks; the reference against finite
 * differences. Its shapes are in test_pointwise.c. */
#include "activation_case.h"
#include "fixture.h"

#include "ops/activation/internal.h"
#include "ops/registry.h"

#include <float.h>
#include <math.h>

TEST(special_values)
{
    static const double values[] = {
        0,    -0.0, 1,    -1,  NAN, INFINITY, -INFINITY, 0x1p-126, -0x1p-126, 1e-30, -1e-30, 0.5,
        -0.5, 6,    5.99, 3,   -3,  2.999,    -2.999,    -2.5,     2.5,       1.1,   -0.75,  -1.19,
        12,   -12,  40,   -40, 88,  -88,      104,       -104,     710,       -710,  1e30,   -1e30};
    static const double gradients[] = {1, -3, 0.5, 0.01};
    const int64_t count = sizeof values / sizeof *values, many = 4;
    for (size_t a = 0; a < test_activations; a++)
        for (const tenon_dtype *type = test_float_types(); *type != 0; type++) {
            const tenon_activation activation = test_activation(a);
            test_fixture f;
            if (!test_takes_turn(activation.kind, *type))
                continue;
            activation_begin(&f, &tn_operation_activation_backward, activation, *type,
                             count * many);
            for (int64_t i = 0; i < count * many; i++) {
                test_set(&f.operands[BACKWARD_X], i, values[i / many]);
                test_set(&f.operands[BACKWARD_DY], i, gradients[i % many]);
            }
            test_finish(&f, TEST_ALL);
        }
}

/* Values by the header's conventions, not by the reference. dy is 2 except at the last element,
 * where x is -8 and dy is NaN. */
TEST(kinks)
{
    static const float x[] = {-3, -1, 0, 1, 3, 6, -8};
    static const float dy[] = {2, 2, 2, 2, 2, 2, NAN};
    static const struct {
        tenon_activation activation;
        float dx[6];
    } cases[] = {
        {{TENON_ACTIVATION_IDENTITY, 0, 0, 0}, {2, 2, 2, 2, 2, 2}},
        {{TENON_ACTIVATION_RELU, 0, 0, 0}, {0, 0, 0, 2, 2, 2}},
        {{TENON_ACTIVATION_LEAKY_RELU, 0, 0.25, 0}, {0.5, 0.5, 0.5, 2, 2, 2}},
        {{TENON_ACTIVATION_CLIPPED_RELU, 0, 6, 0}, {0, 0, 0, 2, 2, 0}},
        {{TENON_ACTIVATION_HARD_SIGMOID, 0, 0.5, 0.5}, {0, 0, 1, 0, 0, 0}},
        {{TENON_ACTIVATION_HARD_SWISH, 0, 0, 0}, {0, 1.0F / 3, 1, 5.0F / 3, 2, 2}},
        {{TENON_ACTIVATION_HARD_TANH, 0, -1, 3}, {0, 0, 2, 2, 0, 0}},
        {{TENON_ACTIVATION_ABS, 0, 0, 0}, {-2, -2, 0, 2, 2, 2}},
        {{TENON_ACTIVATION_SQUARE, 0, 0, 0}, {-12, -4, 0, 4, 12, 24}},
        {{TENON_ACTIVATION_SOFTSIGN, 0, 0, 0}, {0.125, 0.5, 2, 0.5, 0.125, 2.0F / 49}},
    };
    const int64_t shape[] = {7};
    tenon_tensor at = test_dense(TENON_DTYPE_F32, 1, shape, x);
    tenon_tensor gradient = test_dense(TENON_DTYPE_F32, 1, shape, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tenon_activation_params params = TENON_ACTIVATION_PARAMS_INIT;
        float dx[7];
        params.activation = cases[i].activation;
        assert_ok(tenon_tensor_upload(test_stream, dy, sizeof dy, &gradient, NULL));
        assert_ok(tenon_activation_backward(test_stream, &params, &at, &gradient, &gradient, NULL));
        assert_ok(tenon_tensor_download(test_stream, &gradient, dx, sizeof dx, NULL));
        for (int e = 0; e < 6; e++)
            if (!(fabsf(dx[e] - cases[i].dx[e]) <= 1e-6F))
                fail_msg("activation %u: the gradient at %g is %g, expected %g",
                         params.activation.kind, (double)x[e], (double)dx[e],
                         (double)cases[i].dx[e]);
        assert_true(isnan(dx[6]));
    }
    test_destroy(&at, &gradient);
}

/* Between the kinks, which are at integers, -2.5, 2.5 and 1.1. */
TEST(finite_differences)
{
    const double h = 1e-5;
    for (size_t a = 0; a < test_activations; a++)
        for (int i = 0; i < 86; i++) {
            const double x = -9.03 + 0.211 * i;
            const tenon_activation f = test_activation(a);
            double up = tn_activation_reference(&f, TENON_DTYPE_F64, (tn_bounded){x + h, 0}).value;
            double down =
                tn_activation_reference(&f, TENON_DTYPE_F64, (tn_bounded){x - h, 0}).value;
            double got = tn_activation_gradient_reference(&f, TENON_DTYPE_F64, x, 1.5).value;
            double slope = (up - down) / (2 * h);
            if (!(fabs(got - 1.5 * slope) <= 1e-8 * (1 + fabs(up))))
                fail_msg("activation %u: the gradient at %g is %.12g, by differences %.12g", f.kind,
                         x, got, 1.5 * slope);
        }
}

/* More elements than several work-items process; planned once and run twice. */
TEST(planned)
{
    test_random random = test_random_for(424);
    const tenon_activation activation = {TENON_ACTIVATION_HARD_TANH, 0, -1, 1.1};
    const int64_t count = 100003;
    test_fixture f;
    tenon_plan *plan;
    activation_begin(&f, &tn_operation_activation_backward, activation, TENON_DTYPE_F32, count);
    test_fill_plainly(&f, TEST_BOUND, 1, &random);
    tenon_memory memories[ACTIVATION_VIEWS];
    tenon_tensor views[ACTIVATION_VIEWS];
    for (int v = 0; v < ACTIVATION_VIEWS; v++) {
        test_upload(&f.operands[v]);
        views[v] = f.operands[v].view;
        memories[v] = views[v].memory;
        views[v].memory = (tenon_memory){0};
    }
    assert_ok(tenon_activation_backward_plan(test_context, test_params(&f, tenon_activation_params),
                                             &views[0], &views[1], &views[2], &plan));
    for (int n = 0; n < 2; n++) {
        assert_ok(tenon_plan_run(test_stream, plan, memories, ACTIVATION_VIEWS, NULL));
        double *got = test_download(&f.operands[BACKWARD_DX]);
        for (int64_t i = 0; i < count; i++) {
            double x = test_get(&f.operands[BACKWARD_X], i);
            assert_true(got[i] ==
                        (x > -1 && x < (double)1.1F ? test_get(&f.operands[BACKWARD_DY], i) : 0));
        }
        free(got);
    }
    tenon_plan_release(plan);
    test_finish(&f, TEST_ALL);
}

/* A device may flush subnormal factors to zero, and an infinity times such a factor then gives
 * NaN. */
TEST(flushed_factors)
{
    const tenon_activation gelu = {.kind = TENON_ACTIVATION_GELU_TANH},
                           sigmoid = {.kind = TENON_ACTIVATION_SIGMOID};
    for (int i = 0; i < 256; i++) {
        const double x = -12 + i / 64.0;
        if (exp(1.5957691216057308 * (x + 0.044715 * x * x * x)) < (double)FLT_MIN)
            assert_true(
                tn_within(0, tn_activation_gradient_reference(&gelu, TENON_DTYPE_F32, x, 1)));
    }
    const double infinity = (double)INFINITY;
    tn_bounded far = tn_activation_gradient_reference(&sigmoid, TENON_DTYPE_F32, -95, infinity),
               near = tn_activation_gradient_reference(&sigmoid, TENON_DTYPE_F32, -5, infinity);
    assert_true(tn_within((double)NAN, far) && tn_within(infinity, far));
    assert_true(!tn_within((double)NAN, near) && tn_within(infinity, near));
}
