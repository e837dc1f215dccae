/* tenon_elementwise_chain against its reference: every operation and source, broadcasts, strides,
 * long rows, in place; plans and refusals. */
#include "support.h"

#include "ops/elementwise/internal.h"
#include "ops/registry.h"

#include <math.h>

/* Bits d of `broadcast[i]`: input i repeats along dimension d. Inputs from `inputs` on are absent;
 * `same` is the one that is y, or -1. */
typedef struct chain_case {
    tenon_elementwise_chain_params params;
    int inputs, same;
    bool gap;
    uint32_t rank, broadcast[CHAIN_Y];
    int64_t shape[TENON_MAX_RANK];
    test_layout layout[CHAIN_OPERANDS];
} chain_case;

typedef struct chain_data {
    chain_case problem;
    tenon_dtype dtype;
    test_tensor operands[CHAIN_OPERANDS];
} chain_data;

static const char *describe(const void *user)
{
    static char text[1024];
    const chain_data *data = user;
    const chain_case *p = &data->problem;
    char shape[160];
    int used = snprintf(text, sizeof text,
                        "%s, shape %s, layouts %d %d %d %d %d%s, broadcast %x %x %x %x,"
                        " same %d, steps",
                        tenon_dtype_string(data->dtype), tn_shape_text(p->rank, p->shape, shape),
                        (int)p->layout[0], (int)p->layout[1], (int)p->layout[2], (int)p->layout[3],
                        (int)p->layout[4], p->gap ? " with gaps" : "", p->broadcast[0],
                        p->broadcast[1], p->broadcast[2], p->broadcast[3], p->same);
    for (uint32_t n = 0; n < p->params.step_count; n++) {
        const tenon_chain_step *s = &p->params.steps[n];
        used += snprintf(text + used, sizeof text - (size_t)used, " {%u %u %u %u %g %g}", s->op,
                         s->operand, s->addend, s->activation, s->alpha, s->beta);
    }
    return text;
}

static const test_tensor *operand(const chain_data *data, int i)
{
    return &data->operands[i == data->problem.same ? CHAIN_Y : i];
}

static tenon_status call(const void *user, const char *solver)
{
    const chain_data *data = user;
    tenon_elementwise_chain_params params = data->problem.params;
    const tenon_tensor *v[CHAIN_Y] = {0};
    params.solver = solver;
    for (int i = 0; i < data->problem.inputs; i++)
        v[i] = &operand(data, i)->view;
    return test_call(&tn_operation_elementwise_chain, &params, v[0], v[1], v[2], v[3],
                     &data->operands[CHAIN_Y].view);
}

static void make(chain_data *data, const chain_case *p, tenon_dtype dtype)
{
    *data = (chain_data){.problem = *p, .dtype = dtype};
    for (int i = 0; i < CHAIN_OPERANDS; i++) {
        int64_t stride[TENON_MAX_RANK];
        if (i == p->same || (i >= p->inputs && i != CHAIN_Y))
            continue;
        test_strides(p->layout[i], p->gap, p->rank, p->shape, stride);
        for (uint32_t d = 0; i < CHAIN_Y && d < p->rank; d++)
            stride[d] = (p->broadcast[i] >> d & 1) != 0 ? 0 : stride[d];
        test_tensor_create(&data->operands[i], dtype, p->rank, p->shape, stride, i + 1);
    }
}

static void run(chain_data *data, test_judge judge)
{
    const tenon_tensor *y = &data->operands[CHAIN_Y].host, *v[CHAIN_OPERANDS] = {[CHAIN_Y] = y};
    tn_bounded *expected = malloc(((size_t)tenon_tensor_elements(y) + 1) * sizeof *expected);
    assert_non_null(expected);
    for (int i = 0; i < data->problem.inputs; i++)
        v[i] = &operand(data, i)->host;
    assert_true(tn_elementwise_chain_reference(&data->problem.params, v, expected));
    const test_subject subject = {.family = &tn_elementwise_chain_family,
                                  .call = call,
                                  .describe = describe,
                                  .data = data,
                                  .operands = data->operands,
                                  .operand_count = CHAIN_OPERANDS,
                                  .expected = expected,
                                  .judge = judge};
    test_run_all(&subject);
    for (int i = 0; i < CHAIN_Y; i++)
        if (data->operands[i].image != NULL && !test_untouched(&data->operands[i]))
            fail_msg("input %d was written to: %s", i, describe(data));
    for (int i = 0; i < CHAIN_OPERANDS; i++)
        if (data->operands[i].image != NULL)
            test_tensor_destroy(&data->operands[i]);
    free(expected);
}

/* The last input is what is divided by: away from zero. */
static void fill(chain_data *data, test_judge judge, test_random *random)
{
    for (int i = 0; i < data->problem.inputs; i++) {
        test_tensor *x = (test_tensor *)(uintptr_t)operand(data, i);
        test_fill(x, judge, random);
        if (i != CHAIN_X3 || judge == TEST_EXACT)
            continue;
        for (int64_t n = 0; n < tenon_tensor_elements(&x->view); n++)
            test_set(x, n, test_real(random, 0.5, 1.5) * (test_one_in(random, 2) ? 1 : -1));
    }
}

/* A step whose bound stays finite; of integers, one that is exact. */
static tenon_chain_step random_step(test_random *random, int inputs, uint32_t build, bool exact)
{
    static const uint32_t cheap[] = {TENON_ACTIVATION_RELU,         TENON_ACTIVATION_ABS,
                                     TENON_ACTIVATION_CLIPPED_RELU, TENON_ACTIVATION_HARD_SWISH,
                                     TENON_ACTIVATION_SOFTSIGN,     TENON_ACTIVATION_LEAKY_RELU};
    tenon_chain_step step = {.op = (uint32_t)test_between(random, 0, TENON_CHAIN_ACTIVATE)};
    step.alpha = exact ? (double)test_between(random, -3, 3) : test_real(random, 0.5, 2);
    step.beta = exact ? (double)test_between(random, -3, 3) : test_real(random, -2, 2);
    if (exact && step.op == TENON_CHAIN_DIVIDE)
        step.op = TENON_CHAIN_MIN;
    if (step.op == TENON_CHAIN_ACTIVATE) {
        step.activation = !exact && build != 0 && test_one_in(random, 2)
                              ? build
                              : cheap[test_between(random, 0, exact ? 1 : 5)];
        return step;
    }
    step.operand = (uint32_t)test_between(random, 0, inputs);
    if (step.op == TENON_CHAIN_DIVIDE && step.operand != TENON_CHAIN_X3)
        step.operand = TENON_CHAIN_SCALAR;
    if (step.op == TENON_CHAIN_FMA)
        step.addend = (uint32_t)test_between(random, 0, inputs);
    return step;
}

static void random_steps(chain_case *p, test_random *random, uint32_t build, bool exact)
{
    p->params = tenon_elementwise_chain_params_default();
    p->params.step_count = (uint32_t)test_between(random, 0, TENON_CHAIN_MAX_STEPS);
    for (uint32_t n = 0; n < p->params.step_count; n++)
        p->params.steps[n] = random_step(random, p->inputs, build, exact);
}

/* Every type, reals within the bound and integers bit for bit, with steps of their own. */
static void check(chain_case p, test_random *random)
{
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++)
        for (int judge = TEST_BOUND; judge <= TEST_EXACT; judge++) {
            chain_data data;
            random_steps(&p, random, 0, judge == TEST_EXACT);
            make(&data, &p, *type);
            fill(&data, (test_judge)judge, random);
            run(&data, (test_judge)judge);
        }
}

static void sizes_around_blocks(void **state)
{
    static const int64_t sizes[] = {0,  1,  2,   3,   4,   7,   8,    9,    15,   16,   17,
                                    31, 33, 127, 128, 129, 255, 1025, 8191, 8192, 8193, 16385};
    test_random random = test_random_for(721);
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        chain_case p = {.rank = 1, .shape = {sizes[i]}, .inputs = 1 + (int)i % 4};
        p.same = (int)i % (p.inputs + 1) - 1;
        check(p, &random);
    }
}

/* Every combination along rows and columns of what two inputs repeat. */
static void broadcasts(void **state)
{
    test_random random = test_random_for(722);
    (void)state;
    for (uint32_t mask = 0; mask < 16; mask++) {
        chain_case p = {.rank = 2, .shape = {5, 37}, .inputs = 4, .same = 0};
        p.broadcast[CHAIN_X1] = mask & 3;
        p.broadcast[CHAIN_X2] = mask >> 2;
        p.broadcast[CHAIN_X3] = 3 - (mask & 3);
        check(p, &random);
    }
}

static chain_case random_case(test_random *random)
{
    chain_case p = {.inputs = (int)test_between(random, 1, 4), .same = -1};
    p.gap = test_one_in(random, 2);
    p.rank = (uint32_t)test_between(random, 0, TENON_MAX_RANK);
    for (uint32_t d = 0; d < p.rank; d++)
        p.shape[d] = test_between(random, 1, p.rank > 4 ? 3 : test_one_in(random, 3) ? 70 : 6);
    for (int i = 0; i < CHAIN_OPERANDS; i++) {
        p.layout[i] = (test_layout)test_between(random, 0, TEST_LAYOUTS - 1);
        if (i < CHAIN_Y && test_one_in(random, 2))
            p.broadcast[i] = (uint32_t)test_between(random, 0, 255);
    }
    if (test_one_in(random, 3))
        p.same = (int)test_between(random, 0, p.inputs - 1);
    return p;
}

static void random_problems(void **state)
{
    static const uint32_t builds[] = {0, TENON_ACTIVATION_SIGMOID, TENON_ACTIVATION_SILU};
    test_random random = test_random_for(723);
    (void)state;
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++)
        for (int n = 0; n < test_problems(40); n++) {
            chain_case p = random_case(&random);
            chain_data data;
            random_steps(&p, &random, builds[*type == TENON_DTYPE_F32 ? n % 3 : 0], false);
            make(&data, &p, *type);
            fill(&data, TEST_BOUND, &random);
            run(&data, TEST_BOUND);
        }
}

static void large(void **state)
{
    test_random random = test_random_for(724);
    chain_case p = {.rank = 2, .shape = {1031, 517}, .inputs = 4, .same = 3};
    chain_data data;
    (void)state;
    p.broadcast[CHAIN_X1] = 1;
    p.broadcast[CHAIN_X2] = 2;
    random_steps(&p, &random, 0, false);
    make(&data, &p, TENON_DTYPE_F32);
    fill(&data, TEST_BOUND, &random);
    run(&data, TEST_BOUND);
}

/* Enough elements for a build of the steps: every operation, its operands read along the rows,
 * repeated and scalars, with tails; a NaN or infinity here and there. */
static void lists_of_steps(void **state)
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
    /* After an infinity a reference has no bound: those come where there is one step. */
    static const double specials[] = {NAN, -0.0, INFINITY, -INFINITY};
    test_random random = test_random_for(725);
    (void)state;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        for (int half = 0; half < 2; half++) {
            chain_case p = {.rank = 2, .shape = {259, 131}, .inputs = 4};
            chain_data data;
            p.same = lists[i].same;
            p.gap = lists[i].gap;
            memcpy(p.broadcast, lists[i].broadcast, sizeof p.broadcast);
            p.params = tenon_elementwise_chain_params_default();
            p.params.step_count = lists[i].count;
            memcpy(p.params.steps, lists[i].steps, sizeof lists[i].steps);
            make(&data, &p, half ? TENON_DTYPE_BF16 : TENON_DTYPE_F32);
            fill(&data, TEST_BOUND, &random);
            for (int64_t n = 0; n < 64; n++)
                test_set((test_tensor *)(uintptr_t)operand(&data, n % 3 == 0 ? 0 : 2), n * 130,
                         specials[n % (lists[i].count > 1 ? 2 : 4)]);
            run(&data, TEST_BOUND);
        }
}

/* Every operation alone, on every pair of them. */
static void special_values(void **state)
{
    static const double values[] = {0,         -0.0,    1,       -1,    NAN, INFINITY,
                                    -INFINITY, 0x1p-14, 0x1p-24, 1e-30, 0.1, 0x1p-126,
                                    3,         -7,      60000,   -1e30};
    const int64_t count = sizeof values / sizeof *values;
    (void)state;
    for (uint32_t op = 0; op <= TENON_CHAIN_ACTIVATE; op++)
        for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++) {
            chain_case p = {.rank = 1, .shape = {count * count}, .inputs = 3, .same = -1};
            chain_data data;
            p.params = tenon_elementwise_chain_params_default();
            p.params.step_count = 1;
            p.params.steps[0] = (tenon_chain_step){.op = op, .operand = TENON_CHAIN_X1};
            if (op == TENON_CHAIN_FMA)
                p.params.steps[0].addend = TENON_CHAIN_X2;
            if (op == TENON_CHAIN_ACTIVATE)
                p.params.steps[0] = (tenon_chain_step){.op = op, .activation = 1};
            make(&data, &p, *type);
            for (int64_t i = 0; i < count * count; i++) {
                test_set(&data.operands[CHAIN_X0], i, values[i / count]);
                test_set(&data.operands[CHAIN_X1], i, values[i % count]);
                test_set(&data.operands[CHAIN_X2], i, i % 3 - 1);
            }
            run(&data, TEST_BOUND);
        }
}

/* x0 · x1 + x2 with a row and a column, and the header's normalisation, by a plan whose scalars are
 * those it was made with. */
static void known_values(void **state)
{
    static const float x[2][3] = {{1, 2, 3}, {-4, 5, -6}}, row[3] = {2, -1, 0.5F};
    static const float column[2] = {10, -10}, fma[2][3] = {{12, 8, 11.5F}, {-18, -15, -13}};
    static const float normal[2][3] = {{0, 0, 0}, {2, 0, 3}};
    const int64_t shape[] = {2, 3}, columns[] = {2, 1};
    tenon_elementwise_chain_params params = TENON_ELEMENTWISE_CHAIN_PARAMS_INIT;
    tenon_tensor tx, tr, tc, ty;
    tenon_plan *plan;
    float got[6];
    (void)state;
    assert_ok(tenon_tensor_create(test_context, TENON_DTYPE_F32, 2, shape, &tx));
    assert_ok(tenon_tensor_create(test_context, TENON_DTYPE_F32, 1, shape + 1, &tr));
    assert_ok(tenon_tensor_create(test_context, TENON_DTYPE_F32, 2, columns, &tc));
    assert_ok(tenon_tensor_create(test_context, TENON_DTYPE_F32, 2, shape, &ty));
    assert_ok(tenon_tensor_upload(test_stream, x, sizeof x, &tx, NULL));
    assert_ok(tenon_tensor_upload(test_stream, row, sizeof row, &tr, NULL));
    assert_ok(tenon_tensor_upload(test_stream, column, sizeof column, &tc, NULL));
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
    for (int factor = 2; factor < 4; factor++) { /* the second call finds the plan of the first */
        params.steps[0] = (tenon_chain_step){.op = TENON_CHAIN_MULTIPLY, .alpha = factor};
        assert_ok(tenon_elementwise_chain(test_stream, &params, &tx, NULL, NULL, NULL, &ty, NULL));
        assert_ok(tenon_tensor_download(test_stream, &ty, got, sizeof got, NULL));
        for (int i = 0; i < 6; i++)
            assert_true(got[i] == (float)factor * x[i / 3][i % 3]);
    }
    assert_ok(tenon_elementwise_chain(test_stream, NULL, &tr, NULL, NULL, NULL, &ty, NULL));
    assert_ok(tenon_tensor_download(test_stream, &ty, got, sizeof got, NULL));
    assert_memory_equal(got, row, sizeof row);
    tenon_memory_destroy(&tx.memory);
    tenon_memory_destroy(&tr.memory);
    tenon_memory_destroy(&tc.memory);
    tenon_memory_destroy(&ty.memory);
}

static void bad_input(void **state)
{
    static const char op[] = "tenon_elementwise_chain";
    static const struct {
        tenon_chain_step step;
        const char *word;
    } wrong[] = {
        {{.op = 8}, "op of step 1 is 8"},
        {{.operand = 5}, "operand of step 1 is 5"},
        {{.op = TENON_CHAIN_FMA, .addend = 6}, "addend of step 1 is 6"},
        {{.operand = TENON_CHAIN_X3}, "x3 is NULL, but is the operand of step 1"},
        {{.op = TENON_CHAIN_FMA, .addend = TENON_CHAIN_X2}, "x2 is NULL"},
        {{.addend = TENON_CHAIN_X0},
         "addend of step 1 is x0, which add does not use: it must be 0"},
        {{.activation = 1}, "activation of step 1 is relu, which add does not use"},
        {{.activation = 99}, "activation of step 1 is no such value"},
        {{.op = TENON_CHAIN_ACTIVATE, .operand = 1}, "operand of step 1 is x0, which activate"},
        {{.op = TENON_CHAIN_ACTIVATE, .activation = 21}, "activation kind is 21"},
        {{.op = TENON_CHAIN_ACTIVATE, .activation = TENON_ACTIVATION_CELU}, "celu"},
    };
    const int64_t shape[] = {4};
    tenon_elementwise_chain_params params = tenon_elementwise_chain_params_default();
    tenon_tensor x, y;
    (void)state;
    assert_ok(tenon_tensor_create(test_context, TENON_DTYPE_F32, 1, shape, &x));
    assert_ok(tenon_tensor_create(test_context, TENON_DTYPE_F32, 1, shape, &y));
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
    tenon_memory_destroy(&x.memory);
    tenon_memory_destroy(&y.memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_values),        cmocka_unit_test(bad_input),
        cmocka_unit_test(lists_of_steps),      cmocka_unit_test(special_values),
        cmocka_unit_test(sizes_around_blocks), cmocka_unit_test(broadcasts),
        cmocka_unit_test(random_problems),     cmocka_unit_test(large),
    };
    return TEST_MAIN(tests);
}
