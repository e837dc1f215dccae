/* Filling every element of a tensor with a value. */
#include "runtime/memory/fill.h"

#include "base/checked.h"
#include "base/dtype.h"
#include "runtime/probe/capability.h"
#include "runtime/opencl/cl_error.h"
#include "runtime/queue/command.h"
#include "runtime/memory/memory.h"
#include "runtime/memory/transfer.h"
#include "runtime/opencl/opencl.h"
#include "tensor/args.h"

#include <stddef.h>
#include <string.h>

tenon_status tn_buffer_fill(const char *caller, tenon_stream *stream, const tenon_memory *memory,
                            uint32_t word, uint64_t bytes)
{
    TN_CL_TRY(caller, "clEnqueueFillBuffer",
              clEnqueueFillBuffer(stream->queue, memory->u.buffer, &word, sizeof word, 0,
                                  (size_t)bytes, 0, NULL, NULL));
    return TENON_OK;
}

static tenon_status fill_dense(const char *caller, tenon_stream *stream, const tenon_tensor *tensor,
                               const void *element, const tenon_sync *sync)
{
    tn_extent extent = tn_tensor_extent(tensor);
    tn_command c;
    TN_TRY(tn_command_begin(caller, stream, sync, tn_sync_event(sync) != NULL, &c));
    TN_CL_TRY(caller, "clEnqueueFillBuffer",
              clEnqueueFillBuffer(stream->queue, tensor->memory.u.buffer, element,
                                  tenon_dtype_size(tensor->dtype), (size_t)extent.first,
                                  (size_t)(extent.end - extent.first), c.wait_count, c.wait_list,
                                  c.event));
    const tenon_status status = tn_command_end(caller, NULL, stream, &c, tn_sync_event(sync));
    tn_sync_flush(stream, sync);
    return status;
}

tenon_status tn_fill_record(const char *caller, tn_recording *recording, const tenon_tensor *tensor,
                            const void *element)
{
    tn_space space = {.rank = tensor->rank, .views = 1};
    fill_args args = {.offset = 0};
    char options[512];
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
    tn_build_options(recording->context, options, "-DELEMENT_SIZE=%zu%s",
                     tenon_dtype_size(tensor->dtype),
                     recording->context->device.is_cpu ? "" : " -DTENON_GPU=1");
    tn_patch patch = {TN_PATCH_OFFSET, 0, offsetof(fill_args, offset),
                      (uint32_t)tenon_dtype_size(tensor->dtype)};
    tn_launch launch = {.source = "tensor/fill",
                        .options = options,
                        .kernel = "fill",
                        .dimensions = 1,
                        .global = {(size_t)tn_round_up(args.elements, 64)},
                        .local = {64},
                        .operand_count = 1,
                        TN_ARGS(args),
                        .patches = &patch,
                        .patch_count = 1};
    return tn_record(caller, recording, &launch);
}

static tenon_status fill_strided(const char *caller, tenon_stream *stream,
                                 const tenon_tensor *tensor, const void *element,
                                 const tenon_sync *sync)
{
    tn_recording recording = {.context = stream->context};
    tn_operand operand = {tensor->memory, tensor->offset};
    tenon_status status = tn_fill_record(caller, &recording, tensor, element);
    if (status == TENON_OK)
        status = tn_recording_run(caller, "tensor/fill", stream, &recording, &operand, NULL, sync);
    tn_recording_destroy(&recording);
    return status;
}

TENON_API tenon_status tenon_tensor_fill(tenon_stream *stream, const tenon_tensor *tensor,
                                         double value, const tenon_sync *sync)
{
    static const char caller[] = "tenon_tensor_fill";
    TN_TRY(tn_transfer_check(caller, stream, tensor, sync));
    TN_TRY(tn_output_check(caller, "tensor", tensor));
    if (tn_tensor_empty(tensor))
        return tn_sync_marker(caller, stream, sync);
    unsigned char element[8] = {0};
    tn_dtype_store(tensor->dtype, element, value);
    if (tensor->memory.kind == TENON_MEMORY_BUFFER && tn_tensor_dense(tensor))
        return fill_dense(caller, stream, tensor, element, sync);
    return fill_strided(caller, stream, tensor, element, sync);
}
