/* Transfers between the host and tensors. */
#ifndef TN_RUNTIME_MEMORY_TRANSFER_H
#define TN_RUNTIME_MEMORY_TRANSFER_H

#include "runtime/queue/stream.h"

/* Checks the arguments that all transfers share: the stream, the tensor with its memory, the sync.
 */
tenon_status tn_transfer_check(const char *caller, tenon_stream *stream, const tenon_tensor *tensor,
                               const tenon_sync *sync);

/* Checks the arguments of uploads and downloads: `bytes` must be the size of the tensor's
 * elements. */
tenon_status tn_transfer_check_data(const char *caller, const tenon_tensor *tensor,
                                    const void *data, size_t bytes);

/* Enqueues a copy between the host and a tensor that is dense and not empty. Waits for it if
 * `blocking`. */
tenon_status tn_transfer_dense(const char *caller, tenon_stream *stream, const tenon_tensor *tensor,
                               void *data, bool to_tensor, bool blocking, const tenon_sync *sync);

#endif
