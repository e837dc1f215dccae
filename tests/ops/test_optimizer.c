/* tenon_sgd and tenon_adam: a step against the reference for any types, layouts and flags; many
 * steps; masters. */
#include "lines_case.h"

#include "base/dtype.h"
#include "ops/optimizer/internal.h"

#include <math.h>

static tenon_status call_sgd(const void *user, const char *solver, const tenon_tensor *const *v)
{
    tenon_sgd_params params = *(const tenon_sgd_params *)user;
    params.solver = solver;
    return tenon_sgd(test_stream, &params, v[0], v[1], v[2], v[3], NULL);
}

static tenon_status call_adam(const void *user, const char *solver, const tenon_tensor *const *v)
{
    tenon_adam_params params = *(const tenon_adam_params *)user;
    params.solver = solver;
    return tenon_adam(test_stream, &params, v[0], v[1], v[2], v[3], v[4], NULL);
}

static void describe_sgd(const void *user, char *text, size_t size)
{
    const tenon_sgd_params *p = user;
    snprintf(text, size, "flags %u, rate %.17g, momentum %.17g, dampening %.17g, decay %.17g",
             p->flags, p->learning_rate, p->momentum, p->dampening, p->weight_decay);
}

static void describe_adam(const void *user, char *text, size_t size)
{
    const tenon_adam_params *p = user;
    snprintf(text, size,
             "flags %u, rate %.17g, beta %.17g %.17g, epsilon %g, decay %.17g, step %llu", p->flags,
             p->learning_rate, p->beta1, p->beta2, p->epsilon, p->weight_decay,
             (unsigned long long)p->step);
}

/* Which optional operands there are, and whether the gradient is of the state's type. */
enum { WITH_VELOCITY = 1, WITH_MASTER = 2, WIDE_GRADIENT = 4, WAYS = 8 };

static lines_case sgd_case(const tenon_sgd_params *params, tenon_dtype dtype, int way)
{
    const tenon_dtype state = tn_state_dtype(dtype);
    const bool master = (way & WITH_MASTER) != 0 && dtype != state;
    return (lines_case){.family = &tn_sgd_family,
                        .operands = SGD_OPERANDS,
                        .outputs = SGD_OPERANDS - 1,
                        .dtype = {(way & WIDE_GRADIENT) != 0 ? state : dtype, dtype,
                                  (way & WITH_VELOCITY) != 0 ? state : TENON_DTYPE_INVALID,
                                  master ? state : TENON_DTYPE_INVALID},
                        .params = params,
                        .call = call_sgd,
                        .reference = tn_sgd_reference,
                        .describe = describe_sgd};
}

static lines_case adam_case(const tenon_adam_params *params, tenon_dtype dtype, int way)
{
    const tenon_dtype state = tn_state_dtype(dtype);
    const bool master = (way & WITH_MASTER) != 0 && dtype != state;
    return (lines_case){.family = &tn_adam_family,
                        .operands = ADAM_OPERANDS,
                        .outputs = ADAM_OPERANDS - 1,
                        .dtype = {(way & WIDE_GRADIENT) != 0 ? state : dtype, dtype, state, state,
                                  master ? state : TENON_DTYPE_INVALID},
                        .params = params,
                        .call = call_adam,
                        .reference = tn_adam_reference,
                        .describe = describe_adam};
}

static tenon_sgd_params draw_sgd(test_random *random, int way)
{
    tenon_sgd_params params = TENON_SGD_PARAMS_INIT;
    params.flags = (uint32_t)test_between(random, 0, 7);
    params.learning_rate = test_real(random, 0, 1);
    params.momentum = (way & WITH_VELOCITY) != 0 ? test_real(random, 0, 1) : 0;
    params.dampening = test_one_in(random, 2) ? 0 : test_real(random, 0, 1);
    params.weight_decay = test_one_in(random, 2) ? 0 : test_real(random, 0, 0.1);
    return params;
}

static tenon_adam_params draw_adam(test_random *random)
{
    tenon_adam_params params = TENON_ADAM_PARAMS_INIT;
    params.flags = (uint32_t)test_between(random, 0, 3);
    params.learning_rate = test_real(random, 0, 0.1);
    params.beta1 = test_real(random, 0, 1);
    params.beta2 = test_real(random, 0, 1);
    params.epsilon = test_one_in(random, 2) ? 1e-8 : test_real(random, 0, 1e-3);
    params.weight_decay = test_one_in(random, 2) ? 0 : test_real(random, 0, 0.1);
    params.step = (uint64_t)test_between(random, 1, test_one_in(random, 2) ? 10 : 100000);
    return params;
}

static void fill(lines_run *run, test_judge judge, test_random *random)
{
    for (uint32_t i = 0; i < run->problem.operands; i++) {
        test_tensor *operand = &run->operands[i];
        if (operand->image == NULL)
            continue;
        test_fill(operand, judge, random);
        if (run->problem.family != &tn_adam_family || i != ADAM_SECOND)
            continue;
        for (int64_t e = 0; e < tenon_tensor_elements(&operand->view); e++)
            test_set(operand, e, fabs(test_get(operand, e)));
    }
}

static void check(const lines_case *p, test_judge judge, test_random *random, bool all)
{
    lines_run run;
    lines_make(&run, p);
    fill(&run, judge, random);
    lines_check(&run, judge, all);
}

/* A problem of either optimizer with drawn parameters and the layout that `lay` gives it. */
static void check_drawn(tenon_dtype dtype, int way, test_random *random, bool all,
                        void (*lay)(lines_case *p, test_random *random, int number), int number)
{
    tenon_sgd_params sgd = draw_sgd(random, way);
    tenon_adam_params adam = draw_adam(random);
    lines_case p = sgd_case(&sgd, dtype, way);
    lay(&p, random, number);
    check(&p, TEST_BOUND, random, all);
    p = adam_case(&adam, dtype, way);
    lay(&p, random, number);
    check(&p, TEST_BOUND, random, all);
}

static void lay_dense(lines_case *p, test_random *random, int number)
{
    static const int64_t sizes[] = {0,  1,  2,  3,  7,   8,    9,    15,   16,  17,
                                    31, 33, 63, 65, 127, 4095, 4096, 4097, 8195};
    (void)random;
    p->rank = 1;
    p->shape[0] = sizes[number];
    p->offset = number % 5;
    for (uint32_t i = 0; i < p->operands; i++)
        p->stride[i][0] = 1;
}

static void sizes_around_vectors(void **state)
{
    test_random random = test_random_for(921);
    (void)state;
    for (int i = 0; i < 19; i++)
        for (const tenon_dtype *type = test_float_types(); *type != 0; type++)
            check_drawn(*type, i % WAYS, &random, true, lay_dense, i);
}

static void lay_strided(lines_case *p, test_random *random, int number)
{
    p->rank = 3;
    p->shape[0] = 3;
    p->shape[1] = number % 2 == 0 ? 7 : 41;
    p->shape[2] = number % 3 == 0 ? 5 : 37;
    for (uint32_t i = 0; i < p->operands; i++)
        test_strides((test_layout)test_between(random, 0, TEST_LAYOUTS - 1), number % 4 < 2, 3,
                     p->shape, p->stride[i]);
    if (number % 5 == 4)
        p->stride[OPTIMIZER_GRADIENT][number % 3] = 0;
}

static void layouts(void **state)
{
    test_random random = test_random_for(922);
    (void)state;
    for (int n = 0; n < 2 * WAYS; n++)
        for (const tenon_dtype *type = test_float_types(); *type != 0; type++)
            check_drawn(*type, n % WAYS, &random, true, lay_strided, n);
}

static void lay_drawn(lines_case *p, test_random *random, int number)
{
    (void)number;
    lines_draw(p, random, 10000);
}

static void random_problems(void **state)
{
    test_random random = test_random_for(923);
    const int count = test_problems(20);
    (void)state;
    for (const tenon_dtype *type = test_float_types(); *type != 0; type++)
        for (int n = 0; n < count; n++)
            check_drawn(*type, (int)test_between(&random, 0, WAYS - 1), &random, false, lay_drawn,
                        n);
}

/* Sums and products of small integers, for which nothing is rounded. */
static void exact(void **state)
{
    test_random random = test_random_for(924);
    (void)state;
    for (uint32_t flags = 0; flags < 8; flags++)
        for (int way = 0; way < WAYS; way++)
            for (const tenon_dtype *type = test_float_types(); *type != 0; type++) {
                tenon_sgd_params params = TENON_SGD_PARAMS_INIT;
                params.flags = flags;
                params.learning_rate = 0.5;
                params.momentum = (way & WITH_VELOCITY) != 0 ? 2 : 0;
                params.dampening = -1;
                params.weight_decay = flags % 2 == 0 ? 1 : 0;
                lines_case p = sgd_case(&params, *type, way);
                lay_strided(&p, &random, (int)flags);
                check(&p, TEST_EXACT, &random, false);
            }
}

static void large(void **state)
{
    test_random random = test_random_for(925);
    tenon_adam_params params = TENON_ADAM_PARAMS_INIT;
    lines_case p = adam_case(&params, TENON_DTYPE_F32, 0);
    (void)state;
    lay_dense(&p, &random, 0);
    p.shape[0] = (1 << 19) + 7;
    check(&p, TEST_BOUND, &random, false);
}

/* Each meets each, by the header: NaN goes into state and parameter, and no further. */
static void special_values(void **state)
{
    static const double values[] = {NAN, INFINITY, -INFINITY, 0, 1, -1, 1e-30, 1e-40, 300};
    const int64_t count = sizeof values / sizeof *values;
    (void)state;
    for (const tenon_dtype *type = test_float_types(); *type != 0; type++)
        for (int n = 0; n < 6; n++) {
            tenon_sgd_params sgd = TENON_SGD_PARAMS_INIT;
            tenon_adam_params adam = TENON_ADAM_PARAMS_INIT;
            sgd.momentum = n % 2 == 0 ? 0.5 : 0;
            sgd.weight_decay = adam.weight_decay = n < 3 ? 0.25 : 0;
            adam.flags = n % 3 == 0 ? TENON_ADAM_DECOUPLED : 0;
            for (int which = 0; which < 2; which++) {
                lines_run run;
                lines_case p = which == 0 ? sgd_case(&sgd, *type, n % 2 == 0 ? WITH_VELOCITY : 0)
                                          : adam_case(&adam, *type, 0);
                p.rank = 2;
                p.shape[0] = p.shape[1] = count;
                lines_lay(&p, TEST_ROW, false);
                lines_make(&run, &p);
                test_random random = test_random_for(926);
                fill(&run, TEST_BOUND, &random);
                for (int64_t i = 0; i < count * count; i++) {
                    test_set(&run.operands[OPTIMIZER_GRADIENT], i, values[i / count]);
                    test_set(&run.operands[OPTIMIZER_PARAMETER], i, values[i % count]);
                }
                lines_check(&run, TEST_BOUND, true);
            }
        }
}

static void set_all(test_tensor *tensor, const double *values)
{
    for (int64_t i = 0; i < tenon_tensor_elements(&tensor->view); i++)
        test_set(tensor, i, values[i]);
}

/* Six steps, each of which begins with what the device left of the one before. */
static void walk(lines_run *run, void (*next)(void *params), void *params, test_random *random)
{
    const lines_case *p = &run->problem;
    const tenon_tensor *host[LINES_MOST] = {0}, *device[LINES_MOST] = {0};
    int64_t count = tenon_tensor_elements(&run->operands[OPTIMIZER_PARAMETER].view);
    tn_bounded *expected = calloc((size_t)(count * LINES_MOST), sizeof *expected);
    char why[256];
    assert_non_null(expected);
    for (uint32_t i = 0; i < p->operands; i++)
        if (run->operands[i].image != NULL) {
            host[i] = &run->operands[i].host;
            device[i] = &run->operands[i].view;
        }
    for (int step = 0; step < 6; step++, next(params)) {
        test_fill_reals(&run->operands[OPTIMIZER_GRADIENT], random);
        assert_true(p->reference(params, host, expected));
        for (uint32_t i = 0; i < p->operands; i++)
            if (host[i] != NULL)
                test_upload(&run->operands[i]);
        assert_ok(p->call(params, NULL, device));
        const tn_bounded *part = expected;
        for (uint32_t i = OPTIMIZER_PARAMETER; i < p->operands; i++) {
            if (host[i] == NULL)
                continue;
            if (!test_result(&run->operands[i], part, TEST_BOUND, why))
                fail_msg("step %d, operand %u: %s", step, i, why);
            part += count;
            double *values = test_download(&run->operands[i]);
            set_all(&run->operands[i], values);
            free(values);
        }
    }
    free(expected);
}

static void next_sgd(void *params)
{
    ((tenon_sgd_params *)params)->flags &= ~TENON_SGD_FIRST;
}

static void next_adam(void *params)
{
    ((tenon_adam_params *)params)->step++;
}

static void destroy(lines_run *run)
{
    for (uint32_t i = 0; i < run->problem.operands; i++)
        if (run->operands[i].image != NULL)
            test_tensor_destroy(&run->operands[i]);
}

static void many_steps(void **state)
{
    test_random random = test_random_for(927);
    (void)state;
    for (const tenon_dtype *type = test_float_types(); *type != 0; type++)
        for (int way = 1; way < WAYS; way += 2) {
            tenon_sgd_params sgd = draw_sgd(&random, way);
            tenon_adam_params adam = draw_adam(&random);
            lines_run run;
            sgd.flags |= TENON_SGD_FIRST;
            adam.step = 1;
            lines_case p = sgd_case(&sgd, *type, way);
            lay_strided(&p, &random, 1);
            lines_make(&run, &p);
            fill(&run, TEST_BOUND, &random);
            test_fill_poison(&run.operands[SGD_VELOCITY]); /* which the first step does not read */
            walk(&run, next_sgd, &sgd, &random);
            destroy(&run);
            p = adam_case(&adam, *type, way);
            lay_strided(&p, &random, 1);
            lines_make(&run, &p);
            fill(&run, TEST_BOUND, &random);
            test_fill_value(&run.operands[ADAM_FIRST], 0);
            test_fill_value(&run.operands[ADAM_SECOND], 0);
            walk(&run, next_adam, &adam, &random);
            destroy(&run);
        }
}

/* The formulas of the papers, with their bias-corrected moments, on (p - 3)² / 2. */
static double by_the_paper(bool adam, bool decoupled, double decay, int steps)
{
    double p = 1, m = 0, v = 0;
    for (int t = 1; t <= steps; t++) {
        double g = p - 3 + (decoupled ? 0 : decay * p);
        if (!adam) {
            m = t == 1 ? g : 0.9 * m + g;
            p -= 0.1 * (g + 0.9 * m);
            continue;
        }
        m = 0.9 * m + 0.1 * g;
        v = 0.99 * v + 0.01 * g * g;
        double m_hat = m / (1 - pow(0.9, t)), v_hat = v / (1 - pow(0.99, t));
        p = p - 0.1 * m_hat / (sqrt(v_hat) + 1e-8) - (decoupled ? 0.1 * decay * p : 0);
    }
    return p;
}

/* The same through the device, one element at a time. */
static double by_the_device(tenon_dtype dtype, bool adam, bool decoupled, double decay, int steps)
{
    tenon_sgd_params sgd = TENON_SGD_PARAMS_INIT;
    tenon_adam_params moments = TENON_ADAM_PARAMS_INIT;
    tenon_tensor t[4]; /* gradient, parameter, state */
    unsigned char element[8];
    const size_t size = tenon_dtype_size(dtype);
    double p = 1;
    sgd.learning_rate = moments.learning_rate = 0.1;
    sgd.momentum = 0.9;
    sgd.weight_decay = moments.weight_decay = decay;
    moments.beta2 = 0.99;
    moments.flags = decoupled ? TENON_ADAM_DECOUPLED : 0;
    for (int i = 0; i < 4; i++) {
        assert_ok(tenon_tensor_create(test_context, dtype, 0, NULL, &t[i]));
        assert_ok(tenon_tensor_fill(test_stream, &t[i], i == 1 ? 1 : 0, NULL));
    }
    for (int n = 1; n <= steps; n++) {
        assert_ok(tenon_tensor_fill(test_stream, &t[0], p - 3, NULL));
        sgd.flags = TENON_SGD_NESTEROV | (n == 1 ? TENON_SGD_FIRST : 0);
        moments.step = (uint64_t)n;
        assert_ok(adam ? tenon_adam(test_stream, &moments, &t[0], &t[1], &t[2], &t[3], NULL, NULL)
                       : tenon_sgd(test_stream, &sgd, &t[0], &t[1], &t[2], NULL, NULL));
        assert_ok(tenon_tensor_download(test_stream, &t[1], element, size, NULL));
        p = tn_dtype_load(dtype, element);
    }
    for (int i = 0; i < 4; i++)
        tenon_memory_destroy(&t[i].memory);
    return p;
}

/* A step rounds some thirty times, and an error made in one decays in those after it. */
static void trajectories(void **state)
{
    (void)state;
    for (const tenon_dtype *type = test_float_types(); *type != 0; type++) {
        if (*type != TENON_DTYPE_F32 && *type != TENON_DTYPE_F64)
            continue;
        for (int way = 0; way < 6; way++) {
            const bool adam = way % 3 != 0, decoupled = way % 3 == 2;
            const double decay = way < 3 ? 0 : 0.01;
            double want = by_the_paper(adam, decoupled, decay, 20);
            double got = by_the_device(*type, adam, decoupled, decay, 20);
            if (!(fabs(got - want) <= 20 * 30 * tn_roundoff(*type) * 4))
                fail_msg("%s, way %d: %.17g, must be %.17g", tenon_dtype_string(*type), way, got,
                         want);
        }
    }
}

/* Bit for bit, and a master moves where its rounding is too coarse to. */
static void parameter_is_the_rounded_master(void **state)
{
    test_random random = test_random_for(928);
    (void)state;
    for (const tenon_dtype *type = test_float_types(); *type != 0; type++) {
        tenon_sgd_params params = TENON_SGD_PARAMS_INIT;
        const tenon_tensor *v[SGD_OPERANDS];
        lines_run run;
        if (tn_state_dtype(*type) == *type)
            continue;
        params.learning_rate = 1e-6;
        lines_case p = sgd_case(&params, *type, WITH_MASTER);
        lay_strided(&p, &random, 3);
        lines_make(&run, &p);
        fill(&run, TEST_BOUND, &random);
        for (uint32_t i = 0; i < SGD_OPERANDS; i++) {
            v[i] = run.operands[i].image != NULL ? &run.operands[i].view : NULL;
            if (v[i] != NULL)
                test_upload(&run.operands[i]);
        }
        for (int step = 0; step < 3; step++)
            assert_ok(call_sgd(&params, NULL, v));
        double *parameter = test_download(&run.operands[SGD_PARAMETER]);
        double *master = test_download(&run.operands[SGD_MASTER]);
        int moved = 0;
        for (int64_t i = 0; i < tenon_tensor_elements(v[SGD_MASTER]); i++) {
            unsigned char element[8];
            tn_dtype_store(*type, element, master[i]);
            assert_true(tn_dtype_load(*type, element) == parameter[i]);
            moved += master[i] != test_get(&run.operands[SGD_MASTER], i);
        }
        assert_true(moved > 0);
        free(parameter);
        free(master);
        destroy(&run);
    }
}

static void scalars_share_a_plan(void **state)
{
    const int64_t shape[] = {100};
    tenon_sgd_params sgd = TENON_SGD_PARAMS_INIT;
    tenon_adam_params adam = TENON_ADAM_PARAMS_INIT;
    tenon_tensor t[4];
    uint32_t before = 0;
    (void)state;
    for (int i = 0; i < 4; i++) {
        assert_ok(tenon_tensor_create(test_context, TENON_DTYPE_F32, 1, shape, &t[i]));
        assert_ok(tenon_tensor_fill(test_stream, &t[i], 1, NULL));
    }
    for (int i = 0; i < 10; i++) {
        sgd.learning_rate = 0.1 * i;
        sgd.momentum = sgd.dampening = sgd.weight_decay = 0.01 * i;
        adam.learning_rate = 0.1 * i;
        adam.beta1 = adam.beta2 = 0.09 * i;
        adam.step = (uint64_t)i + 1;
        assert_ok(tenon_sgd(test_stream, &sgd, &t[0], &t[1], &t[2], NULL, NULL));
        assert_ok(tenon_adam(test_stream, &adam, &t[0], &t[1], &t[2], &t[3], NULL, NULL));
        before = i == 0 ? lines_plans() : before;
    }
    assert_int_equal(lines_plans(), before);
    for (int i = 0; i < 4; i++)
        tenon_memory_destroy(&t[i].memory);
}

static void plans(void **state)
{
    const int64_t shape[] = {5};
    tenon_sgd_params params = TENON_SGD_PARAMS_INIT;
    tenon_tensor p, none = tenon_tensor_view(TENON_DTYPE_F32, 1, shape);
    tenon_memory gradient;
    tenon_plan *plan;
    float values[5];
    (void)state;
    params.learning_rate = 0.5;
    assert_ok(tenon_tensor_create(test_context, TENON_DTYPE_F32, 1, shape, &p));
    gradient = p.memory;
    assert_ok(tenon_tensor_fill(test_stream, &p, 2, NULL));
    assert_ok(tenon_tensor_create(test_context, TENON_DTYPE_F32, 1, shape, &p));
    assert_ok(tenon_tensor_fill(test_stream, &p, 8, NULL));
    assert_ok(tenon_sgd_plan(test_context, &params, &none, &none, NULL, NULL, &plan));
    const tenon_memory memories[] = {gradient, p.memory, {0}, {0}};
    for (int i = 0; i < 3; i++)
        assert_ok(tenon_plan_run(test_stream, plan, memories, 4, NULL));
    tenon_plan_release(plan);
    assert_ok(tenon_tensor_download(test_stream, &p, values, sizeof values, NULL));
    for (int i = 0; i < 5; i++)
        assert_true(values[i] == 5);
    tenon_memory_destroy(&gradient);
    tenon_memory_destroy(&p.memory);
}

static void bad_parameters(void **state)
{
    const tenon_status invalid = TENON_ERROR_INVALID_ARGUMENT;
    const int64_t shape[] = {7}, stride[] = {1};
    test_tensor t[5];
    (void)state;
    for (int i = 0; i < 5; i++) {
        test_tensor_create(&t[i], TENON_DTYPE_F32, 1, shape, stride, 0);
        test_upload(&t[i]);
    }
#define SGD_REFUSED(change, word)                                                                  \
    do {                                                                                           \
        tenon_sgd_params bad = TENON_SGD_PARAMS_INIT;                                              \
        change;                                                                                    \
        assert_refused(tenon_sgd(test_stream, &bad, &t[0].view, &t[1].view, NULL, NULL, NULL),     \
                       invalid, "tenon_sgd", word);                                                \
    } while (0)
#define ADAM_REFUSED(change, word)                                                                 \
    do {                                                                                           \
        tenon_adam_params bad = TENON_ADAM_PARAMS_INIT;                                            \
        change;                                                                                    \
        assert_refused(tenon_adam(test_stream, &bad, &t[0].view, &t[1].view, &t[2].view,           \
                                  &t[3].view, NULL, NULL),                                         \
                       invalid, "tenon_adam", word);                                               \
    } while (0)
    SGD_REFUSED(bad.flags = 8, "flags");
    SGD_REFUSED(bad.learning_rate = (double)NAN, "learning_rate");
    SGD_REFUSED(bad.dampening = (double)INFINITY, "dampening");
    SGD_REFUSED(bad.weight_decay = (double)NAN, "weight_decay");
    SGD_REFUSED(bad.momentum = 0.5, "velocity is NULL, but momentum is 0.5");
    ADAM_REFUSED(bad.flags = 4, "flags");
    ADAM_REFUSED(bad.learning_rate = (double)INFINITY, "learning_rate");
    ADAM_REFUSED(bad.beta1 = 1, "beta1 is 1");
    ADAM_REFUSED(bad.beta2 = -0.1, "beta2 is -0.1");
    ADAM_REFUSED(bad.epsilon = -1, "epsilon is -1");
    ADAM_REFUSED(bad.weight_decay = (double)NAN, "weight_decay");
    ADAM_REFUSED(bad.step = 0, "step is 0");
#undef SGD_REFUSED
#undef ADAM_REFUSED
    assert_refused(tenon_sgd(test_stream, NULL, &t[0].view, &t[1].view, NULL, &t[2].view, NULL),
                   TENON_ERROR_UNSUPPORTED, "tenon_sgd", "master");
    for (int i = 0; i < 5; i++) {
        assert_untouched(&t[i]);
        test_tensor_destroy(&t[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_around_vectors),
        cmocka_unit_test(layouts),
        cmocka_unit_test(random_problems),
        cmocka_unit_test(exact),
        cmocka_unit_test(large),
        cmocka_unit_test(special_values),
        cmocka_unit_test(many_steps),
        cmocka_unit_test(trajectories),
        cmocka_unit_test(parameter_is_the_rounded_master),
        cmocka_unit_test(scalars_share_a_plan),
        cmocka_unit_test(plans),
        cmocka_unit_test(bad_parameters),
    };
    return TEST_MAIN(tests);
}
