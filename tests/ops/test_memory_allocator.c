/* Tests the caller's allocator in place of clCreateBuffer: it provides all memory, gets each buffer
 * back once, and is told which commands may still use it. */
#include "runtime.h"

#include <pthread.h>

typedef enum fault {
    NONE,
    NOTHING, /* no buffer */
    SMALL,   /* one byte too small */
    FOREIGN, /* of another context */
    READ_ONLY,
    NO_BUFFER, /* an image */
    FAULTS
} fault;

enum { MOST = 256 };

typedef struct allocator {
    pthread_mutex_t lock;
    cl_context foreign;
    cl_mem out[MOST]; /* not given back yet */
    int made, given_back, unknown;
    fault fault;
    int faulty; /* number of the call of create that has the fault, from 1 */
    uint32_t events;
    cl_event first_event; /* of the last buffer given back */
} allocator;

static cl_mem make_image(cl_context cl)
{
    const cl_image_format format = {CL_R, CL_FLOAT};
    const cl_image_desc description = {
        .image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 16, .image_height = 16};
    cl_int error;
    return clCreateImage(cl, CL_MEM_READ_WRITE, &format, &description, NULL, &error);
}

static cl_mem give(void *user, cl_context cl, uint64_t bytes)
{
    allocator *a = user;
    cl_int error;
    pthread_mutex_lock(&a->lock);
    const fault f = ++a->made == a->faulty ? a->fault : NONE;
    cl_mem buffer = f == NOTHING ? NULL
                    : f == NO_BUFFER
                        ? make_image(cl)
                        : clCreateBuffer(f == FOREIGN ? a->foreign : cl,
                                         f == READ_ONLY ? CL_MEM_READ_ONLY : CL_MEM_READ_WRITE,
                                         (size_t)bytes - (f == SMALL), NULL, &error);
    if (buffer == NULL)
        a->given_back++;
    for (int i = 0; i < MOST && buffer != NULL; i++)
        if (a->out[i] == NULL) {
            a->out[i] = buffer;
            break;
        }
    pthread_mutex_unlock(&a->lock);
    return buffer;
}

static void take_back(void *user, cl_mem buffer, uint32_t event_count, const cl_event *events)
{
    allocator *a = user;
    bool is_known = false;
    pthread_mutex_lock(&a->lock);
    for (int i = 0; i < MOST && !is_known; i++)
        if (a->out[i] == buffer) {
            a->out[i] = NULL;
            is_known = true;
        }
    a->given_back++;
    a->unknown += !is_known;
    a->events = event_count;
    if (a->first_event != NULL)
        clReleaseEvent(a->first_event);
    a->first_event = NULL;
    for (uint32_t i = 0; i < event_count; i++)
        a->unknown += events[i] == NULL;
    if (event_count > 0 && clRetainEvent(events[0]) == CL_SUCCESS)
        a->first_event = events[0];
    pthread_mutex_unlock(&a->lock);
    clReleaseMemObject(buffer);
}

static void begin(allocator *a, fault f, int faulty)
{
    *a = (allocator){.fault = f, .faulty = faulty, .foreign = tenon_context_cl(test_context)};
    assert_int_equal(pthread_mutex_init(&a->lock, NULL), 0);
}

static void end(allocator *a)
{
    assert_int_equal(a->unknown, 0);
    assert_int_equal(a->given_back, a->made);
    if (a->first_event != NULL)
        clReleaseEvent(a->first_event);
    pthread_mutex_destroy(&a->lock);
}

static tenon_context *make_context(allocator *a)
{
    tenon_allocator functions = TENON_ALLOCATOR_INIT;
    functions.user = a;
    functions.create = give;
    functions.destroy = take_back;
    tenon_context *context = test_context_with(.allocator = &functions);
    memset(&functions, 0xee, sizeof functions); /* the context must have copied it */
    return context;
}

TEST(parameters_are_checked)
{
    static const char name[] = "tenon_context_create";
    tenon_allocator functions = TENON_ALLOCATOR_INIT;
    tenon_context *context;
    tenon_context_params params = tenon_context_params(.allocator = &functions);
    assert_invalid(tenon_context_create(&params, &context), "create is NULL");
    assert_null(context);
    functions.create = give;
    assert_invalid(tenon_context_create(&params, &context), "destroy is NULL");
    functions.destroy = take_back;
    functions.reserved = 3;
    assert_invalid(tenon_context_create(&params, &context), "reserved is 3");
    functions.reserved = 0;
    params.pool_limit = 1;
    assert_invalid(tenon_context_create(&params, &context), "pool_limit");
    params.pool_limit = 0;
    functions.struct_size = 0;
    assert_invalid(tenon_context_create(&params, &context), "struct_size");
    /* A newer caller's struct, with an unknown member that is set. */
    struct {
        tenon_allocator known;
        uint64_t more;
    } newer = {functions, 1};
    newer.known.struct_size = sizeof newer;
    params.allocator = &newer.known;
    assert_refused(tenon_context_create(&params, &context), TENON_ERROR_UNSUPPORTED, name,
                   "struct_size");
}

/* Makes every kind of allocation: tensors, packed weights, workspace, and a transfer's staging
 * buffer. */
static tenon_status use(tenon_context *context, tenon_stream *stream)
{
    const int64_t x_shape[] = {1, 4, 12, 12}, w_shape[] = {8, 4, 3, 3}, y_shape[] = {1, 8, 10, 10},
                  b_shape[] = {20, 30};
    tenon_tensor x = {0}, w = {0}, y = {0}, b = {0};
    tenon_packed *packed = NULL;
    float data[600] = {0};
    tenon_conv_params params = tenon_conv_params(.solver = "conv/im2col_gemm");
    tenon_status status = tenon_tensor_create(context, TENON_DTYPE_F32, 4, x_shape, &x);
    if (status == TENON_OK)
        status = tenon_tensor_create(context, TENON_DTYPE_F32, 4, w_shape, &w);
    if (status == TENON_OK)
        status = tenon_tensor_create(context, TENON_DTYPE_F32, 4, y_shape, &y);
    if (status == TENON_OK)
        status = tenon_tensor_create(context, TENON_DTYPE_F32, 2, b_shape, &b);
    if (status == TENON_OK)
        status = tenon_conv_forward(stream, &params, &x, &w, NULL, NULL, &y, NULL);
    if (status == TENON_OK)
        status = tenon_gemm_pack(stream, NULL, &b, &packed, NULL);
    if (status == TENON_OK) {
        const tenon_tensor transposed = tenon_tensor_transpose(b, 0, 1);
        status = tenon_tensor_upload_async(stream, data, sizeof data, &transposed, NULL);
    }
    tenon_status finished = tenon_stream_finish(stream);
    tenon_packed_release(packed);
    test_destroy(&x, &w, &y, &b);
    return status != TENON_OK ? status : finished;
}

TEST(all_memory_comes_from_it)
{
    allocator a;
    begin(&a, NONE, 0);
    tenon_context *context = make_context(&a);
    tenon_stream *stream = test_new_stream(context);
    assert_ok(use(context, stream));
    assert_int_equal(a.made, 7); /* four tensors, workspace, packed weights, staging buffer */
    assert_int_equal(a.given_back, 6);
    tenon_stream_destroy(stream);
    tenon_context_release(context);
    end(&a);
}

TEST(what_does_not_fit_is_refused)
{
    static const char *const whys[FAULTS] = {
        [NOTHING] = "allocator: it cannot provide",
        [SMALL] = "allocator: it returned",
        [FOREIGN] = "another OpenCL context",
        [READ_ONLY] = "only read",
        [NO_BUFFER] = "not a buffer",
    };
    cl_bool images = CL_FALSE;
    tenon_device_info info = TENON_DEVICE_INFO_INIT;
    assert_ok(tenon_context_device(test_context, &info));
    clGetDeviceInfo(info.device, CL_DEVICE_IMAGE_SUPPORT, sizeof images, &images, NULL);
    for (fault f = NOTHING; f < FAULTS; f++) {
        allocator a;
        tenon_memory memory = {.kind = 77};
        if (f == NO_BUFFER && !images)
            continue;
        begin(&a, f, 1);
        tenon_context *context = make_context(&a);
        assert_refused(tenon_memory_create(context, 1000, &memory),
                       f == NOTHING ? TENON_ERROR_OUT_OF_MEMORY : TENON_ERROR_INVALID_ARGUMENT,
                       "tenon_memory_create", whys[f]);
        assert_int_equal(memory.kind, 77);
        assert_ok(tenon_memory_create(context, 1000, &memory));
        tenon_memory_destroy(&memory);
        tenon_context_release(context);
        end(&a);
    }
}

TEST(it_may_fail_at_every_point)
{
    for (fault f = NOTHING; f <= SMALL; f++)
        for (int nth = 1; nth <= 7; nth++) {
            allocator a;
            begin(&a, f, nth);
            tenon_context *context = make_context(&a);
            tenon_stream *stream = test_new_stream(context);
            const tenon_status status = use(context, stream);
            if (status != (f == NOTHING ? TENON_ERROR_OUT_OF_MEMORY : TENON_ERROR_INVALID_ARGUMENT))
                fail_msg("fault %d at %d: %s", f, nth, tenon_status_string(status));
            assert_contains(tenon_last_error(), "allocator");
            assert_ok(use(context, stream));
            tenon_stream_destroy(stream);
            tenon_context_release(context);
            end(&a);
        }
}

TEST(it_is_told_when_memory_is_free)
{
    allocator a;
    tenon_stream *stream;
    begin(&a, NONE, 0);
    tenon_context *context = make_context(&a);
    tenon_tensor x = make_tensor(context, 100), y = make_tensor(context, 100);
    tenon_tensor_destroy(&y);
    assert_int_equal(a.events, 0); /* no stream existed */
    y = make_tensor(context, 100);
    stream = test_new_stream(context);
    assert_ok(tenon_tensor_fill(stream, &x, 1, NULL));
    assert_ok(relu(stream, &x, &y, NULL));
    assert_ok(tenon_stream_finish(stream));
    cl_event gate = test_gate(context);
    assert_ok(relu(stream, &x, &y, &(tenon_sync){.wait_list = &gate, .wait_count = 1}));
    tenon_tensor_destroy(&y);
    assert_int_equal(a.events, 1);
    assert_non_null(a.first_event);
    assert_false(test_is_over(a.first_event));
    /* Commands of a destroyed stream count too. */
    tenon_stream_destroy(stream);
    tenon_tensor_destroy(&x);
    assert_int_equal(a.events, 1);
    assert_false(test_is_over(a.first_event));
    assert_int_equal(clSetUserEventStatus(gate, CL_COMPLETE), CL_SUCCESS);
    assert_int_equal(clWaitForEvents(1, &a.first_event), CL_SUCCESS);
    clReleaseEvent(gate);
    tenon_context_release(context);
    end(&a);
}
