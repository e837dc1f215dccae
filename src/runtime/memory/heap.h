/* Allocation of a context's buffers through the library's pool or the application's allocator
 * instead of OpenCL alone. A heap lives as long as its context or any buffer of it. */
#ifndef TN_RUNTIME_MEMORY_HEAP_H
#define TN_RUNTIME_MEMORY_HEAP_H

#include "runtime/memory/buffer_registry.h"
#include "runtime/memory/usage.h"

#include <tenon/context.h>
#include <tenon/tensor.h>

typedef struct tn_heap tn_heap;

/* Memory settings of a context. */
typedef struct tn_context_memory {
    tn_heap *heap;   /* NULL: OpenCL allocates the buffers */
    tn_usage *usage; /* NULL for a validation context and one without a device */
    uint64_t workspace_limit;
} tn_context_memory;

/* Creates a heap. `allocator` is NULL for a pool of up to `limit` bytes. Retains the OpenCL
 * context. */
tenon_status tn_heap_create(const char *caller, cl_context cl, uint64_t largest, uint64_t limit,
                            const tenon_allocator *allocator, tn_heap **out);

/* Releases the context's reference. NULL does nothing. */
void tn_heap_close(tn_heap *heap);

/* Allocates a buffer of at least `bytes`, and counts it in `usage`. */
tenon_status tn_heap_allocate(const char *caller, tn_heap *heap, tn_usage *usage, uint64_t bytes,
                              cl_mem *buffer);

/* Takes back a buffer that is no longer used; forgets one that was released without the heap. */
void tn_heap_take_back(tn_buffer_entry *owned);
void tn_heap_forget(tn_buffer_entry *owned);

/* Tells the heap that a stream of the context is created or destroyed. NULL does nothing. */
tenon_status tn_heap_stream_begins(const char *caller, tn_heap *heap, cl_command_queue queue);
void tn_heap_stream_ends(tn_heap *heap, cl_command_queue queue);

/* Frees unused buffers until at most `bytes` are cached. */
void tn_heap_trim(tn_heap *heap, uint64_t bytes);

/* Returns the number of bytes cached now, and the number of allocations served from the cache. */
void tn_heap_count(tn_heap *heap, uint64_t *bytes, uint64_t *served);

#endif
