/* tenon_activation_forward: formulas at special values and along the numbers. Its shapes are in
 * test_pointwise.c. */
#include "activation_case.h"
#include "dispatch/plan.h"
#include "fixture.h"

#include "ops/activation/internal.h"
#include "runtime/probe/capability.h"
#include "ops/registry.h"

#include <math.h>

TEST(special_values)
{
    static const double values[] = {
        0,      -0.0, 1,    -1,   NAN,   INFINITY, -INFINITY, 0x1p-126, -0x1p-126, 1e-30,
        -1e-30, 0.5,  -0.5, 6,    5.999, 6.001,    88,        -88,      89,        -89,
        104,    -104, 710,  -710, 1e30,  -1e30,    3e38,      -3e38,    1e-4,      -1e-4};
    const int64_t count = sizeof values / sizeof *values;
    for (size_t a = 0; a < test_activations; a++)
        for (const tenon_dtype *type = test_float_types(); *type != 0; type++) {
            const tenon_activation activation = test_activation(a);
            test_fixture f;
            if (!test_takes_turn(activation.kind, *type))
                continue;
            activation_begin(&f, &tn_operation_activation, activation, *type, count);
            for (int64_t i = 0; i < count; i++)
                test_set(&f.operands[ACTIVATION_X], i, values[i]);
            test_finish(&f, TEST_ALL);
        }
}

/* Values by the header's formulas, not by the reference. */
TEST(known_values)
{
    static const float x[6] = {-2, -0.5, 0, 0.5, 3, 8};
    static const struct {
        tenon_activation activation;
        double y[6];
        bool rounded;
    } cases[] = {
        {{TENON_ACTIVATION_IDENTITY, 0, 0, 0}, {-2, -0.5, 0, 0.5, 3, 8}, false},
        {{TENON_ACTIVATION_RELU, 0, 0, 0}, {0, 0, 0, 0.5, 3, 8}, false},
        {{TENON_ACTIVATION_LEAKY_RELU, 0, 0.25, 0}, {-0.5, -0.125, 0, 0.5, 3, 8}, false},
        {{TENON_ACTIVATION_CLIPPED_RELU, 0, 6, 0}, {0, 0, 0, 0.5, 3, 6}, false},
        {{TENON_ACTIVATION_CLIPPED_RELU, 0, INFINITY, 0}, {0, 0, 0, 0.5, 3, 8}, false},
        {{TENON_ACTIVATION_HARD_TANH, 0, -INFINITY, 1}, {-2, -0.5, 0, 0.5, 1, 1}, false},
        {{TENON_ACTIVATION_HARD_TANH, 0, -1, 2}, {-1, -0.5, 0, 0.5, 2, 2}, false},
        {{TENON_ACTIVATION_HARD_SIGMOID, 0, 0.25, 0.5}, {0, 0.375, 0.5, 0.625, 1, 1}, false},
        {{TENON_ACTIVATION_ABS, 0, 0, 0}, {2, 0.5, 0, 0.5, 3, 8}, false},
        {{TENON_ACTIVATION_SQUARE, 0, 0, 0}, {4, 0.25, 0, 0.25, 9, 64}, false},
        {{TENON_ACTIVATION_SIGMOID, 0, 0, 0},
         {0.119202922, 0.377540669, 0.5, 0.622459331, 0.952574127, 0.99966465},
         true},
        {{TENON_ACTIVATION_TANH, 0, 0, 0},
         {-0.96402758, -0.462117157, 0, 0.462117157, 0.995054754, 0.999999775},
         true},
        {{TENON_ACTIVATION_ELU, 0, 2, 0}, {-1.72932943, -0.786938681, 0, 0.5, 3, 8}, true},
        {{TENON_ACTIVATION_SELU, 0, 0, 0},
         {-1.52016647, -0.691758188, 0, 0.525350494, 3.15210296, 8.4056079},
         true},
        {{TENON_ACTIVATION_CELU, 0, 2, 0}, {-1.26424112, -0.442398434, 0, 0.5, 3, 8}, true},
        {{TENON_ACTIVATION_GELU, 0, 0, 0},
         {-0.0455002639, -0.154268769, 0, 0.345731231, 2.99595031, 8},
         true},
        {{TENON_ACTIVATION_GELU_TANH, 0, 0, 0},
         {-0.0454023059, -0.15428599, 0, 0.34571401, 2.99636261, 8},
         true},
        {{TENON_ACTIVATION_SILU, 0, 0, 0},
         {-0.238405844, -0.188770334, 0, 0.311229666, 2.85772238, 7.9973172},
         true},
        {{TENON_ACTIVATION_MISH, 0, 0, 0},
         {-0.252501483, -0.220743775, 0, 0.375245211, 2.986535, 7.9999982},
         true},
        {{TENON_ACTIVATION_HARD_SWISH, 0, 0, 0},
         {-0.333333333, -0.208333333, 0, 0.291666667, 3, 8},
         true},
        {{TENON_ACTIVATION_SOFTPLUS, 0, 0, 0},
         {0.126928011, 0.474076984, 0.693147181, 0.974076984, 3.04858735, 8.00033541},
         true},
        {{TENON_ACTIVATION_SOFTSIGN, 0, 0, 0},
         {-0.666666667, -0.333333333, 0, 0.333333333, 0.75, 0.888888889},
         true},
        {{TENON_ACTIVATION_EXP, 0, 0, 0},
         {0.135335283, 0.60653066, 1, 1.64872127, 20.0855369, 2980.95799},
         true},
    };
    const int64_t shape[] = {6};
    bool known[TN_ACTIVATION_KINDS] = {false};
    tenon_tensor tensor = test_dense(TENON_DTYPE_F32, 1, shape, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tenon_activation_params params = TENON_ACTIVATION_PARAMS_INIT;
        float y[6];
        params.activation = cases[i].activation;
        known[params.activation.kind] = true;
        assert_ok(tenon_tensor_upload(test_stream, x, sizeof x, &tensor, NULL));
        assert_ok(tenon_activation_forward(test_stream, &params, &tensor, &tensor, NULL));
        assert_ok(tenon_tensor_download(test_stream, &tensor, y, sizeof y, NULL));
        for (int e = 0; e < 6; e++) {
            const double tolerance = cases[i].rounded ? 4e-6 * fabs(cases[i].y[e]) : 0;
            if (!(fabs((double)y[e] - cases[i].y[e]) <= tolerance))
                fail_msg("activation %u (%g) of %g is %.9g, must be %.9g", params.activation.kind,
                         params.activation.alpha, (double)x[e], (double)y[e], cases[i].y[e]);
        }
    }
    tenon_memory_destroy(&tensor.memory);
    for (uint32_t kind = 0; kind < TN_ACTIVATION_KINDS; kind++)
        if (!known[kind])
            fail_msg("there are no known values of %s", tn_activation_words[kind]);
}

/* Every 8191st float, including NaNs, infinities and subnormals, which covers the boundaries
 * between the ranges of the functions' approximations. */
TEST(number_line)
{
    const int64_t count = ((int64_t)1 << 32) / 8191;
    for (size_t a = 0; a < test_activations; a++) {
        const tenon_activation activation = test_activation(a);
        test_fixture f;
        if (!tn_activation_is_build(activation.kind))
            continue;
        activation_begin(&f, &tn_operation_activation, activation, TENON_DTYPE_F32, count);
        for (int64_t i = 0; i < count; i++) {
            const uint32_t bits = (uint32_t)(i * 8191);
            float value;
            memcpy(&value, &bits, sizeof value);
            test_set(&f.operands[ACTIVATION_X], i, value);
        }
        test_finish(&f, TEST_ALL);
    }
}

/* Arguments reach the range where exp() underflows. */
TEST(tails_are_checked)
{
    const int64_t count = 512; /* some 85 are far: no seed has 5 */
    const tenon_activation sigmoid = {.kind = TENON_ACTIVATION_SIGMOID};
    test_random random = test_random_for(401);
    test_fixture f;
    int far = 0;
    activation_begin(&f, &tn_operation_activation, sigmoid, TENON_DTYPE_F32, count);
    test_fill_inputs(&f, TEST_BOUND, &random);
    for (int64_t i = 0; i < count; i++) {
        const double x = test_get(&f.operands[ACTIVATION_X], i);
        assert_true(x >= -100 && x <= 1);
        far += x < -50;
    }
    assert_true(far > 5);
    test_finish(&f, TEST_ONCE);
}

/* Tenon's exp() of doubles, used on drivers with an inaccurate one: over the range that does not
 * overflow, and over all doubles. */
TEST(own_exp)
{
    static const tenon_activation with_exp[] = {{.kind = TENON_ACTIVATION_EXP},
                                                {.kind = TENON_ACTIVATION_SIGMOID}};
    const int form = tn_capability_form(test_context, TENON_CAPABILITY_F64);
    const int64_t count = 20011;
    if (form < 0)
        skip();
    tn_capability_set(test_context, TENON_CAPABILITY_F64, 1);
    for (size_t a = 0; a < sizeof with_exp / sizeof *with_exp; a++) {
        test_fixture f;
        activation_begin(&f, &tn_operation_activation, with_exp[a], TENON_DTYPE_F64, count);
        for (int64_t i = 0; i < count; i++) {
            const uint64_t bits = (uint64_t)i * (UINT64_MAX / (uint64_t)(count - 1));
            double value = -746 + 1460.0 * (double)i / (double)count;
            if (i % 2 == 0)
                memcpy(&value, &bits, sizeof value);
            test_set(&f.operands[ACTIVATION_X], i, value);
        }
        test_finish(&f, TEST_ALL);
    }
    tn_capability_set(test_context, TENON_CAPABILITY_F64, form);
}

/* Views that are contiguous in the same order, whichever it is, are processed like rows. */
TEST(contiguous_in_any_order)
{
    static const struct {
        test_layout x, y;
        const char *solver;
    } cases[] = {{TEST_ROW, TEST_ROW, "activation/dense"},
                 {TEST_COL, TEST_COL, "activation/dense"},
                 {TEST_COL, TEST_ROW, "activation/strided"},
                 {TEST_COL_PITCH, TEST_COL_PITCH, "activation/strided"}};
    const int64_t shape[] = {7, 5, 3};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const tenon_tensor x = test_view(TENON_DTYPE_F32, cases[i].x, false, 3, shape, 0),
                           y = test_view(TENON_DTYPE_F32, cases[i].y, false, 3, shape, 0);
        tenon_plan *plan;
        assert_ok(tenon_activation_forward_plan(test_context, NULL, &x, &y, &plan));
        assert_contains(plan->name, cases[i].solver);
        tenon_plan_release(plan);
    }
}
