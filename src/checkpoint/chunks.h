/* Passing a tensor through a small buffer in host memory. */
#ifndef TN_CHECKPOINT_CHUNKS_H
#define TN_CHECKPOINT_CHUNKS_H

#include "base/status.h"

#include <tenon/checkpoint.h>

/* Handles a chunk of `size` bytes in the buffer, which begins `first` bytes after the tensor's
 * first element in row-major order. */
typedef tenon_status (*tn_chunk_function)(void *user, void *buffer, uint64_t first, size_t size);

/* Downloads a tensor in chunks, in row-major order, and calls `store` for each. */
tenon_status tn_chunks_download(const char *caller, tenon_stream *stream,
                                const tenon_tensor *tensor, tn_chunk_function store, void *user);

/* Calls `fetch` for each chunk, in row-major order, and uploads it to the tensor. */
tenon_status tn_chunks_upload(const char *caller, tenon_stream *stream, const tenon_tensor *tensor,
                              tn_chunk_function fetch, void *user);

#endif
