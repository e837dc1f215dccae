/* Contexts, queues, memory and commands. */
#include "driver.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

pthread_mutex_t ptx_lock = PTHREAD_MUTEX_INITIALIZER;

static cl_mem all_memory;
static uint64_t next_address = (uint64_t)1 << 36;

struct _cl_context {
    int references;
};

EXPORT cl_context clCreateContext(const cl_context_properties *properties, cl_uint count,
                                  const cl_device_id *devices,
                                  void (*notify)(const char *, const void *, size_t, void *),
                                  void *user, cl_int *error)
{
    cl_context made = calloc(1, sizeof *made);
    (void)properties;
    (void)count;
    (void)devices;
    (void)notify;
    (void)user;
    if (made != NULL)
        made->references = 1;
    if (error != NULL)
        *error = made != NULL ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;
    return made;
}

EXPORT cl_int clRetainContext(cl_context context)
{
    __atomic_add_fetch(&context->references, 1, __ATOMIC_SEQ_CST);
    return CL_SUCCESS;
}

EXPORT cl_int clReleaseContext(cl_context context)
{
    if (__atomic_sub_fetch(&context->references, 1, __ATOMIC_SEQ_CST) == 0)
        free(context);
    return CL_SUCCESS;
}

/* A queue is its context. */
EXPORT cl_command_queue clCreateCommandQueue(cl_context context, cl_device_id device,
                                             cl_command_queue_properties properties, cl_int *error)
{
    (void)device;
    (void)properties;
    clRetainContext(context);
    if (error != NULL)
        *error = CL_SUCCESS;
    return (cl_command_queue)context;
}

EXPORT cl_int clRetainCommandQueue(cl_command_queue queue)
{
    return clRetainContext((cl_context)queue);
}

EXPORT cl_int clReleaseCommandQueue(cl_command_queue queue)
{
    return clReleaseContext((cl_context)queue);
}

/* Buffers lie far apart, so that what goes beyond one meets none. */
EXPORT cl_mem clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size, void *host,
                             cl_int *error)
{
    cl_mem made = calloc(1, sizeof *made);
    (void)flags;
    if (made == NULL || (made->bytes = malloc(size > 0 ? size : 1)) == NULL) {
        free(made);
        if (error != NULL)
            *error = CL_OUT_OF_HOST_MEMORY;
        return NULL;
    }
    memset(made->bytes, 0xff, size); /* NaN */
    if (host != NULL)
        memcpy(made->bytes, host, size);
    pthread_mutex_lock(&ptx_lock);
    made->context = context;
    made->size = size;
    made->references = 1;
    made->address = next_address;
    next_address += (size + (1 << 20)) / 512 * 512;
    made->next = all_memory;
    all_memory = made;
    pthread_mutex_unlock(&ptx_lock);
    if (error != NULL)
        *error = CL_SUCCESS;
    return made;
}

EXPORT cl_int clReleaseMemObject(cl_mem memory)
{
    pthread_mutex_lock(&ptx_lock);
    for (cl_mem *at = &all_memory; *at != NULL; at = &(*at)->next)
        if (*at == memory) {
            *at = memory->next;
            break;
        }
    pthread_mutex_unlock(&ptx_lock);
    free(memory->bytes);
    free(memory);
    return CL_SUCCESS;
}

EXPORT cl_int clGetMemObjectInfo(cl_mem memory, cl_mem_info what, size_t size, void *to,
                                 size_t *size_ret)
{
    const cl_mem none = NULL;
    const size_t zero = 0;
    switch (what) {
    case CL_MEM_SIZE:
        return ptx_answer(&memory->size, sizeof memory->size, size, to, size_ret);
    case CL_MEM_CONTEXT:
        return ptx_answer(&memory->context, sizeof memory->context, size, to, size_ret);
    case CL_MEM_ASSOCIATED_MEMOBJECT:
        return ptx_answer(&none, sizeof none, size, to, size_ret);
    case CL_MEM_OFFSET:
        return ptx_answer(&zero, sizeof zero, size, to, size_ret);
    default:
        return CL_INVALID_VALUE;
    }
}

/* Every command has ended when it returns. */
static cl_int done(cl_event *event)
{
    if (event != NULL && (*event = calloc(1, sizeof **event)) == NULL)
        return CL_OUT_OF_HOST_MEMORY;
    return CL_SUCCESS;
}

EXPORT cl_int clReleaseEvent(cl_event event)
{
    free(event);
    return CL_SUCCESS;
}

EXPORT cl_int clGetEventInfo(cl_event event, cl_event_info what, size_t size, void *to,
                             size_t *size_ret)
{
    const cl_int complete = CL_COMPLETE;
    (void)event;
    return what == CL_EVENT_COMMAND_EXECUTION_STATUS
               ? ptx_answer(&complete, sizeof complete, size, to, size_ret)
               : CL_INVALID_VALUE;
}

EXPORT cl_int clFlush(cl_command_queue queue)
{
    (void)queue;
    return CL_SUCCESS;
}

EXPORT cl_int clFinish(cl_command_queue queue)
{
    (void)queue;
    return CL_SUCCESS;
}

#define WAITS cl_uint count, const cl_event *list, cl_event *event
#define UNUSED_WAITS                                                                               \
    (void)queue;                                                                                   \
    (void)count;                                                                                   \
    (void)list

EXPORT cl_int clEnqueueMarkerWithWaitList(cl_command_queue queue, WAITS)
{
    UNUSED_WAITS;
    return done(event);
}

EXPORT cl_int clEnqueueBarrierWithWaitList(cl_command_queue queue, WAITS)
{
    UNUSED_WAITS;
    return done(event);
}

static bool fits(cl_mem memory, size_t offset, size_t size)
{
    return offset <= memory->size && memory->size - offset >= size;
}

EXPORT cl_int clEnqueueReadBuffer(cl_command_queue queue, cl_mem memory, cl_bool blocking,
                                  size_t offset, size_t size, void *to, WAITS)
{
    UNUSED_WAITS;
    (void)blocking;
    if (!fits(memory, offset, size))
        return CL_INVALID_VALUE;
    memcpy(to, memory->bytes + offset, size);
    return done(event);
}

EXPORT cl_int clEnqueueWriteBuffer(cl_command_queue queue, cl_mem memory, cl_bool blocking,
                                   size_t offset, size_t size, const void *from, WAITS)
{
    UNUSED_WAITS;
    (void)blocking;
    if (!fits(memory, offset, size))
        return CL_INVALID_VALUE;
    memcpy(memory->bytes + offset, from, size);
    return done(event);
}

EXPORT cl_int clEnqueueFillBuffer(cl_command_queue queue, cl_mem memory, const void *pattern,
                                  size_t length, size_t offset, size_t size, WAITS)
{
    UNUSED_WAITS;
    if (!fits(memory, offset, size) || length == 0 || size % length != 0)
        return CL_INVALID_VALUE;
    for (size_t at = 0; at < size; at += length)
        memcpy(memory->bytes + offset + at, pattern, length);
    return done(event);
}

EXPORT void *clEnqueueMapBuffer(cl_command_queue queue, cl_mem memory, cl_bool blocking,
                                cl_map_flags flags, size_t offset, size_t size, WAITS,
                                cl_int *error)
{
    UNUSED_WAITS;
    (void)blocking;
    (void)flags;
    const bool is_within = fits(memory, offset, size);
    const cl_int status = is_within ? done(event) : CL_INVALID_VALUE;
    if (error != NULL)
        *error = status;
    return is_within ? memory->bytes + offset : NULL;
}

EXPORT cl_int clEnqueueUnmapMemObject(cl_command_queue queue, cl_mem memory, void *at, WAITS)
{
    UNUSED_WAITS;
    (void)memory;
    (void)at;
    return done(event);
}

static bool is_memory(cl_mem memory)
{
    for (cl_mem at = all_memory; at != NULL; at = at->next)
        if (at == memory)
            return true;
    return false;
}

/* What has the size of a cl_mem and is one is a buffer; all else is a value. */
EXPORT cl_int clSetKernelArg(cl_kernel kernel, cl_uint index, size_t size, const void *value)
{
    if ((int)index >= kernel->function->param_count || index >= MOST_ARGS)
        return CL_INVALID_ARG_INDEX;
    const ptx_variable *v = &kernel->program->made->variables[kernel->function->params[index]];
    if (value == NULL || size != v->size || v->offset + size > sizeof kernel->params)
        return CL_INVALID_ARG_SIZE;
    cl_mem memory = NULL;
    if (size == sizeof memory)
        memcpy(&memory, value, sizeof memory);
    pthread_mutex_lock(&ptx_lock);
    kernel->memory[index] = memory != NULL && is_memory(memory) ? memory : NULL;
    pthread_mutex_unlock(&ptx_lock);
    if (kernel->memory[index] != NULL)
        memcpy(kernel->params + v->offset, &memory->address, sizeof memory->address);
    else
        memcpy(kernel->params + v->offset, value, size);
    kernel->given |= 1u << index;
    return CL_SUCCESS;
}

/* Of a size that the caller leaves open: what divides it. */
static size_t chosen(size_t global)
{
    size_t local = 64;
    while (global % local != 0)
        local /= 2;
    return local;
}

static void report(cl_kernel kernel, const ptx_launch *launch, const ptx_counts *counts,
                   const char *wrong)
{
    const char *path = getenv("PTX_REPORT");
    FILE *file = path != NULL ? fopen(path, "a") : NULL;
    if (wrong != NULL)
        fprintf(stderr, "ptx: %s: %s; PTX_SEED=%" PRIu64 "\n", kernel->function->name, wrong,
                launch->seed);
    if (file == NULL)
        return;
    fprintf(file,
            "{\"kernel\": \"%s\", \"groups\": %" PRIu64 ", \"instructions\": %" PRIu64
            ", \"products\": %" PRIu64 ", \"copies\": %" PRIu64 ", \"barriers\": %" PRIu64
            ", \"wrong\": \"%s\"}\n",
            kernel->function->name,
            (uint64_t)launch->groups[0] * launch->groups[1] * launch->groups[2],
            counts->instructions, counts->products, counts->copies, counts->barriers,
            wrong != NULL ? wrong : "");
    fclose(file);
}

static cl_int run(cl_kernel kernel, ptx_launch *launch)
{
    static uint64_t number;
    const char *seed = getenv("PTX_SEED");
    ptx_buffer buffers[MOST_ARGS];
    ptx_counts counts = {0};
    char message[512] = "";
    for (int i = 0; i < kernel->function->param_count; i++)
        if (kernel->memory[i] != NULL)
            buffers[launch->buffer_count++] = (ptx_buffer){
                kernel->memory[i]->address, kernel->memory[i]->size, kernel->memory[i]->bytes};
    launch->buffers = buffers;
    launch->seed = seed != NULL ? strtoull(seed, NULL, 0) + number++ : 1;
    const bool is_right = ptx_run(launch, &counts, message);
    report(kernel, launch, &counts, is_right ? NULL : message);
    return is_right ? CL_SUCCESS : CL_OUT_OF_RESOURCES;
}

EXPORT cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                                     const size_t *offset, const size_t *global,
                                     const size_t *local, WAITS)
{
    ptx_launch launch = {.program = kernel->program->made,
                         .kernel = kernel->function,
                         .groups = {1, 1, 1},
                         .items = {1, 1, 1},
                         .params = kernel->params};
    UNUSED_WAITS;
    if (kernel->given != (1u << kernel->function->param_count) - 1)
        return CL_INVALID_KERNEL_ARGS;
    for (cl_uint d = 0; d < dimensions; d++) {
        const size_t items = local != NULL ? local[d] : d == 0 ? chosen(global[d]) : 1;
        if (items == 0 || global[d] % items != 0 || global[d] == 0)
            return CL_INVALID_WORK_GROUP_SIZE;
        if (offset != NULL && offset[d] != 0)
            return CL_INVALID_GLOBAL_OFFSET;
        launch.items[d] = (uint32_t)items;
        launch.groups[d] = (uint32_t)(global[d] / items);
    }
    pthread_mutex_lock(&ptx_lock);
    const cl_int status = run(kernel, &launch);
    pthread_mutex_unlock(&ptx_lock);
    return status == CL_SUCCESS ? done(event) : status;
}
