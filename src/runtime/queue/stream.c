#include "runtime/queue/stream.h"

#include "runtime/opencl/cl_error.h"
#include "runtime/queue/command.h"
#include "runtime/queue/host_event.h"
#include "runtime/opencl/gate.h"
#include "runtime/memory/heap.h"
#include "runtime/program/binary_writer.h"
#include "runtime/memory/memory.h"
#include "runtime/opencl/opencl.h"
#include "runtime/context/process_end.h"
#include "runtime/program/program.h"

#include <stdlib.h>
#include <string.h>

tenon_status tn_stream_check(const char *caller, tenon_stream *stream)
{
    if (stream == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: stream is NULL", caller);
    TN_TRY(tn_gate_check(caller));
    if (stream->last_count == 0 && stream->watch == NULL)
        return TENON_OK;
    return tn_command_failure(caller, stream);
}

tenon_status tn_sync_check(const char *caller, const tenon_sync *sync)
{
    if (sync == NULL)
        return TENON_OK;
    if (sync->reserved != 0)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: sync: reserved is %u, must be 0", caller,
                       sync->reserved);
    if ((sync->wait_count > 0) != (sync->wait_list != NULL))
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: sync: wait_list is %p with a wait_count of %u", caller,
                       (const void *)sync->wait_list, sync->wait_count);
    for (uint32_t i = 0; i < sync->wait_count; i++)
        if (sync->wait_list[i] == NULL)
            return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: sync: wait_list[%u] is NULL", caller,
                           i);
    return TENON_OK;
}

cl_uint tn_sync_wait_count(const tenon_sync *sync)
{
    return sync != NULL ? sync->wait_count : 0;
}

const cl_event *tn_sync_wait_list(const tenon_sync *sync)
{
    return sync != NULL ? sync->wait_list : NULL;
}

cl_event *tn_sync_event(const tenon_sync *sync)
{
    return sync != NULL ? sync->event : NULL;
}

void tn_sync_flush(tenon_stream *stream, const tenon_sync *sync)
{
    if (tn_sync_event(sync) != NULL)
        clFlush(stream->queue);
}

void tn_stream_settle(tenon_stream *stream)
{
    clFinish(stream->queue);
}

tenon_status tn_sync_marker(const char *caller, tenon_stream *stream, const tenon_sync *sync)
{
    tn_command command;
    if (tn_sync_wait_count(sync) == 0 && tn_sync_event(sync) == NULL)
        return TENON_OK;
    TN_TRY(tn_command_begin(caller, stream, sync, tn_sync_event(sync) != NULL, &command));
    TN_CL_TRY(caller, "clEnqueueMarkerWithWaitList",
              clEnqueueMarkerWithWaitList(stream->queue, command.wait_count, command.wait_list,
                                          command.event));
    const tenon_status status = tn_command_end(caller, NULL, stream, &command, tn_sync_event(sync));
    tn_sync_flush(stream, sync);
    return status;
}

static tenon_status create_queue(const char *caller, tenon_context *context,
                                 cl_command_queue *queue)
{
    cl_command_queue_properties properties =
        context->policy.profiling ? CL_QUEUE_PROFILING_ENABLE : 0;
    cl_int error;
    *queue = clCreateCommandQueue(context->cl, context->device.info.device, properties, &error);
    TN_CL_TRY(caller, "clCreateCommandQueue", error);
    return TENON_OK;
}

static tenon_status import_queue(const char *caller, tenon_context *context, cl_command_queue queue,
                                 bool *is_unordered)
{
    cl_context cl;
    cl_device_id device;
    cl_command_queue_properties properties;
    TN_CL_TRY(caller, "clGetCommandQueueInfo(CL_QUEUE_CONTEXT)",
              clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof cl, &cl, NULL));
    TN_CL_TRY(caller, "clGetCommandQueueInfo(CL_QUEUE_DEVICE)",
              clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof device, &device, NULL));
    TN_CL_TRY(
        caller, "clGetCommandQueueInfo(CL_QUEUE_PROPERTIES)",
        clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof properties, &properties, NULL));
    if (cl != context->cl || device != context->device.info.device)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: queue %p belongs to another %s than the context", caller, (void *)queue,
                       cl != context->cl ? "OpenCL context" : "device");
    *is_unordered = (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) != 0;
    TN_CL_TRY(caller, "clRetainCommandQueue", clRetainCommandQueue(queue));
    return TENON_OK;
}

/* Registers the queue with everything that must know when it is idle. */
static tenon_status register_queue(const char *caller, tenon_context *context,
                                   cl_command_queue queue)
{
    TN_TRY(tn_binary_writer_stream_begins(caller, context, queue));
    const tenon_status status = tn_heap_stream_begins(caller, context->memory.heap, queue);
    if (status != TENON_OK)
        tn_binary_writer_stream_ends(context, queue);
    return status;
}

static tenon_stream *new_stream(tenon_context *context)
{
    tenon_stream *stream = calloc(1, sizeof *stream);
    if (stream == NULL)
        return NULL;
    stream->context = context;
    stream->arena.limit = context->memory.workspace_limit;
    if (context->failures.callback == NULL)
        return stream;
    stream->watch = tn_watch_create(context->failures.callback, context->failures.user);
    if (stream->watch != NULL)
        return stream;
    free(stream);
    return NULL;
}

TENON_API tenon_status tenon_stream_create(tenon_context *context, cl_command_queue queue,
                                           tenon_stream **out)
{
    static const char caller[] = "tenon_stream_create";
    if (out != NULL)
        *out = NULL;
    if (context == NULL || out == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s is NULL", caller,
                       context == NULL ? "context" : "out");
    TN_TRY(tn_gate_check(caller));
    bool is_unordered = false;
    if (queue != NULL)
        TN_TRY(import_queue(caller, context, queue, &is_unordered));
    else
        TN_TRY(create_queue(caller, context, &queue));
    tenon_stream *stream = new_stream(context);
    tenon_status status = stream != NULL
                              ? register_queue(caller, context, queue)
                              : tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory", caller);
    if (status != TENON_OK) {
        if (stream != NULL)
            tn_watch_destroy(stream->watch);
        free(stream);
        clReleaseCommandQueue(queue);
        return status;
    }
    tenon_context_retain(context);
    stream->queue = queue;
    stream->is_unordered = is_unordered;
    stream->has_events = is_unordered || stream->watch != NULL;
    *out = stream;
    return TENON_OK;
}

TENON_API void tenon_stream_destroy(tenon_stream *stream)
{
    if (stream == NULL || tn_gate_is_shut())
        return;
    for (uint32_t i = 0; i < stream->kernel_count; i++)
        if (stream->kernels[i] != NULL)
            clReleaseKernel(stream->kernels[i]);
    free(stream->kernels);
    tn_heap_stream_ends(stream->context->memory.heap, stream->queue);
    tn_arena_release(stream);
    tn_commands_release(stream);
    tn_watch_destroy(stream->watch);
    tn_binary_writer_stream_ends(stream->context, stream->queue);
    clReleaseCommandQueue(stream->queue);
    tenon_context_release(stream->context);
    free(stream);
}

TENON_API cl_command_queue tenon_stream_cl(const tenon_stream *stream)
{
    if (stream == NULL)
        return NULL;
    tn_binary_writer_shares(stream->context);
    return stream->queue;
}

TENON_API tenon_context *tenon_stream_context(const tenon_stream *stream)
{
    return stream != NULL ? stream->context : NULL;
}

TENON_API tenon_status tenon_stream_flush(tenon_stream *stream)
{
    TN_TRY(tn_stream_check("tenon_stream_flush", stream));
    TN_CL_TRY("tenon_stream_flush", "clFlush", clFlush(stream->queue));
    return TENON_OK;
}

TENON_API tenon_status tenon_stream_finish(tenon_stream *stream)
{
    static const char caller[] = "tenon_stream_finish";
    if (stream == NULL)
        return tn_stream_check(caller, stream);
    TN_TRY(tn_gate_check(caller));
    cl_int error = clFinish(stream->queue);
    stream->awaits_host = false;
    tn_process_reregister(stream);
    /* Waiting needs no resources: a driver that reports a lack of them here has lost the device. */
    if (error == CL_OUT_OF_RESOURCES || error == CL_INVALID_COMMAND_QUEUE)
        return tn_fail_cl(TENON_ERROR_DEVICE_LOST, error,
                          "%s: the device is lost: clFinish returned %s", caller,
                          tn_cl_error_string(error));
    TN_CL_TRY(caller, "clFinish", error);
    return tn_stream_check(caller, stream);
}

TENON_API tenon_status tenon_stream_wait(tenon_stream *stream, tenon_stream *other)
{
    static const char caller[] = "tenon_stream_wait";
    cl_event event = NULL;
    TN_TRY(tn_stream_check(caller, stream));
    if (other == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: other is NULL", caller);
    TN_TRY(tn_stream_check(caller, other));
    if (stream->context->cl != other->context->cl)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: other belongs to another OpenCL context than the stream", caller);
    if (stream == other)
        return TENON_OK;
    const tenon_sync after = {.event = &event};
    tenon_status status = tn_sync_marker(caller, other, &after);
    if (status == TENON_OK) {
        const tenon_sync before = {.wait_list = &event, .wait_count = 1};
        stream->awaits_host |= other->awaits_host;
        status = tn_sync_marker(caller, stream, &before);
    }
    tn_event_release(event);
    return status;
}

TENON_API tenon_status tenon_stream_set_trace(tenon_stream *stream, tenon_trace_callback callback,
                                              void *user)
{
    TN_TRY(tn_stream_check("tenon_stream_set_trace", stream));
    stream->trace = callback;
    stream->trace_user = user;
    return TENON_OK;
}

static tenon_status grow_kernels(const char *caller, tenon_stream *stream, uint32_t count)
{
    cl_kernel *kernels = realloc(stream->kernels, count * sizeof *kernels);
    if (kernels == NULL)
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory for kernel objects", caller);
    memset(kernels + stream->kernel_count, 0, (count - stream->kernel_count) * sizeof *kernels);
    stream->kernels = kernels;
    stream->kernel_count = count;
    return TENON_OK;
}

tenon_status tn_stream_kernel(const char *caller, tenon_stream *stream, uint32_t number,
                              cl_kernel *kernel)
{
    if (number >= stream->kernel_count)
        TN_TRY(grow_kernels(caller, stream, number + 16));
    if (stream->kernels[number] == NULL)
        TN_TRY(tn_program_create_kernel(stream->context, caller, number, &stream->kernels[number]));
    *kernel = stream->kernels[number];
    return TENON_OK;
}
