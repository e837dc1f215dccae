/* Contexts, queues, memory and commands of the interpreting driver. */
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

EXPORT cl_context clCreateContext(const cl_context_properties *properties, cl_uint num_devices,
                                  const cl_device_id *devices,
                                  void (*pfn_notify)(const char *, const void *, size_t, void *),
                                  void *user_data, cl_int *errcode_ret)
{
    cl_context made = calloc(1, sizeof *made);
    (void)properties;
    (void)num_devices;
    (void)devices;
    (void)pfn_notify;
    (void)user_data;
    if (made != NULL)
        made->references = 1;
    if (errcode_ret != NULL)
        *errcode_ret = made != NULL ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;
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

/* The context also serves as the queue. */
EXPORT cl_command_queue clCreateCommandQueue(cl_context context, cl_device_id device,
                                             cl_command_queue_properties properties,
                                             cl_int *errcode_ret)
{
    (void)device;
    (void)properties;
    clRetainContext(context);
    if (errcode_ret != NULL)
        *errcode_ret = CL_SUCCESS;
    return (cl_command_queue)context;
}

EXPORT cl_int clRetainCommandQueue(cl_command_queue command_queue)
{
    return clRetainContext((cl_context)command_queue);
}

EXPORT cl_int clReleaseCommandQueue(cl_command_queue command_queue)
{
    return clReleaseContext((cl_context)command_queue);
}

/* Buffers are far apart in the address space, so an access beyond one never reaches another. */
EXPORT cl_mem clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size, void *host_ptr,
                             cl_int *errcode_ret)
{
    cl_mem made = calloc(1, sizeof *made);
    (void)flags;
    if (made == NULL || (made->bytes = malloc(size > 0 ? size : 1)) == NULL) {
        free(made);
        if (errcode_ret != NULL)
            *errcode_ret = CL_OUT_OF_HOST_MEMORY;
        return NULL;
    }
    memset(made->bytes, 0xff, size); /* NaN */
    if (host_ptr != NULL)
        memcpy(made->bytes, host_ptr, size);
    pthread_mutex_lock(&ptx_lock);
    made->context = context;
    made->size = size;
    made->references = 1;
    made->address = next_address;
    next_address += (size + (1 << 20)) / 512 * 512;
    made->next = all_memory;
    all_memory = made;
    pthread_mutex_unlock(&ptx_lock);
    if (errcode_ret != NULL)
        *errcode_ret = CL_SUCCESS;
    return made;
}

EXPORT cl_int clRetainMemObject(cl_mem memobj)
{
    __atomic_add_fetch(&memobj->references, 1, __ATOMIC_SEQ_CST);
    return CL_SUCCESS;
}

EXPORT cl_int clReleaseMemObject(cl_mem memobj)
{
    if (__atomic_sub_fetch(&memobj->references, 1, __ATOMIC_SEQ_CST) > 0)
        return CL_SUCCESS;
    pthread_mutex_lock(&ptx_lock);
    for (cl_mem *at = &all_memory; *at != NULL; at = &(*at)->next)
        if (*at == memobj) {
            *at = memobj->next;
            break;
        }
    pthread_mutex_unlock(&ptx_lock);
    free(memobj->bytes);
    free(memobj);
    return CL_SUCCESS;
}

EXPORT cl_int clGetMemObjectInfo(cl_mem memobj, cl_mem_info param_name, size_t param_value_size,
                                 void *param_value, size_t *param_value_size_ret)
{
    const cl_mem none = NULL;
    const size_t zero = 0;
    switch (param_name) {
    case CL_MEM_SIZE:
        return ptx_answer(&memobj->size, sizeof memobj->size, param_value_size, param_value,
                          param_value_size_ret);
    case CL_MEM_CONTEXT:
        return ptx_answer(&memobj->context, sizeof memobj->context, param_value_size, param_value,
                          param_value_size_ret);
    case CL_MEM_ASSOCIATED_MEMOBJECT:
        return ptx_answer(&none, sizeof none, param_value_size, param_value, param_value_size_ret);
    case CL_MEM_OFFSET:
        return ptx_answer(&zero, sizeof zero, param_value_size, param_value, param_value_size_ret);
    default:
        return CL_INVALID_VALUE;
    }
}

/* Creates the event of a command. Every command has completed when its call returns. */
static cl_int done(cl_event *event)
{
    if (event != NULL && (*event = calloc(1, sizeof **event)) == NULL)
        return CL_OUT_OF_HOST_MEMORY;
    if (event != NULL)
        (*event)->references = 1;
    return CL_SUCCESS;
}

/* A command that waits for an event of the host could not return. */
EXPORT cl_event clCreateUserEvent(cl_context context, cl_int *errcode_ret)
{
    (void)context;
    *errcode_ret = CL_INVALID_OPERATION;
    return NULL;
}

EXPORT cl_int clSetUserEventStatus(cl_event event, cl_int execution_status)
{
    (void)event;
    (void)execution_status;
    return CL_INVALID_EVENT;
}

EXPORT cl_int clRetainEvent(cl_event event)
{
    __atomic_add_fetch(&event->references, 1, __ATOMIC_SEQ_CST);
    return CL_SUCCESS;
}

EXPORT cl_int clReleaseEvent(cl_event event)
{
    if (__atomic_sub_fetch(&event->references, 1, __ATOMIC_SEQ_CST) == 0)
        free(event);
    return CL_SUCCESS;
}

EXPORT cl_int clWaitForEvents(cl_uint num_events, const cl_event *event_list)
{
    (void)num_events;
    (void)event_list;
    return CL_SUCCESS;
}

EXPORT cl_int clSetEventCallback(cl_event event, cl_int type,
                                 void(CL_CALLBACK *notify)(cl_event, cl_int, void *), void *data)
{
    (void)type;
    notify(event, CL_COMPLETE, data);
    return CL_SUCCESS;
}

EXPORT cl_int clGetEventInfo(cl_event event, cl_event_info param_name, size_t param_value_size,
                             void *param_value, size_t *param_value_size_ret)
{
    const cl_int complete = CL_COMPLETE;
    (void)event;
    return param_name == CL_EVENT_COMMAND_EXECUTION_STATUS
               ? ptx_answer(&complete, sizeof complete, param_value_size, param_value,
                            param_value_size_ret)
               : CL_INVALID_VALUE;
}

EXPORT cl_int clFlush(cl_command_queue command_queue)
{
    (void)command_queue;
    return CL_SUCCESS;
}

EXPORT cl_int clFinish(cl_command_queue command_queue)
{
    (void)command_queue;
    return CL_SUCCESS;
}

#define WAITS cl_uint num_events_in_wait_list, const cl_event *event_wait_list, cl_event *event
#define UNUSED_WAITS                                                                               \
    (void)command_queue;                                                                           \
    (void)num_events_in_wait_list;                                                                 \
    (void)event_wait_list

EXPORT cl_int clEnqueueMarkerWithWaitList(cl_command_queue command_queue, WAITS)
{
    UNUSED_WAITS;
    return done(event);
}

EXPORT cl_int clEnqueueBarrierWithWaitList(cl_command_queue command_queue, WAITS)
{
    UNUSED_WAITS;
    return done(event);
}

static bool fits(cl_mem memory, size_t offset, size_t size)
{
    return offset <= memory->size && memory->size - offset >= size;
}

EXPORT cl_int clEnqueueReadBuffer(cl_command_queue command_queue, cl_mem buffer,
                                  cl_bool blocking_read, size_t offset, size_t size, void *ptr,
                                  WAITS)
{
    UNUSED_WAITS;
    (void)blocking_read;
    if (!fits(buffer, offset, size))
        return CL_INVALID_VALUE;
    memcpy(ptr, buffer->bytes + offset, size);
    return done(event);
}

EXPORT cl_int clEnqueueWriteBuffer(cl_command_queue command_queue, cl_mem buffer,
                                   cl_bool blocking_write, size_t offset, size_t size,
                                   const void *ptr, WAITS)
{
    UNUSED_WAITS;
    (void)blocking_write;
    if (!fits(buffer, offset, size))
        return CL_INVALID_VALUE;
    memcpy(buffer->bytes + offset, ptr, size);
    return done(event);
}

EXPORT cl_int clEnqueueFillBuffer(cl_command_queue command_queue, cl_mem buffer,
                                  const void *pattern, size_t pattern_size, size_t offset,
                                  size_t size, WAITS)
{
    UNUSED_WAITS;
    if (!fits(buffer, offset, size) || pattern_size == 0 || size % pattern_size != 0)
        return CL_INVALID_VALUE;
    for (size_t at = 0; at < size; at += pattern_size)
        memcpy(buffer->bytes + offset + at, pattern, pattern_size);
    return done(event);
}

EXPORT void *clEnqueueMapBuffer(cl_command_queue command_queue, cl_mem buffer, cl_bool blocking_map,
                                cl_map_flags map_flags, size_t offset, size_t size, WAITS,
                                cl_int *errcode_ret)
{
    UNUSED_WAITS;
    (void)blocking_map;
    (void)map_flags;
    const bool is_within = fits(buffer, offset, size);
    const cl_int status = is_within ? done(event) : CL_INVALID_VALUE;
    if (errcode_ret != NULL)
        *errcode_ret = status;
    return is_within ? buffer->bytes + offset : NULL;
}

EXPORT cl_int clEnqueueUnmapMemObject(cl_command_queue command_queue, cl_mem memobj,
                                      void *mapped_ptr, WAITS)
{
    UNUSED_WAITS;
    (void)memobj;
    (void)mapped_ptr;
    return done(event);
}

static bool is_memory(cl_mem memory)
{
    for (cl_mem at = all_memory; at != NULL; at = at->next)
        if (at == memory)
            return true;
    return false;
}

/* An argument with the size and the value of a cl_mem is a buffer; all others are values. */
EXPORT cl_int clSetKernelArg(cl_kernel kernel, cl_uint arg_index, size_t arg_size,
                             const void *arg_value)
{
    if ((int)arg_index >= kernel->function->param_count || arg_index >= MOST_ARGS)
        return CL_INVALID_ARG_INDEX;
    const ptx_variable *v = &kernel->program->made->variables[kernel->function->params[arg_index]];
    if (arg_value == NULL || arg_size != v->size || v->offset + arg_size > sizeof kernel->params)
        return CL_INVALID_ARG_SIZE;
    cl_mem memory = NULL;
    if (arg_size == sizeof memory)
        memcpy(&memory, arg_value, sizeof memory);
    pthread_mutex_lock(&ptx_lock);
    kernel->memory[arg_index] = memory != NULL && is_memory(memory) ? memory : NULL;
    pthread_mutex_unlock(&ptx_lock);
    if (kernel->memory[arg_index] != NULL)
        memcpy(kernel->params + v->offset, &memory->address, sizeof memory->address);
    else
        memcpy(kernel->params + v->offset, arg_value, arg_size);
    kernel->given |= 1u << arg_index;
    return CL_SUCCESS;
}

/* Returns a work-group size that divides the global size, for launches that leave it to the
 * driver. */
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

static cl_int run(cl_kernel kernel, ptx_launch launch)
{
    static uint64_t number;
    const char *seed = getenv("PTX_SEED");
    ptx_buffer buffers[MOST_ARGS];
    ptx_counts counts = {0};
    char message[512] = "";
    for (int i = 0; i < kernel->function->param_count; i++)
        if (kernel->memory[i] != NULL)
            buffers[launch.buffer_count++] = (ptx_buffer){
                kernel->memory[i]->address, kernel->memory[i]->size, kernel->memory[i]->bytes};
    launch.buffers = buffers;
    launch.seed = seed != NULL ? strtoull(seed, NULL, 0) + number++ : 1;
    const bool is_right = ptx_run(&launch, &counts, message);
    report(kernel, &launch, &counts, is_right ? NULL : message);
    return is_right ? CL_SUCCESS : CL_OUT_OF_RESOURCES;
}

EXPORT cl_int clEnqueueNDRangeKernel(cl_command_queue command_queue, cl_kernel kernel,
                                     cl_uint work_dim, const size_t *global_work_offset,
                                     const size_t *global_work_size, const size_t *local_work_size,
                                     WAITS)
{
    ptx_launch launch = {.program = kernel->program->made,
                         .kernel = kernel->function,
                         .groups = {1, 1, 1},
                         .items = {1, 1, 1},
                         .params = kernel->params};
    UNUSED_WAITS;
    if (kernel->given != (1u << kernel->function->param_count) - 1)
        return CL_INVALID_KERNEL_ARGS;
    for (cl_uint d = 0; d < work_dim; d++) {
        const size_t items = local_work_size != NULL ? local_work_size[d]
                             : d == 0                ? chosen(global_work_size[d])
                                                     : 1;
        if (items == 0 || global_work_size[d] % items != 0 || global_work_size[d] == 0)
            return CL_INVALID_WORK_GROUP_SIZE;
        if (global_work_offset != NULL && global_work_offset[d] != 0)
            return CL_INVALID_GLOBAL_OFFSET;
        launch.items[d] = (uint32_t)items;
        launch.groups[d] = (uint32_t)(global_work_size[d] / items);
    }
    pthread_mutex_lock(&ptx_lock);
    const cl_int status = run(kernel, launch);
    pthread_mutex_unlock(&ptx_lock);
    return status == CL_SUCCESS ? done(event) : status;
}
