/* Preloaded driver that blocks the launch number HELD_LAUNCH (from 1), where a test can end the
 * program. At the launch it creates the file "held" in the folder HELD_FOLDER, and waits until the
 * file "go" exists there. After five minutes it ends the program with status 99. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MOST_WAITS 30000 /* 10 milliseconds each */

typedef cl_int (*enqueue_kernel)(cl_command_queue, cl_kernel, cl_uint, const size_t *,
                                 const size_t *, const size_t *, cl_uint, const cl_event *,
                                 cl_event *);

static atomic_int launches;

static void hold(const char *folder)
{
    const struct timespec time = {.tv_nsec = 10000000};
    char held[4096], go[4096];
    snprintf(held, sizeof held, "%s/held", folder);
    snprintf(go, sizeof go, "%s/go", folder);
    FILE *file = fopen(held, "wb");
    if (file != NULL)
        fclose(file);
    for (int i = 0; access(go, F_OK) != 0; i++) {
        if (file == NULL || i == MOST_WAITS)
            _exit(99);
        nanosleep(&time, NULL);
    }
}

__attribute__((visibility("default"))) cl_int
clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint work_dim,
                       const size_t *offset, const size_t *global, const size_t *local,
                       cl_uint num_events_in_wait_list, const cl_event *wait_list, cl_event *event)
{
    void *next = dlsym(dlopen("libOpenCL.so.1", RTLD_NOW), "clEnqueueNDRangeKernel");
    const char *number = getenv("HELD_LAUNCH"), *folder = getenv("HELD_FOLDER");
    enqueue_kernel enqueue;
    memcpy(&enqueue, &next, sizeof enqueue); /* C has no cast from void * to a function */
    if (number != NULL && folder != NULL && atomic_fetch_add(&launches, 1) + 1 == atoi(number))
        hold(folder);
    return enqueue(queue, kernel, work_dim, offset, global, local, num_events_in_wait_list,
                   wait_list, event);
}
