/* Preloaded driver that does not run the kernel named by SPOILED_KERNEL, which makes its self-check
 * fail. */
#define _GNU_SOURCE
#include <CL/cl.h>

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

typedef cl_int (*enqueue_kernel)(cl_command_queue, cl_kernel, cl_uint, const size_t *,
                                 const size_t *, const size_t *, cl_uint, const cl_event *,
                                 cl_event *);

static bool is_spoiled(cl_kernel kernel)
{
    const char *spoiled = getenv("SPOILED_KERNEL");
    char name[256];
    return spoiled != NULL &&
           clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof name, name, NULL) ==
               CL_SUCCESS &&
           strcmp(name, spoiled) == 0;
}

__attribute__((visibility("default"))) cl_int
clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint work_dim,
                       const size_t *offset, const size_t *global, const size_t *local,
                       cl_uint num_events_in_wait_list, const cl_event *wait_list, cl_event *event)
{
    void *next = dlsym(RTLD_NEXT, "clEnqueueNDRangeKernel");
    enqueue_kernel enqueue;
    memcpy(&enqueue, &next, sizeof enqueue); /* C has no cast from void * to a function */
    if (is_spoiled(kernel))
        return clEnqueueMarkerWithWaitList(queue, num_events_in_wait_list, wait_list, event);
    return enqueue(queue, kernel, work_dim, offset, global, local, num_events_in_wait_list,
                   wait_list, event);
}
