/*
 * Tests two threads that run one program on queues of their own with changing sizes. PoCL 3.1's
 * device `basic` executes on the calling thread, and one thread releases a cache entry that the
 * other uses (pocl_release_dlhandle_cache: found->ref_count > 0). The default device, `pthread`,
 * does so on a single thread.
 */
#include "driver.h"

#include <pthread.h>

enum { LAUNCHES = 400, THREADS = 2 };

static const char source[] = "__kernel void work(__global float *y, int n)\n"
                             "{\n"
                             "    __local float16 tile[64];\n"
                             "    for (int i = 0; i < n; i++)\n"
                             "        tile[i] = (float16)(i);\n"
                             "    barrier(CLK_LOCAL_MEM_FENCE);\n"
                             "    float16 sum = 0;\n"
                             "    for (int r = 0; r < 20; r++)\n"
                             "        for (int i = 0; i < n; i++)\n"
                             "            sum = fma(sum, tile[i], tile[n - 1 - i]);\n"
                             "    vstore16(sum, get_global_id(0), y);\n"
                             "}\n";

typedef struct worker {
    const driver *d;
    cl_kernel kernel;
    int number;
    bool well;
} worker;

static void *work(void *data)
{
    worker *w = data;
    const cl_int depth = 64;
    cl_int error;
    const cl_queue_properties none[] = {0};
    cl_command_queue queue =
        clCreateCommandQueueWithProperties(w->d->context, w->d->device, none, &error);
    w->well = error == CL_SUCCESS;
    driver_set_buffer(w->kernel, 0, driver_buffer(w->d, 1 << 18, NULL));
    clSetKernelArg(w->kernel, 1, sizeof depth, &depth);
    for (int i = 0; i < LAUNCHES && w->well; i++) {
        const size_t local = 1 + (size_t)(i % 2 == 0 ? i / 80 : i / 40),
                     global = local * (1 + (size_t)((7 * i + 3 * w->number) % 11));
        w->well = clEnqueueNDRangeKernel(queue, w->kernel, 1, NULL, &global, &local, 0, NULL,
                                         NULL) == CL_SUCCESS &&
                  clFlush(queue) == CL_SUCCESS && (i % 4 != 3 || clFinish(queue) == CL_SUCCESS);
    }
    w->well = w->well && clFinish(queue) == CL_SUCCESS;
    return NULL;
}

static driver_outcome reduced(const driver *d)
{
    pthread_t threads[THREADS];
    worker workers[THREADS];
    cl_kernel kernel = driver_kernel(d, source, "work");
    cl_program program;
    cl_int error;
    clGetKernelInfo(kernel, CL_KERNEL_PROGRAM, sizeof program, &program, NULL);
    for (int t = 0; t < THREADS; t++) {
        workers[t] = (worker){d, clCreateKernel(program, "work", &error), t, false};
        if (error != CL_SUCCESS || pthread_create(&threads[t], NULL, work, &workers[t]) != 0)
            return DRIVER_UNTRIED;
    }
    bool well = true;
    for (int t = 0; t < THREADS; t++) {
        pthread_join(threads[t], NULL);
        well &= workers[t].well;
    }
    return well ? DRIVER_RIGHT : DRIVER_WRONG;
}

/* Runs the case only on PoCL's device `basic`. If the default platform is not PoCL, the case is not
 * tried. */
static driver_outcome reduced_on_basic(const driver *d)
{
    char name[256] = "";
    clGetDeviceInfo(d->device, CL_DEVICE_NAME, sizeof name, name, NULL);
    return strncmp(name, "basic", 5) == 0 ? reduced(d) : DRIVER_UNTRIED;
}

/* Thread function: runs Tenon with changing sizes on a stream of its own and checks every
 * result. */
static void *use(void *data)
{
    enum { MOST = 5000 };
    worker *w = data;
    tenon_stream *stream = NULL;
    tenon_tensor x = {0};
    const int64_t most[] = {MOST};
    tenon_activation_params params = TENON_ACTIVATION_PARAMS_INIT;
    float *values = malloc(MOST * sizeof *values);
    params.activation.kind = TENON_ACTIVATION_RELU;
    w->well = values != NULL && tenon_stream_create(test_context, NULL, &stream) == TENON_OK &&
              tenon_tensor_create(test_context, TENON_DTYPE_F32, 1, most, &x) == TENON_OK;
    for (int i = 0; i < LAUNCHES / 4 && w->well; i++) {
        const int64_t size = 1 + (577 * i + 1301 * w->number) % MOST;
        const tenon_tensor part = tenon_tensor_slice(x, 0, 0, size);
        for (int64_t j = 0; j < size; j++)
            values[j] = (float)((j + i) % 9 - 4);
        w->well = tenon_tensor_upload(stream, values, (size_t)size * sizeof *values, &part, NULL) ==
                      TENON_OK &&
                  tenon_activation_forward(stream, &params, &part, &part, NULL) == TENON_OK &&
                  tenon_tensor_download(stream, &part, values, (size_t)size * sizeof *values,
                                        NULL) == TENON_OK;
        for (int64_t j = 0; j < size && w->well; j++) {
            const int64_t was = (j + i) % 9 - 4;
            w->well = values[j] == (float)(was > 0 ? was : 0);
        }
    }
    tenon_memory_destroy(&x.memory);
    tenon_stream_destroy(stream);
    free(values);
    return NULL;
}

TEST(two_streams_are_independent)
{
    pthread_t threads[THREADS];
    worker workers[THREADS];
    for (int t = 0; t < THREADS; t++) {
        workers[t] = (worker){.number = t};
        assert_int_equal(pthread_create(&threads[t], NULL, use, &workers[t]), 0);
    }
    for (int t = 0; t < THREADS; t++) {
        pthread_join(threads[t], NULL);
        assert_true(workers[t].well);
    }
}

int main(void)
{
    driver_try("two threads run one program on PoCL's device basic", "basic", reduced_on_basic);
    driver_try("two threads run one program on this device", NULL, reduced);
    return test_main();
}
