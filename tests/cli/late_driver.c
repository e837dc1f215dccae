/* Preloaded driver that registers an exit handler late, as compilers do when a part of them is used
 * for the first time: at the launch number LATE_LAUNCH or the query of a program's binary number
 * LATE_QUERY (from 1). It then creates the file LATE_FILE, and a query takes a second, so that the
 * process can end meanwhile. The process ends with status 98 if a binary is being queried when this
 * handler runs, or afterwards: Tenon's handler must run before it. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef cl_int (*enqueue_kernel)(cl_command_queue, cl_kernel, cl_uint, const size_t *,
                                 const size_t *, const size_t *, cl_uint, const cl_event *,
                                 cl_event *);
typedef cl_int (*get_program_info)(cl_program, cl_program_info, size_t, void *, size_t *);

static atomic_int launches, queries, inside;
static atomic_bool is_torn_down;

static void fail(const char *why)
{
    fprintf(stderr, "late_driver: %s\n", why);
    _exit(98);
}

static void tear_down(void)
{
    atomic_store(&is_torn_down, true);
    if (atomic_load(&inside) > 0)
        fail("torn down while a binary is queried");
}

/* Counts a call. Registers the handler and returns true if it is the call of this number. */
static bool is_late(const char *variable, atomic_int *count)
{
    const char *number = getenv(variable), *path = getenv("LATE_FILE");
    if (number == NULL || path == NULL || atomic_fetch_add(count, 1) + 1 != atoi(number))
        return false;
    FILE *file = atexit(tear_down) == 0 ? fopen(path, "wb") : NULL;
    if (file == NULL)
        _exit(99);
    fclose(file);
    return true;
}

__attribute__((visibility("default"))) cl_int
clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint work_dim,
                       const size_t *offset, const size_t *global, const size_t *local,
                       cl_uint num_events_in_wait_list, const cl_event *wait_list, cl_event *event)
{
    void *next = dlsym(dlopen("libOpenCL.so.1", RTLD_NOW), "clEnqueueNDRangeKernel");
    enqueue_kernel enqueue;
    memcpy(&enqueue, &next, sizeof enqueue); /* C has no cast from void * to a function */
    (void)is_late("LATE_LAUNCH", &launches);
    return enqueue(queue, kernel, work_dim, offset, global, local, num_events_in_wait_list,
                   wait_list, event);
}

__attribute__((visibility("default"))) cl_int
clGetProgramInfo(cl_program program, cl_program_info param_name, size_t param_value_size,
                 void *param_value, size_t *param_value_size_ret)
{
    void *next = dlsym(dlopen("libOpenCL.so.1", RTLD_NOW), "clGetProgramInfo");
    const struct timespec second = {.tv_sec = 1};
    get_program_info get;
    memcpy(&get, &next, sizeof get);
    if (param_name != CL_PROGRAM_BINARY_SIZES)
        return get(program, param_name, param_value_size, param_value, param_value_size_ret);
    atomic_fetch_add(&inside, 1);
    if (atomic_load(&is_torn_down))
        fail("a binary is queried after the driver was torn down");
    if (is_late("LATE_QUERY", &queries))
        nanosleep(&second, NULL);
    const cl_int error =
        get(program, param_name, param_value_size, param_value, param_value_size_ret);
    atomic_fetch_sub(&inside, 1);
    return error;
}
