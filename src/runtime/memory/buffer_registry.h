/*
 * Registry of buffers: those of a context's heap (runtime/memory/heap.h), those that a context
 * created through OpenCL and counts (runtime/memory/usage.h), and those imported from another
 * library (DLPack).
 *
 * A tenon_memory is a plain value that is released without its context. What must be done then is
 * found by the buffer, in one table of the process. Buffers that the application created have no
 * entry.
 */
#ifndef TN_RUNTIME_MEMORY_BUFFER_REGISTRY_H
#define TN_RUNTIME_MEMORY_BUFFER_REGISTRY_H

#include "base/status.h"

struct tn_heap;
struct tn_usage;

/* Called once when an imported buffer is released. */
typedef void (*tn_release_callback)(void *what);

typedef struct tn_import {
    struct tn_import *next;
    tn_release_callback give_back;
    void *what;
} tn_import;

typedef struct tn_buffer_entry {
    struct tn_buffer_entry *next; /* in the table, or in a list of the heap */
    cl_mem buffer;
    struct tn_heap *heap;   /* NULL: owned by OpenCL, and possibly imported */
    uint64_t bytes;         /* size as counted by the heap and by `usage` */
    struct tn_usage *usage; /* counts the buffer; or NULL */
    uint32_t uses;          /* references held by tenon_memory values and by exports */
    bool is_exported;   /* exported: others may have enqueued work on it in queues of their own */
    tn_import *imports; /* each also counts as a use */
} tn_buffer_entry;

/* Adds a buffer of a heap, or one that is counted, with one use. The table owns `owned` until the
 * buffer is released. */
void tn_buffer_registry_enter(tn_buffer_entry *owned);

/* Adds a use. `give_back` is called when tn_buffer_registry_drop ends it. */
tenon_status tn_buffer_registry_import(const char *caller, cl_mem buffer,
                                       tn_release_callback give_back, void *what);

/* Adds a use for an importer, which enqueues work of its own. */
tenon_status tn_buffer_registry_retain(const char *caller, cl_mem buffer);

/* Ends a use. */
void tn_buffer_registry_drop(cl_mem buffer);

#endif
