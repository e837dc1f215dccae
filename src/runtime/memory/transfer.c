/* Transfers between the host and tensors: upload, download, map, unmap. */
#include "runtime/memory/transfer.h"

#include "base/checked.h"
#include "runtime/opencl/cl_error.h"
#include "runtime/queue/command.h"
#include "runtime/memory/memory.h"
#include "runtime/opencl/opencl.h"
#include "runtime/context/process_end.h"
#include "runtime/memory/usm.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

tenon_status tn_transfer_check(const char *caller, tenon_stream *stream, const tenon_tensor *tensor,
                               const tenon_sync *sync)
{
    TN_TRY(tn_stream_check(caller, stream));
    TN_TRY(tn_tensor_check(caller, "tensor", tensor));
    TN_TRY(tn_memory_check(caller, "tensor", stream->context, tensor));
    return tn_sync_check(caller, sync);
}

tenon_status tn_transfer_check_data(const char *caller, const tenon_tensor *tensor,
                                    const void *data, size_t bytes)
{
    const size_t size = tenon_dtype_size(tensor->dtype);
    const uint64_t count = (uint64_t)tenon_tensor_elements(tensor), wanted = count * size;
    if (bytes != wanted)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: bytes is %zu, must be %" PRIu64 ": the tensor has %" PRIu64
                       " values of %s, %zu bytes each",
                       caller, bytes, wanted, count, tenon_dtype_string(tensor->dtype), size);
    if (data == NULL && bytes > 0)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: data is NULL", caller);
    return TENON_OK;
}

/* A copy between a dense tensor and the host. */
typedef struct dense_copy {
    tenon_stream *stream;
    const tenon_tensor *tensor;
    void *data;
    size_t size;
    bool to_tensor, blocking;
} dense_copy;

static cl_int copy_buffer(const dense_copy *d, const tn_command *c)
{
    const cl_mem buffer = d->tensor->memory.u.buffer;
    const size_t first = (size_t)d->tensor->offset;
    return d->to_tensor
               ? clEnqueueWriteBuffer(d->stream->queue, buffer, d->blocking, first, d->size,
                                      d->data, c->wait_count, c->wait_list, c->event)
               : clEnqueueReadBuffer(d->stream->queue, buffer, d->blocking, first, d->size, d->data,
                                     c->wait_count, c->wait_list, c->event);
}

static cl_int copy_pointer(const dense_copy *d, const tn_command *c)
{
    const bool is_usm = d->tensor->memory.kind == TENON_MEMORY_USM;
    char *at = (char *)d->tensor->memory.u.svm + d->tensor->offset;
    return (is_usm ? d->stream->context->device.usm.copy : clEnqueueSVMMemcpy)(
        d->stream->queue, d->blocking, d->to_tensor ? at : d->data, d->to_tensor ? d->data : at,
        d->size, c->wait_count, c->wait_list, c->event);
}

tenon_status tn_transfer_dense(const char *caller, tenon_stream *stream, const tenon_tensor *tensor,
                               void *data, bool to_tensor, bool blocking, const tenon_sync *sync)
{
    const size_t size = (size_t)tenon_tensor_elements(tensor) * tenon_dtype_size(tensor->dtype);
    const dense_copy d = {stream, tensor, data, size, to_tensor, blocking};
    tn_command c;
    TN_TRY(tn_command_begin(caller, stream, sync, tn_sync_event(sync) != NULL, &c));
    if (tensor->memory.kind == TENON_MEMORY_BUFFER)
        TN_CL_TRY(caller, to_tensor ? "clEnqueueWriteBuffer" : "clEnqueueReadBuffer",
                  copy_buffer(&d, &c));
    else
        TN_CL_TRY(caller,
                  tensor->memory.kind == TENON_MEMORY_USM ? "clEnqueueMemcpyINTEL"
                                                          : "clEnqueueSVMMemcpy",
                  copy_pointer(&d, &c));
    const tenon_status status = tn_command_end(caller, NULL, stream, &c, tn_sync_event(sync));
    if (blocking)
        tn_process_reregister(stream); /* earlier kernels have run */
    else if (status != TENON_OK)
        tn_stream_settle(stream); /* the caller may free the data after a failed call */
    else
        tn_sync_flush(stream, sync);
    return status;
}

static cl_map_flags map_flags(uint32_t flags)
{
    if ((flags & TENON_MAP_DISCARD) != 0)
        return CL_MAP_WRITE_INVALIDATE_REGION;
    return ((flags & TENON_MAP_READ) != 0 ? CL_MAP_READ : 0) |
           ((flags & TENON_MAP_WRITE) != 0 ? CL_MAP_WRITE : 0);
}

/* PoCL 6 records a mapping of shared virtual memory only if the command has an event, and ends the
 * process if an unmap command with an event refers to a mapping that it has not recorded
 * (tests/drivers/test_svm_unmap.c). So both commands get an event. */
static bool wants_event(bool svm, const tenon_sync *sync)
{
    return svm || tn_sync_event(sync) != NULL;
}

/* After a failure, unmaps as far as the driver allows. The first failure is the one reported. */
static void unmap_after_failure(tenon_stream *stream, const tenon_tensor *tensor, void *pointer)
{
    if (tensor->memory.kind == TENON_MEMORY_SVM)
        clEnqueueSVMUnmap(stream->queue, pointer, 0, NULL, NULL);
    else
        clEnqueueUnmapMemObject(stream->queue, tensor->memory.u.buffer, pointer, 0, NULL, NULL);
}

/* PoCL 3.1 ends a mapping by its address: if the command of an earlier one with the same address
 * has not run yet, that one is freed instead. The thread of a group maps the members' tensors, so a
 * map command must not be enqueued before the group's work is done. A failure is reported by the
 * map command. */
static void wait_for_groups(tenon_stream *stream, const tenon_sync *sync)
{
    if (tn_sync_wait_count(sync) > 0)
        clWaitForEvents(tn_sync_wait_count(sync), tn_sync_wait_list(sync));
    if (stream->awaits_host)
        tn_stream_settle(stream);
    stream->awaits_host = false;
}

/* Maps the extent of the view and waits. Returns NULL and sets the status on failure. */
static void *map_extent(const char *caller, tenon_stream *stream, const tenon_tensor *tensor,
                        uint32_t flags, const tenon_sync *sync, tenon_status *status)
{
    tn_extent extent = tn_tensor_extent(tensor);
    size_t first = (size_t)extent.first, size = (size_t)(extent.end - extent.first);
    bool svm = tensor->memory.kind == TENON_MEMORY_SVM;
    tn_command command;
    cl_int error;
    void *at;
    wait_for_groups(stream, sync);
    *status = tn_command_begin(caller, stream, sync, wants_event(svm, NULL), &command);
    if (*status != TENON_OK)
        return NULL;
    if (svm) {
        at = (char *)tensor->memory.u.svm + first;
        error = clEnqueueSVMMap(stream->queue, CL_TRUE, map_flags(flags), at, size,
                                command.wait_count, command.wait_list, command.event);
    } else {
        at = clEnqueueMapBuffer(stream->queue, tensor->memory.u.buffer, CL_TRUE, map_flags(flags),
                                first, size, command.wait_count, command.wait_list, command.event,
                                &error);
    }
    if (at != NULL && error == CL_SUCCESS) {
        *status = tn_command_end(caller, NULL, stream, &command, NULL);
        tn_process_reregister(stream);
        if (*status == TENON_OK)
            return at;
        unmap_after_failure(stream, tensor, at);
        return NULL;
    }
    *status = tn_fail_opencl(caller, svm ? "clEnqueueSVMMap" : "clEnqueueMapBuffer",
                             error != CL_SUCCESS ? error : CL_MAP_FAILURE);
    return NULL;
}

static tenon_status unmap_extent(const char *caller, tenon_stream *stream,
                                 const tenon_tensor *tensor, void *pointer, const tenon_sync *sync)
{
    const bool svm = tensor->memory.kind == TENON_MEMORY_SVM;
    tn_command c;
    TN_TRY(tn_command_begin(caller, stream, sync, wants_event(svm, sync), &c));
    if (svm)
        TN_CL_TRY(caller, "clEnqueueSVMUnmap",
                  clEnqueueSVMUnmap(stream->queue, pointer, c.wait_count, c.wait_list, c.event));
    else
        TN_CL_TRY(caller, "clEnqueueUnmapMemObject",
                  clEnqueueUnmapMemObject(stream->queue, tensor->memory.u.buffer, pointer,
                                          c.wait_count, c.wait_list, c.event));
    return tn_command_end(caller, NULL, stream, &c, tn_sync_event(sync));
}

/* Copies between a dense array and a view, in either direction, with the last dimension innermost.
 */
static void copy_view(const tenon_tensor *view, char *strided, char *dense, bool to_view)
{
    tn_space space = {.rank = view->rank, .views = 1};
    size_t size = tenon_dtype_size(view->dtype);
    memcpy(space.shape, view->shape, sizeof space.shape);
    memcpy(space.stride[0], view->stride, sizeof space.stride[0]);
    tn_space_collapse(&space);
    int64_t index[TENON_MAX_RANK] = {0};
    uint32_t last = space.rank > 0 ? space.rank - 1 : 0;
    int64_t inner = space.rank > 0 ? space.shape[last] : 1,
            step = space.rank > 0 ? space.stride[0][last] : 1;
    do {
        int64_t at = 0;
        for (uint32_t d = 0; d < last; d++)
            at += index[d] * space.stride[0][d];
        int64_t runs = step == 1 ? 1 : inner;
        size_t bytes = step == 1 ? (size_t)inner * size : size;
        for (int64_t i = 0; i < runs; i++, dense += bytes) {
            char *element = strided + (at + i * step) * (int64_t)size;
            memcpy(to_view ? element : dense, to_view ? dense : element, bytes);
        }
    } while (tn_next_index(index, space.shape, last));
}

/* Returns true if the tensor is copied in one transfer: it is dense, and the memory is not shared
 * with the host. Everything else is mapped. */
static bool copies_whole(const tenon_stream *stream, const tenon_tensor *tensor)
{
    return tn_tensor_dense(tensor) && (tensor->memory.kind == TENON_MEMORY_USM ||
                                       (tensor->memory.kind == TENON_MEMORY_BUFFER &&
                                        !stream->context->device.info.unified_memory));
}

/* Device USM cannot be mapped: the bytes of the view, from its first element to its last, are read
 * to the host, and written back. */
static tenon_status copy_through_host(const char *caller, tenon_stream *stream,
                                      const tenon_tensor *tensor, void *data, bool to_view,
                                      const tenon_sync *sync)
{
    const tn_extent extent = tn_tensor_extent(tensor);
    const int64_t size = (int64_t)(extent.end - extent.first);
    tenon_tensor bytes = tenon_tensor_view(TENON_DTYPE_U8, 1, &size);
    const tenon_sync before = {.wait_list = tn_sync_wait_list(sync),
                               .wait_count = tn_sync_wait_count(sync)};
    const tenon_sync after = {.event = tn_sync_event(sync)};
    size_t room;
    char *copy = tn_to_size((uint64_t)size, &room) ? malloc(room) : NULL;
    if (copy == NULL)
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory", caller);
    bytes.memory = tensor->memory;
    bytes.offset = extent.first;
    tenon_status status = tn_transfer_dense(caller, stream, &bytes, copy, false, true, &before);
    if (status == TENON_OK) {
        copy_view(tensor, copy, data, to_view);
        status = to_view ? tn_transfer_dense(caller, stream, &bytes, copy, true, true, &after)
                         : tn_sync_marker(caller, stream, &after);
    }
    free(copy);
    return status;
}

static tenon_status copy_mapped(const char *caller, tenon_stream *stream,
                                const tenon_tensor *tensor, void *data, bool to_view,
                                const tenon_sync *sync)
{
    /* Bytes between the elements of a strided view must be preserved, so only a dense view is
     * overwritten without being read. */
    uint32_t flags = !to_view                  ? TENON_MAP_READ
                     : tn_tensor_dense(tensor) ? TENON_MAP_DISCARD
                                               : TENON_MAP_READ | TENON_MAP_WRITE;
    tenon_status status;
    void *mapped = map_extent(caller, stream, tensor, flags, sync, &status);
    if (mapped == NULL)
        return status;
    copy_view(tensor, mapped, data, to_view);
    const tenon_sync after = {.event = tn_sync_event(sync)};
    status = unmap_extent(caller, stream, tensor, mapped, &after);
    if (status != TENON_OK) {
        /* TENON_ERROR_INCOMPLETE: the unmap was enqueued and only its event is missing. */
        if (status != TENON_ERROR_INCOMPLETE)
            unmap_after_failure(stream, tensor, mapped);
        return status;
    }
    tn_sync_flush(stream, sync);
    return TENON_OK;
}

static tenon_status copy(const char *caller, tenon_stream *stream, const tenon_tensor *tensor,
                         void *data, bool to_view, const tenon_sync *sync)
{
    if (copies_whole(stream, tensor))
        return tn_transfer_dense(caller, stream, tensor, data, to_view, true, sync);
    return (tensor->memory.kind == TENON_MEMORY_USM ? copy_through_host : copy_mapped)(
        caller, stream, tensor, data, to_view, sync);
}

TENON_API tenon_status tenon_tensor_upload(tenon_stream *stream, const void *data, size_t bytes,
                                           const tenon_tensor *tensor, const tenon_sync *sync)
{
    static const char caller[] = "tenon_tensor_upload";
    TN_TRY(tn_transfer_check(caller, stream, tensor, sync));
    TN_TRY(tn_output_check(caller, "tensor", tensor));
    TN_TRY(tn_transfer_check_data(caller, tensor, data, bytes));
    if (bytes == 0)
        return tn_sync_marker(caller, stream, sync);
    return copy(caller, stream, tensor, (void *)(uintptr_t)data, true, sync);
}

TENON_API tenon_status tenon_tensor_download(tenon_stream *stream, const tenon_tensor *tensor,
                                             void *data, size_t bytes, const tenon_sync *sync)
{
    static const char caller[] = "tenon_tensor_download";
    TN_TRY(tn_transfer_check(caller, stream, tensor, sync));
    TN_TRY(tn_transfer_check_data(caller, tensor, data, bytes));
    if (bytes == 0)
        return tn_sync_marker(caller, stream, sync);
    return copy(caller, stream, tensor, data, false, sync);
}

/* Memory that the host shares with the device without mapping is accessible once the stream is
 * done. */
static tenon_status wait_for_host(const char *caller, tenon_stream *stream,
                                  const tenon_tensor *tensor, void **pointer,
                                  const tenon_sync *sync)
{
    char *usm = tensor->memory.u.usm;
    cl_event own = NULL;
    bool is_of_host;
    TN_TRY(tn_usm_is_of_host(caller, stream->context, usm, &is_of_host));
    if (!is_of_host)
        return tn_fail(TENON_ERROR_UNSUPPORTED,
                       "%s: tensor: %p is device USM, which the host cannot access", caller,
                       (void *)usm);
    TN_TRY(tn_sync_marker(caller, stream,
                          &(tenon_sync){.wait_list = tn_sync_wait_list(sync),
                                        .wait_count = tn_sync_wait_count(sync),
                                        .event = &own}));
    cl_int error = clWaitForEvents(1, &own);
    if (error == CL_SUCCESS && tn_sync_event(sync) != NULL)
        *sync->event = own;
    else
        clReleaseEvent(own);
    TN_CL_TRY(caller, "clWaitForEvents", error);
    *pointer = usm + tn_tensor_extent(tensor).first;
    return TENON_OK;
}

TENON_API tenon_status tenon_tensor_map(tenon_stream *stream, const tenon_tensor *tensor,
                                        uint32_t flags, void **pointer, const tenon_sync *sync)
{
    static const char caller[] = "tenon_tensor_map";
    TN_TRY(tn_transfer_check(caller, stream, tensor, sync));
    if (pointer == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: pointer is NULL", caller);
    bool discard = flags == (TENON_MAP_WRITE | TENON_MAP_DISCARD);
    if (!discard && (flags == 0 || flags > (TENON_MAP_READ | TENON_MAP_WRITE)))
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: flags is %u, must be READ, WRITE, both, or WRITE | DISCARD", caller,
                       flags);
    if (tn_tensor_empty(tensor)) {
        TN_TRY(tn_sync_marker(caller, stream, sync));
        *pointer = NULL;
        return TENON_OK;
    }
    if (tensor->memory.kind == TENON_MEMORY_USM)
        return wait_for_host(caller, stream, tensor, pointer, sync);
    tenon_status status;
    void *mapped = map_extent(caller, stream, tensor, flags, sync, &status);
    if (mapped == NULL)
        return status;
    tenon_sync after = {.event = tn_sync_event(sync)};
    status = tn_sync_marker(caller, stream, &after);
    if (status != TENON_OK) {
        unmap_after_failure(stream, tensor, mapped);
        return status;
    }
    *pointer = mapped;
    return TENON_OK;
}

TENON_API tenon_status tenon_tensor_unmap(tenon_stream *stream, const tenon_tensor *tensor,
                                          void *pointer, const tenon_sync *sync)
{
    static const char caller[] = "tenon_tensor_unmap";
    TN_TRY(tn_transfer_check(caller, stream, tensor, sync));
    if (tn_tensor_empty(tensor))
        return tn_sync_marker(caller, stream, sync);
    if (pointer == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: pointer is NULL", caller);
    if (tensor->memory.kind == TENON_MEMORY_USM)
        return tn_sync_marker(caller, stream, sync);
    TN_TRY(unmap_extent(caller, stream, tensor, pointer, sync));
    tn_sync_flush(stream, sync);
    return TENON_OK;
}
