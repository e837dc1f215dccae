/* Tests training by plans alone: parameters that change from step to step are scalars of each run.
 */
#include "runtime.h"

#include <pthread.h>

enum { BATCH = 16, INPUTS = 12, HIDDEN = 24, CLASSES = 4, STEPS = 6 };
enum { WEIGHTS_1, WEIGHTS_2, PARAMETERS };
enum { VALUE, GRADIENT, FIRST, SECOND, TENSORS };

/* A perceptron with one hidden layer and dropout. */
typedef struct network {
    tenon_tensor x, labels, hidden, d_hidden, logits, d_logits;
    tenon_tensor parameters[PARAMETERS][TENSORS];
} network;

static tenon_tensor matrix(int64_t rows, int64_t columns)
{
    const int64_t shape[] = {rows, columns};
    return test_dense(TENON_DTYPE_F32, 2, shape, NULL);
}

static network make_network(void)
{
    static const int64_t sizes[] = {INPUTS, HIDDEN, CLASSES}, batch[] = {BATCH};
    int32_t labels[BATCH];
    network net = {.x = matrix(BATCH, INPUTS),
                   .hidden = matrix(BATCH, HIDDEN),
                   .d_hidden = matrix(BATCH, HIDDEN),
                   .logits = matrix(BATCH, CLASSES),
                   .d_logits = matrix(BATCH, CLASSES)};
    for (int p = 0; p < PARAMETERS; p++)
        for (int t = 0; t < TENSORS; t++) {
            net.parameters[p][t] = matrix(sizes[p], sizes[p + 1]);
            assert_ok(tenon_tensor_fill(test_stream, &net.parameters[p][t], 0, NULL));
        }
    for (int i = 0; i < BATCH; i++)
        labels[i] = i % CLASSES;
    net.labels = test_dense(TENON_DTYPE_I32, 1, batch, labels);
    return net;
}

static void destroy_network(network *net)
{
    tenon_tensor *all[] = {&net->x,      &net->labels,   &net->hidden, &net->d_hidden,
                           &net->logits, &net->d_logits, NULL};
    for (int i = 0; all[i] != NULL; i++)
        tenon_tensor_destroy(all[i]);
    for (int p = 0; p < PARAMETERS; p++)
        for (int t = 0; t < TENSORS; t++)
            tenon_tensor_destroy(&net->parameters[p][t]);
}

/* The calls of a training step, made immediately or by plans from the same code. */
#define MOST_CALLS 16
typedef struct calls {
    bool plans;   /* create or run plans; otherwise immediate calls */
    bool is_made; /* the plans have been created */
    tenon_plan *made[MOST_CALLS];
    int next;
} calls;

/* Runs the next plan on the memory of its operands, in their order, with scalars. */
static void run_next(calls *c, const tenon_tensor *const *views, const tenon_scalar *scalars,
                     uint32_t scalar_count)
{
    tenon_operand operands[8];
    uint32_t count = 0;
    const tenon_plan *plan = c->made[c->next++];
    for (uint32_t i = 0; i < tenon_plan_operands(plan); i++)
        if (views[i] != NULL)
            operands[count++] = (tenon_operand){tenon_plan_operand_name(plan, i), views[i]->memory,
                                                views[i]->offset};
    assert_ok(
        tenon_plan_run_operands(test_stream, plan, operands, count, scalars, scalar_count, NULL));
}

/* Makes a call of the step, or creates or runs its plan. `params` is for the plan, without the
 * scalars of a run. */
#define CALL(name, params, at_each_run, scalars, scalar_count, ...)                                \
    do {                                                                                           \
        const tenon_tensor *const views[] = {__VA_ARGS__};                                         \
        if (!c->plans)                                                                             \
            assert_ok(name(test_stream, at_each_run, __VA_ARGS__, NULL));                          \
        else if (c->is_made)                                                                       \
            run_next(c, views, scalars, scalar_count);                                             \
        else                                                                                       \
            assert_ok(name##_plan(test_context, params, __VA_ARGS__, &c->made[c->next++]));        \
    } while (0)
#define SAME(name, params, ...) CALL(name, params, params, NULL, 0, __VA_ARGS__)

static void drop(calls *c, const tenon_tensor *x, uint64_t step)
{
    const tenon_scalar scalars[] = {tenon_scalar_u64("sequence", step),
                                    tenon_scalar_u64("seed", 99),
                                    tenon_scalar_f64("probability", 0.25)};
    CALL(tenon_dropout, NULL,
         &tenon_dropout_params(.seed = 99, .sequence = step, .probability = 0.25), scalars, 3, x,
         x);
}

static void forward(calls *c, const network *net, uint64_t step)
{
    const tenon_activation_params relu =
        tenon_activation_params(.activation.kind = TENON_ACTIVATION_RELU);
    SAME(tenon_gemm, NULL, &net->x, &net->parameters[WEIGHTS_1][VALUE], NULL, NULL, &net->hidden);
    SAME(tenon_activation_forward, &relu, &net->hidden, &net->hidden);
    drop(c, &net->hidden, step);
    SAME(tenon_gemm, NULL, &net->hidden, &net->parameters[WEIGHTS_2][VALUE], NULL, NULL,
         &net->logits);
}

static void backward(calls *c, const network *net, uint64_t step)
{
    const tenon_activation_params relu =
        tenon_activation_params(.activation.kind = TENON_ACTIVATION_RELU);
    const tenon_tensor hidden = tenon_tensor_transpose(net->hidden, 0, 1),
                       x = tenon_tensor_transpose(net->x, 0, 1),
                       back = tenon_tensor_transpose(net->parameters[WEIGHTS_2][VALUE], 0, 1);
    const tenon_scalar scale = tenon_scalar_f64("scale", 1.0 / BATCH);
    CALL(tenon_cross_entropy_backward, NULL, &tenon_cross_entropy_params(.scale = 1.0 / BATCH),
         &scale, 1, &net->logits, &net->labels, NULL, &net->d_logits);
    SAME(tenon_gemm, NULL, &hidden, &net->d_logits, NULL, NULL,
         &net->parameters[WEIGHTS_2][GRADIENT]);
    SAME(tenon_gemm, NULL, &net->d_logits, &back, NULL, NULL, &net->d_hidden);
    drop(c, &net->d_hidden, step);
    SAME(tenon_activation_backward, &relu, &net->hidden, &net->d_hidden, &net->d_hidden);
    SAME(tenon_gemm, NULL, &x, &net->d_hidden, NULL, NULL, &net->parameters[WEIGHTS_1][GRADIENT]);
}

static void update(calls *c, const network *net, uint64_t step)
{
    const double rate = 0.02 / (double)step;
    const tenon_scalar scalars[] = {tenon_scalar_f64("learning_rate", rate),
                                    tenon_scalar_u64("step", step)};
    for (int i = 0; i < PARAMETERS; i++) {
        const tenon_tensor *p = net->parameters[i];
        CALL(tenon_adam, NULL, &tenon_adam_params(.learning_rate = rate, .step = step), scalars, 2,
             &p[GRADIENT], &p[VALUE], &p[FIRST], &p[SECOND], NULL);
    }
}

static void fill_randomly(calls *c, const tenon_tensor *y, uint64_t sequence)
{
    const tenon_scalar scalars[] = {tenon_scalar_u64("sequence", sequence),
                                    tenon_scalar_f64("low", -0.5), tenon_scalar_f64("high", 0.5)};
    CALL(tenon_random, NULL, &tenon_random_params(.sequence = sequence, .low = -0.5, .high = 0.5),
         scalars, 3, y);
}

/* Makes some steps; returns the weights. */
static float *train(calls *c, float *weights)
{
    network net = make_network();
    const uint64_t before = c->plans ? 1 : 0; /* the first pass creates the plans */
    for (uint64_t step = 1 - before; step <= STEPS; step++) {
        c->next = 0;
        if (step <= 1)
            for (uint64_t i = 0; i < PARAMETERS; i++)
                fill_randomly(c, &net.parameters[i][VALUE], i);
        else
            c->next = PARAMETERS;
        fill_randomly(c, &net.x, 100 + step);
        forward(c, &net, step);
        backward(c, &net, step);
        update(c, &net, step);
        c->is_made = c->plans;
    }
    const size_t first = INPUTS * HIDDEN, second = HIDDEN * CLASSES;
    assert_ok(tenon_tensor_download(test_stream, &net.parameters[WEIGHTS_1][VALUE], weights,
                                    first * sizeof *weights, NULL));
    assert_ok(tenon_tensor_download(test_stream, &net.parameters[WEIGHTS_2][VALUE], weights + first,
                                    second * sizeof *weights, NULL));
    for (int i = 0; i < MOST_CALLS; i++)
        tenon_plan_release(c->made[i]);
    destroy_network(&net);
    return weights;
}

TEST(plans_train_as_immediate_calls_do)
{
    static float by_calls[INPUTS * HIDDEN + HIDDEN * CLASSES], by_plans[sizeof by_calls / 4];
    calls immediate = {.plans = false}, planned = {.plans = true};
    train(&immediate, by_calls);
    train(&planned, by_plans);
    assert_memory_equal(by_calls, by_plans, sizeof by_calls);
    assert_true(by_calls[0] != 0 && by_calls[0] == by_calls[0]);
}

/* Threads that run one plan at the same time, with different scalars. */
enum { THREADS = 4, RUNS = 200, SIZE = 2000 };
typedef struct worker {
    pthread_t thread;
    const tenon_plan *plan;
    uint64_t seed;
    double low;
    float expected[SIZE];
    char wrong[512];
} worker;

static void *run_with_seeds(void *user)
{
    worker *w = user;
    static const int64_t shape[] = {SIZE};
    const tenon_scalar scalars[] = {tenon_scalar_u64("seed", w->seed),
                                    tenon_scalar_f64("low", w->low)};
    tenon_stream *stream = NULL;
    tenon_tensor y = {.dtype = TENON_DTYPE_INVALID};
    float got[SIZE];
    tenon_status status = tenon_stream_create(test_context, NULL, &stream);
    if (status == TENON_OK)
        status = tenon_tensor_create(test_context, TENON_DTYPE_F32, 1, shape, &y);
    const tenon_operand operand = {"y", y.memory, 0};
    for (int run = 0; run < RUNS && status == TENON_OK; run++) {
        status = tenon_plan_run_operands(stream, w->plan, &operand, 1, scalars, 2, NULL);
        if (status == TENON_OK)
            status = tenon_tensor_download(stream, &y, got, sizeof got, NULL);
        if (status == TENON_OK &&
            memcmp((const void *)got, (const void *)w->expected, sizeof got) != 0)
            snprintf(w->wrong, sizeof w->wrong, "run %d has another thread's numbers", run);
    }
    if (status != TENON_OK)
        snprintf(w->wrong, sizeof w->wrong, "%s", tenon_last_error());
    tenon_memory_destroy(&y.memory);
    tenon_stream_destroy(stream);
    return NULL;
}

TEST(threads_have_scalars_of_their_own)
{
    static worker workers[THREADS];
    tenon_tensor y = make_tensor(test_context, SIZE);
    tenon_plan *plan;
    assert_ok(tenon_random_plan(test_context, NULL, &y, &plan));
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){.plan = plan, .seed = 1000 + (uint64_t)i, .low = -i};
        assert_ok(tenon_random(test_stream,
                               &tenon_random_params(.seed = workers[i].seed, .low = workers[i].low),
                               &y, NULL));
        assert_ok(tenon_tensor_download(test_stream, &y, workers[i].expected,
                                        sizeof workers[i].expected, NULL));
    }
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&workers[i].thread, NULL, run_with_seeds, &workers[i]), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(workers[i].thread, NULL);
    for (int i = 0; i < THREADS; i++)
        if (workers[i].wrong[0] != '\0')
            fail_msg("thread %d: %s", i, workers[i].wrong);
    tenon_plan_release(plan);
    tenon_memory_destroy(&y.memory);
}

TEST(background_plans_take_scalars)
{
    tenon_tensor y = make_tensor(test_context, SIZE);
    const tenon_operand o = {"y", y.memory, 0};
    const tenon_scalar seed = tenon_scalar_u64("seed", 77);
    float expected[SIZE], got[SIZE];
    tenon_plan *plan;
    assert_ok(tenon_prepare_begin(test_context));
    assert_ok(tenon_random_plan(test_context, NULL, &y, &plan));
    assert_ok(tenon_prepare_end(test_context));
    assert_string_equal(tenon_plan_scalar(plan, 0).name, "seed");
    assert_ok(tenon_plan_run_operands(test_stream, plan, &o, 1, &seed, 1, NULL));
    assert_ok(tenon_tensor_download(test_stream, &y, got, sizeof got, NULL));
    tenon_random_params params = tenon_random_params(.seed = 77);
    assert_ok(tenon_random(test_stream, &params, &y, NULL));
    assert_ok(tenon_tensor_download(test_stream, &y, expected, sizeof expected, NULL));
    assert_memory_equal(got, expected, sizeof got);
    tenon_plan_release(plan);
    tenon_memory_destroy(&y.memory);
}
