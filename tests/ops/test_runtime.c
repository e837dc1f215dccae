/*
 * What lies below the operations: devices and selectors, contexts, streams, events, memory,
 * transfers, workspace, plans, threads, builds, barring, the log.
 */
#include "support.h"

#include "runtime/launch.h"

#include <pthread.h>

static tenon_tensor make_tensor(tenon_context *context, int64_t size)
{
    tenon_tensor tensor;
    const int64_t shape[] = {size};
    assert_ok(tenon_tensor_create(context, TENON_DTYPE_F32, 1, shape, &tensor));
    return tensor;
}

static tenon_status relu(tenon_stream *stream, const tenon_tensor *x, const tenon_tensor *y,
                         const tenon_sync *sync)
{
    tenon_activation_params params = TENON_ACTIVATION_PARAMS_INIT;
    params.activation.kind = TENON_ACTIVATION_RELU;
    return tenon_activation_forward(stream, &params, x, y, sync);
}

/* ---- devices ---- */

static void devices_are_listed(void **state)
{
    uint32_t count = 0, again = 0;
    (void)state;
    assert_ok(tenon_device_list(NULL, 0, &count));
    assert_true(count > 0);
    tenon_device_info *infos = calloc(count, sizeof *infos);
    assert_non_null(infos);
    assert_ok(tenon_device_list(infos, count, &again));
    assert_int_equal(again, count);
    for (uint32_t i = 0; i < count; i++) {
        assert_true(infos[i].platform_name[0] != '\0');
        if (infos[i].device == NULL) {
            assert_true(infos[i].note[0] != '\0');
            continue;
        }
        assert_true(infos[i].compute_units > 0 && infos[i].max_allocation > 0);
        assert_true(infos[i].vector_width_f32 > 0);
        tenon_device_info same;
        assert_ok(tenon_device_select(infos[i].selector, &same));
        assert_ptr_equal(same.device, infos[i].device);
    }
    free(infos);
    assert_refused(tenon_device_list(NULL, 0, NULL), TENON_ERROR_INVALID_ARGUMENT,
                   "tenon_device_list", "count");
    assert_refused(tenon_device_list(NULL, 1, &count), TENON_ERROR_INVALID_ARGUMENT,
                   "tenon_device_list", "infos");
}

static void selectors(void **state)
{
    tenon_device_info mine, info;
    char fragment[16];
    (void)state;
    assert_ok(tenon_context_device(test_context, &mine));
    assert_ok(tenon_device_select(mine.selector, &info));
    assert_ptr_equal(info.device, mine.device);
    assert_ok(tenon_device_select(NULL, &info));
    assert_ptr_equal(info.device, mine.device);
    assert_ok(tenon_device_select("", &info));
    assert_ptr_equal(info.device, mine.device);
    const char *type = (mine.type & CL_DEVICE_TYPE_CPU) != 0 ? "CPU" : "Gpu";
    assert_ok(tenon_device_select(type, &info));
    assert_true((info.type & mine.type) != 0);
    /* A piece of its name in another case finds this device or one of a like name before it. */
    snprintf(fragment, sizeof fragment, "%.8s", mine.platform_name);
    for (char *c = fragment; *c != '\0'; c++)
        *c ^= (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ? 0x20 : 0;
    assert_ok(tenon_device_select(fragment, &info));
    assert_refused(tenon_device_select("gpu", NULL), TENON_ERROR_INVALID_ARGUMENT,
                   "tenon_device_select", "info");
}

static void no_match_lists_what_there_is(void **state)
{
    static const char *const none[] = {"no such device", "accelerator", "99:0", "0:99", ":", "0:"};
    tenon_device_info mine, info;
    (void)state;
    assert_ok(tenon_context_device(test_context, &mine));
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        if (i == 1 && tenon_device_select("accelerator", &info) == TENON_OK)
            continue;
        assert_refused(tenon_device_select(none[i], &info), TENON_ERROR_DEVICE_NOT_FOUND,
                       "tenon_device_select", none[i]);
        assert_contains(tenon_last_error(), mine.name);
        assert_contains(tenon_last_error(), mine.selector);
    }
    tenon_context_params params = TENON_CONTEXT_PARAMS_INIT;
    tenon_context *context = test_context;
    params.device = "no such device";
    assert_int_equal(tenon_context_create(&params, &context), TENON_ERROR_DEVICE_NOT_FOUND);
    assert_null(context);
}

static void capabilities_have_reasons(void **state)
{
    uint32_t available = 7;
    char reason[256], cut[5];
    (void)state;
    for (int c = 0; c < TENON_CAPABILITY_COUNT; c++) {
        assert_non_null(tenon_capability_string((tenon_capability)c));
        assert_ok(tenon_context_capability(test_context, (tenon_capability)c, &available, reason,
                                           sizeof reason));
        assert_true(available <= 1 && reason[0] != '\0');
    }
    assert_ok(
        tenon_context_capability(test_context, TENON_CAPABILITY_F64, &available, cut, sizeof cut));
    assert_true(strlen(cut) < sizeof cut);
    assert_null(tenon_capability_string(TENON_CAPABILITY_COUNT));
    static const char operation[] = "tenon_context_capability";
    assert_refused(
        tenon_context_capability(test_context, TENON_CAPABILITY_COUNT, &available, NULL, 0),
        TENON_ERROR_INVALID_ARGUMENT, operation, "capability");
    assert_refused(tenon_context_capability(NULL, TENON_CAPABILITY_F64, &available, NULL, 0),
                   TENON_ERROR_INVALID_ARGUMENT, operation, "context");
    assert_refused(tenon_context_capability(test_context, TENON_CAPABILITY_F64, NULL, NULL, 0),
                   TENON_ERROR_INVALID_ARGUMENT, operation, "available");
    assert_refused(
        tenon_context_capability(test_context, TENON_CAPABILITY_F64, &available, NULL, 3),
        TENON_ERROR_INVALID_ARGUMENT, operation, "reason");
}

/* ---- contexts and streams ---- */

static void contexts_refuse_wrong_parameters(void **state)
{
    static const char operation[] = "tenon_context_create";
    tenon_context_params params = TENON_CONTEXT_PARAMS_INIT;
    tenon_context *context;
    (void)state;
    assert_refused(tenon_context_create(NULL, NULL), TENON_ERROR_INVALID_ARGUMENT, operation,
                   "out");
    params.struct_size = 3;
    assert_refused(tenon_context_create(&params, &context), TENON_ERROR_INVALID_ARGUMENT, operation,
                   "struct_size");
    params = tenon_context_params_default();
    params.log_level = 9;
    assert_refused(tenon_context_create(&params, &context), TENON_ERROR_INVALID_ARGUMENT, operation,
                   "log_level");
    params = tenon_context_params_default();
    params.profiling = 2;
    assert_refused(tenon_context_create(&params, &context), TENON_ERROR_INVALID_ARGUMENT, operation,
                   "profiling");
    tenon_device_info info;
    assert_ok(tenon_context_device(test_context, &info));
    assert_refused(tenon_context_import(NULL, info.device, NULL, &context),
                   TENON_ERROR_INVALID_ARGUMENT, "tenon_context_import", "cl");
    assert_refused(tenon_context_import(tenon_context_cl(test_context), NULL, NULL, &context),
                   TENON_ERROR_INVALID_ARGUMENT, "tenon_context_import", "device");
    assert_null(context);
    assert_refused(tenon_context_device(NULL, &info), TENON_ERROR_INVALID_ARGUMENT,
                   "tenon_context_device", "context");
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

/* In whatever order they are given back, the application's context is left as it was. */
static void release_in_any_order(void **state)
{
    cl_context cl = tenon_context_cl(test_context);
    cl_uint before = references_of(cl);
    tenon_device_info info;
    (void)state;
    assert_ok(tenon_context_device(test_context, &info));
    for (int order = 0; order < 6; order++) {
        tenon_context *context;
        tenon_stream *stream;
        tenon_plan *plan;
        tenon_activation_params params = TENON_ACTIVATION_PARAMS_INIT;
        assert_ok(tenon_context_import(cl, info.device, NULL, &context));
        assert_ptr_equal(tenon_context_cl(context), cl);
        tenon_tensor x = make_tensor(context, 100);
        assert_ok(tenon_stream_create(context, NULL, &stream));
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
    assert_int_equal(references_of(cl), before);
}

static cl_command_queue make_queue(cl_context cl, cl_command_queue_properties properties)
{
    tenon_device_info info;
    cl_int error;
    assert_ok(tenon_context_device(test_context, &info));
    const cl_queue_properties list[] = {CL_QUEUE_PROPERTIES, properties, 0};
    cl_command_queue queue = clCreateCommandQueueWithProperties(cl, info.device, list, &error);
    return error == CL_SUCCESS ? queue : NULL;
}

static void queues_are_imported(void **state)
{
    cl_command_queue queue = make_queue(tenon_context_cl(test_context), 0);
    tenon_stream *stream;
    (void)state;
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

static void wrong_queues_are_refused(void **state)
{
    static const char operation[] = "tenon_stream_create";
    tenon_context *other;
    tenon_stream *stream = test_stream;
    (void)state;
    cl_command_queue queue =
        make_queue(tenon_context_cl(test_context), CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    if (queue != NULL) {
        assert_refused(tenon_stream_create(test_context, queue, &stream),
                       TENON_ERROR_INVALID_ARGUMENT, operation, "out of order");
        assert_null(stream);
        clReleaseCommandQueue(queue);
    }
    assert_ok(tenon_context_create(NULL, &other));
    queue = make_queue(tenon_context_cl(other), 0);
    if (queue != NULL) {
        assert_refused(tenon_stream_create(test_context, queue, &stream),
                       TENON_ERROR_INVALID_ARGUMENT, operation, "queue");
        clReleaseCommandQueue(queue);
    }
    tenon_context_release(other);
    assert_refused(tenon_stream_create(NULL, NULL, &stream), TENON_ERROR_INVALID_ARGUMENT,
                   operation, "context");
    assert_refused(tenon_stream_create(test_context, NULL, NULL), TENON_ERROR_INVALID_ARGUMENT,
                   operation, "out");
    assert_refused(tenon_stream_finish(NULL), TENON_ERROR_INVALID_ARGUMENT, "tenon_stream_finish",
                   "stream");
    assert_refused(tenon_stream_flush(NULL), TENON_ERROR_INVALID_ARGUMENT, "tenon_stream_flush",
                   "stream");
}

/* ---- events ---- */

static cl_int status_of(cl_event event)
{
    cl_int status = CL_QUEUED;
    assert_int_equal(
        clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL),
        CL_SUCCESS);
    return status;
}

/* Waits for a user event: what follows must not have run before it is set. */
static void check_wait(int64_t size, tenon_status (*call)(const tenon_tensor *, const tenon_sync *))
{
    cl_int error;
    cl_event gate = clCreateUserEvent(tenon_context_cl(test_context), &error), done = NULL;
    assert_int_equal(error, CL_SUCCESS);
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

static void work_waits_and_signals(void **state)
{
    (void)state;
    check_wait(1000, call_relu);
    check_wait(1000, call_fill);
    check_wait(1000, call_fill_strided);
}

static void empty_work_waits_and_signals(void **state)
{
    (void)state;
    check_wait(0, call_relu);
    check_wait(0, call_fill);
}

static void transfers_give_events(void **state)
{
    float data[4] = {1, 2, 3, 4};
    cl_event event = NULL;
    const tenon_sync sync = {.event = &event};
    tenon_tensor x = make_tensor(test_context, 4), none = make_tensor(test_context, 0);
    (void)state;
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

/* ---- memory and transfers ---- */

static void memory_of_wrong_sizes(void **state)
{
    tenon_device_info info;
    tenon_memory memory = {.kind = 7};
    tenon_tensor tensor;
    char largest[32];
    const int64_t huge[] = {INT64_MAX / 16}, negative[] = {-1};
    (void)state;
    assert_ok(tenon_context_device(test_context, &info));
    snprintf(largest, sizeof largest, "%llu", (unsigned long long)info.max_allocation);
    assert_refused(tenon_memory_create(test_context, info.max_allocation + 1, &memory),
                   TENON_ERROR_OUT_OF_MEMORY, "tenon_memory_create", largest);
    assert_refused(tenon_memory_create(test_context, UINT64_MAX, &memory),
                   TENON_ERROR_OUT_OF_MEMORY, "tenon_memory_create", largest);
    assert_int_equal(memory.kind, 7);
    assert_int_equal(tenon_tensor_create(test_context, TENON_DTYPE_F32, 1, huge, &tensor),
                     TENON_ERROR_OUT_OF_MEMORY);
    assert_refused(tenon_tensor_create(test_context, TENON_DTYPE_F32, 1, negative, &tensor),
                   TENON_ERROR_INVALID_ARGUMENT, "tenon_tensor_create", "");
    assert_refused(tenon_tensor_create(test_context, TENON_DTYPE_INVALID, 1, huge, &tensor),
                   TENON_ERROR_INVALID_ARGUMENT, "tenon_tensor_create", "dtype");
    assert_refused(tenon_memory_create(NULL, 4, &memory), TENON_ERROR_INVALID_ARGUMENT,
                   "tenon_memory_create", "context");
    assert_refused(tenon_memory_create(test_context, 4, NULL), TENON_ERROR_INVALID_ARGUMENT,
                   "tenon_memory_create", "memory");
    assert_ok(tenon_memory_create(test_context, 0, &memory));
    assert_int_equal(memory.kind, TENON_MEMORY_NONE);
    tenon_memory_destroy(&memory);
    tenon_memory_destroy(NULL);
}

static void transfers_of_wrong_sizes(void **state)
{
    float data[4] = {0};
    void *pointer = data;
    tenon_tensor x = make_tensor(test_context, 4), repeated = x;
    (void)state;
    repeated.stride[0] = 0;
    assert_refused(tenon_tensor_upload(test_stream, data, 12, &x, NULL),
                   TENON_ERROR_INVALID_ARGUMENT, "tenon_tensor_upload", "12");
    assert_refused(tenon_tensor_download(test_stream, &x, data, 20, NULL),
                   TENON_ERROR_INVALID_ARGUMENT, "tenon_tensor_download", "20");
    assert_refused(tenon_tensor_upload(test_stream, NULL, 16, &x, NULL),
                   TENON_ERROR_INVALID_ARGUMENT, "tenon_tensor_upload", "data");
    assert_refused(tenon_tensor_upload(test_stream, data, 16, &repeated, NULL),
                   TENON_ERROR_INVALID_ARGUMENT, "tenon_tensor_upload", "tensor");
    assert_refused(tenon_tensor_fill(test_stream, &repeated, 1, NULL), TENON_ERROR_INVALID_ARGUMENT,
                   "tenon_tensor_fill", "tensor");
    assert_refused(tenon_tensor_fill(NULL, &x, 1, NULL), TENON_ERROR_INVALID_ARGUMENT,
                   "tenon_tensor_fill", "stream");
    for (uint32_t flags = 0; flags < 10; flags++) {
        bool sound = (flags >= 1 && flags <= 3) || flags == 6;
        if (!sound)
            assert_refused(tenon_tensor_map(test_stream, &x, flags, &pointer, NULL),
                           TENON_ERROR_INVALID_ARGUMENT, "tenon_tensor_map", "flags");
    }
    assert_refused(tenon_tensor_map(test_stream, &x, TENON_MAP_READ, NULL, NULL),
                   TENON_ERROR_INVALID_ARGUMENT, "tenon_tensor_map", "pointer");
    assert_refused(tenon_tensor_unmap(test_stream, &x, NULL, NULL), TENON_ERROR_INVALID_ARGUMENT,
                   "tenon_tensor_unmap", "pointer");
    tenon_memory_destroy(&x.memory);
}

/* Up and down through every layout and type: what comes back is what went, and gaps stay. */
static void strided_transfers(void **state)
{
    static const tenon_dtype types[] = {TENON_DTYPE_U8, TENON_DTYPE_BF16, TENON_DTYPE_F32,
                                        TENON_DTYPE_F64};
    test_random random = test_random_for(701);
    unsigned char sent[3 * 4 * 5 * 8], got[sizeof sent];
    (void)state;
    for (int i = 0; i < TEST_LAYOUTS * 8; i++) {
        const int64_t shape[] = {3, 4, 5};
        int64_t stride[3];
        test_tensor t;
        test_strides((test_layout)(i / 8), i % 2 == 1, 3, shape, stride);
        test_tensor_create(&t, types[i / 2 % 4], 3, shape, stride, i % 3);
        test_upload(&t);
        size_t bytes = 60 * tenon_dtype_size(t.view.dtype);
        for (size_t b = 0; b < bytes; b++)
            sent[b] = (unsigned char)test_next(&random);
        assert_ok(tenon_tensor_upload(test_stream, sent, bytes, &t.view, NULL));
        assert_ok(tenon_tensor_download(test_stream, &t.view, got, bytes, NULL));
        assert_memory_equal(got, sent, bytes);
        unsigned char *bits = test_download_bits(&t);
        assert_memory_equal(bits, sent, bytes);
        free(bits);
        test_tensor_destroy(&t);
    }
}

/* Filled with each value of each type, dense and strided; gaps and guards stay. */
static void fills(void **state)
{
    static const double values[] = {0, 1, -2.5, 300, 1e300, -0.0};
    char why[256];
    (void)state;
    for (int type = TENON_DTYPE_F64; type <= TENON_DTYPE_I32; type++)
        for (int layout = 0; layout < TEST_LAYOUTS; layout++) {
            const int64_t shape[] = {4, 7};
            int64_t stride[2];
            test_tensor t;
            tn_bounded expected[28];
            double value = values[(type + layout) % 6];
            test_strides((test_layout)layout, false, 2, shape, stride);
            test_tensor_create(&t, (tenon_dtype)type, 2, shape, stride, 1);
            test_upload(&t);
            assert_ok(tenon_tensor_fill(test_stream, &t.view, value, NULL));
            test_tensor model = t;
            model.image = malloc((size_t)t.bytes);
            assert_non_null(model.image);
            memcpy(model.image, t.image, (size_t)t.bytes);
            test_fill_value(&model, value);
            for (int i = 0; i < 28; i++)
                expected[i] = (tn_bounded){test_get(&model, i), 0};
            if (!test_result(&t, expected, TEST_EXACT, why))
                fail_msg("%s of %g, %s: %s", tenon_dtype_string((tenon_dtype)type), value,
                         test_layout_string((test_layout)layout), why);
            free(model.image);
            test_tensor_destroy(&t);
        }
}

static void mapping(void **state)
{
    const int64_t shape[] = {2, 3}, stride[] = {5, 1};
    test_tensor t;
    float *pointer;
    (void)state;
    test_tensor_create(&t, TENON_DTYPE_F32, 2, shape, stride, 2);
    test_fill_value(&t, 7);
    test_upload(&t);
    assert_ok(tenon_tensor_map(test_stream, &t.view, TENON_MAP_READ | TENON_MAP_WRITE,
                               (void **)&pointer, NULL));
    assert_true(pointer[0] == 7 && pointer[7] == 7);
    pointer[6] = 8;
    assert_ok(tenon_tensor_unmap(test_stream, &t.view, pointer, NULL));
    double *values = test_download(&t);
    assert_true(values[4] == 8 && values[3] == 7);
    free(values);
    test_tensor_destroy(&t);
    tenon_tensor none = make_tensor(test_context, 0);
    assert_ok(tenon_tensor_map(test_stream, &none, TENON_MAP_READ, (void **)&pointer, NULL));
    assert_null(pointer);
    assert_ok(tenon_tensor_unmap(test_stream, &none, NULL, NULL));
}

static void wrapped_host_memory(void **state)
{
    static _Alignas(4096) float host[1024];
    tenon_memory memory;
    float *pointer;
    (void)state;
    for (int i = 0; i < 1024; i++)
        host[i] = (float)(i - 500);
    assert_ok(tenon_memory_wrap(test_context, host, sizeof host, &memory));
    const int64_t shape[] = {1024};
    tenon_tensor x = tenon_tensor_view(TENON_DTYPE_F32, 1, shape);
    x.memory = memory;
    assert_ok(relu(test_stream, &x, &x, NULL));
    assert_ok(tenon_tensor_map(test_stream, &x, TENON_MAP_READ, (void **)&pointer, NULL));
    for (int i = 0; i < 1024; i++)
        assert_true(pointer[i] == (float)(i > 500 ? i - 500 : 0));
    assert_ok(tenon_tensor_unmap(test_stream, &x, pointer, NULL));
    assert_ok(tenon_stream_finish(test_stream));
    tenon_memory_destroy(&memory);
    assert_refused(tenon_memory_wrap(test_context, NULL, 4, &memory), TENON_ERROR_INVALID_ARGUMENT,
                   "tenon_memory_wrap", "host");
    assert_refused(tenon_memory_wrap(test_context, host, 0, &memory), TENON_ERROR_INVALID_ARGUMENT,
                   "tenon_memory_wrap", "bytes");
}

/* ---- workspace ---- */

/* A plan that needs workspace, as long as the device has a solver that does. */
static tenon_plan *plan_with_workspace(tenon_memory memories[5])
{
    const int64_t x[] = {1, 4, 12, 12}, w[] = {8, 4, 3, 3}, y[] = {1, 8, 10, 10};
    tenon_conv_params params = TENON_CONV_PARAMS_INIT;
    tenon_tensor views[3];
    tenon_plan *plan = NULL;
    params.solver = "conv/im2col_gemm";
    memset(memories, 0, 5 * sizeof *memories);
    assert_ok(tenon_tensor_create(test_context, TENON_DTYPE_F32, 4, x, &views[0]));
    assert_ok(tenon_tensor_create(test_context, TENON_DTYPE_F32, 4, w, &views[1]));
    assert_ok(tenon_tensor_create(test_context, TENON_DTYPE_F32, 4, y, &views[2]));
    memories[0] = views[0].memory;
    memories[1] = views[1].memory;
    memories[4] = views[2].memory;
    assert_ok(tenon_conv_forward_plan(test_context, &params, &views[0], &views[1], NULL, NULL,
                                      &views[2], &plan));
    assert_true(tenon_plan_workspace(plan) > 0);
    return plan;
}

static void destroy_memories(tenon_memory memories[5])
{
    for (int i = 0; i < 5; i++)
        tenon_memory_destroy(&memories[i]);
}

static void workspace_of_the_caller(void **state)
{
    tenon_memory memories[5], workspace;
    tenon_plan *plan = plan_with_workspace(memories);
    uint64_t needed = tenon_plan_workspace(plan);
    tenon_stream *stream;
    char bytes[32];
    (void)state;
    assert_ok(tenon_stream_create(test_context, NULL, &stream));
    assert_ok(tenon_memory_create(test_context, needed + 128, &workspace));
    assert_ok(tenon_stream_set_workspace(stream, &workspace, 128, needed));
    assert_ok(tenon_plan_run(stream, plan, memories, 5, NULL));
    assert_ok(tenon_stream_finish(stream));
    assert_ok(tenon_stream_set_workspace(stream, &workspace, 0, needed - 1));
    snprintf(bytes, sizeof bytes, "%llu", (unsigned long long)needed);
    assert_refused(tenon_plan_run(stream, plan, memories, 5, NULL), TENON_ERROR_WORKSPACE_TOO_SMALL,
                   "tenon_conv_forward_plan", bytes);
    assert_ok(tenon_stream_set_workspace(stream, NULL, 0, 0));
    assert_ok(tenon_plan_run(stream, plan, memories, 5, NULL));
    static const char operation[] = "tenon_stream_set_workspace";
    assert_refused(tenon_stream_set_workspace(stream, &workspace, 64, 64),
                   TENON_ERROR_INVALID_ARGUMENT, operation, "offset");
    assert_refused(tenon_stream_set_workspace(stream, &workspace, 0, needed + 129),
                   TENON_ERROR_INVALID_ARGUMENT, operation, "memory");
    assert_refused(tenon_stream_set_workspace(stream, &workspace, 0, UINT64_MAX),
                   TENON_ERROR_INVALID_ARGUMENT, operation, "bytes");
    assert_refused(tenon_stream_set_workspace(NULL, NULL, 0, 0), TENON_ERROR_INVALID_ARGUMENT,
                   operation, "stream");
    assert_ok(tenon_stream_finish(stream));
    tenon_stream_destroy(stream);
    tenon_memory_destroy(&workspace);
    destroy_memories(memories);
    tenon_plan_release(plan);
}

static void workspace_within_its_limit(void **state)
{
    tenon_context_params params = TENON_CONTEXT_PARAMS_INIT;
    tenon_context *context;
    tenon_stream *stream;
    (void)state;
    params.workspace_limit = 1000;
    assert_ok(tenon_context_create(&params, &context));
    assert_ok(tenon_stream_create(context, NULL, &stream));
    assert_ok(tenon_stream_reserve_workspace(stream, 1000));
    assert_refused(tenon_stream_reserve_workspace(stream, 1001), TENON_ERROR_WORKSPACE_TOO_SMALL,
                   "tenon_stream_reserve_workspace", "1001");
    assert_refused(tenon_stream_reserve_workspace(NULL, 1), TENON_ERROR_INVALID_ARGUMENT,
                   "tenon_stream_reserve_workspace", "stream");
    /* A forced solver that needs more says so; the automatic choice finds another. */
    const int64_t x_shape[] = {1, 4, 12, 12}, w_shape[] = {8, 4, 3, 3}, y_shape[] = {1, 8, 10, 10};
    tenon_tensor x, w, y;
    tenon_conv_params conv = TENON_CONV_PARAMS_INIT;
    assert_ok(tenon_tensor_create(context, TENON_DTYPE_F32, 4, x_shape, &x));
    assert_ok(tenon_tensor_create(context, TENON_DTYPE_F32, 4, w_shape, &w));
    assert_ok(tenon_tensor_create(context, TENON_DTYPE_F32, 4, y_shape, &y));
    assert_ok(tenon_conv_forward(stream, &conv, &x, &w, NULL, NULL, &y, NULL));
    conv.solver = "conv/im2col_gemm";
    tenon_stream_set_workspace(stream, NULL, 0, 0);
    tenon_status status = tenon_conv_forward(stream, &conv, &x, &w, NULL, NULL, &y, NULL);
    if (status != TENON_OK) /* it may work in blocks that are small enough */
        assert_refused(status, TENON_ERROR_WORKSPACE_TOO_SMALL, "tenon_conv_forward", "1000");
    assert_ok(tenon_stream_finish(stream));
    tenon_memory_destroy(&x.memory);
    tenon_memory_destroy(&w.memory);
    tenon_memory_destroy(&y.memory);
    tenon_stream_destroy(stream);
    tenon_context_release(context);
}

/* ---- plans ---- */

static void plans_check_their_operands(void **state)
{
    static const char operation[] = "tenon_plan_run";
    tenon_activation_params params = TENON_ACTIVATION_PARAMS_INIT;
    tenon_tensor x = make_tensor(test_context, 100), y = make_tensor(test_context, 100);
    tenon_tensor small = make_tensor(test_context, 50);
    tenon_plan *plan;
    tenon_context *other;
    tenon_stream *stranger;
    (void)state;
    assert_ok(tenon_activation_forward_plan(test_context, &params, &x, &y, &plan));
    tenon_memory memories[] = {x.memory, y.memory};
    assert_refused(tenon_plan_run(NULL, plan, memories, 2, NULL), TENON_ERROR_INVALID_ARGUMENT,
                   operation, "stream");
    assert_refused(tenon_plan_run(test_stream, NULL, memories, 2, NULL),
                   TENON_ERROR_INVALID_ARGUMENT, operation, "plan");
    assert_refused(tenon_plan_run(test_stream, plan, NULL, 2, NULL), TENON_ERROR_INVALID_ARGUMENT,
                   operation, "memories");
    assert_refused(tenon_plan_run(test_stream, plan, memories, 3, NULL),
                   TENON_ERROR_INVALID_ARGUMENT, operation, "count");
    assert_ok(tenon_context_create(NULL, &other));
    assert_ok(tenon_stream_create(other, NULL, &stranger));
    assert_refused(tenon_plan_run(stranger, plan, memories, 2, NULL), TENON_ERROR_INVALID_ARGUMENT,
                   operation, "stream");
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
    memories[1] = x.memory; /* the same view: in place, which is allowed */
    assert_ok(tenon_plan_run(test_stream, plan, memories, 2, NULL));
    tenon_plan_retain(plan);
    tenon_plan_release(plan);
    tenon_plan_release(plan);
    tenon_plan_release(NULL);
    tenon_plan_retain(NULL);
    assert_int_equal(tenon_plan_operands(NULL), 0);
    assert_int_equal(tenon_plan_workspace(NULL), 0);
    assert_int_equal(tenon_plan_describe(NULL, NULL, 0), 0);
    tenon_memory_destroy(&x.memory);
    tenon_memory_destroy(&y.memory);
    tenon_memory_destroy(&small.memory);
}

static void many_shapes_are_planned(void **state)
{
    tenon_tensor x = make_tensor(test_context, 8192);
    (void)state;
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
    const tenon_plan *plan; /* or NULL: immediate calls */
    int number;
    char wrong[512];
} worker;

/* One thread's own stream and memory; no assertion, which would leave by another thread's jump. */
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

static void one_plan_serves_several_threads(void **state)
{
    tenon_activation_params params = TENON_ACTIVATION_PARAMS_INIT;
    tenon_tensor x = make_tensor(test_context, 3000);
    tenon_plan *plan;
    (void)state;
    params.activation.kind = TENON_ACTIVATION_RELU;
    assert_ok(tenon_activation_forward_plan(test_context, &params, &x, &x, &plan));
    run_workers(test_context, plan);
    tenon_plan_release(plan);
    tenon_memory_destroy(&x.memory);
}

/* In a new context, four threads ask for the same kernel, trial and self-check at once. */
static void threads_build_at_once(void **state)
{
    tenon_context *context;
    (void)state;
    assert_ok(tenon_context_create(NULL, &context));
    run_workers(context, NULL);
    tenon_context_release(context);
}

/* ---- trace ---- */

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

static void launches_are_traced(void **state)
{
    traced t = {0};
    tenon_tensor x = make_tensor(test_context, 1000);
    (void)state;
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
    assert_refused(tenon_stream_set_trace(NULL, trace, &t), TENON_ERROR_INVALID_ARGUMENT,
                   "tenon_stream_set_trace", "stream");
    tenon_memory_destroy(&x.memory);
}

/* ---- the log, builds that fail, solvers that are wrong ---- */

typedef struct logged {
    tenon_context *context;
    int count;
    tenon_log_level level;
    char text[4096];
} logged;

/* Calls back into the library, which it may. */
static void keep_log(void *user, tenon_log_level level, const char *message)
{
    logged *log = user;
    tenon_device_info info;
    uint32_t available;
    log->count++;
    log->level = level;
    snprintf(log->text, sizeof log->text, "%s", message);
    if (log->context != NULL) {
        tenon_context_device(log->context, &info);
        tenon_context_capability(log->context, TENON_CAPABILITY_F64, &available, NULL, 0);
    }
}

static tenon_context *make_logged_context(logged *log, uint32_t level)
{
    tenon_context_params params = TENON_CONTEXT_PARAMS_INIT;
    params.log = keep_log;
    params.log_user = log;
    params.log_level = level;
    assert_ok(tenon_context_create(&params, &log->context));
    return log->context;
}

static void failed_builds_show_their_log(void **state)
{
    logged log = {0};
    tenon_context *context = make_logged_context(&log, 0);
    tn_recording recording = {.context = context};
    const tn_launch launch = {.source = "tensor/fill",
                              .options = "-cl-std=CL1.2 -DELEMENT_SIZE=oops(",
                              .kernel = "fill",
                              .dimensions = 1,
                              .global = {1}};
    (void)state;
    assert_int_equal(tn_record("tenon_test", &recording, &launch), TENON_ERROR_BUILD_FAILED);
    assert_contains(tenon_last_error(), "tensor/fill");
    assert_contains(tenon_last_error(), "oops");
    assert_int_not_equal(tenon_last_cl_error(), CL_SUCCESS);
    assert_int_equal(log.count, 1);
    assert_int_equal(log.level, TENON_LOG_ERROR);
    assert_contains(log.text, "oops");
    /* Once more: a failure is not taken for a program that somebody is building. */
    assert_int_equal(tn_record("tenon_test", &recording, &launch), TENON_ERROR_BUILD_FAILED);
    tn_recording_destroy(&recording);
    tenon_context_release(context);
}

static void unknown_kernels_are_refused(void **state)
{
    tn_recording recording = {.context = test_context};
    tn_launch launch = {.source = "tensor/nothing",
                        .options = "",
                        .kernel = "fill",
                        .dimensions = 1,
                        .global = {1}};
    (void)state;
    assert_int_equal(tn_record("tenon_test", &recording, &launch), TENON_ERROR_UNSUPPORTED);
    assert_contains(tenon_last_error(), "tensor/nothing");
    launch.source = "tensor/fill";
    launch.options = "-cl-std=CL1.2 -DELEMENT_SIZE=4";
    launch.kernel = "nothing";
    assert_int_equal(tn_record("tenon_test", &recording, &launch), TENON_ERROR_OPENCL);
    launch.kernel = "fill";
    launch.local[0] = launch.global[0] = (size_t)1 << 40;
    assert_int_equal(tn_record("tenon_test", &recording, &launch), TENON_ERROR_UNSUPPORTED_DEVICE);
    tn_recording_destroy(&recording);
}

/* A family whose first solver is wrong, and by its estimate the best. */
static const char *refuses_nothing(tenon_context *context, const tn_problem *problem)
{
    (void)context;
    (void)problem;
    return NULL;
}

static double estimate_little(tenon_context *context, const tn_problem *problem,
                              const int32_t *values)
{
    (void)context;
    (void)problem;
    (void)values;
    return 1;
}

static double estimate_much(tenon_context *context, const tn_problem *problem,
                            const int32_t *values)
{
    return 1 + estimate_little(context, problem, values);
}

static void no_options(tenon_context *context, const tn_problem *problem, const int32_t *values,
                       char options[TN_OPTIONS_SIZE])
{
    (void)context;
    (void)problem;
    (void)values;
    options[0] = '\0';
}

static tenon_status record_nothing(const char *name, tn_recording *recording,
                                   const tn_problem *problem, const int32_t *values)
{
    (void)name;
    (void)recording;
    (void)problem;
    (void)values;
    return TENON_OK;
}

static const tn_solver wrong_solver = {.name = "wrong",
                                       .refuses = refuses_nothing,
                                       .estimate = estimate_little,
                                       .options = no_options,
                                       .record = record_nothing};
static const tn_solver right_solver = {.name = "right",
                                       .refuses = refuses_nothing,
                                       .estimate = estimate_much,
                                       .options = no_options,
                                       .record = record_nothing};
static int checks;

static tenon_status check_by_name(tenon_stream *stream, const tn_problem *problem,
                                  const tn_choice *choice, bool *right, char why[256])
{
    (void)stream;
    (void)problem;
    checks++;
    *right = choice->solver == &right_solver;
    snprintf(why, 256, "%s", *right ? "" : "element 3 is 7, must be 8");
    return TENON_OK;
}

static void wrong_solvers_are_barred(void **state)
{
    static const tn_solver *const both[] = {&wrong_solver, &right_solver};
    const tn_family mixed = {"fake", both, 2, check_by_name},
                    hopeless = {"fake", both, 1, check_by_name};
    const tn_problem open = {.size = sizeof open, .forced = -1};
    const tn_problem forced = {.size = sizeof forced, .forced = 0};
    logged log = {0};
    tenon_context *context = make_logged_context(&log, 0);
    tn_choice choice;
    (void)state;
    checks = 0;
    assert_ok(tn_select("tenon_fake", context, &mixed, &open, &choice));
    assert_ptr_equal(choice.solver, &right_solver);
    assert_int_equal(checks, 2);
    assert_int_equal(log.count, 1);
    assert_int_equal(log.level, TENON_LOG_WARNING);
    assert_contains(log.text, "fake/wrong");
    assert_contains(log.text, "barred");
    assert_contains(log.text, "element 3");
    assert_refused(tn_select("tenon_fake", context, &mixed, &forced, &choice),
                   TENON_ERROR_SOLVER_BARRED, "tenon_fake", "fake/wrong");
    assert_contains(tenon_last_error(), "element 3 is 7");
    assert_refused(tn_select("tenon_fake", context, &hopeless, &open, &choice),
                   TENON_ERROR_SOLVER_BARRED, "tenon_fake", "element 3");
    assert_int_equal(checks, 2); /* remembered */
    tenon_context_release(context);
}

static void the_log_follows_its_level(void **state)
{
    logged quiet = {0}, chatty = {0};
    tenon_context *contexts[] = {make_logged_context(&quiet, TENON_LOG_WARNING),
                                 make_logged_context(&chatty, TENON_LOG_DEBUG)};
    (void)state;
    for (int i = 0; i < 2; i++) {
        tenon_tensor x = make_tensor(contexts[i], 10);
        tenon_stream *stream;
        assert_ok(tenon_stream_create(contexts[i], NULL, &stream));
        assert_ok(relu(stream, &x, &x, NULL));
        assert_ok(tenon_stream_finish(stream));
        tenon_memory_destroy(&x.memory);
        tenon_stream_destroy(stream);
        tenon_context_release(contexts[i]);
    }
    assert_int_equal(quiet.count, 0);
    assert_true(chatty.count > 0);
    assert_int_equal(chatty.level, TENON_LOG_DEBUG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(devices_are_listed),
        cmocka_unit_test(selectors),
        cmocka_unit_test(no_match_lists_what_there_is),
        cmocka_unit_test(capabilities_have_reasons),
        cmocka_unit_test(contexts_refuse_wrong_parameters),
        cmocka_unit_test(release_in_any_order),
        cmocka_unit_test(queues_are_imported),
        cmocka_unit_test(wrong_queues_are_refused),
        cmocka_unit_test(work_waits_and_signals),
        cmocka_unit_test(empty_work_waits_and_signals),
        cmocka_unit_test(transfers_give_events),
        cmocka_unit_test(memory_of_wrong_sizes),
        cmocka_unit_test(transfers_of_wrong_sizes),
        cmocka_unit_test(strided_transfers),
        cmocka_unit_test(fills),
        cmocka_unit_test(mapping),
        cmocka_unit_test(wrapped_host_memory),
        cmocka_unit_test(workspace_of_the_caller),
        cmocka_unit_test(workspace_within_its_limit),
        cmocka_unit_test(plans_check_their_operands),
        cmocka_unit_test(many_shapes_are_planned),
        cmocka_unit_test(one_plan_serves_several_threads),
        cmocka_unit_test(threads_build_at_once),
        cmocka_unit_test(launches_are_traced),
        cmocka_unit_test(failed_builds_show_their_log),
        cmocka_unit_test(unknown_kernels_are_refused),
        cmocka_unit_test(wrong_solvers_are_barred),
        cmocka_unit_test(the_log_follows_its_level),
    };
    return TEST_MAIN(tests);
}
