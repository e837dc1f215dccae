/* Filling memory: a kernel for strided tensors, and whole buffers. */
#ifndef TN_RUNTIME_MEMORY_FILL_H
#define TN_RUNTIME_MEMORY_FILL_H

#include "runtime/queue/launch.h"

#include <tenon/tensor.h>

/* Records a fill of the tensor with `element`, which has the size of its type. */
tenon_status tn_fill_record(const char *caller, tn_recording *recording, const tenon_tensor *tensor,
                            const void *element);

/* Fills the first `bytes` bytes of a buffer, a multiple of 4, with a 32-bit word. In an
 * out-of-order queue it is not ordered with other commands. */
tenon_status tn_buffer_fill(const char *caller, tenon_stream *stream, const tenon_memory *memory,
                            uint32_t word, uint64_t bytes);

#endif
