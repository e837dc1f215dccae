/*
 * Tests querying the size of a program's binary while one of its kernels runs. For the query PoCL
 * 3.1 compiles the kernel again and inserts the result in its cache before the entry in use, under
 * the same work-group size; when the kernel ends it releases the wrong entry, and PoCL ends the
 * process (pocl_release_dlhandle_cache: found->ref_count > 0).
 */
#include "driver.h"

#include "common/temporary.h"

#include <time.h>

enum { ITEMS = 64, ITERATIONS = 10000000 };

static const char source[] =
    "__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void work(__global float *y, int n)\n"
    "{\n"
    "    float sum = y[get_global_id(0)];\n"
    "    for (int i = 0; i < n; i++)\n"
    "        sum = fma(sum, 0.999f, 1.0f);\n"
    "    y[get_global_id(0)] = sum;\n"
    "}\n";

static void sleep_for(long nanoseconds)
{
    nanosleep(&(struct timespec){.tv_nsec = nanoseconds}, NULL);
}

/* Yields the processor to the kernel until it runs. Returns false if it has ended already. */
static bool wait_until_running(cl_event event)
{
    cl_int status;
    do {
        sleep_for(1000000);
        if (clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status,
                           NULL) != CL_SUCCESS)
            return false;
    } while (status > CL_RUNNING);
    sleep_for(20000000);
    return status == CL_RUNNING;
}

/* Queries the size of the binary, which is the first step of reading it; PoCL compiles here. */
static bool get_size(cl_kernel kernel)
{
    cl_program program;
    size_t size = 0;
    clGetKernelInfo(kernel, CL_KERNEL_PROGRAM, sizeof program, &program, NULL);
    return clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL) ==
               CL_SUCCESS &&
           size > 0;
}

static driver_outcome reduced(const driver *d)
{
    static const float x[ITEMS];
    float y[ITEMS];
    const size_t local = 1, global = ITEMS;
    const cl_int n = ITERATIONS;
    cl_event event;
    cl_kernel kernel = driver_kernel(d, source, "work");
    cl_mem memory = driver_buffer(d, sizeof x, x);
    driver_set_buffer(kernel, 0, memory);
    if (clSetKernelArg(kernel, 1, sizeof n, &n) != CL_SUCCESS ||
        clEnqueueNDRangeKernel(d->queue, kernel, 1, NULL, &global, &local, 0, NULL, &event) !=
            CL_SUCCESS ||
        clFlush(d->queue) != CL_SUCCESS || !wait_until_running(event) || !get_size(kernel) ||
        clEnqueueReadBuffer(d->queue, memory, CL_TRUE, 0, sizeof y, y, 0, NULL, NULL) != CL_SUCCESS)
        return DRIVER_UNTRIED;
    for (int i = 0; i < ITEMS; i++)
        if (!(y[i] > 900 && y[i] < 1100))
            return DRIVER_WRONG;
    return DRIVER_RIGHT;
}

#define ROWS     700
#define LAUNCHES 100

static tenon_tensor make(tenon_context *context)
{
    const int64_t shape[] = {ROWS, ROWS};
    tenon_tensor tensor;
    assert_ok(tenon_tensor_create(context, TENON_DTYPE_F32, 2, shape, &tensor));
    return tensor;
}

static const char *why_not(tenon_context *context)
{
    return tenon_context_keep(context) == TENON_OK ? "" : tenon_last_error();
}

static bool is_over(cl_event event)
{
    cl_int status = CL_QUEUED;
    clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL);
    return status == CL_COMPLETE;
}

/* Keeps programs while work runs, which continues after its stream is destroyed: no binary may be
 * requested before the work has completed. */
static void keep_while_running(bool is_destroyed)
{
    char *folder = temporary_make();
    const tenon_store store = {.kind = TENON_STORE_FOLDER, .folder = folder};
    tenon_context_params params = TENON_CONTEXT_PARAMS_INIT;
    tenon_statistics before = TENON_STATISTICS_INIT, after = TENON_STATISTICS_INIT;
    tenon_context *context, *other;
    tenon_stream *stream;
    cl_event last;
    params.store = store;
    assert_ok(tenon_context_create(&params, &context));
    assert_ok(tenon_stream_create(context, NULL, &stream));
    tenon_tensor x = make(context), y = make(context);
    assert_ok(tenon_tensor_fill(stream, &x, 0.5, NULL));
    for (int i = 0; i < LAUNCHES; i++)
        assert_ok(tenon_gemm(stream, NULL, &x, &x, NULL, NULL, &y,
                             i + 1 == LAUNCHES ? &(tenon_sync){.event = &last} : NULL));
    assert_ok(tenon_context_statistics(context, &before));
    const bool is_asked_for_later = before.programs_kept == 0;
    assert_ok(tenon_context_create(NULL, &other));
    if (is_asked_for_later)
        assert_contains(why_not(context), "the process has other contexts");
    tenon_context_release(other);
    if (is_destroyed)
        tenon_stream_destroy(stream);
    assert_string_equal(why_not(context), "");
    if (is_asked_for_later)
        assert_true(is_over(last));
    clReleaseEvent(last);
    assert_ok(tenon_context_statistics(context, &after));
    assert_true(after.programs_kept > 0);
    tenon_memory_destroy(&x.memory);
    tenon_memory_destroy(&y.memory);
    if (!is_destroyed)
        tenon_stream_destroy(stream);
    tenon_context_release(context);
    temporary_remove(folder);
}

TEST(keeping_binaries_waits_for_running_work)
{
    keep_while_running(true);
    keep_while_running(false);
}

int main(void)
{
    driver_try("a binary that is asked for while a kernel runs", NULL, reduced);
    return test_main_alone();
}
