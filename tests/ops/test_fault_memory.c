/* Tests memory and transfers while OpenCL or the allocator fails: nothing is lost, written late,
 * reused while it is in use, or released twice. */
#include "common/cl_faults.h"
#include "runtime.h"

#include "runtime/memory/dlpack.h"

#include <tenon/statistics.h>

#include <pthread.h>
#include <stdatomic.h>

typedef struct fault {
    const char *function;
    cl_int error;
    unsigned nth;
    tenon_status status;
} fault;

/* Returns a view of every second element. */
static tenon_tensor strided_of(tenon_tensor x)
{
    return tenon_tensor_slice_step(x, 0, 0, x.shape[0] / 2, 2);
}

TEST(a_failed_upload_reads_and_writes_nothing)
{
    static const fault faults[] = {
        {"clCreateBuffer", CL_MEM_OBJECT_ALLOCATION_FAILURE, 1, TENON_ERROR_OUT_OF_MEMORY},
        {"clEnqueueWriteBuffer", CL_OUT_OF_RESOURCES, 1, TENON_ERROR_OUT_OF_MEMORY},
        {"clSetKernelArg", CL_OUT_OF_HOST_MEMORY, 1, TENON_ERROR_OUT_OF_MEMORY},
        {"clEnqueueNDRangeKernel", CL_OUT_OF_RESOURCES, 1, TENON_ERROR_OUT_OF_MEMORY},
    };
    static const char name[] = "tenon_tensor_upload_async";
    float data[500], got[1000];
    tenon_tensor x = make_tensor(test_context, 1000), view = strided_of(x);
    memset(data, 0, sizeof data);
    assert_ok(tenon_tensor_upload_async(test_stream, data, sizeof data, &view, NULL));
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        cl_event event = NULL;
        assert_ok(tenon_tensor_fill(test_stream, &x, 3, NULL));
        faults_fail_next(faults[i].function, faults[i].error, faults[i].nth);
        assert_refused(tenon_tensor_upload_async(test_stream, data, sizeof data, &view,
                                                 &(tenon_sync){.event = &event}),
                       faults[i].status, name, "");
        assert_int_equal(faults_end(), 1);
        assert_null(event);
        assert_int_equal(tenon_last_cl_error(), faults[i].error);
        assert_ok(tenon_tensor_download(test_stream, &x, got, sizeof got, NULL));
        for (int e = 0; e < 1000; e++)
            assert_true(got[e] == 3);
    }
    /* A contiguous upload. */
    faults_fail_next("clEnqueueWriteBuffer", CL_OUT_OF_RESOURCES, 1);
    assert_refused(tenon_tensor_upload_async(test_stream, got, sizeof got, &x, NULL),
                   TENON_ERROR_OUT_OF_MEMORY, name, "clEnqueueWriteBuffer");
    assert_int_equal(faults_end(), 1);
    tenon_tensor_destroy(&x);
}

static atomic_int releases;

static void *open_later(void *gate)
{
    nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    releases = 1;
    clSetUserEventStatus(gate, CL_COMPLETE);
    return NULL;
}

/* If an upload fails after commands were enqueued, they have read the data before the call returns.
 */
TEST(a_failed_upload_has_read_its_data)
{
    tenon_tensor x = make_tensor(test_context, 1000), view = strided_of(x);
    float data[500] = {0};
    pthread_t thread;
    assert_ok(tenon_tensor_upload_async(test_stream, data, sizeof data, &view, NULL));
    cl_event gate = test_gate(test_context);
    assert_int_equal(pthread_create(&thread, NULL, open_later, gate), 0);
    faults_fail_next("clEnqueueNDRangeKernel", CL_OUT_OF_RESOURCES, 1);
    assert_int_equal(tenon_tensor_upload_async(test_stream, data, sizeof data, &view,
                                               &(tenon_sync){.wait_list = &gate, .wait_count = 1}),
                     TENON_ERROR_OUT_OF_MEMORY);
    assert_int_equal(faults_end(), 1);
    assert_int_equal(releases, 1);
    pthread_join(thread, NULL);
    clReleaseEvent(gate);
    tenon_tensor_destroy(&x);
}

TEST(a_failed_download_writes_nothing)
{
    static const fault faults[] = {
        {"clCreateBuffer", CL_MEM_OBJECT_ALLOCATION_FAILURE, 1, TENON_ERROR_OUT_OF_MEMORY},
        {"clEnqueueNDRangeKernel", CL_OUT_OF_RESOURCES, 1, TENON_ERROR_OUT_OF_MEMORY},
        {"clEnqueueReadBuffer", CL_OUT_OF_RESOURCES, 1, TENON_ERROR_OUT_OF_MEMORY},
    };
    float data[500];
    tenon_tensor x = make_tensor(test_context, 1000), view = strided_of(x);
    assert_ok(tenon_tensor_fill(test_stream, &x, 3, NULL));
    assert_ok(tenon_tensor_download_async(test_stream, &view, data, sizeof data, NULL));
    assert_ok(tenon_stream_finish(test_stream));
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        cl_event event = NULL;
        for (int e = 0; e < 500; e++)
            data[e] = -7;
        faults_fail_next(faults[i].function, faults[i].error, faults[i].nth);
        assert_refused(tenon_tensor_download_async(test_stream, &view, data, sizeof data,
                                                   &(tenon_sync){.event = &event}),
                       faults[i].status, "tenon_tensor_download_async", "");
        assert_int_equal(faults_end(), 1);
        assert_null(event);
        assert_ok(tenon_stream_finish(test_stream));
        for (int e = 0; e < 500; e++)
            assert_true(data[e] == -7);
    }
    tenon_tensor_destroy(&x);
}

TEST(pinned_memory_is_made_whole_or_not)
{
    static const fault faults[] = {
        {"clCreateBuffer", CL_MEM_OBJECT_ALLOCATION_FAILURE, 1, TENON_ERROR_OUT_OF_MEMORY},
        {"clCreateCommandQueue", CL_OUT_OF_HOST_MEMORY, 1, TENON_ERROR_OUT_OF_MEMORY},
        {"clEnqueueMapBuffer", CL_OUT_OF_RESOURCES, 1, TENON_ERROR_OUT_OF_MEMORY},
        {"calloc", 0, 1, TENON_ERROR_OUT_OF_MEMORY},
    };
    tenon_pinned *pinned;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        pinned = (void *)&pinned;
        faults_fail_next(faults[i].function, faults[i].error, 1);
        assert_refused(tenon_pinned_create(test_context, 4096, &pinned), faults[i].status,
                       "tenon_pinned_create", "");
        assert_int_equal(faults_end(), 1);
        assert_null(pinned);
    }
}

TEST(a_heap_that_cannot_be_made)
{
    tenon_context *context;
    tenon_context_params params = tenon_context_params(.pool_limit = 1 << 20);
    faults_fail_next("clRetainContext", CL_OUT_OF_HOST_MEMORY, 1);
    assert_refused(tenon_context_create(&params, &context), TENON_ERROR_OUT_OF_MEMORY,
                   "tenon_context_create", "clRetainContext");
    assert_int_equal(faults_end(), 1);
    assert_null(context);
    for (unsigned nth = 1;; nth++) {
        faults_fail_next("calloc", 0, nth);
        const tenon_status status = tenon_context_create(&params, &context);
        if (faults_end() == 0) {
            assert_ok(status);
            break;
        }
        if (status == TENON_OK) /* the context is complete without this allocation */
            tenon_context_release(context);
    }
    tenon_stream *stream;
    faults_fail_next("realloc", 0, 1);
    assert_refused(tenon_stream_create(context, NULL, &stream), TENON_ERROR_OUT_OF_MEMORY,
                   "tenon_stream_create", "memory");
    assert_int_equal(faults_end(), 1);
    assert_null(stream);
    tenon_context_release(context);
}

/* If an allocation fails, memory that the pool keeps is released for it. */
TEST(memory_that_is_short)
{
    tenon_context *context = test_context_with(.pool_limit = TENON_POOL_DEFAULT);
    tenon_memory memory[2] = {{.kind = 0}}, kept = {.kind = 77};
    faults_fail_next("calloc", 0, 1);
    assert_refused(tenon_memory_create(context, 5000, &kept), TENON_ERROR_OUT_OF_MEMORY,
                   "tenon_memory_create", "memory");
    assert_int_equal(faults_end(), 1);
    faults_fail_all("clCreateBuffer", CL_MEM_OBJECT_ALLOCATION_FAILURE);
    assert_refused(tenon_memory_create(context, 5000, &kept), TENON_ERROR_OUT_OF_MEMORY,
                   "tenon_memory_create", "clCreateBuffer");
    assert_int_equal(faults_end(), 2);
    faults_fail_next("clCreateBuffer", CL_INVALID_BUFFER_SIZE, 1);
    assert_refused(tenon_memory_create(context, 5000, &kept), TENON_ERROR_OUT_OF_MEMORY,
                   "tenon_memory_create", "5120");
    assert_int_equal(faults_end(), 1);
    assert_int_equal(kept.kind, 77);
    assert_ok(tenon_memory_create(context, 100000, &memory[0]));
    tenon_memory_destroy(&memory[0]);
    assert_true(test_statistics(context).pool_bytes > 0);
    faults_fail_next("clCreateBuffer", CL_OUT_OF_RESOURCES, 1);
    assert_ok(tenon_memory_create(context, 5000, &memory[1]));
    assert_int_equal(faults_end(), 1);
    assert_int_equal(test_statistics(context).pool_bytes, 0);
    tenon_memory_destroy(&memory[1]);
    tenon_context_release(context);
}

/* Without an event that reports when memory is free, the library waits: contents are correct. */
TEST(without_events_it_is_waited)
{
    static const fault faults[] = {
        {"clEnqueueMarkerWithWaitList", CL_OUT_OF_RESOURCES, 1, TENON_OK},
        {"clFlush", CL_OUT_OF_RESOURCES, 1, TENON_OK},
        {"malloc", 0, 1, TENON_OK},
        {"calloc", 0, 1, TENON_OK},
    };
    tenon_context *context = test_context_with(.pool_limit = TENON_POOL_DEFAULT);
    enum { SIZE = 300000 };
    float *got = malloc(SIZE * sizeof *got);
    assert_non_null(got);
    tenon_stream *stream = test_new_stream(context);
    for (size_t i = 0; i < 2 * sizeof faults / sizeof *faults; i++) {
        tenon_tensor x = make_tensor(context, SIZE), y = make_tensor(context, SIZE), z = {0};
        const int64_t shape[] = {SIZE};
        assert_ok(tenon_tensor_fill(stream, &x, (double)i + 1, NULL));
        assert_ok(relu(stream, &x, &y, NULL));
        tenon_tensor_destroy(&x);
        const fault *f = &faults[i / 2];
        faults_fail_next(f->function, f->error, 1);
        if (i % 2 == 0) { /* fails when memory is requested */
            assert_ok(tenon_tensor_create(context, TENON_DTYPE_F32, 1, shape, &z));
        } else { /* fails when the stream ends */
            assert_int_equal(tenon_stream_finish(stream), TENON_OK);
            tenon_stream_destroy(stream);
        }
        faults_end();
        if (i % 2 == 1) {
            stream = test_new_stream(context);
            assert_ok(tenon_tensor_create(context, TENON_DTYPE_F32, 1, shape, &z));
        }
        tenon_stream *other = test_new_stream(context);
        assert_ok(tenon_tensor_fill(other, &z, -1, NULL));
        assert_ok(tenon_stream_finish(other));
        tenon_stream_destroy(other);
        assert_ok(tenon_tensor_download(stream, &y, got, SIZE * sizeof *got, NULL));
        for (int e = 0; e < SIZE; e++)
            assert_true(got[e] == (float)(i + 1));
        test_destroy(&y, &z);
    }
    tenon_stream_destroy(stream);
    tenon_context_release(context);
    free(got);
}

static int deleted;

static void count(tn_dl_versioned *self)
{
    (void)self;
    deleted++;
}

TEST(dlpack_gives_back_what_it_cannot_take)
{
    static const char *const functions[] = {"malloc", "calloc", "clGetMemObjectInfo"};
    int64_t shape[] = {10};
    tenon_context *context = test_context_with(.pool_limit = TENON_POOL_DEFAULT);
    tenon_tensor x = make_tensor(context, 10), taken = {.rank = 77};
    struct DLManagedTensorVersioned *out;
    tn_dl_versioned mine = {.version = {1, 0},
                            .deleter = count,
                            .tensor = {.data = x.memory.u.buffer,
                                       .device = {TN_DL_OPENCL, 0},
                                       .ndim = 1,
                                       .dtype = {TN_DL_FLOAT, 32, 1},
                                       .shape = shape}};
    for (int i = 0; i < 3; i++) {
        deleted = 0;
        faults_fail_next(functions[i], CL_OUT_OF_HOST_MEMORY, 1);
        assert_int_equal(tenon_tensor_from_dlpack(context, (void *)&mine, NULL, &taken),
                         TENON_ERROR_OUT_OF_MEMORY);
        assert_int_equal(faults_end(), 1);
        assert_int_equal(deleted, 1);
        assert_int_equal(taken.rank, 77);
    }
    faults_fail_next("calloc", 0, 1);
    assert_refused(tenon_tensor_to_dlpack(context, &x, 0, &out), TENON_ERROR_OUT_OF_MEMORY,
                   "tenon_tensor_to_dlpack", "memory");
    assert_int_equal(faults_end(), 1);
    assert_null(out);
    tenon_tensor_destroy(&x);
    assert_true(test_statistics(context).pool_bytes >
                0); /* the pool keeps it, since it was never exported */
    tenon_context_release(context);
    cl_int error;
    const cl_mem own = clCreateBuffer(tenon_context_cl(test_context), CL_MEM_READ_WRITE, 40, NULL,
                                      &error); /* the application's, which is retained */
    assert_int_equal(error, CL_SUCCESS);
    x = tenon_tensor_view(TENON_DTYPE_F32, 1, shape);
    x.memory = (tenon_memory){.kind = TENON_MEMORY_BUFFER, .u.buffer = own};
    faults_fail_next("clRetainMemObject", CL_OUT_OF_RESOURCES, 1);
    assert_refused(tenon_tensor_to_dlpack(test_context, &x, 0, &out), TENON_ERROR_OUT_OF_MEMORY,
                   "tenon_tensor_to_dlpack", "clRetainMemObject");
    assert_int_equal(faults_end(), 1);
    assert_null(out);
    clReleaseMemObject(own);
}
