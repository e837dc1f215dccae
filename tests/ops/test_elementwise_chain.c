/* Tests tenon_elementwise_chain: builds for lists of steps, special values, plans, refusals.
 * test_pointwise.c tests its shapes. */
#include "fixture.h"

#include "ops/elementwise/internal.h"
#include "ops/registry.h"

#include <math.h>

/* Begins a call without the inputs from number `inputs` on. */
static void begin(test_fixture *f, tenon_dtype dtype, int inputs, bool gap, uint32_t rank,
                  const int64_t *shape)
{
    test_begin(f, &tn_operation_elementwise_chain);
    for (int i = 0; i < CHAIN_OPERANDS; i++)
        if (i < inputs || i == CHAIN_Y)
            f->c.views[i] = test_view(dtype, TEST_ROW, gap, rank, shape, i + 1);
}

/* Lists of steps on tensors large enough for a build of their own: every operation, with operands
 * that are contiguous, repeated or scalar, partial vectors, and some NaNs and infinities. */
TEST(lists_of_steps)
{
    static const struct {
        uint32_t count, broadcast[CHAIN_Y];
        int same;
        bool gap;
        tenon_chain_step steps[3];
    } lists[] = {
        {1, {0}, -1, false, {{.op = TENON_CHAIN_MULTIPLY, .alpha = 1.5}}},
        {1, {0}, 1, true, {{.op = TENON_CHAIN_FMA, .addend = TENON_CHAIN_X1, .alpha = 2.5}}},
        {2,
         {0, 1},
         -1,
         false,
         {{.op = TENON_CHAIN_ADD, .operand = TENON_CHAIN_X1},
          {.op = TENON_CHAIN_ACTIVATE, .activation = TENON_ACTIVATION_GELU_TANH}}},
        {3,
         {0, 2, 0, 1},
         0,
         true,
         {{.op = TENON_CHAIN_SUBTRACT, .operand = TENON_CHAIN_X1},
          {.op = TENON_CHAIN_MAX, .operand = TENON_CHAIN_X2},
          {.op = TENON_CHAIN_DIVIDE, .operand = TENON_CHAIN_X3}}},
        {3,
         {2},
         -1,
         true,
         {{.op = TENON_CHAIN_MIN, .operand = TENON_CHAIN_X1},
          {.op = TENON_CHAIN_FMA, .operand = TENON_CHAIN_X2, .addend = TENON_CHAIN_X2},
          {.op = TENON_CHAIN_ACTIVATE, .activation = TENON_ACTIVATION_CLIPPED_RELU, .alpha = 1}}}};
    /* The reference has no bound for results of an infinity, so only single steps have infinities.
     */
    static const double specials[] = {NAN, -0.0, INFINITY, -INFINITY};
    static const int64_t shape[] = {259, 131};
    test_random random = test_random_for(725);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        for (int half = 0; half < 2; half++) {
            test_fixture f;
            begin(&f, half ? TENON_DTYPE_BF16 : TENON_DTYPE_F32, CHAIN_Y, lists[i].gap, 2, shape);
            tenon_elementwise_chain_params *params =
                test_params(&f, tenon_elementwise_chain_params);
            params->step_count = lists[i].count;
            memcpy(params->steps, lists[i].steps, sizeof lists[i].steps);
            if (lists[i].same >= 0)
                f.c.same[lists[i].same] = 1 + CHAIN_Y;
            for (uint32_t n = 0; n < 2 * CHAIN_Y; n++)
                if ((lists[i].broadcast[n / 2] >> n % 2 & 1) != 0)
                    f.c.views[n / 2].stride[n % 2] = 0;
            test_make(&f);
            test_fill_plainly(&f, TEST_BOUND, 1, &random);
            for (int64_t n = 0; n < shape[0] * shape[1]; n++) /* divisors away from 0 */
                test_set(test_operand(&f, CHAIN_X3), n,
                         test_real(&random, 0.5, 1.5) * (n % 2 == 0 ? 1 : -1));
            for (int64_t n = 0; n < 64; n++)
                test_set(test_operand(&f, n % 3 == 0 ? CHAIN_X0 : CHAIN_X2), n * 130,
                         specials[n % (lists[i].count > 1 ? 2 : 4)]);
            test_finish(&f, TEST_ALL);
        }
}

/* Every single operation on every pair of values. */
TEST(special_values)
{
    static const double values[] = {0,         -0.0,    1,       -1,    NAN, INFINITY,
                                    -INFINITY, 0x1p-14, 0x1p-24, 1e-30, 0.1, 0x1p-126,
                                    3,         -7,      60000,   -1e30};
    const int64_t count = sizeof values / sizeof *values;
    for (uint32_t op = 0; op <= TENON_CHAIN_ACTIVATE; op++)
        for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++) {
            const int64_t size = count * count;
            test_fixture f;
            begin(&f, *type, 3, false, 1, &size);
            tenon_elementwise_chain_params *params =
                test_params(&f, tenon_elementwise_chain_params);
            params->step_count = 1;
            params->steps[0] = (tenon_chain_step){.op = op, .operand = TENON_CHAIN_X1};
            if (op == TENON_CHAIN_FMA)
                params->steps[0].addend = TENON_CHAIN_X2;
            if (op == TENON_CHAIN_ACTIVATE)
                params->steps[0] = (tenon_chain_step){.op = op, .activation = 1};
            test_make(&f);
            for (int64_t i = 0; i < count * count; i++) {
                test_set(&f.operands[CHAIN_X0], i, values[i / count]);
                test_set(&f.operands[CHAIN_X1], i, values[i % count]);
                test_set(&f.operands[CHAIN_X2], i, i % 3 - 1);
            }
            test_finish(&f, TEST_ALL);
        }
}

/* x0 · x1 + x2 with a row and a column, and the header's example of a normalization, by a plan,
 * which keeps the scalars that it was created with. */
TEST(known_values)
{
    static const float x[2][3] = {{1, 2, 3}, {-4, 5, -6}}, row[3] = {2, -1, 0.5F};
    static const float column[2] = {10, -10}, fma[2][3] = {{12, 8, 11.5F}, {-18, -15, -13}};
    static const float normal[2][3] = {{0, 0, 0}, {2, 0, 3}};
    const int64_t shape[] = {2, 3}, columns[] = {2, 1};
    tenon_elementwise_chain_params params = TENON_ELEMENTWISE_CHAIN_PARAMS_INIT;
    tenon_plan *plan;
    float got[6];
    tenon_tensor tx = test_dense(TENON_DTYPE_F32, 2, shape, x);
    tenon_tensor tr = test_dense(TENON_DTYPE_F32, 1, shape + 1, row);
    tenon_tensor tc = test_dense(TENON_DTYPE_F32, 2, columns, column);
    tenon_tensor ty = test_dense(TENON_DTYPE_F32, 2, shape, NULL);
    params.step_count = 1;
    params.steps[0] = (tenon_chain_step){TENON_CHAIN_FMA, TENON_CHAIN_X1, TENON_CHAIN_X2, 0, 0, 0};
    assert_ok(tenon_elementwise_chain(test_stream, &params, &tx, &tr, &tc, NULL, &ty, NULL));
    assert_ok(tenon_tensor_download(test_stream, &ty, got, sizeof got, NULL));
    assert_memory_equal(got, fma, sizeof fma);
    params.step_count = 3;
    params.steps[0] = (tenon_chain_step){.op = TENON_CHAIN_SUBTRACT, .operand = TENON_CHAIN_X1};
    params.steps[1] = (tenon_chain_step){.op = TENON_CHAIN_FMA, .alpha = -2, .beta = -10};
    params.steps[2] =
        (tenon_chain_step){.op = TENON_CHAIN_ACTIVATE, .activation = TENON_ACTIVATION_RELU};
    assert_ok(
        tenon_elementwise_chain_plan(test_context, &params, &tx, &tr, NULL, NULL, &ty, &plan));
    const tenon_memory memories[] = {tx.memory, tr.memory, {0}, {0}, ty.memory};
    assert_ok(tenon_plan_run(test_stream, plan, memories, 5, NULL));
    tenon_plan_release(plan);
    assert_ok(tenon_tensor_download(test_stream, &ty, got, sizeof got, NULL));
    for (int i = 0; i < 6; i++)
        if (got[i] != normal[i / 3][i % 3])
            fail_msg("element %d is %g", i, (double)got[i]);
    params.step_count = 1;
    for (int factor = 2; factor < 4; factor++) { /* the second call reuses the plan of the first */
        params.steps[0] = (tenon_chain_step){.op = TENON_CHAIN_MULTIPLY, .alpha = factor};
        assert_ok(tenon_elementwise_chain(test_stream, &params, &tx, NULL, NULL, NULL, &ty, NULL));
        assert_ok(tenon_tensor_download(test_stream, &ty, got, sizeof got, NULL));
        for (int i = 0; i < 6; i++)
            assert_true(got[i] == (float)factor * x[i / 3][i % 3]);
    }
    assert_ok(tenon_elementwise_chain(test_stream, NULL, &tr, NULL, NULL, NULL, &ty, NULL));
    assert_ok(tenon_tensor_download(test_stream, &ty, got, sizeof got, NULL));
    assert_memory_equal(got, row, sizeof row);
    test_destroy(&tx, &tr, &tc, &ty);
}

/* Lists with functions, several of them transcendental, of up to eight steps and on any strides:
 * the logarithm of a sum of exponentials, the distance of two points, a softplus, a clipped power.
 */
TEST(lists_with_functions)
{
    static const struct {
        uint32_t count, inputs;
        test_layout layout;
        tenon_chain_step steps[TENON_CHAIN_MAX_STEPS];
    } lists[] = {
        {1, 1, TEST_ROW, {{.op = TENON_CHAIN_SIN}}},
        {3,
         2,
         TEST_ROW,
         {{.op = TENON_CHAIN_EXP},
          {.op = TENON_CHAIN_ADD, .operand = TENON_CHAIN_X1},
          {.op = TENON_CHAIN_LOG}}},
        {5,
         3,
         TEST_COL_PITCH,
         {{.op = TENON_CHAIN_SUBTRACT, .operand = TENON_CHAIN_X1},
          {.op = TENON_CHAIN_POW, .alpha = 2},
          {.op = TENON_CHAIN_FMA, .operand = TENON_CHAIN_X2, .addend = TENON_CHAIN_X2},
          {.op = TENON_CHAIN_ABS},
          {.op = TENON_CHAIN_SQRT}}},
        {8,
         4,
         TEST_PITCH,
         {{.op = TENON_CHAIN_TANH},
          {.op = TENON_CHAIN_FMOD, .alpha = 0.375},
          {.op = TENON_CHAIN_ATAN2, .operand = TENON_CHAIN_X3},
          {.op = TENON_CHAIN_MAX, .alpha = -0.5},
          {.op = TENON_CHAIN_MIN, .alpha = 0.5},
          {.op = TENON_CHAIN_COSH},
          {.op = TENON_CHAIN_ACTIVATE, .activation = TENON_ACTIVATION_SIGMOID},
          {.op = TENON_CHAIN_RSQRT}}},
    };
    static const int64_t shape[] = {17, 131};
    test_random random = test_random_for(726);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++) {
            test_fixture f;
            test_begin(&f, &tn_operation_elementwise_chain);
            for (uint32_t v = 0; v < CHAIN_OPERANDS; v++)
                if (v < lists[i].inputs || v == CHAIN_Y)
                    f.c.views[v] = test_view(*type, lists[i].layout, v == 1, 2, shape, v + 1);
            if (lists[i].inputs > 1)
                f.c.views[CHAIN_X1].stride[i % 2] = 0;
            tenon_elementwise_chain_params *params =
                test_params(&f, tenon_elementwise_chain_params);
            params->step_count = lists[i].count;
            memcpy(params->steps, lists[i].steps, sizeof lists[i].steps);
            test_make(&f);
            test_fill_plainly(&f, TEST_BOUND, 4, &random);
            for (int64_t n = 0; i > 0 && n < shape[0] * shape[1]; n++) /* sums away from 0 */
                test_set(test_operand(&f, CHAIN_X1 + (uint32_t)i / 2), n % 131,
                         test_real(&random, 0.5, 1.5));
            test_finish(&f, TEST_ALL);
        }
}

TEST(bad_input)
{
    static const char op[] = "tenon_elementwise_chain";
    static const struct {
        tenon_chain_step step;
        const char *word;
    } wrong[] = {
        {{.op = 42}, "op of step 1 is 42"},
        {{.operand = 5}, "operand of step 1 is 5"},
        {{.op = TENON_CHAIN_FMA, .addend = 6}, "addend of step 1 is 6"},
        {{.operand = TENON_CHAIN_X3}, "x3 is NULL, but is the operand of step 1"},
        {{.op = TENON_CHAIN_FMA, .addend = TENON_CHAIN_X2}, "x2 is NULL"},
        {{.addend = TENON_CHAIN_X0},
         "addend of step 1 is x0, which add does not use: it must be 0"},
        {{.activation = 1}, "activation of step 1 is relu, which add does not use"},
        {{.activation = 99}, "activation of step 1 is no such value"},
        {{.op = TENON_CHAIN_LOG, .operand = 1}, "operand of step 1 is x0, which log does not use"},
        {{.op = TENON_CHAIN_POW, .operand = TENON_CHAIN_X3}, "x3 is NULL"},
        {{.op = TENON_CHAIN_ACTIVATE, .operand = 1}, "operand of step 1 is x0, which activate"},
        {{.op = TENON_CHAIN_ACTIVATE, .activation = TN_ACTIVATION_KINDS},
         "is not a tenon_activation_kind"},
        {{.op = TENON_CHAIN_ACTIVATE, .activation = TENON_ACTIVATION_CELU}, "celu"},
    };
    const int64_t shape[] = {4};
    tenon_elementwise_chain_params params = TENON_ELEMENTWISE_CHAIN_PARAMS_INIT;
    tenon_tensor x = test_dense(TENON_DTYPE_F32, 1, shape, NULL);
    tenon_tensor y = test_dense(TENON_DTYPE_F32, 1, shape, NULL);
#define REFUSED(status, word)                                                                      \
    assert_refused(tenon_elementwise_chain(test_stream, &params, &x, &x, NULL, NULL, &y, NULL),    \
                   status, op, word)
    params.step_count = 2;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        params.steps[1] = wrong[i].step;
        REFUSED(TENON_ERROR_INVALID_ARGUMENT, wrong[i].word);
    }
    params.steps[0] = (tenon_chain_step){.op = TENON_CHAIN_ACTIVATE, .activation = 4};
    params.steps[1] = (tenon_chain_step){.op = TENON_CHAIN_ACTIVATE, .activation = 5};
    REFUSED(TENON_ERROR_UNSUPPORTED, "the activations sigmoid and tanh");
    params.step_count = 9;
    REFUSED(TENON_ERROR_INVALID_ARGUMENT, "step_count is 9");
    params.step_count = 0;
    params.reserved = 1;
    REFUSED(TENON_ERROR_INVALID_ARGUMENT, "reserved");
#undef REFUSED
    test_destroy(&x, &y);
}
