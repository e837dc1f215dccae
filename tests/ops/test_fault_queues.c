/* Streams that follow their commands, where the driver or memory fails them: a call goes on where
 * it can, and what has failed is told as far as it can be known. */
#include "common/cl_faults.h"
#include "runtime.h"

#include <stdatomic.h>

/* What a context's callback was told last. */
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

/* A context with a stream that has run, so that nothing is left to be made, and a tensor. */
typedef struct setting {
    told told;
    tenon_context *context;
    tenon_stream *stream;
    tenon_tensor x;
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

static void begin(setting *s, bool unordered)
{
    tenon_context_params params = TENON_CONTEXT_PARAMS_INIT;
    memset(s, 0, sizeof *s);
    params.failure = tell;
    params.failure_user = &s->told;
    params.unchecked = 1;
    assert_ok(tenon_context_create(&params, &s->context));
    s->stream = make_stream(s->context, unordered);
    s->x = make_tensor(s->context, 100);
    assert_ok(tenon_tensor_fill(s->stream, &s->x, -3, NULL));
    assert_ok(relu(s->stream, &s->x, &s->x, NULL));
    assert_ok(tenon_stream_finish(s->stream));
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

/* A relu behind a gate; what it makes of the fault at hand is its result. */
static cl_event enqueue_behind_gate(setting *s, cl_event *gate)
{
    cl_int error;
    cl_event event = NULL;
    *gate = clCreateUserEvent(tenon_context_cl(s->context), &error);
    assert_int_equal(error, CL_SUCCESS);
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

/* A driver that takes no callback leaves it to the next call to find out. */
static void failures_are_found_without_the_drivers_callback(void **state)
{
    (void)state;
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

/* A state that cannot be had is asked for again. */
static void states_are_asked_for_again(void **state)
{
    setting s;
    cl_event gate;
    (void)state;
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

/* A command that fails for want of the device is told as that. */
static void lost_devices_are_told(void **state)
{
    const cl_int lost = CL_DEVICE_NOT_AVAILABLE;
    (void)state;
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

/* Where there is no memory to follow a command it runs all the same, unfollowed. */
static void commands_run_unfollowed_without_memory(void **state)
{
    (void)state;
    for (int unordered = 0; unordered < 2; unordered++) {
        setting s;
        cl_event gate;
        begin(&s, unordered);
        faults_fail_all("malloc", CL_OUT_OF_HOST_MEMORY);
        cl_event event = enqueue_behind_gate(&s, &gate);
        assert_true(faults_end() > 0);
        fail_gate(gate, event);
        assert_ok(tenon_stream_finish(s.stream));
        assert_int_equal(atomic_load(&s.told.count), 0);
        clReleaseEvent(event);
        end(&s);
    }
}

/* A stream that cannot have what it takes to follow its commands is not made. */
static void streams_need_memory_to_follow(void **state)
{
    static const char *const functions[] = {"calloc", "malloc"};
    setting s;
    (void)state;
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

/* A call whose waits cannot be joined with the stream's own does nothing, and the chain holds. */
static void the_chain_outlives_a_call_that_fails(void **state)
{
    setting s;
    cl_event gate, other;
    cl_int error;
    (void)state;
    begin(&s, true);
    cl_event event = enqueue_behind_gate(&s, &gate);
    other = clCreateUserEvent(tenon_context_cl(s.context), &error);
    assert_int_equal(error, CL_SUCCESS);
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

/* What the driver reports of a context is passed on, until that is gone. */
static void drivers_reports_are_told(void **state)
{
    setting s;
    (void)state;
    begin(&s, false);
    assert_true(faults_report("this device is on fire"));
    assert_int_equal(atomic_load(&s.told.count), 1);
    assert_int_equal(s.told.status, TENON_ERROR_OPENCL);
    assert_string_equal(s.told.message, "this device is on fire");
    assert_true(faults_report(NULL));
    assert_int_equal(atomic_load(&s.told.count), 2);
    assert_string_equal(s.told.message, "");
    assert_works(&s); /* a report is no failure of a call's */
    end(&s);
    assert_true(faults_report("too late"));
    assert_int_equal(atomic_load(&s.told.count), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(failures_are_found_without_the_drivers_callback),
        cmocka_unit_test(states_are_asked_for_again),
        cmocka_unit_test(lost_devices_are_told),
        cmocka_unit_test(commands_run_unfollowed_without_memory),
        cmocka_unit_test(streams_need_memory_to_follow),
        cmocka_unit_test(the_chain_outlives_a_call_that_fails),
        cmocka_unit_test(drivers_reports_are_told),
    };
    return TEST_MAIN(tests);
}
