/* Moving data between host and tensors: upload, download, map, unmap, fill. */
#include "base/checked.h"
#include "base/dtype.h"
#include "common/args.h"
#include "runtime/cl_error.h"
#include "runtime/launch.h"
#include "runtime/memory.h"
#include "tensor/args.h"

#include <inttypes.h>
#include <stdio.h>
#include <stddef.h>
#include <string.h>

static cl_uint wait_count(const tenon_sync *sync)
{
    return sync != NULL ? sync->wait_count : 0;
}

static const cl_event *wait_list(const tenon_sync *sync)
{
    return sync != NULL ? sync->wait_list : NULL;
}

static cl_event *event_of(const tenon_sync *sync)
{
    return sync != NULL ? sync->event : NULL;
}

static tenon_status check(const char *operation, tenon_stream *stream, const tenon_tensor *tensor,
                          const tenon_sync *sync)
{
    TN_TRY(tn_stream_check(operation, stream));
    TN_TRY(tn_tensor_check(operation, "tensor", tensor));
    TN_TRY(tn_memory_check(operation, "tensor", stream->context, tensor));
    return tn_sync_check(operation, sync);
}

static tenon_status marker(const char *operation, tenon_stream *stream, const tenon_sync *sync)
{
    if (sync == NULL || (sync->wait_count == 0 && sync->event == NULL))
        return TENON_OK;
    TN_CL_TRY(
        operation, "clEnqueueMarkerWithWaitList",
        clEnqueueMarkerWithWaitList(stream->queue, sync->wait_count, sync->wait_list, sync->event));
    return TENON_OK;
}

static cl_map_flags map_flags(uint32_t flags)
{
    if ((flags & TENON_MAP_DISCARD) != 0)
        return CL_MAP_WRITE_INVALIDATE_REGION;
    return ((flags & TENON_MAP_READ) != 0 ? CL_MAP_READ : 0) |
           ((flags & TENON_MAP_WRITE) != 0 ? CL_MAP_WRITE : 0);
}

/* The extent of the view, mapped; waits. */
static tenon_status map_extent(const char *operation, tenon_stream *stream,
                               const tenon_tensor *tensor, uint32_t flags, const tenon_sync *sync,
                               void **pointer)
{
    tn_extent extent = tn_tensor_extent(tensor);
    size_t first = (size_t)extent.first, size = (size_t)(extent.end - extent.first);
    cl_int error;
    if (tensor->memory.kind == TENON_MEMORY_SVM) {
        char *at = (char *)tensor->memory.u.svm + first;
        TN_CL_TRY(operation, "clEnqueueSVMMap",
                  clEnqueueSVMMap(stream->queue, CL_TRUE, map_flags(flags), at, size,
                                  wait_count(sync), wait_list(sync), NULL));
        *pointer = at;
        return TENON_OK;
    }
    void *at = clEnqueueMapBuffer(stream->queue, tensor->memory.u.buffer, CL_TRUE, map_flags(flags),
                                  first, size, wait_count(sync), wait_list(sync), NULL, &error);
    TN_CL_TRY(operation, "clEnqueueMapBuffer", at != NULL ? error : CL_MAP_FAILURE);
    *pointer = at;
    return TENON_OK;
}

static tenon_status unmap_extent(const char *operation, tenon_stream *stream,
                                 const tenon_tensor *tensor, void *pointer, cl_uint waits,
                                 const cl_event *list, cl_event *event)
{
    if (tensor->memory.kind == TENON_MEMORY_SVM)
        TN_CL_TRY(operation, "clEnqueueSVMUnmap",
                  clEnqueueSVMUnmap(stream->queue, pointer, waits, list, event));
    else
        TN_CL_TRY(operation, "clEnqueueUnmapMemObject",
                  clEnqueueUnmapMemObject(stream->queue, tensor->memory.u.buffer, pointer, waits,
                                          list, event));
    return TENON_OK;
}

/* Copies between a dense array and a view, whichever way. The last dimension is walked innermost.
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

static tenon_status check_bytes(const char *operation, const tenon_tensor *tensor, const void *data,
                                size_t bytes)
{
    uint64_t wanted = (uint64_t)tenon_tensor_elements(tensor) * tenon_dtype_size(tensor->dtype);
    if (bytes != wanted)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: bytes is %zu, the tensor has %" PRIu64,
                       operation, bytes, wanted);
    if (data == NULL && bytes > 0)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: data is NULL", operation);
    return TENON_OK;
}

/* Where memory is not shared, a dense tensor moves in one transfer; everything else is mapped. */
static bool moves_whole(const tenon_stream *stream, const tenon_tensor *tensor)
{
    return tensor->memory.kind == TENON_MEMORY_BUFFER &&
           !stream->context->device.info.unified_memory && tn_tensor_dense(tensor);
}

static tenon_status copy_mapped(const char *operation, tenon_stream *stream,
                                const tenon_tensor *tensor, void *data, bool to_view,
                                const tenon_sync *sync)
{
    /* Between the elements of a strided view lies what must stay: only a dense one is overwritten
     * whole. */
    uint32_t flags = !to_view                  ? TENON_MAP_READ
                     : tn_tensor_dense(tensor) ? TENON_MAP_DISCARD
                                               : TENON_MAP_READ | TENON_MAP_WRITE;
    void *mapped = NULL;
    TN_TRY(map_extent(operation, stream, tensor, flags, sync, &mapped));
    copy_view(tensor, mapped, data, to_view);
    TN_TRY(unmap_extent(operation, stream, tensor, mapped, 0, NULL, event_of(sync)));
    if (sync != NULL && sync->event != NULL)
        clFlush(stream->queue);
    return TENON_OK;
}

TENON_API tenon_status tenon_tensor_upload(tenon_stream *stream, const void *data, size_t bytes,
                                           const tenon_tensor *tensor, const tenon_sync *sync)
{
    static const char operation[] = "tenon_tensor_upload";
    TN_TRY(check(operation, stream, tensor, sync));
    TN_TRY(tn_output_check(operation, "tensor", tensor));
    TN_TRY(check_bytes(operation, tensor, data, bytes));
    if (bytes == 0)
        return marker(operation, stream, sync);
    if (moves_whole(stream, tensor)) {
        TN_CL_TRY(operation, "clEnqueueWriteBuffer",
                  clEnqueueWriteBuffer(stream->queue, tensor->memory.u.buffer, CL_TRUE,
                                       (size_t)tensor->offset, bytes, data, wait_count(sync),
                                       wait_list(sync), event_of(sync)));
        return TENON_OK;
    }
    return copy_mapped(operation, stream, tensor, (void *)(uintptr_t)data, true, sync);
}

TENON_API tenon_status tenon_tensor_download(tenon_stream *stream, const tenon_tensor *tensor,
                                             void *data, size_t bytes, const tenon_sync *sync)
{
    static const char operation[] = "tenon_tensor_download";
    TN_TRY(check(operation, stream, tensor, sync));
    TN_TRY(check_bytes(operation, tensor, data, bytes));
    if (bytes == 0)
        return marker(operation, stream, sync);
    if (moves_whole(stream, tensor)) {
        TN_CL_TRY(operation, "clEnqueueReadBuffer",
                  clEnqueueReadBuffer(stream->queue, tensor->memory.u.buffer, CL_TRUE,
                                      (size_t)tensor->offset, bytes, data, wait_count(sync),
                                      wait_list(sync), event_of(sync)));
        return TENON_OK;
    }
    return copy_mapped(operation, stream, tensor, data, false, sync);
}

TENON_API tenon_status tenon_tensor_map(tenon_stream *stream, const tenon_tensor *tensor,
                                        uint32_t flags, void **pointer, const tenon_sync *sync)
{
    static const char operation[] = "tenon_tensor_map";
    TN_TRY(check(operation, stream, tensor, sync));
    if (pointer == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: pointer is NULL", operation);
    bool discard = flags == (TENON_MAP_WRITE | TENON_MAP_DISCARD);
    if (!discard && (flags == 0 || flags > (TENON_MAP_READ | TENON_MAP_WRITE)))
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: flags is %u, must be READ, WRITE, both, or WRITE | DISCARD", operation,
                       flags);
    if (tn_tensor_empty(tensor)) {
        TN_TRY(marker(operation, stream, sync));
        *pointer = NULL;
        return TENON_OK;
    }
    TN_TRY(map_extent(operation, stream, tensor, flags, sync, pointer));
    tenon_sync after = {.event = event_of(sync)};
    return marker(operation, stream, &after);
}

TENON_API tenon_status tenon_tensor_unmap(tenon_stream *stream, const tenon_tensor *tensor,
                                          void *pointer, const tenon_sync *sync)
{
    static const char operation[] = "tenon_tensor_unmap";
    TN_TRY(check(operation, stream, tensor, sync));
    if (tn_tensor_empty(tensor))
        return marker(operation, stream, sync);
    if (pointer == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: pointer is NULL", operation);
    TN_TRY(unmap_extent(operation, stream, tensor, pointer, wait_count(sync), wait_list(sync),
                        event_of(sync)));
    if (sync != NULL && sync->event != NULL)
        clFlush(stream->queue);
    return TENON_OK;
}

static tenon_status fill_dense(const char *operation, tenon_stream *stream,
                               const tenon_tensor *tensor, const void *element,
                               const tenon_sync *sync)
{
    tn_extent extent = tn_tensor_extent(tensor);
    TN_CL_TRY(operation, "clEnqueueFillBuffer",
              clEnqueueFillBuffer(stream->queue, tensor->memory.u.buffer, element,
                                  tenon_dtype_size(tensor->dtype), (size_t)extent.first,
                                  (size_t)(extent.end - extent.first), wait_count(sync),
                                  wait_list(sync), event_of(sync)));
    if (sync != NULL && sync->event != NULL)
        clFlush(stream->queue);
    return TENON_OK;
}

static tenon_status fill_strided(const char *operation, tenon_stream *stream,
                                 const tenon_tensor *tensor, const void *element,
                                 const tenon_sync *sync)
{
    tn_space space = {.rank = tensor->rank, .views = 1};
    fill_args args = {.offset = 0};
    char options[64];
    memcpy(space.shape, tensor->shape, sizeof space.shape);
    memcpy(space.stride[0], tensor->stride, sizeof space.stride[0]);
    tn_space_collapse(&space);
    args.rank = (int32_t)space.rank;
    for (uint32_t d = 0; d < space.rank; d++) {
        args.shape[d] = space.shape[d];
        args.stride[d] = space.stride[0][d];
    }
    args.elements = tenon_tensor_elements(tensor);
    memcpy(&args.value, element, tenon_dtype_size(tensor->dtype));
    snprintf(options, sizeof options, "-cl-std=CL1.2 -DELEMENT_SIZE=%zu",
             tenon_dtype_size(tensor->dtype));
    tn_patch patch = {TN_PATCH_OFFSET, 0, offsetof(fill_args, offset),
                      (uint32_t)tenon_dtype_size(tensor->dtype)};
    tn_launch launch = {.source = "tensor/fill",
                        .options = options,
                        .kernel = "fill",
                        .dimensions = 1,
                        .global = {(size_t)tn_round_up(args.elements, 64)},
                        .operand_count = 1,
                        .args = &args,
                        .args_size = sizeof args,
                        .patches = &patch,
                        .patch_count = 1};
    tn_recording recording = {.context = stream->context};
    tn_operand operand = {tensor->memory, tensor->offset};
    tenon_status status = tn_record(operation, &recording, &launch);
    if (status == TENON_OK)
        status =
            tn_recording_run(operation, "tensor/fill", stream, &recording, &operand, NULL, sync);
    tn_recording_destroy(&recording);
    return status;
}

TENON_API tenon_status tenon_tensor_fill(tenon_stream *stream, const tenon_tensor *tensor,
                                         double value, const tenon_sync *sync)
{
    static const char operation[] = "tenon_tensor_fill";
    TN_TRY(check(operation, stream, tensor, sync));
    TN_TRY(tn_output_check(operation, "tensor", tensor));
    if (tn_tensor_empty(tensor))
        return marker(operation, stream, sync);
    unsigned char element[8] = {0};
    tn_dtype_store(tensor->dtype, element, value);
    if (tensor->memory.kind == TENON_MEMORY_BUFFER && tn_tensor_dense(tensor))
        return fill_dense(operation, stream, tensor, element, sync);
    return fill_strided(operation, stream, tensor, element, sync);
}
