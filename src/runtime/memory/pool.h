/* Buffers that were given back, kept to be handed out again once the work that used them is done.
 */
#ifndef TN_RUNTIME_MEMORY_POOL_H
#define TN_RUNTIME_MEMORY_POOL_H

#include "runtime/queue/queue_tracker.h"
#include "runtime/memory/buffer_registry.h"

/* Sizes are rounded up to one of eight steps of each doubling, from 1 KiB on. */
enum { TN_POOL_LEAST = 1024, TN_POOL_STEPS = 8, TN_POOL_CLASSES = 54 * TN_POOL_STEPS + 1 };

typedef struct tn_pool_batch tn_pool_batch;

/* Whose it is keeps its lock while it calls the functions below. */
typedef struct tn_pool {
    uint64_t limit, bytes;                   /* of all that is kept: the most, and now */
    uint64_t served;                         /* how many buffers came from it */
    tn_buffer_entry *ready[TN_POOL_CLASSES]; /* nothing uses them */
    tn_buffer_entry *fresh;                  /* given back since the last batch */
    uint32_t fresh_count;
    tn_pool_batch *batches, **last; /* what waits for its events, oldest first */
} tn_pool;

void tn_pool_init(tn_pool *pool, uint64_t limit);

/* The number of a size's class, and how many bytes its buffers have. */
uint32_t tn_pool_class(uint64_t bytes, uint64_t *rounded);

/* A buffer of a class, or NULL. `followed` says when those that were given back can be used. */
tn_buffer_entry *tn_pool_take(tn_pool *pool, tn_queue_tracker *followed, uint64_t bytes);

/* Keeps a buffer; what has to go for it, maybe itself, is put before `gone`. */
void tn_pool_put(tn_pool *pool, tn_buffer_entry *owned, tn_buffer_entry **gone);

/* Takes buffers out until there are at most so many bytes, and puts them before `gone`. */
void tn_pool_shrink(tn_pool *pool, uint64_t bytes, tn_buffer_entry **gone);

#endif
