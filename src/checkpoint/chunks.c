#include "checkpoint/chunks.h"

#include "base/checked.h"
#include "base/shape.h"
#include "runtime/context/context.h"
#include "runtime/queue/stream.h"

#include <stdlib.h>

typedef struct passage {
    tenon_stream *stream;
    tn_chunk_function handle;
    void *user, *buffer;
    size_t room; /* bytes of the buffer */
    uint64_t done;
    bool to_tensor;
} passage;

/* Returns true if the host copies between the chunk and the buffer: by one transfer, or through a
 * mapping that costs nothing. Otherwise the device gathers the elements first. */
static bool is_direct(const tenon_stream *stream, const tenon_tensor *chunk)
{
    return tn_tensor_dense(chunk) || chunk->memory.kind == TENON_MEMORY_SVM ||
           (chunk->memory.kind == TENON_MEMORY_BUFFER &&
            stream->context->device.info.unified_memory != 0);
}

static tenon_status download(passage *p, const tenon_tensor *chunk, size_t size)
{
    if (is_direct(p->stream, chunk))
        return tenon_tensor_download(p->stream, chunk, p->buffer, size, NULL);
    TN_TRY(tenon_tensor_download_async(p->stream, chunk, p->buffer, size, NULL));
    return tenon_stream_finish(p->stream);
}

static tenon_status upload(passage *p, const tenon_tensor *chunk, size_t size)
{
    if (is_direct(p->stream, chunk))
        return tenon_tensor_upload(p->stream, p->buffer, size, chunk, NULL);
    TN_TRY(tenon_tensor_upload_async(p->stream, p->buffer, size, chunk, NULL));
    return tenon_stream_finish(p->stream);
}

static tenon_status pass_chunk(passage *p, const tenon_tensor *chunk, size_t size)
{
    if (!p->to_tensor)
        TN_TRY(download(p, chunk, size));
    TN_TRY(p->handle(p->user, p->buffer, p->done, size));
    if (p->to_tensor)
        TN_TRY(upload(p, chunk, size));
    p->done += size;
    return TENON_OK;
}

/* Divides the part of a tensor that has one entry in each dimension before `dim`. */
static tenon_status pass(passage *p, const tenon_tensor *tensor, uint32_t dim)
{
    const uint64_t bytes =
        (uint64_t)tenon_tensor_elements(tensor) * tenon_dtype_size(tensor->dtype);
    if (bytes <= p->room)
        return pass_chunk(p, tensor, (size_t)bytes);
    const int64_t size = tensor->shape[dim], entry = (int64_t)(bytes / (uint64_t)size),
                  fit = (int64_t)p->room / entry, step = tn_max_i64(fit, 1);
    for (int64_t at = 0; at < size; at += step) {
        const tenon_tensor part = tenon_tensor_slice(*tensor, dim, at, tn_min_i64(step, size - at));
        TN_TRY(fit > 0 ? pass_chunk(p, &part, (size_t)(part.shape[dim] * entry))
                       : pass(p, &part, dim + 1));
    }
    return TENON_OK;
}

static tenon_status pass_all(const char *caller, passage *p, const tenon_tensor *tensor)
{
    const uint64_t bytes =
        (uint64_t)tenon_tensor_elements(tensor) * tenon_dtype_size(tensor->dtype);
    if (bytes == 0)
        return TENON_OK;
    p->room = (size_t)tn_min_u64(bytes, TENON_CHECKPOINT_STAGING);
    p->buffer = malloc(p->room);
    if (p->buffer == NULL)
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory for a staging buffer", caller);
    const tenon_status status = pass(p, tensor, 0);
    free(p->buffer);
    return status;
}

tenon_status tn_chunks_download(const char *caller, tenon_stream *stream,
                                const tenon_tensor *tensor, tn_chunk_function store, void *user)
{
    passage p = {.stream = stream, .handle = store, .user = user};
    return pass_all(caller, &p, tensor);
}

tenon_status tn_chunks_upload(const char *caller, tenon_stream *stream, const tenon_tensor *tensor,
                              tn_chunk_function fetch, void *user)
{
    passage p = {.stream = stream, .handle = fetch, .user = user, .to_tensor = true};
    return pass_all(caller, &p, tensor);
}
