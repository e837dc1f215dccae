/* A driver that loses its device in the middle of a program, as after its watchdog has ended a
 * kernel: preloaded, it makes a launch fail, and from then on every call that needs the device; or
 * it ends the process there, as some drivers do.
 *
 * LOST_DEVICE: "WORD LAUNCH ERROR", several of them behind one another with commas between: in
 * programs with that word among their arguments, from which launch on and with which error of
 * OpenCL. An ERROR above 0 is the number of a signal. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PUBLIC __attribute__((visibility("default")))

static int launch_of_loss, error_of_loss; /* 0: this program loses nothing */
static atomic_int launches;
static atomic_bool is_lost;

/* Whether the program has an argument that is the word. */
static bool has_argument(const char *word)
{
    char text[4096];
    FILE *file = fopen("/proc/self/cmdline", "rb");
    const size_t length = file != NULL ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file != NULL)
        fclose(file);
    text[length] = '\0';
    for (size_t at = 0; at < length; at += strlen(text + at) + 1)
        if (strcmp(text + at, word) == 0)
            return true;
    return false;
}

__attribute__((constructor)) static void read_losses(void)
{
    const char *at = getenv("LOST_DEVICE");
    for (char word[64]; at != NULL; at = strchr(at, ',') != NULL ? strchr(at, ',') + 1 : NULL) {
        int launch, error;
        if (sscanf(at, "%63s %d %d", word, &launch, &error) == 3 && has_argument(word)) {
            launch_of_loss = launch;
            error_of_loss = error;
        }
    }
}

static cl_int loss(void)
{
    return is_lost ? error_of_loss : CL_SUCCESS;
}

/* The function behind ours. C has no cast from void * to a function. */
#define BEHIND(name, function)                                                                     \
    void *found = dlsym(dlopen("libOpenCL.so.1", RTLD_NOW), name);                                 \
    memcpy(&(function), &found, sizeof(function))

PUBLIC cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint work_dim,
                                     const size_t *offset, const size_t *global,
                                     const size_t *local, cl_uint num_events_in_wait_list,
                                     const cl_event *wait_list, cl_event *event)
{
    cl_int (*behind)(cl_command_queue, cl_kernel, cl_uint, const size_t *, const size_t *,
                     const size_t *, cl_uint, const cl_event *, cl_event *);
    BEHIND("clEnqueueNDRangeKernel", behind);
    if (launch_of_loss > 0 && atomic_fetch_add(&launches, 1) + 1 >= launch_of_loss) {
        if (error_of_loss > 0)
            raise(error_of_loss);
        is_lost = true;
    }
    return is_lost ? loss()
                   : behind(queue, kernel, work_dim, offset, global, local, num_events_in_wait_list,
                            wait_list, event);
}

PUBLIC cl_int clFinish(cl_command_queue queue)
{
    cl_int (*behind)(cl_command_queue);
    BEHIND("clFinish", behind);
    return is_lost ? loss() : behind(queue);
}

PUBLIC cl_int clWaitForEvents(cl_uint num_events, const cl_event *event_list)
{
    cl_int (*behind)(cl_uint, const cl_event *);
    BEHIND("clWaitForEvents", behind);
    return is_lost ? loss() : behind(num_events, event_list);
}

PUBLIC cl_int clEnqueueReadBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                  size_t offset, size_t size, void *ptr,
                                  cl_uint num_events_in_wait_list, const cl_event *wait_list,
                                  cl_event *event)
{
    cl_int (*behind)(cl_command_queue, cl_mem, cl_bool, size_t, size_t, void *, cl_uint,
                     const cl_event *, cl_event *);
    BEHIND("clEnqueueReadBuffer", behind);
    return is_lost ? loss()
                   : behind(queue, buffer, blocking, offset, size, ptr, num_events_in_wait_list,
                            wait_list, event);
}

PUBLIC cl_int clEnqueueWriteBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                   size_t offset, size_t size, const void *ptr,
                                   cl_uint num_events_in_wait_list, const cl_event *wait_list,
                                   cl_event *event)
{
    cl_int (*behind)(cl_command_queue, cl_mem, cl_bool, size_t, size_t, const void *, cl_uint,
                     const cl_event *, cl_event *);
    BEHIND("clEnqueueWriteBuffer", behind);
    return is_lost ? loss()
                   : behind(queue, buffer, blocking, offset, size, ptr, num_events_in_wait_list,
                            wait_list, event);
}

PUBLIC cl_mem clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size, void *host_ptr,
                             cl_int *errcode_ret)
{
    cl_mem (*behind)(cl_context, cl_mem_flags, size_t, void *, cl_int *);
    BEHIND("clCreateBuffer", behind);
    if (!is_lost)
        return behind(context, flags, size, host_ptr, errcode_ret);
    if (errcode_ret != NULL)
        *errcode_ret = loss();
    return NULL;
}

PUBLIC cl_command_queue clCreateCommandQueue(cl_context context, cl_device_id device,
                                             cl_command_queue_properties properties,
                                             cl_int *errcode_ret)
{
    cl_command_queue (*behind)(cl_context, cl_device_id, cl_command_queue_properties, cl_int *);
    BEHIND("clCreateCommandQueue", behind);
    if (!is_lost)
        return behind(context, device, properties, errcode_ret);
    if (errcode_ret != NULL)
        *errcode_ret = loss();
    return NULL;
}
