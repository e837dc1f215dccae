/* Where the buffers of a context come from and go to, where that is not OpenCL alone: the library's
 * pool, or the application's allocator. It lasts as long as the context or a buffer of it. */
#ifndef TN_RUNTIME_MEMORY_HEAP_H
#define TN_RUNTIME_MEMORY_HEAP_H

#include "runtime/memory/buffer_registry.h"

#include <tenon/context.h>
#include <tenon/tensor.h>

typedef struct tn_heap tn_heap;

/* Memory of a context. */
typedef struct tn_context_memory {
    tn_heap *heap; /* NULL: buffers are allocated by OpenCL */
    uint64_t workspace_limit;
} tn_context_memory;

/* `allocator` is NULL for a pool of up to `limit` bytes. The OpenCL context is retained. */
tenon_status tn_heap_create(const char *caller, cl_context cl, uint64_t largest, uint64_t limit,
                            const tenon_allocator *allocator, tn_heap **out);

/* The context ends; NULL does nothing. */
void tn_heap_close(tn_heap *heap);

/* A buffer of at least `bytes`. */
tenon_status tn_heap_allocate(const char *caller, tn_heap *heap, uint64_t bytes, cl_mem *buffer);

/* A buffer that nobody uses any more, and one that was released behind the heap's back. */
void tn_heap_take_back(tn_buffer_entry *owned);
void tn_heap_forget(tn_buffer_entry *owned);

/* A stream of the context begins or ends. NULL does nothing. */
tenon_status tn_heap_stream_begins(const char *caller, tn_heap *heap, cl_command_queue queue);
void tn_heap_stream_ends(tn_heap *heap, cl_command_queue queue);

/* Lets go of what is kept beyond so many bytes. */
void tn_heap_trim(tn_heap *heap, uint64_t bytes);

/* The bytes that are kept now, and how many buffers were handed out again. */
void tn_heap_count(tn_heap *heap, uint64_t *bytes, uint64_t *served);

#endif
