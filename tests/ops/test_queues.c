/* Tests in-order and out-of-order queues: dependencies, also across queues, and commands that fail
 * after their call has returned. */
#include "runtime.h"

#include <stdatomic.h>

static void open_gate(cl_event gate, cl_int status)
{
    assert_int_equal(clSetUserEventStatus(gate, status), CL_SUCCESS);
    clReleaseEvent(gate);
}

static cl_int state_of(cl_event event)
{
    cl_int state = CL_QUEUED;
    assert_int_equal(
        clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL),
        CL_SUCCESS);
    return state;
}

static void wait_and_release(cl_event event)
{
    assert_int_equal(clWaitForEvents(1, &event), CL_SUCCESS);
    clReleaseEvent(event);
}

/* Creates a stream with a queue of its own; returns NULL if the device has no such queue. */
static tenon_stream *make_stream(tenon_context *context, bool unordered)
{
    tenon_stream *stream = NULL;
    cl_command_queue queue = test_queue(context, unordered);
    if (queue == NULL)
        return NULL;
    assert_ok(tenon_stream_create(context, queue, &stream));
    clReleaseCommandQueue(queue);
    return stream;
}

static void assert_values(tenon_stream *stream, const tenon_tensor *x, float wanted)
{
    const size_t size = (size_t)tenon_tensor_elements(x);
    float *values = calloc(size, sizeof *values);
    assert_non_null(values);
    assert_ok(tenon_tensor_download(stream, x, values, size * sizeof *values, NULL));
    for (size_t i = 0; i < size; i++)
        if (values[i] != wanted)
            fail_msg("element %zu is %g, must be %g", i, (double)values[i], (double)wanted);
    free(values);
}

static tenon_status add(tenon_stream *stream, const tenon_tensor *a, const tenon_tensor *b,
                        const tenon_tensor *y, const tenon_sync *sync)
{
    return tenon_elementwise(stream, NULL, a, b, y, sync);
}

/* x is filled after an event, and doubled by calls whose wait list does not contain the event. */
TEST(calls_keep_their_order)
{
    tenon_stream *stream = make_stream(test_context, true);
    if (stream == NULL)
        skip();
    tenon_tensor x = make_tensor(test_context, 10000), y = make_tensor(test_context, 10000);
    tenon_tensor every_other = x;
    every_other.shape[0] = 5000;
    every_other.stride[0] = 2;
    assert_ok(tenon_tensor_fill(stream, &x, -7, NULL));
    assert_ok(add(stream, &x, &x, &y, NULL));
    cl_event gate = test_gate(test_context), done[3] = {NULL};
    const tenon_sync first = {.wait_list = &gate, .wait_count = 1, .event = &done[0]};
    assert_ok(tenon_tensor_fill(stream, &x, 1, &first));
    assert_ok(add(stream, &x, &x, &y, &(tenon_sync){.event = &done[1]}));
    assert_ok(tenon_tensor_fill(stream, &every_other, 3, NULL));
    assert_ok(add(stream, &y, &y, &y, NULL));
    assert_ok(relu(stream, &y, &y, &(tenon_sync){.event = &done[2]}));
    for (int i = 0; i < 3; i++)
        assert_int_not_equal(state_of(done[i]), CL_COMPLETE);
    open_gate(gate, CL_COMPLETE);
    for (int i = 0; i < 3; i++)
        wait_and_release(done[i]);
    assert_values(stream, &y, 4);
    assert_values(stream, &every_other, 3);
    tenon_stream_destroy(stream);
    test_destroy(&x, &y);
}

/* A waiting stream delays neither other streams nor the application's commands in its queue. */
TEST(others_in_the_queue_are_not_held_up)
{
    cl_command_queue queue = test_queue(test_context, true);
    tenon_stream *waiting, *going;
    const float two = 2;
    if (queue == NULL)
        skip();
    assert_ok(tenon_stream_create(test_context, queue, &waiting));
    assert_ok(tenon_stream_create(test_context, queue, &going));
    tenon_tensor x = make_tensor(test_context, 1000), y = make_tensor(test_context, 1000);
    cl_event gate = test_gate(test_context), held, own;
    const tenon_sync sync = {.wait_list = &gate, .wait_count = 1, .event = &held};
    assert_ok(tenon_tensor_fill(waiting, &x, -1, NULL));
    assert_ok(relu(waiting, &x, &x, &sync));
    assert_int_equal(clEnqueueFillBuffer(queue, y.memory.u.buffer, &two, sizeof two, 0,
                                         1000 * sizeof two, 0, NULL, &own),
                     CL_SUCCESS);
    wait_and_release(own);
    assert_ok(add(going, &y, &y, &y, &(tenon_sync){.event = &own}));
    wait_and_release(own);
    assert_int_not_equal(state_of(held), CL_COMPLETE);
    open_gate(gate, CL_COMPLETE);
    wait_and_release(held);
    assert_values(waiting, &x, 0);
    assert_values(going, &y, 4);
    tenon_stream_destroy(waiting);
    tenon_stream_destroy(going);
    clReleaseCommandQueue(queue);
    test_destroy(&x, &y);
}

/* Events are used in both directions between two queues, without flushing, finishing or waiting. */
static void events_cross(bool first_unordered, bool second_unordered)
{
    tenon_stream *streams[] = {make_stream(test_context, first_unordered),
                               make_stream(test_context, second_unordered)};
    if (streams[0] == NULL || streams[1] == NULL)
        skip();
    tenon_tensor x = make_tensor(test_context, 4096);
    cl_event before = NULL;
    assert_ok(tenon_tensor_fill(streams[0], &x, 1, &(tenon_sync){.event = &before}));
    for (int i = 1; i <= 10; i++) {
        cl_event after = NULL;
        const tenon_sync sync = {.wait_list = &before, .wait_count = 1, .event = &after};
        assert_ok(add(streams[i % 2], &x, &x, &x, &sync));
        clReleaseEvent(before);
        before = after;
    }
    wait_and_release(before);
    assert_values(streams[1], &x, 1024);
    tenon_stream_destroy(streams[0]);
    tenon_stream_destroy(streams[1]);
    tenon_memory_destroy(&x.memory);
}

TEST(events_cross_queues)
{
    for (int i = 0; i < 4; i++)
        events_cross((i & 1) != 0, (i & 2) != 0);
}

/* A stream's transfers run in order, and wait for the caller's wait list too. */
TEST(transfers_keep_their_order)
{
    tenon_stream *stream = make_stream(test_context, true);
    float values[1000], got[1000];
    void *pointer;
    cl_event uploaded, unmapped;
    if (stream == NULL)
        skip();
    tenon_tensor x = make_tensor(test_context, 1000);
    for (int i = 0; i < 1000; i++)
        values[i] = (float)i - 500;
    for (int i = 0; i < 20; i++) {
        assert_ok(tenon_tensor_upload(stream, values, sizeof values, &x,
                                      &(tenon_sync){.event = &uploaded}));
        const tenon_sync sync = {.wait_list = &uploaded, .wait_count = 1};
        assert_ok(relu(stream, &x, &x, &sync));
        assert_ok(tenon_tensor_map(stream, &x, TENON_MAP_READ | TENON_MAP_WRITE, &pointer, &sync));
        assert_true(((float *)pointer)[0] == 0 && ((float *)pointer)[999] == 499);
        ((float *)pointer)[0] = 8;
        assert_ok(tenon_tensor_unmap(stream, &x, pointer, &(tenon_sync){.event = &unmapped}));
        assert_ok(add(stream, &x, &x, &x, NULL));
        assert_ok(tenon_tensor_download(stream, &x, got, sizeof got, NULL));
        assert_true(got[0] == 16 && got[1] == 0 && got[999] == 998);
        clReleaseEvent(uploaded);
        clReleaseEvent(unmapped);
    }
    tenon_stream_destroy(stream);
    tenon_memory_destroy(&x.memory);
}

/* Failures that a context's callback received. */
typedef struct told {
    atomic_int count;
    uint32_t status;
    cl_int cl_error;
    char operation[64], solver[128], message[512];
} told;

static void tell(void *user, const tenon_failure *failure)
{
    told *t = user;
    if (atomic_load(&t->count) == 0) {
        t->status = failure->struct_size == sizeof *failure ? failure->status : 0;
        t->cl_error = failure->cl_error;
        snprintf(t->operation, sizeof t->operation, "%s", failure->operation);
        snprintf(t->solver, sizeof t->solver, "%s", failure->solver);
        snprintf(t->message, sizeof t->message, "%s", failure->message);
    }
    atomic_fetch_add(&t->count, 1);
}

static tenon_context *make_context(told *t)
{
    return test_context_with(.failure = t != NULL ? tell : NULL, .failure_user = t, .unchecked = 1);
}

/* Enqueues a relu that fails when it would start. */
static void enqueue_failure(tenon_stream *stream, const tenon_tensor *x, cl_event *event)
{
    cl_event gate = test_gate(tenon_stream_context(stream));
    const tenon_sync sync = {.wait_list = &gate, .wait_count = 1, .event = event};
    assert_ok(relu(stream, x, x, &sync));
    assert_ok(tenon_stream_flush(stream));
    open_gate(gate, CL_OUT_OF_RESOURCES);
}

static void assert_told(tenon_status status, const char *by)
{
    assert_int_equal(status, TENON_ERROR_ASYNCHRONOUS);
    assert_int_equal(strncmp(tenon_last_error(), by, strlen(by)), 0);
    assert_contains(tenon_last_error(), "tenon_activation_forward");
    assert_true(tenon_last_cl_error() < 0);
}

/* Checks that the next call fails with a message that names the failed call and does nothing, and
 * that later calls succeed. */
static void fail_once(tenon_context *context, bool unordered, bool by_event)
{
    tenon_stream *stream = make_stream(context, unordered);
    tenon_tensor x = make_tensor(context, 100);
    cl_event event = NULL;
    if (stream == NULL)
        skip();
    assert_ok(tenon_tensor_fill(stream, &x, -3, NULL));
    assert_ok(tenon_stream_finish(stream));
    enqueue_failure(stream, &x, by_event ? &event : NULL);
    if (by_event) {
        clWaitForEvents(1, &event);
        assert_true(state_of(event) < 0);
        /* The driver's thread may not have called the callback yet. */
        const struct timespec moment = {.tv_nsec = 1000000};
        tenon_status status = TENON_OK;
        for (int i = 0; i < TEST_LOOKS && status == TENON_OK; i++) {
            nanosleep(&moment, NULL);
            status = tenon_tensor_fill(stream, &x, 5, NULL);
        }
        assert_told(status, "tenon_tensor_fill");
    } else {
        assert_told(tenon_stream_finish(stream), "tenon_stream_finish");
    }
    if (event != NULL)
        clReleaseEvent(event);
    for (int i = 0; i < 3; i++)
        assert_ok(tenon_tensor_fill(stream, &x, 4, NULL));
    assert_ok(add(stream, &x, &x, &x, NULL));
    assert_ok(tenon_stream_finish(stream));
    assert_values(stream, &x, 8);
    tenon_stream_destroy(stream);
    tenon_memory_destroy(&x.memory);
}

TEST(failures_are_told_by_the_next_call)
{
    tenon_context *context = make_context(NULL);
    fail_once(context, false, true);
    fail_once(context, true, true);
    fail_once(context, true, false);
    tenon_context_release(context);
}

TEST(failures_are_told_by_the_callback)
{
    for (int i = 0; i < 4; i++) {
        told t = {.count = 0};
        tenon_context *context = make_context(&t);
        fail_once(context, (i & 1) != 0, (i & 2) != 0);
        tenon_context_release(context);
        assert_true(atomic_load(&t.count) > 0);
        assert_int_equal(t.status, TENON_ERROR_ASYNCHRONOUS);
        assert_true(t.cl_error < 0);
        assert_string_equal(t.operation, "tenon_activation_forward");
        assert_int_equal(strncmp(t.solver, "activation/", 11), 0);
        assert_contains(t.message, t.solver);
    }
}

/* If a command fails after its stream and context were destroyed, the callback is not called. */
TEST(failures_may_come_after_their_stream)
{
    told t = {.count = 0};
    tenon_context *context = make_context(&t);
    tenon_stream *stream = make_stream(context, false);
    tenon_tensor x = make_tensor(context, 100);
    cl_event gate = test_gate(context), event;
    const tenon_sync sync = {.wait_list = &gate, .wait_count = 1, .event = &event};
    assert_ok(relu(stream, &x, &x, &sync));
    tenon_stream_destroy(stream);
    tenon_context_release(context);
    open_gate(gate, CL_OUT_OF_RESOURCES);
    clWaitForEvents(1, &event);
    const struct timespec moment = {.tv_nsec = 1000000};
    for (int i = 0; i < 20; i++)
        nanosleep(&moment, NULL);
    assert_int_equal(atomic_load(&t.count), 0);
    clReleaseEvent(event);
    tenon_memory_destroy(&x.memory);
}

/* The callback is not called for commands that succeed. */
TEST(successes_are_not_told)
{
    told t = {.count = 0};
    tenon_context *context = make_context(&t);
    for (int unordered = 0; unordered < 2; unordered++) {
        tenon_stream *stream = make_stream(context, unordered);
        if (stream == NULL)
            continue;
        tenon_tensor x = make_tensor(context, 3000);
        assert_ok(tenon_tensor_fill(stream, &x, 1, NULL));
        for (int i = 0; i < 10; i++)
            assert_ok(add(stream, &x, &x, &x, NULL));
        assert_values(stream, &x, 1024);
        assert_ok(tenon_stream_finish(stream));
        tenon_stream_destroy(stream);
        tenon_memory_destroy(&x.memory);
    }
    tenon_context_release(context);
    assert_int_equal(atomic_load(&t.count), 0);
}
