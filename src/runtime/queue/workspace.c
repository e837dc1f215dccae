/* The workspace arena of a stream. Work on a stream runs in order, so successive calls share the
 * same bytes. */
#include "runtime/opencl/cl_error.h"
#include "runtime/memory/memory.h"
#include "runtime/queue/stream.h"

#include <inttypes.h>
#include <string.h>

/* Alignment in bytes: kernels load vectors from the workspace, and none is larger. */
#define WORKSPACE_ALIGNMENT 128

tenon_status tn_arena_require(const char *caller, tenon_stream *stream, uint64_t bytes)
{
    tn_arena *arena = &stream->arena;
    if (bytes <= arena->size)
        return TENON_OK;
    if (bytes > arena->limit)
        return tn_fail(TENON_ERROR_WORKSPACE_TOO_SMALL,
                       "%s: needs a workspace of %" PRIu64 " bytes, the stream's limit is %" PRIu64,
                       caller, bytes, arena->limit);
    tenon_memory memory;
    TN_TRY(tn_memory_allocate(caller, stream->context, bytes, &memory));
    /* Launches that use the old memory keep a reference to it until they complete. */
    tenon_memory_destroy(&arena->memory);
    tn_count_only(stream->context, TN_WORKSPACE_BYTES, (int64_t)(bytes - arena->size));
    arena->memory = memory;
    arena->size = bytes;
    return TENON_OK;
}

void tn_arena_release(tenon_stream *stream)
{
    tn_arena *arena = &stream->arena;
    if (arena->borrowed)
        return;
    tenon_memory_destroy(&arena->memory);
    tn_count_only(stream->context, TN_WORKSPACE_BYTES, -(int64_t)arena->size);
}

TENON_API tenon_status tenon_stream_reserve_workspace(tenon_stream *stream, uint64_t bytes)
{
    TN_TRY(tn_stream_check("tenon_stream_reserve_workspace", stream));
    return tn_arena_require("tenon_stream_reserve_workspace", stream, bytes);
}

static tenon_status check_own_workspace(const char *caller, tenon_stream *stream,
                                        const tenon_memory *memory, uint64_t offset, uint64_t bytes)
{
    tenon_tensor view = {.memory = *memory, .offset = offset, .dtype = TENON_DTYPE_U8, .rank = 1};
    if (offset % WORKSPACE_ALIGNMENT != 0)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: offset is %" PRIu64 ", must be a multiple of %d", caller, offset,
                       WORKSPACE_ALIGNMENT);
    if (bytes > INT64_MAX)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: bytes is %" PRIu64 ", past any memory",
                       caller, bytes);
    view.shape[0] = (int64_t)bytes;
    view.stride[0] = 1;
    TN_TRY(tn_tensor_check(caller, "memory", &view));
    return tn_memory_check(caller, "memory", stream->context, &view);
}

TENON_API tenon_status tenon_stream_set_workspace(tenon_stream *stream, const tenon_memory *memory,
                                                  uint64_t offset, uint64_t bytes)
{
    static const char caller[] = "tenon_stream_set_workspace";
    TN_TRY(tn_stream_check(caller, stream));
    if (memory != NULL)
        TN_TRY(check_own_workspace(caller, stream, memory, offset, bytes));
    tn_arena_release(stream);
    if (memory != NULL)
        stream->arena = (tn_arena){*memory, offset, bytes, bytes, true};
    else
        stream->arena = (tn_arena){.limit = stream->context->memory.workspace_limit};
    return TENON_OK;
}
