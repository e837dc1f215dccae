/*
 * Whose a buffer is, where it is not OpenCL's alone: of a context's heap (runtime/memory/heap.h),
 * or taken over from another library (DLPack).
 *
 * A tenon_memory is a plain value that is given back without its context, so what must then be done
 * is found by the buffer, in one table of the process. Buffers that are made and released by OpenCL
 * are not in it.
 */
#ifndef TN_RUNTIME_MEMORY_BUFFER_REGISTRY_H
#define TN_RUNTIME_MEMORY_BUFFER_REGISTRY_H

#include "base/status.h"

struct tn_heap;

/* Called once when a buffer that was taken over is given back. */
typedef void (*tn_give_back)(void *what);

typedef struct tn_import {
    struct tn_import *next;
    tn_give_back give_back;
    void *what;
} tn_import;

typedef struct tn_buffer_entry {
    struct tn_buffer_entry *next; /* in the table, or in a list of the heap's */
    cl_mem buffer;
    struct tn_heap *heap; /* NULL: OpenCL's, as far as it is not imported */
    uint64_t bytes;       /* as the heap counts it */
    uint32_t uses;        /* of the heap's: tenon_memory and what has been handed out */
    bool was_handed_out;  /* others may have work on it, on queues of their own */
    tn_import *imports;   /* each is a use, too */
} tn_buffer_entry;

/* Enters a buffer of a heap, with one use. `owned` is the table's until it is given back. */
void tn_buffer_registry_enter(tn_buffer_entry *owned);

/* A use that tn_buffer_registry_drop calls `give_back` for. */
tenon_status tn_buffer_registry_import(const char *caller, cl_mem buffer, tn_give_back give_back,
                                       void *what);

/* One more use by somebody who enqueues work of his own. */
tenon_status tn_buffer_registry_retain(const char *caller, cl_mem buffer);

/* Ends a use. */
void tn_buffer_registry_drop(cl_mem buffer);

#endif
