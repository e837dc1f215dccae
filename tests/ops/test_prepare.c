/* Tests plans that are prepared in the background. */
#include "runtime.h"

#include "dispatch/plan.h"

#include <pthread.h>

enum { SIZE = 1000 };

static tenon_status plan_relu(tenon_context *context, const tenon_tensor *x, const char *solver,
                              tenon_plan **plan)
{
    tenon_activation_params params =
        tenon_activation_params(.activation.kind = TENON_ACTIVATION_RELU, .solver = solver);
    return tenon_activation_forward_plan(context, &params, x, x, plan);
}

static void assert_progress(tenon_context *context, uint64_t made, uint64_t asked)
{
    uint64_t is_made, is_asked;
    assert_ok(tenon_prepare_progress(context, &is_made, &is_asked));
    assert_int_equal(is_made, made);
    assert_int_equal(is_asked, asked);
}

/* Runs relu on -1, 0, 1, … and checks the result. */
static void assert_runs(const tenon_plan *plan, tenon_tensor *x)
{
    float values[SIZE];
    for (int i = 0; i < SIZE; i++)
        values[i] = (float)(i % 3 - 1);
    assert_ok(tenon_tensor_upload(test_stream, values, sizeof values, x, NULL));
    const tenon_memory memories[] = {x->memory, x->memory};
    assert_ok(tenon_plan_run(test_stream, plan, memories, 2, NULL));
    assert_ok(tenon_tensor_download(test_stream, x, values, sizeof values, NULL));
    for (int i = 0; i < SIZE; i++)
        assert_true(values[i] == (i % 3 == 2 ? 1 : 0));
}

/* A plan is returned immediately, waits until it is prepared when it runs, and is the same as one
 * that is created synchronously. */
TEST(plans_are_made_later)
{
    tenon_tensor x = make_tensor(test_context, SIZE);
    char text[512], usual[512];
    tenon_plan *plan, *other, *now;
    assert_ok(tenon_prepare_begin(test_context));
    assert_ok(plan_relu(test_context, &x, NULL, &plan));
    assert_ok(plan_relu(test_context, &x, NULL, &other));
    assert_ok(tenon_prepare_end(test_context));
    assert_int_equal(tenon_plan_operands(plan), 2);
    assert_runs(plan, &x);
    assert_ok(tenon_plan_wait(other));
    assert_progress(test_context, 2, 2);
    assert_ok(plan_relu(test_context, &x, NULL, &now));
    assert_progress(test_context, 2, 2);
    tenon_plan_describe(now, usual, sizeof usual);
    tenon_plan_describe(plan, text, sizeof text);
    assert_string_equal(text, usual);
    assert_int_equal(tenon_plan_workspace(plan), tenon_plan_workspace(now));
    assert_runs(other, &x);
    tenon_plan_release(plan);
    tenon_plan_release(other);
    tenon_plan_release(now);
    tenon_memory_destroy(&x.memory);
}

/* Invalid arguments are reported immediately, and errors of the preparation by each use of the
 * plan. */
TEST(failures_are_told)
{
    tenon_tensor x = make_tensor(test_context, SIZE), wrong = x;
    const tenon_memory memories[] = {x.memory, x.memory};
    char text[16] = "x";
    tenon_plan *plan = NULL;
    wrong.dtype = TENON_DTYPE_I32;
    assert_ok(tenon_prepare_begin(test_context));
    assert_int_equal(plan_relu(test_context, &wrong, NULL, &plan), TENON_ERROR_UNSUPPORTED);
    assert_null(plan);
    assert_int_equal(plan_relu(test_context, &x, "activation/none", &plan),
                     TENON_ERROR_INVALID_ARGUMENT);
    tenon_gemm_params params = TENON_GEMM_PARAMS_INIT;
    params.solver = "gemm/skinny"; /* serves only few rows or columns */
    const int64_t large[] = {80, 80};
    const tenon_tensor b = tenon_tensor_view(TENON_DTYPE_F32, 2, large);
    assert_ok(tenon_gemm_plan(test_context, &params, &b, &b, NULL, NULL, &b, &plan));
    assert_ok(tenon_prepare_end(test_context));
    for (int i = 0; i < 2; i++) {
        assert_int_equal(tenon_plan_wait(plan), TENON_ERROR_UNSUPPORTED);
        assert_contains(tenon_last_error(), "tenon_gemm_plan: solver gemm/skinny cannot serve");
    }
    const tenon_memory operands[] = {x.memory, x.memory, {0}, {0}, memories[0]};
    assert_int_equal(tenon_plan_run(test_stream, plan, operands, 5, NULL), TENON_ERROR_UNSUPPORTED);
    assert_int_equal(tenon_plan_workspace(plan), 0);
    assert_int_equal(tenon_plan_describe(plan, text, sizeof text), 0);
    assert_string_equal(text, "");
    tenon_plan_release(plan);
    tenon_memory_destroy(&x.memory);
}

TEST(calls_come_in_pairs)
{
    uint64_t count;
    tenon_context *other = test_new_context(NULL);
    assert_invalid(tenon_prepare_begin(NULL), "context is NULL");
    assert_invalid(tenon_prepare_end(other), "this thread called tenon_prepare_begin for");
    assert_ok(tenon_prepare_begin(other));
    assert_invalid(tenon_prepare_begin(test_context), "was already called on this thread");
    assert_invalid(tenon_prepare_end(test_context), "context is");
    assert_ok(tenon_prepare_end(other));
    assert_invalid(tenon_prepare_progress(NULL, &count, &count), "context is NULL");
    assert_invalid(tenon_prepare_progress(other, NULL, &count), "made is NULL");
    assert_invalid(tenon_prepare_progress(other, &count, NULL), "asked is NULL");
    assert_invalid(tenon_plan_wait(NULL), "plan is NULL");
    tenon_context_release(other);
}

static void *plan_elsewhere(void *data)
{
    tenon_plan *plan;
    const tenon_status status = plan_relu(test_context, data, NULL, &plan);
    tenon_plan_release(plan);
    return status == TENON_OK ? data : NULL;
}

/* Plans of other threads and of other contexts are created synchronously. */
TEST(others_are_not_touched)
{
    tenon_tensor x = make_tensor(test_context, SIZE);
    tenon_plan *plan;
    pthread_t thread;
    uint64_t made, asked;
    void *well;
    tenon_context *other = test_new_context(NULL);
    tenon_tensor y = make_tensor(other, SIZE);
    assert_ok(tenon_prepare_progress(test_context, &made, &asked));
    assert_ok(tenon_prepare_begin(test_context));
    assert_int_equal(pthread_create(&thread, NULL, plan_elsewhere, &x), 0);
    assert_int_equal(pthread_join(thread, &well), 0);
    assert_non_null(well);
    assert_ok(plan_relu(other, &y, NULL, &plan));
    assert_ok(relu(test_stream, &x, &x, NULL));
    assert_ok(tenon_prepare_end(test_context));
    assert_progress(test_context, made, asked);
    assert_progress(other, 0, 0);
    tenon_plan_release(plan);
    test_destroy(&x, &y);
    tenon_context_release(other);
}

/* The context is destroyed with its last reference, whether the caller or the library's thread
 * releases it. */
TEST(plans_outlive_their_callers)
{
    for (int i = 0; i < 8; i++) {
        tenon_plan *plans[4];
        tenon_context *context = test_new_context(NULL);
        tenon_tensor x = make_tensor(context, SIZE + i);
        assert_ok(tenon_prepare_begin(context));
        for (int p = 0; p < 4; p++)
            assert_ok(plan_relu(context, &x, NULL, &plans[p]));
        assert_ok(tenon_prepare_end(context));
        tenon_memory_destroy(&x.memory);
        if (i % 2 == 0)
            tenon_context_release(context);
        if (i % 4 >= 2)
            assert_ok(tenon_plan_wait(plans[3]));
        for (int p = 0; p < 4; p++)
            tenon_plan_release(plans[p]);
        if (i % 2 == 1)
            tenon_context_release(context);
    }
}

/* Blocks the library's thread while it prepares the first plan. */
typedef struct gate {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_reached, is_open, is_freed;
    int planned;
} gate;

#define GATE_INIT                                                                                  \
    {                                                                                              \
        .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER                     \
    }

static void set(gate *g, bool *flag)
{
    pthread_mutex_lock(&g->lock);
    *flag = true;
    pthread_cond_broadcast(&g->changed);
    pthread_mutex_unlock(&g->lock);
}

static void await(gate *g, const bool *flag)
{
    pthread_mutex_lock(&g->lock);
    while (!*flag)
        pthread_cond_wait(&g->changed, &g->lock);
    pthread_mutex_unlock(&g->lock);
}

static void hold(void *user, const tenon_progress *progress)
{
    gate *g = user;
    (void)progress;
    set(g, &g->is_reached);
    await(g, &g->is_open);
}

static void count_plans(void *user, tenon_log_level level, const char *message)
{
    gate *g = user;
    (void)level;
    pthread_mutex_lock(&g->lock);
    g->planned += strstr(message, ": planned ") != NULL;
    pthread_mutex_unlock(&g->lock);
}

static void note_freed(void *user)
{
    gate *g = user;
    set(g, &g->is_freed);
}

enum { PLANS = 5 };

/* Requests plans, and waits until the first is being prepared; `x` has no memory. */
static tenon_context *ask_for_plans(gate *g, tenon_plan *plans[PLANS])
{
    const int64_t size = SIZE;
    const tenon_tensor x = tenon_tensor_view(TENON_DTYPE_F32, 1, &size);
    tenon_context *context = test_context_with(.progress = hold, .progress_user = g, .log_user = g,
                                               .log = count_plans, .log_level = TENON_LOG_DEBUG);
    assert_ok(tenon_prepare_begin(context));
    for (int i = 0; i < PLANS; i++)
        assert_ok(plan_relu(context, &x, NULL, &plans[i]));
    assert_ok(tenon_prepare_end(context));
    await(g, &g->is_reached);
    return context;
}

TEST(plans_that_nobody_holds_are_not_made)
{
    static gate g = GATE_INIT; /* static, since the library's thread may still use it */
    tenon_plan *plans[PLANS];
    tenon_context *context = ask_for_plans(&g, plans);
    for (int i = 1; i < PLANS - 1; i++)
        tenon_plan_release(plans[i]);
    set(&g, &g.is_open);
    assert_ok(tenon_plan_wait(plans[PLANS - 1]));
    assert_progress(context, PLANS, PLANS);
    assert_int_equal(g.planned, 2);
    tenon_plan_release(plans[0]);
    tenon_plan_release(plans[PLANS - 1]);
    tenon_context_release(context);
}

/* No plan is prepared after the program has released everything. */
TEST(nothing_is_made_when_all_is_released)
{
    static gate g = GATE_INIT; /* static, since the library's thread may still use it */
    tenon_plan *plans[PLANS];
    tenon_context *context = ask_for_plans(&g, plans);
    tn_plan_bind(plans[PLANS - 1], 0, (tenon_memory){0}, &g, note_freed);
    for (int i = 0; i < PLANS; i++)
        tenon_plan_release(plans[i]);
    tenon_context_release(context);
    set(&g, &g.is_open);
    await(&g, &g.is_freed);
    assert_int_equal(g.planned, 1);
}
