/* Shared code of preloaded drivers that replace the launch of one kernel. */
#ifndef PRELOADED_H
#define PRELOADED_H

#include <CL/cl.h>

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

typedef cl_int (*enqueue_kernel)(cl_command_queue, cl_kernel, cl_uint, const size_t *,
                                 const size_t *, const size_t *, cl_uint, const cl_event *,
                                 cl_event *);

/* Returns true if an environment variable is set to the name of the kernel's function. */
static inline bool is_named_by(const char *variable, cl_kernel kernel)
{
    const char *wanted = getenv(variable);
    char name[256];
    return wanted != NULL &&
           clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof name, name, NULL) ==
               CL_SUCCESS &&
           strcmp(name, wanted) == 0;
}

/* Returns the driver's clEnqueueNDRangeKernel. */
static inline enqueue_kernel next_enqueue(void)
{
    void *next = dlsym(RTLD_NEXT, "clEnqueueNDRangeKernel");
    enqueue_kernel enqueue;
    memcpy(&enqueue, &next, sizeof enqueue); /* C has no cast from void * to a function */
    return enqueue;
}

#endif
