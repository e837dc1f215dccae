/* Moving data between host and tensors. */
#ifndef TN_RUNTIME_MEMORY_TRANSFER_H
#define TN_RUNTIME_MEMORY_TRANSFER_H

#include "runtime/queue/stream.h"

/* The arguments that all transfers share: the stream, the tensor with its memory, the sync. */
tenon_status tn_transfer_check(const char *caller, tenon_stream *stream, const tenon_tensor *tensor,
                               const tenon_sync *sync);

/* And those of upload and download: as many bytes as the tensor's elements have. */
tenon_status tn_transfer_check_data(const char *caller, const tenon_tensor *tensor,
                                    const void *data, size_t bytes);

/* Enqueues one copy of a tensor that is dense and not empty, to it or from it, and waits for that
 * where `blocking`. */
tenon_status tn_transfer_dense(const char *caller, tenon_stream *stream, const tenon_tensor *tensor,
                               void *data, bool to_tensor, bool blocking, const tenon_sync *sync);

#endif
