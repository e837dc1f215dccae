/* Tests the application's memory: sub-buffers, shared virtual memory, and Intel's unified shared
 * memory, by the driver's extension or else by a simulation with shared virtual memory. */
#include "common/cl_faults.h"
#include "runtime.h"

#include "dispatch/plan.h"

#include <stdint.h>

static const tenon_status invalid = TENON_ERROR_INVALID_ARGUMENT;

static bool has_svm(void)
{
    return test_context->device.svm;
}

/* Allocation of unified shared memory, real or simulated. */

enum { ALLOC_TYPE = 0x419A, ALLOC_BASE = 0x419B, ALLOC_SIZE = 0x419C, ALLOC_DEVICE = 0x419D };
enum { UNKNOWN = 0x4196, OF_HOST = 0x4197, OF_DEVICE = 0x4198, SHARED = 0x4199 };
enum { MOST = 16 };

static struct {
    char *base;
    size_t size;
    cl_uint type;
} fakes[MOST];

static cl_device_id device_of(tenon_context *context)
{
    return context->device.info.device;
}

static cl_int CL_API_CALL fake_info(cl_context context, const void *pointer, cl_uint what,
                                    size_t size, void *value, size_t *used)
{
    const char *at = pointer;
    cl_uint type = UNKNOWN;
    const char *base = NULL;
    size_t bytes = 0;
    cl_device_id device = NULL;
    (void)context;
    (void)used;
    for (int i = 0; i < MOST; i++)
        if (fakes[i].base != NULL && at >= fakes[i].base && at < fakes[i].base + fakes[i].size) {
            type = fakes[i].type;
            base = fakes[i].base;
            bytes = fakes[i].size;
            device = type == OF_HOST ? NULL : device_of(test_context);
        }
    const void *from = what == ALLOC_TYPE   ? (const void *)&type
                       : what == ALLOC_BASE ? (const void *)&base
                       : what == ALLOC_SIZE ? (const void *)&bytes
                                            : (const void *)&device;
    memcpy(value, from, size);
    return CL_SUCCESS;
}

static void *fake_extension(const char *name)
{
    static const struct {
        const char *name;
        void (*function)(void);
    } functions[] = {
        {"clSetKernelArgMemPointerINTEL", (void (*)(void))clSetKernelArgSVMPointer},
        {"clEnqueueMemcpyINTEL", (void (*)(void))clEnqueueSVMMemcpy},
        {"clGetMemAllocInfoINTEL", (void (*)(void))fake_info},
    };
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (strcmp(name, functions[i].name) == 0) {
            void *found;
            memcpy(&found, &functions[i].function, sizeof found);
            return found;
        }
    return NULL;
}

static void *half_an_extension(const char *name)
{
    return strcmp(name, "clGetMemAllocInfoINTEL") == 0 ? NULL : fake_extension(name);
}

static tenon_context *context_with(void *(*find)(const char *name))
{
    static const char extensions[] = "cl_khr_fp64 cl_intel_unified_shared_memory";
    faults_give_extension(find);
    faults_answer_query("clGetDeviceInfo", CL_DEVICE_EXTENSIONS, extensions, sizeof extensions);
    tenon_context *context = test_new_context(NULL);
    assert_true(faults_end() > 0);
    faults_give_extension(NULL);
    return context;
}

typedef struct shared {
    bool is_fake;
    tenon_context *context;
    tenon_stream *stream;
} shared;

/* Returns false if there is neither the extension nor shared virtual memory to simulate it. */
static bool begin(shared *s)
{
    s->is_fake = test_context->device.usm.info == NULL;
    if (s->is_fake && !has_svm())
        return false;
    if (s->is_fake)
        s->context = context_with(fake_extension);
    else
        s->context = test_new_context(NULL);
    assert_non_null((void *)(uintptr_t)s->context->device.usm.info);
    s->stream = test_new_stream(s->context);
    return true;
}

static void end(shared *s)
{
    tenon_stream_destroy(s->stream);
    tenon_context_release(s->context);
}

static void *function_of(const shared *s, const char *name)
{
    return clGetExtensionFunctionAddressForPlatform(s->context->device.info.platform, name);
}

static void *allocate_real(const shared *s, cl_uint type, size_t size)
{
    typedef void *(CL_API_CALL * host_function)(cl_context, const uint64_t *, size_t, cl_uint,
                                                cl_int *);
    typedef void *(CL_API_CALL * device_function)(cl_context, cl_device_id, const uint64_t *,
                                                  size_t, cl_uint, cl_int *);
    const cl_context cl = tenon_context_cl(s->context);
    const cl_device_id device = device_of(s->context);
    host_function host;
    device_function of_device;
    void *function = function_of(s, type == OF_HOST     ? "clHostMemAllocINTEL"
                                    : type == OF_DEVICE ? "clDeviceMemAllocINTEL"
                                                        : "clSharedMemAllocINTEL");
    cl_int error;
    memcpy(&host, &function, sizeof host);
    memcpy(&of_device, &function, sizeof of_device);
    void *memory = type == OF_HOST ? host(cl, NULL, size, 0, &error)
                                   : of_device(cl, device, NULL, size, 0, &error);
    assert_int_equal(error, CL_SUCCESS);
    return memory;
}

static void *allocate(const shared *s, cl_uint type, size_t size)
{
    if (!s->is_fake)
        return allocate_real(s, type, size);
    int i = 0;
    while (fakes[i].base != NULL)
        i++;
    fakes[i].base = clSVMAlloc(tenon_context_cl(s->context), CL_MEM_READ_WRITE, size, 0);
    assert_non_null(fakes[i].base);
    fakes[i].size = size;
    fakes[i].type = type;
    return fakes[i].base;
}

static void give_back(const shared *s, void *memory)
{
    typedef cl_int(CL_API_CALL * free_function)(cl_context, void *);
    if (!s->is_fake) {
        void *function = function_of(s, "clMemFreeINTEL");
        free_function release;
        memcpy(&release, &function, sizeof release);
        assert_int_equal(release(tenon_context_cl(s->context), memory), CL_SUCCESS);
        return;
    }
    for (int i = 0; i < MOST; i++)
        if (fakes[i].base == memory)
            fakes[i].base = NULL;
    clSVMFree(tenon_context_cl(s->context), memory);
}

/* Checks for every kind of memory. */

/* A view of every second column of rows with a pitch, and the whole memory as one row. */
enum { ROWS = 5, COLUMNS = 6, PITCH = 16, ALL = ROWS * PITCH };

static tenon_tensor strided_of(tenon_tensor all)
{
    const int64_t shape[] = {ROWS, PITCH};
    tenon_tensor view;
    assert_ok(tenon_tensor_reshape(&all, 2, shape, &view));
    return tenon_tensor_slice_step(view, 1, 1, COLUMNS, 2);
}

static bool is_of_view(int i)
{
    const int column = i % PITCH;
    return column % 2 == 1 && column < 1 + 2 * COLUMNS;
}

typedef tenon_status (*upload)(tenon_stream *stream, const void *data, size_t bytes,
                               const tenon_tensor *tensor, const tenon_sync *sync);
typedef tenon_status (*download)(tenon_stream *stream, const tenon_tensor *tensor, void *data,
                                 size_t bytes, const tenon_sync *sync);

static void move(tenon_stream *stream, tenon_tensor all, upload up, download down)
{
    const tenon_tensor view = strided_of(all);
    float sent[ALL], got[ALL], part[ROWS * COLUMNS];
    cl_event event = NULL;
    for (int i = 0; i < ALL; i++)
        sent[i] = (float)(1000 + i);
    assert_ok(up(stream, sent, sizeof sent, &all, NULL));
    memset(part, 0, sizeof part);
    assert_ok(down(stream, &view, part, sizeof part, &(tenon_sync){.event = &event}));
    assert_int_equal(clWaitForEvents(1, &event), CL_SUCCESS);
    clReleaseEvent(event);
    for (int i = 0, n = 0; i < ALL; i++)
        if (is_of_view(i))
            assert_true(part[n++] == sent[i]);
    for (int n = 0; n < ROWS * COLUMNS; n++)
        part[n] = (float)-n;
    assert_ok(up(stream, part, sizeof part, &view, &(tenon_sync){.event = &event}));
    assert_int_equal(clWaitForEvents(1, &event), CL_SUCCESS);
    clReleaseEvent(event);
    memset(got, 0, sizeof got);
    assert_ok(down(stream, &all, got, sizeof got, NULL));
    assert_ok(tenon_stream_finish(stream));
    for (int i = 0, n = 0; i < ALL; i++)
        assert_true(got[i] == (is_of_view(i) ? (float)-n++ : sent[i]));
}

/* Tests transfers, fills, calls and a plan, and that overlaps are detected. */
static void use(tenon_context *context, tenon_stream *stream, tenon_tensor all)
{
    tenon_activation_params params = TENON_ACTIVATION_PARAMS_INIT;
    const int64_t half = ALL / 2;
    float got[ALL];
    tenon_plan *plan;
    params.activation.kind = TENON_ACTIVATION_RELU;
    move(stream, all, tenon_tensor_upload, tenon_tensor_download);
    move(stream, all, tenon_tensor_upload_async, tenon_tensor_download_async);
    const tenon_tensor x = tenon_tensor_slice(all, 0, 0, half),
                       y = tenon_tensor_slice(all, 0, half, half),
                       across = tenon_tensor_slice(all, 0, 1, half);
    assert_ok(tenon_tensor_fill(stream, &x, -2, NULL));
    assert_ok(tenon_tensor_fill(stream, &y, -3, NULL));
    assert_ok(relu(stream, &x, &y, NULL));
    assert_ok(tenon_tensor_download(stream, &all, got, sizeof got, NULL));
    for (int i = 0; i < ALL; i++)
        assert_true(got[i] == (i < half ? -2 : 0));
    assert_refused(relu(stream, &x, &across, NULL), invalid, "tenon_activation_forward",
                   "x overlaps the output y");
    assert_ok(relu(stream, &x, &x, NULL));
    assert_ok(tenon_activation_forward_plan(context, &params, &x, &y, &plan));
    const tenon_memory memories[] = {all.memory, all.memory};
    assert_ok(tenon_tensor_fill(stream, &x, 5, NULL));
    assert_ok(tenon_plan_run(stream, plan, memories, 2, NULL));
    assert_ok(tenon_tensor_download(stream, &y, got, (size_t)half * sizeof(float), NULL));
    for (int i = 0; i < half; i++)
        assert_true(got[i] == 5);
    tenon_plan_release(plan);
}

TEST(sub_buffers)
{
    const int64_t shape[] = {ALL}, one_more[] = {ALL + 1};
    const size_t size = ALL * sizeof(float), step = test_context->device.address_align > size
                                                        ? test_context->device.address_align
                                                        : 4096;
    tenon_memory memory;
    tenon_tensor part[2], tensor, parent;
    assert_ok(tenon_memory_create(test_context, 4 * step, &memory));
    for (int i = 0; i < 2; i++) {
        const cl_buffer_region region = {.origin = (size_t)(i + 1) * step, .size = size};
        cl_int error;
        cl_mem buffer = clCreateSubBuffer(memory.u.buffer, CL_MEM_READ_WRITE,
                                          CL_BUFFER_CREATE_TYPE_REGION, &region, &error);
        assert_int_equal(error, CL_SUCCESS);
        assert_invalid(tenon_tensor_from_buffer(buffer, 0, TENON_DTYPE_F32, 1, one_more, &tensor),
                       "of a buffer of");
        assert_ok(tenon_tensor_from_buffer(buffer, 0, TENON_DTYPE_F32, 1, shape, &part[i]));
    }
    use(test_context, test_stream, part[0]);
    /* Disjoint parts of a buffer, and a part with its whole buffer. */
    assert_ok(relu(test_stream, &part[0], &part[1], NULL));
    assert_ok(tenon_tensor_from_buffer(memory.u.buffer, step, TENON_DTYPE_F32, 1, shape, &parent));
    assert_refused(relu(test_stream, &parent, &part[0], NULL), invalid, "tenon_activation_forward",
                   "x overlaps the output y");
    assert_ok(relu(test_stream, &parent, &part[1], NULL));
    /* A view beyond the end of the sub-buffer, but within its buffer. */
    tenon_tensor longer = part[0];
    longer.shape[0] = ALL + 1;
    assert_refused(relu(test_stream, &longer, &longer, NULL), invalid, "tenon_activation_forward",
                   "x: the view ends at byte");
    clReleaseMemObject(part[0].memory.u.buffer);
    clReleaseMemObject(part[1].memory.u.buffer);
    tenon_memory_destroy(&memory);
}

TEST(shared_virtual_memory)
{
    const int64_t shape[] = {ALL};
    tenon_tensor all;
    if (!has_svm())
        skip();
    char *svm =
        clSVMAlloc(tenon_context_cl(test_context), CL_MEM_READ_WRITE, 64 + ALL * sizeof(float), 0);
    assert_non_null(svm);
    assert_ok(tenon_tensor_from_svm(svm, 64, TENON_DTYPE_F32, 1, shape, &all));
    use(test_context, test_stream, all);
    tenon_memory_destroy(&all.memory); /* does not own its memory */
    clSVMFree(tenon_context_cl(test_context), svm);
}

TEST(unified_shared_memory)
{
    static const cl_uint kinds[] = {OF_HOST, OF_DEVICE, SHARED};
    const int64_t shape[] = {ALL};
    shared s = {0};
    if (!begin(&s))
        skip();
    print_message("unified shared memory: %s\n", s.is_fake ? "made of SVM" : "the driver's own");
    for (int k = 0; k < 3; k++) {
        tenon_tensor all;
        float *pointer = NULL;
        cl_event event = NULL;
        char *usm = allocate(&s, kinds[k], 64 + ALL * sizeof(float));
        assert_ok(tenon_tensor_from_usm(s.context, usm, 64, TENON_DTYPE_F32, 1, shape, &all));
        use(s.context, s.stream, all);
        assert_ok(tenon_tensor_fill(s.stream, &all, 9, NULL));
        const tenon_status status =
            tenon_tensor_map(s.stream, &all, TENON_MAP_READ | TENON_MAP_WRITE, (void **)&pointer,
                             &(tenon_sync){.event = &event});
        if (kinds[k] == OF_DEVICE) {
            assert_refused(status, TENON_ERROR_UNSUPPORTED, "tenon_tensor_map", "device USM");
            assert_null(event);
        } else {
            assert_ok(status);
            assert_ptr_equal(pointer, usm + 64);
            assert_true(pointer[0] == 9 && pointer[ALL - 1] == 9);
            clReleaseEvent(event);
            assert_ok(tenon_tensor_unmap(s.stream, &all, pointer, &(tenon_sync){.event = &event}));
            assert_int_equal(clWaitForEvents(1, &event), CL_SUCCESS);
            clReleaseEvent(event);
        }
        give_back(&s, usm);
    }
    end(&s);
}

TEST(unified_shared_memory_is_checked)
{
    const int64_t shape[] = {ALL}, negative[] = {-1};
    const tenon_dtype f32 = TENON_DTYPE_F32;
    tenon_tensor t = {.rank = 77};
    float stack[4];
    shared s = {0};
    if (!begin(&s))
        skip();
    char *usm = allocate(&s, SHARED, ALL * sizeof(float));
    assert_invalid(tenon_tensor_from_usm(NULL, usm, 0, f32, 1, shape, &t), "context");
    assert_invalid(tenon_tensor_from_usm(s.context, NULL, 0, f32, 1, shape, &t), "usm");
    assert_invalid(tenon_tensor_from_usm(s.context, usm, 0, f32, 1, shape, NULL), "tensor");
    assert_invalid(tenon_tensor_from_usm(s.context, usm, 0, f32, 1, negative, &t), "shape -1");
    assert_invalid(tenon_tensor_from_usm(s.context, usm, 2, f32, 1, shape, &t), "offset is 2");
    assert_invalid(tenon_tensor_from_usm(s.context, usm, 4, f32, 1, shape, &t),
                   "ends at byte 324 of an allocation that has 320");
    assert_invalid(tenon_tensor_from_usm(s.context, usm + 8, 0, f32, 1, shape, &t),
                   "has 312 from there");
    assert_invalid(tenon_tensor_from_usm(s.context, stack, 0, f32, 1, (const int64_t[]){4}, &t),
                   "is not unified shared memory");
    assert_int_equal(t.rank, 77);
    /* Calls with a view that the application made itself. */
    assert_ok(tenon_tensor_from_usm(s.context, usm, 0, f32, 1, shape, &t));
    t.shape[0] = ALL + 1;
    assert_refused(relu(s.stream, &t, &t, NULL), invalid, "tenon_activation_forward",
                   "an allocation that has 320");
    t.memory.u.usm = NULL;
    assert_refused(relu(s.stream, &t, &t, NULL), invalid, "tenon_activation_forward", "no memory");
    t.memory.kind = TENON_MEMORY_SEQUENCE + 1;
    assert_refused(relu(s.stream, &t, &t, NULL), invalid, "tenon_activation_forward",
                   "not a tenon_memory_kind");
    give_back(&s, usm);
    end(&s);
}

/* A driver that lacks the extension or a part of it. */
TEST(a_driver_without_it)
{
    tenon_tensor t = {.rank = 77};
    tenon_context *context = context_with(half_an_extension);
    float host[4];
    assert_refused(
        tenon_tensor_from_usm(context, host, 0, TENON_DTYPE_F32, 1, (const int64_t[]){4}, &t),
        TENON_ERROR_UNSUPPORTED_DEVICE, "tenon_tensor_from_usm", "cl_intel_unified_shared_memory");
    t = tenon_tensor_view(TENON_DTYPE_F32, 1, (const int64_t[]){4});
    t.memory = (tenon_memory){.kind = TENON_MEMORY_USM, .u.usm = host};
    tenon_stream *stream = test_new_stream(context);
    assert_refused(relu(stream, &t, &t, NULL), TENON_ERROR_UNSUPPORTED_DEVICE,
                   "tenon_activation_forward", "cl_intel_unified_shared_memory");
    tenon_stream_destroy(stream);
    tenon_context_release(context);
}
