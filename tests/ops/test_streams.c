/* Tests contexts, streams, events and the trace. */
#include "runtime.h"

#include <time.h>

TEST(contexts_refuse_wrong_parameters)
{
    tenon_context *context;
    assert_invalid(tenon_context_create(NULL, NULL), "out");
    tenon_context_params params = tenon_context_params(.struct_size = 3);
    assert_invalid(tenon_context_create(&params, &context), "struct_size");
    params = (tenon_context_params)TENON_CONTEXT_PARAMS_INIT;
    params.log_level = 9;
    assert_invalid(tenon_context_create(&params, &context), "log_level");
    params = (tenon_context_params)TENON_CONTEXT_PARAMS_INIT;
    params.profiling = 2;
    assert_invalid(tenon_context_create(&params, &context), "profiling");
    params = (tenon_context_params)TENON_CONTEXT_PARAMS_INIT;
    params.unchecked = 2;
    assert_invalid(tenon_context_create(&params, &context), "unchecked is 2");
    params = (tenon_context_params)TENON_CONTEXT_PARAMS_INIT;
    params.reserved = 8;
    assert_invalid(tenon_context_create(&params, &context), "reserved is 8");
    params = (tenon_context_params)TENON_CONTEXT_PARAMS_INIT;
    params.measurements = 8;
    assert_invalid(tenon_context_create(&params, &context), "measurements is 8");
    tenon_device_info info = TENON_DEVICE_INFO_INIT;
    assert_ok(tenon_context_device(test_context, &info));
    assert_invalid(tenon_context_import(NULL, info.device, NULL, &context), "cl");
    assert_invalid(tenon_context_import(tenon_context_cl(test_context), NULL, NULL, &context),
                   "device");
    assert_null(context);
    assert_invalid(tenon_context_device(NULL, &info), "context");
    assert_null(tenon_context_cl(NULL));
    tenon_context_retain(NULL);
    tenon_context_release(NULL);
}

static cl_uint references_of(cl_context cl)
{
    cl_uint count = 0;
    assert_int_equal(clGetContextInfo(cl, CL_CONTEXT_REFERENCE_COUNT, sizeof count, &count, NULL),
                     CL_SUCCESS);
    return count;
}

/* In whatever order objects are released, the reference count of the application's context is
 * restored. */
TEST(release_in_any_order)
{
    cl_context cl = tenon_context_cl(test_context);
    cl_uint before = references_of(cl);
    tenon_device_info info = TENON_DEVICE_INFO_INIT;
    assert_ok(tenon_context_device(test_context, &info));
    for (int order = 0; order < 6; order++) {
        tenon_context *context;
        tenon_plan *plan;
        tenon_activation_params params = TENON_ACTIVATION_PARAMS_INIT;
        assert_ok(tenon_context_import(cl, info.device, NULL, &context));
        assert_ptr_equal(tenon_context_cl(context), cl);
        tenon_tensor x = make_tensor(context, 100);
        tenon_stream *stream = test_new_stream(context);
        assert_ptr_equal(tenon_stream_context(stream), context);
        assert_ok(tenon_activation_forward_plan(context, &params, &x, &x, &plan));
        const tenon_memory memories[] = {x.memory, x.memory};
        assert_ok(tenon_plan_run(stream, plan, memories, 2, NULL));
        assert_ok(tenon_stream_finish(stream));
        for (int i = 0; i < 3; i++)
            switch ((order + i * (order < 3 ? 1 : 2)) % 3) {
            case 0:
                tenon_context_release(context);
                break;
            case 1:
                tenon_stream_destroy(stream);
                break;
            default:
                tenon_plan_release(plan);
            }
        tenon_memory_destroy(&x.memory);
    }
    /* PoCL releases a finished command some time after clFinish has returned. */
    const struct timespec moment = {.tv_nsec = 1000000};
    for (int i = 0; i < TEST_LOOKS && references_of(cl) != before; i++)
        nanosleep(&moment, NULL);
    assert_int_equal(references_of(cl), before);
}

TEST(queues_are_imported)
{
    cl_command_queue queue = test_queue(test_context, false);
    tenon_stream *stream;
    if (queue == NULL)
        skip();
    assert_ok(tenon_stream_create(test_context, queue, &stream));
    assert_ptr_equal(tenon_stream_cl(stream), queue);
    assert_ok(tenon_stream_flush(stream));
    tenon_stream_destroy(stream);
    assert_int_equal(clFinish(queue), CL_SUCCESS);
    clReleaseCommandQueue(queue);
    tenon_stream_destroy(NULL);
    assert_null(tenon_stream_cl(NULL));
    assert_null(tenon_stream_context(NULL));
}

TEST(wrong_queues_are_refused)
{
    tenon_stream *stream = test_stream;
    tenon_context *other = test_new_context(NULL);
    cl_command_queue queue = test_queue(other, false);
    if (queue != NULL) {
        assert_invalid(tenon_stream_create(test_context, queue, &stream), "queue");
        clReleaseCommandQueue(queue);
    }
    tenon_context_release(other);
    assert_invalid(tenon_stream_create(NULL, NULL, &stream), "context");
    assert_invalid(tenon_stream_create(test_context, NULL, NULL), "out");
    assert_invalid(tenon_stream_finish(NULL), "stream");
    assert_invalid(tenon_stream_flush(NULL), "stream");
}

static cl_int status_of(cl_event event)
{
    cl_int status = CL_QUEUED;
    assert_int_equal(
        clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL),
        CL_SUCCESS);
    return status;
}

/* Checks that a call with a user event in its wait list does not complete before the event. */
static void check_wait(int64_t size, tenon_status (*call)(const tenon_tensor *, const tenon_sync *))
{
    cl_event gate = test_gate(test_context), done = NULL;
    tenon_tensor x = make_tensor(test_context, size);
    const tenon_sync sync = {.wait_list = &gate, .wait_count = 1, .event = &done};
    assert_ok(call(&x, &sync));
    assert_non_null(done);
    assert_int_not_equal(status_of(done), CL_COMPLETE);
    assert_int_equal(clSetUserEventStatus(gate, CL_COMPLETE), CL_SUCCESS);
    assert_int_equal(clWaitForEvents(1, &done), CL_SUCCESS);
    assert_int_equal(status_of(done), CL_COMPLETE);
    clReleaseEvent(done);
    clReleaseEvent(gate);
    tenon_memory_destroy(&x.memory);
}

static tenon_status call_relu(const tenon_tensor *x, const tenon_sync *sync)
{
    return relu(test_stream, x, x, sync);
}

static tenon_status call_fill(const tenon_tensor *x, const tenon_sync *sync)
{
    return tenon_tensor_fill(test_stream, x, 1, sync);
}

static tenon_status call_fill_strided(const tenon_tensor *x, const tenon_sync *sync)
{
    tenon_tensor strided = *x;
    strided.shape[0] /= 2;
    strided.stride[0] = 2;
    return tenon_tensor_fill(test_stream, &strided, 1, sync);
}

TEST(work_waits_and_signals)
{
    check_wait(1000, call_relu);
    check_wait(1000, call_fill);
    check_wait(1000, call_fill_strided);
}

TEST(empty_work_waits_and_signals)
{
    check_wait(0, call_relu);
    check_wait(0, call_fill);
}

/* Work after tenon_stream_wait begins when the other stream's earlier work is done. */
TEST(streams_wait_for_each_other)
{
    cl_event gate = test_gate(test_context), done = NULL;
    tenon_stream *other = test_new_stream(test_context);
    tenon_tensor x = make_tensor(test_context, 1000);
    const tenon_sync held = {.wait_list = &gate, .wait_count = 1}, signals = {.event = &done};
    float first;
    assert_ok(tenon_tensor_fill(other, &x, 3, &held));
    assert_ok(tenon_stream_wait(test_stream, other));
    assert_ok(relu(test_stream, &x, &x, &signals));
    assert_int_not_equal(status_of(done), CL_COMPLETE);
    assert_int_equal(clSetUserEventStatus(gate, CL_COMPLETE), CL_SUCCESS);
    x.shape[0] = 1;
    assert_ok(tenon_tensor_download(test_stream, &x, &first, sizeof first, NULL));
    assert_float_equal(first, 3, 0);
    clReleaseEvent(done);
    clReleaseEvent(gate);
    assert_ok(tenon_stream_wait(other, other));
    tenon_context *apart = test_new_context(NULL);
    tenon_stream *foreign = test_new_stream(apart);
    assert_invalid(tenon_stream_wait(test_stream, foreign), "another OpenCL context");
    assert_invalid(tenon_stream_wait(test_stream, NULL), "other");
    assert_invalid(tenon_stream_wait(NULL, other), "stream");
    tenon_stream_destroy(foreign);
    tenon_context_release(apart);
    tenon_stream_destroy(other);
    tenon_memory_destroy(&x.memory);
}

TEST(transfers_give_events)
{
    float data[4] = {1, 2, 3, 4};
    cl_event event = NULL;
    const tenon_sync sync = {.event = &event};
    tenon_tensor x = make_tensor(test_context, 4), none = make_tensor(test_context, 0);
    for (int i = 0; i < 4; i++) {
        event = NULL;
        if (i == 0)
            assert_ok(tenon_tensor_upload(test_stream, data, sizeof data, &x, &sync));
        else if (i == 1)
            assert_ok(tenon_tensor_download(test_stream, &x, data, sizeof data, &sync));
        else if (i == 2)
            assert_ok(tenon_tensor_upload(test_stream, NULL, 0, &none, &sync));
        else
            assert_ok(tenon_tensor_download(test_stream, &none, NULL, 0, &sync));
        assert_non_null(event);
        assert_int_equal(clWaitForEvents(1, &event), CL_SUCCESS);
        clReleaseEvent(event);
    }
    tenon_memory_destroy(&x.memory);
}

typedef struct traced {
    int launches;
    char solver[128], kernel[64];
    bool sound;
} traced;

static void trace(void *user, const tenon_trace_record *record)
{
    traced *t = user;
    t->launches++;
    t->sound = record->event != NULL && record->dimensions >= 1 && record->dimensions <= 3 &&
               record->global[0] > 0;
    snprintf(t->solver, sizeof t->solver, "%s", record->solver);
    snprintf(t->kernel, sizeof t->kernel, "%s", record->kernel);
}

TEST(launches_are_traced)
{
    traced t = {0};
    tenon_tensor x = make_tensor(test_context, 1000);
    assert_ok(relu(test_stream, &x, &x, NULL));
    assert_ok(tenon_stream_set_trace(test_stream, trace, &t));
    assert_ok(relu(test_stream, &x, &x, NULL));
    assert_int_equal(t.launches, 1);
    assert_true(t.sound);
    assert_int_equal(strncmp(t.solver, "activation/", 11), 0);
    assert_true(t.kernel[0] != '\0');
    assert_ok(tenon_stream_set_trace(test_stream, NULL, NULL));
    assert_ok(relu(test_stream, &x, &x, NULL));
    assert_int_equal(t.launches, 1);
    assert_invalid(tenon_stream_set_trace(NULL, trace, &t), "stream");
    tenon_memory_destroy(&x.memory);
}
