/* Tests the operands of plans, the table of plans, and plans in several threads. */
#include "runtime.h"

#include <pthread.h>

TEST(plans_check_their_operands)
{
    tenon_activation_params params = TENON_ACTIVATION_PARAMS_INIT;
    tenon_tensor x = make_tensor(test_context, 100), y = make_tensor(test_context, 100);
    tenon_tensor small = make_tensor(test_context, 50);
    tenon_plan *plan;
    assert_ok(tenon_activation_forward_plan(test_context, &params, &x, &y, &plan));
    tenon_memory memories[] = {x.memory, y.memory};
    assert_invalid(tenon_plan_run(NULL, plan, memories, 2, NULL), "stream");
    assert_invalid(tenon_plan_run(test_stream, NULL, memories, 2, NULL), "plan");
    assert_invalid(tenon_plan_run(test_stream, plan, NULL, 2, NULL), "memories");
    assert_invalid(tenon_plan_run(test_stream, plan, memories, 3, NULL), "count");
    tenon_context *other = test_new_context(NULL);
    tenon_stream *stranger = test_new_stream(other);
    assert_invalid(tenon_plan_run(stranger, plan, memories, 2, NULL), "stream");
    tenon_stream_destroy(stranger);
    tenon_context_release(other);
    memories[1] = small.memory;
    assert_int_equal(tenon_plan_run(test_stream, plan, memories, 2, NULL),
                     TENON_ERROR_INVALID_ARGUMENT);
    assert_contains(tenon_last_error(), "y");
    memories[1] = (tenon_memory){0};
    assert_int_equal(tenon_plan_run(test_stream, plan, memories, 2, NULL),
                     TENON_ERROR_INVALID_ARGUMENT);
    memories[1].kind = 9;
    assert_int_equal(tenon_plan_run(test_stream, plan, memories, 2, NULL),
                     TENON_ERROR_INVALID_ARGUMENT);
    memories[1] = x.memory;
    memories[1].reserved = 6;
    assert_invalid(tenon_plan_run(test_stream, plan, memories, 2, NULL),
                   "memories[1]: memory: reserved is 6, must be 0");
    memories[1] = x.memory; /* in place is allowed, since the views are the same */
    assert_ok(tenon_plan_run(test_stream, plan, memories, 2, NULL));
    tenon_plan_retain(plan);
    tenon_plan_release(plan);
    tenon_plan_release(plan);
    tenon_plan_release(NULL);
    tenon_plan_retain(NULL);
    assert_int_equal(tenon_plan_operands(NULL), 0);
    assert_int_equal(tenon_plan_workspace(NULL), 0);
    assert_int_equal(tenon_plan_describe(NULL, NULL, 0), 0);
    test_destroy(&x, &y, &small);
}

TEST(operands_are_named)
{
    tenon_tensor x = make_tensor(test_context, 300);
    const tenon_tensor part = tenon_tensor_slice(x, 0, 0, 100);
    tenon_plan *plan;
    assert_ok(tenon_activation_forward_plan(test_context, NULL, &part, &part, &plan));
    assert_string_equal(tenon_plan_operand_name(plan, 0), "x");
    assert_string_equal(tenon_plan_operand_name(plan, 1), "y");
    assert_null(tenon_plan_operand_name(plan, 2));
    assert_null(tenon_plan_operand_name(NULL, 0));
    tenon_operand o[] = {{"y", x.memory, 400}, {"x", x.memory, 4}, {"x", x.memory, 4}};
    assert_invalid(tenon_plan_run_operands(test_stream, plan, o, 3, NULL, 0, NULL), "given twice");
    assert_invalid(tenon_plan_run_operands(test_stream, plan, o, 1, NULL, 0, NULL),
                   "\"x\" is missing");
    o[1].name = "z";
    assert_invalid(tenon_plan_run_operands(test_stream, plan, o, 2, NULL, 0, NULL), "x, y");
    o[1] = (tenon_operand){"x", x.memory, 6};
    assert_invalid(tenon_plan_run_operands(test_stream, plan, o, 2, NULL, 0, NULL), "offset is 6");
    o[1].offset = 396;
    assert_int_equal(tenon_plan_run_operands(test_stream, plan, o, 2, NULL, 0, NULL),
                     TENON_ERROR_INVALID_ARGUMENT);
    assert_contains(tenon_last_error(), "overlap");
    o[1].offset = 804;
    assert_int_equal(tenon_plan_run_operands(test_stream, plan, o, 2, NULL, 0, NULL),
                     TENON_ERROR_INVALID_ARGUMENT);
    o[1].offset = 0;
    assert_ok(tenon_plan_run_operands(test_stream, plan, o, 2, NULL, 0, NULL));
    tenon_plan_release(plan);
    tenon_memory_destroy(&x.memory);
}

TEST(many_shapes_are_planned)
{
    tenon_tensor x = make_tensor(test_context, 8192);
    assert_ok(tenon_tensor_fill(test_stream, &x, -1, NULL));
    for (int64_t size = 1; size <= 5000; size++) {
        tenon_tensor part = tenon_tensor_slice(x, 0, 0, size);
        assert_ok(relu(test_stream, &part, &part, NULL));
    }
    assert_ok(tenon_stream_finish(test_stream));
    tenon_memory_destroy(&x.memory);
}

typedef struct worker {
    pthread_t thread;
    tenon_context *context;
    const tenon_plan *plan; /* NULL for immediate calls */
    int number;
    char wrong[512];
} worker;

/* Uses a stream and memory of its own. Contains no assertion, since a failing one would jump to
 * another thread's stack. */
static void *work(void *user)
{
    worker *w = user;
    enum { SIZE = 3000 };
    static const int64_t shape[] = {SIZE};
    float data[SIZE], got[SIZE];
    tenon_stream *stream = NULL;
    tenon_tensor x = {.dtype = TENON_DTYPE_INVALID};
    tenon_status status = tenon_stream_create(w->context, NULL, &stream);
    if (status == TENON_OK)
        status = tenon_tensor_create(w->context, TENON_DTYPE_F32, 1, shape, &x);
    for (int i = 0; i < SIZE; i++)
        data[i] = (float)(i % 7 - 3 - w->number);
    for (int run = 0; run < 50 && status == TENON_OK; run++) {
        const tenon_memory memories[] = {x.memory, x.memory};
        status = tenon_tensor_upload(stream, data, sizeof data, &x, NULL);
        if (status == TENON_OK)
            status = w->plan != NULL ? tenon_plan_run(stream, w->plan, memories, 2, NULL)
                                     : relu(stream, &x, &x, NULL);
        if (status == TENON_OK)
            status = tenon_tensor_download(stream, &x, got, sizeof got, NULL);
        for (int i = 0; i < SIZE && status == TENON_OK; i++)
            if (got[i] != (data[i] > 0 ? data[i] : 0))
                snprintf(w->wrong, sizeof w->wrong, "element %d", i);
    }
    if (status != TENON_OK)
        snprintf(w->wrong, sizeof w->wrong, "%s", tenon_last_error());
    tenon_memory_destroy(&x.memory);
    tenon_stream_destroy(stream);
    return NULL;
}

static void run_workers(tenon_context *context, const tenon_plan *plan)
{
    worker workers[4] = {0};
    for (int i = 0; i < 4; i++) {
        workers[i].context = context;
        workers[i].plan = plan;
        workers[i].number = i;
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < 4; i++)
        pthread_join(workers[i].thread, NULL);
    for (int i = 0; i < 4; i++)
        if (workers[i].wrong[0] != '\0')
            fail_msg("thread %d: %s", i, workers[i].wrong);
}

TEST(one_plan_serves_several_threads)
{
    tenon_activation_params params = TENON_ACTIVATION_PARAMS_INIT;
    tenon_tensor x = make_tensor(test_context, 3000);
    tenon_plan *plan;
    params.activation.kind = TENON_ACTIVATION_RELU;
    assert_ok(tenon_activation_forward_plan(test_context, &params, &x, &x, &plan));
    run_workers(test_context, plan);
    tenon_plan_release(plan);
    tenon_memory_destroy(&x.memory);
}

/* In a new context, four threads request the same kernel, trial and self-check at the same time. */
TEST(threads_build_at_once)
{
    tenon_context *context = test_new_context(NULL);
    run_workers(context, NULL);
    tenon_context_release(context);
}
