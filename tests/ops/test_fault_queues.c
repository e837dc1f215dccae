/* Tests streams that track their commands while the driver or an allocation fails: either a command
 * is tracked or its call reports an error, and failures of commands are reported. */
#include "common/cl_faults.h"
#include "runtime.h"

#include <stdatomic.h>

/* The last failure that a context's callback received. */
typedef struct told {
    atomic_int count;
    uint32_t status;
    char message[512];
} told;

static void tell(void *user, const tenon_failure *failure)
{
    told *t = user;
    t->status = failure->status;
    snprintf(t->message, sizeof t->message, "%s", failure->message);
    atomic_fetch_add(&t->count, 1);
}

/* A context with a tensor and a stream that has run, so that all lazily created objects exist. */
typedef struct setting {
    told told;
    tenon_context *context;
    tenon_stream *stream;
    tenon_tensor x;
    void *mapped; /* set by call_map until the call has been undone */
} setting;

static tenon_stream *make_stream(tenon_context *context, bool unordered)
{
    tenon_stream *stream = NULL;
    cl_command_queue queue = test_queue(context, unordered);
    if (queue == NULL)
        skip();
    assert_ok(tenon_stream_create(context, queue, &stream));
    clReleaseCommandQueue(queue);
    return stream;
}

static void begin_with(setting *s, bool unordered, tenon_failure_callback failure)
{
    memset(s, 0, sizeof *s);
    s->context = test_context_with(.failure = failure, .failure_user = &s->told, .unchecked = 1);
    s->stream = make_stream(s->context, unordered);
    s->x = make_tensor(s->context, 100);
    assert_ok(tenon_tensor_fill(s->stream, &s->x, -3, NULL));
    assert_ok(relu(s->stream, &s->x, &s->x, NULL));
    assert_ok(tenon_stream_finish(s->stream));
}

static void begin(setting *s, bool unordered)
{
    begin_with(s, unordered, tell);
}

static void end(setting *s)
{
    tenon_stream_destroy(s->stream);
    tenon_memory_destroy(&s->x.memory);
    tenon_context_release(s->context);
}

static void assert_works(setting *s)
{
    float values[100];
    assert_ok(tenon_tensor_fill(s->stream, &s->x, 6, NULL));
    assert_ok(relu(s->stream, &s->x, &s->x, NULL));
    assert_ok(tenon_tensor_download(s->stream, &s->x, values, sizeof values, NULL));
    for (int i = 0; i < 100; i++)
        assert_true(values[i] == 6);
}

/* Enqueues a relu that waits for the event `gate`; returns its event. */
static cl_event enqueue_behind_gate(setting *s, cl_event *gate)
{
    cl_event event = NULL;
    *gate = test_gate(s->context);
    const tenon_sync sync = {.wait_list = gate, .wait_count = 1, .event = &event};
    assert_ok(relu(s->stream, &s->x, &s->x, &sync));
    return event;
}

static void fail_gate(cl_event gate, cl_event event)
{
    assert_int_equal(clSetUserEventStatus(gate, CL_OUT_OF_RESOURCES), CL_SUCCESS);
    clReleaseEvent(gate);
    clWaitForEvents(1, &event);
}

/* If the driver accepts no callback, the next call detects the failure. */
TEST(failures_are_found_without_the_drivers_callback)
{
    for (int unordered = 0; unordered < 2; unordered++) {
        setting s;
        cl_event gate;
        begin(&s, unordered);
        faults_fail_all("clSetEventCallback", CL_INVALID_OPERATION);
        cl_event event = enqueue_behind_gate(&s, &gate);
        assert_true(faults_end() > 0);
        fail_gate(gate, event);
        assert_int_equal(atomic_load(&s.told.count), 0);
        assert_int_equal(tenon_stream_finish(s.stream), TENON_ERROR_ASYNCHRONOUS);
        assert_true(atomic_load(&s.told.count) > 0);
        assert_int_equal(s.told.status, TENON_ERROR_ASYNCHRONOUS);
        clReleaseEvent(event);
        assert_works(&s);
        end(&s);
    }
}

/* A status query that failed is repeated. */
TEST(states_are_asked_for_again)
{
    setting s;
    cl_event gate;
    begin(&s, false);
    faults_fail_all("clSetEventCallback", CL_INVALID_OPERATION);
    cl_event event = enqueue_behind_gate(&s, &gate);
    faults_end();
    fail_gate(gate, event);
    faults_fail_all("clGetEventInfo", CL_OUT_OF_HOST_MEMORY);
    assert_ok(tenon_stream_flush(s.stream));
    assert_true(faults_end() > 0);
    assert_int_equal(atomic_load(&s.told.count), 0);
    assert_int_equal(tenon_stream_flush(s.stream), TENON_ERROR_ASYNCHRONOUS);
    clReleaseEvent(event);
    assert_works(&s);
    end(&s);
}

/* A command that fails because the device is lost is reported as such. */
TEST(lost_devices_are_told)
{
    const cl_int lost = CL_DEVICE_NOT_AVAILABLE;
    for (int unordered = 0; unordered < 2; unordered++) {
        setting s;
        begin(&s, unordered);
        assert_ok(relu(s.stream, &s.x, &s.x, NULL));
        faults_answer_query("clGetEventInfo", CL_EVENT_COMMAND_EXECUTION_STATUS, &lost,
                            sizeof lost);
        const tenon_status status = tenon_stream_flush(s.stream);
        assert_true(faults_end() > 0);
        assert_int_equal(status, TENON_ERROR_DEVICE_LOST);
        assert_int_equal(tenon_last_cl_error(), lost);
        assert_contains(tenon_last_error(), "CL_DEVICE_NOT_AVAILABLE");
        assert_true(atomic_load(&s.told.count) > 0);
        assert_int_equal(s.told.status, TENON_ERROR_DEVICE_LOST);
        assert_contains(s.told.message, "tenon_activation_forward");
        end(&s);
    }
}

typedef tenon_status (*enqueuing_call)(setting *s, const tenon_sync *sync);

static tenon_status call_fill(setting *s, const tenon_sync *sync)
{
    return tenon_tensor_fill(s->stream, &s->x, 6, sync);
}

static tenon_status call_relu(setting *s, const tenon_sync *sync)
{
    return relu(s->stream, &s->x, &s->x, sync);
}

static tenon_status call_relu_of_nothing(setting *s, const tenon_sync *sync)
{
    tenon_tensor empty = s->x;
    empty.shape[0] = 0;
    return relu(s->stream, &empty, &empty, sync);
}

static tenon_status upload(setting *s, int64_t stride, bool is_async, const tenon_sync *sync)
{
    static const float values[100];
    tenon_tensor view = s->x;
    view.stride[0] = stride;
    view.shape[0] /= stride;
    const size_t size = (size_t)view.shape[0] * sizeof *values;
    return (is_async ? tenon_tensor_upload_async : tenon_tensor_upload)(s->stream, values, size,
                                                                        &view, sync);
}

static tenon_status call_upload(setting *s, const tenon_sync *sync)
{
    return upload(s, 1, false, sync);
}

static tenon_status call_upload_async(setting *s, const tenon_sync *sync)
{
    return upload(s, 1, true, sync);
}

static tenon_status call_upload_mapped(setting *s, const tenon_sync *sync)
{
    return upload(s, 2, false, sync);
}

static tenon_status call_upload_strided_async(setting *s, const tenon_sync *sync)
{
    return upload(s, 2, true, sync);
}

static tenon_status call_download(setting *s, const tenon_sync *sync)
{
    float values[100];
    return tenon_tensor_download(s->stream, &s->x, values, sizeof values, sync);
}

static tenon_status call_map(setting *s, const tenon_sync *sync)
{
    const tenon_status status =
        tenon_tensor_map(s->stream, &s->x, TENON_MAP_READ, &s->mapped, sync);
    assert_int_equal(s->mapped != NULL, status == TENON_OK);
    return status;
}

static const enqueuing_call calls[] = {
    call_fill,         call_relu,          call_relu_of_nothing,      call_upload,
    call_upload_async, call_upload_mapped, call_upload_strided_async, call_download,
    call_map};
#define CALLS (sizeof calls / sizeof *calls)

static void run_all_calls(setting *s)
{
    for (size_t i = 0; i < CALLS; i++)
        assert_ok(calls[i](s, NULL));
    assert_ok(tenon_tensor_unmap(s->stream, &s->x, s->mapped, NULL));
    s->mapped = NULL;
}

/* Makes the nth call of `function` fail during the call; returns false if there are fewer calls. */
static bool fails_at(setting *s, enqueuing_call call, const char *function, cl_int error,
                     unsigned nth, bool wants_event, tenon_status *status)
{
    cl_event event = NULL;
    const tenon_sync sync = {.event = wants_event ? &event : NULL};
    faults_fail_next(function, error, nth);
    *status = call(s, &sync);
    const bool is_hit = faults_end() > 0;
    assert_true(event == NULL || *status == TENON_OK);
    assert_int_equal(event != NULL, wants_event && *status == TENON_OK);
    if (event != NULL)
        clReleaseEvent(event);
    if (s->mapped != NULL)
        assert_ok(tenon_tensor_unmap(s->stream, &s->x, s->mapped, NULL));
    s->mapped = NULL;
    return is_hit;
}

/* Fails each clRetainEvent of a call; returns their number. */
static unsigned deny_references(setting *s, enqueuing_call call, bool wants_event)
{
    tenon_status status;
    unsigned nth = 1;
    for (; fails_at(s, call, "clRetainEvent", CL_OUT_OF_RESOURCES, nth, wants_event, &status);
         nth++) {
        assert_int_equal(status, TENON_ERROR_INCOMPLETE);
        assert_int_equal(tenon_last_cl_error(), CL_OUT_OF_RESOURCES);
        assert_contains(tenon_last_error(), "clRetainEvent");
        assert_works(s);
    }
    assert_ok(status);
    return nth - 1;
}

/* If the driver refuses to retain an event, the call reports it, and a released event is never
 * used. */
TEST(references_that_the_driver_denies_are_told)
{
    for (int i = 0; i < 4; i++) {
        const bool unordered = i & 1, watched = i & 2;
        setting s;
        begin_with(&s, unordered, watched ? tell : NULL);
        run_all_calls(&s);
        for (size_t c = 0; c < CALLS; c++) {
            const unsigned with = deny_references(&s, calls[c], true);
            const unsigned without = deny_references(&s, calls[c], false);
            /* The event is shared by the stream's dependency chain or report, the failure watch and
             * the caller. */
            assert_true(with >= (unordered && watched ? 2 : 1));
            assert_true(without < with);
        }
        assert_works(&s);
        assert_int_equal(atomic_load(&s.told.count), 0);
        end(&s);
    }
}

/* A command is not enqueued without memory to track it. */
TEST(commands_without_memory_to_follow_them_are_not_enqueued)
{
    for (int unordered = 0; unordered < 2; unordered++) {
        setting s;
        begin(&s, unordered);
        run_all_calls(&s);
        for (size_t c = 0; c < CALLS; c++) {
            tenon_status status;
            unsigned nth = 1;
            for (; fails_at(&s, calls[c], "malloc", CL_OUT_OF_HOST_MEMORY, nth, true, &status);
                 nth++) {
                assert_true(status == TENON_ERROR_OUT_OF_MEMORY ||
                            (nth > 1 && status == TENON_ERROR_INCOMPLETE));
                assert_works(&s);
            }
            assert_ok(status);
            assert_true(nth > 1);
        }
        end(&s);
    }
}

TEST(what_is_enqueued_without_memory_is_followed_too)
{
    for (int unordered = 0; unordered < 2; unordered++) {
        setting s;
        cl_event gate;
        begin(&s, unordered);
        faults_fail_next("malloc", CL_OUT_OF_HOST_MEMORY, 1);
        assert_int_equal(call_relu(&s, NULL), TENON_ERROR_OUT_OF_MEMORY);
        assert_int_equal(faults_end(), 1);
        assert_contains(tenon_last_error(), "no memory to track");
        cl_event event = enqueue_behind_gate(&s, &gate);
        fail_gate(gate, event);
        assert_int_equal(tenon_stream_finish(s.stream), TENON_ERROR_ASYNCHRONOUS);
        assert_true(atomic_load(&s.told.count) > 0);
        clReleaseEvent(event);
        end(&s);
    }
}

/* A stream is not created without memory to track its commands. */
TEST(streams_need_memory_to_follow)
{
    static const char *const functions[] = {"calloc", "malloc"};
    setting s;
    begin(&s, false);
    for (int i = 0; i < 2; i++)
        for (unsigned nth = 1; nth < 20; nth++) {
            tenon_stream *stream = NULL;
            faults_fail_next(functions[i], CL_OUT_OF_HOST_MEMORY, nth);
            const tenon_status status = tenon_stream_create(s.context, NULL, &stream);
            const unsigned hits = faults_end();
            assert_int_equal(status, hits > 0 ? TENON_ERROR_OUT_OF_MEMORY : TENON_OK);
            assert_int_equal(stream == NULL, hits > 0);
            tenon_stream_destroy(stream);
            assert_true(nth > 1 || hits == 1);
            if (hits == 0)
                break;
        }
    assert_works(&s);
    end(&s);
}

/* A call whose wait list cannot be combined with the stream's own does nothing, and the stream's
 * order is kept. */
TEST(the_chain_outlives_a_call_that_fails)
{
    setting s;
    cl_event gate, other;
    begin(&s, true);
    cl_event event = enqueue_behind_gate(&s, &gate);
    other = test_gate(s.context);
    const tenon_sync sync = {.wait_list = &other, .wait_count = 1};
    faults_fail_next("clEnqueueMarkerWithWaitList", CL_OUT_OF_HOST_MEMORY, 1);
    assert_int_equal(relu(s.stream, &s.x, &s.x, &sync), TENON_ERROR_OUT_OF_MEMORY);
    assert_int_equal(faults_end(), 1);
    faults_fail_next("clEnqueueNDRangeKernel", CL_OUT_OF_HOST_MEMORY, 1);
    assert_int_equal(relu(s.stream, &s.x, &s.x, &sync), TENON_ERROR_OUT_OF_MEMORY);
    assert_int_equal(faults_end(), 1);
    assert_int_equal(clSetUserEventStatus(other, CL_COMPLETE), CL_SUCCESS);
    assert_int_equal(clSetUserEventStatus(gate, CL_COMPLETE), CL_SUCCESS);
    assert_works(&s);
    clReleaseEvent(other);
    clReleaseEvent(gate);
    clReleaseEvent(event);
    end(&s);
    assert_int_equal(atomic_load(&s.told.count), 0);
}

/* Errors that the driver reports for a context are passed on until the context is released. */
TEST(drivers_reports_are_told)
{
    setting s;
    begin(&s, false);
    assert_true(faults_report("this device is on fire"));
    assert_int_equal(atomic_load(&s.told.count), 1);
    assert_int_equal(s.told.status, TENON_ERROR_OPENCL);
    assert_string_equal(s.told.message, "this device is on fire");
    assert_true(faults_report(NULL));
    assert_int_equal(atomic_load(&s.told.count), 2);
    assert_string_equal(s.told.message, "");
    assert_works(&s); /* a report fails no call */
    end(&s);
    assert_true(faults_report("too late"));
    assert_int_equal(atomic_load(&s.told.count), 2);
}
