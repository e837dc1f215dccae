/* Pinned host memory: a buffer in host memory that stays mapped, which is how OpenCL provides it.
 */
#include "runtime/opencl/cl_error.h"
#include "runtime/opencl/gate.h"
#include "runtime/memory/buffer_registry.h"
#include "runtime/memory/memory.h"
#include "runtime/opencl/opencl.h"
#include "runtime/queue/stream.h"

#include <stdlib.h>

struct tenon_pinned {
    tenon_context *context;
    cl_command_queue queue; /* not a stream, since nothing else is enqueued there */
    cl_mem buffer;
    void *pointer;
};

static tenon_status map(const char *caller, tenon_pinned *pinned, uint64_t bytes)
{
    cl_int error;
    pinned->queue =
        clCreateCommandQueue(pinned->context->cl, pinned->context->device.info.device, 0, &error);
    TN_CL_TRY(caller, "clCreateCommandQueue", error);
    pinned->pointer =
        clEnqueueMapBuffer(pinned->queue, pinned->buffer, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0,
                           (size_t)bytes, 0, NULL, NULL, &error);
    TN_CL_TRY(caller, "clEnqueueMapBuffer", error);
    return TENON_OK;
}

static void destroy(tenon_pinned *pinned)
{
    if (pinned->pointer != NULL) {
        clEnqueueUnmapMemObject(pinned->queue, pinned->buffer, pinned->pointer, 0, NULL, NULL);
        clFinish(pinned->queue);
    }
    if (pinned->queue != NULL)
        clReleaseCommandQueue(pinned->queue);
    tn_buffer_registry_drop(pinned->buffer);
    tenon_context_release(pinned->context);
    free(pinned);
}

TENON_API tenon_status tenon_pinned_create(tenon_context *context, uint64_t bytes,
                                           tenon_pinned **out)
{
    static const char caller[] = "tenon_pinned_create";
    tenon_memory memory;
    if (out != NULL)
        *out = NULL;
    if (context == NULL || out == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s is NULL", caller,
                       context == NULL ? "context" : "out");
    if (bytes == 0)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: bytes is 0, must be at least 1", caller);
    TN_TRY(tn_memory_make(caller, context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, NULL, bytes,
                          &memory));
    tenon_pinned *pinned = calloc(1, sizeof *pinned);
    if (pinned == NULL) {
        tn_buffer_registry_drop(memory.u.buffer);
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory", caller);
    }
    tenon_context_retain(context);
    pinned->context = context;
    pinned->buffer = memory.u.buffer;
    tenon_status status = map(caller, pinned, bytes);
    if (status != TENON_OK) {
        destroy(pinned);
        return status;
    }
    *out = pinned;
    return TENON_OK;
}

TENON_API void *tenon_pinned_pointer(const tenon_pinned *pinned)
{
    return pinned != NULL ? pinned->pointer : NULL;
}

TENON_API void tenon_pinned_destroy(tenon_pinned *pinned)
{
    if (pinned != NULL && !tn_gate_is_shut())
        destroy(pinned);
}
