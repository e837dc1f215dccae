/* A pool of released buffers, which are reused once the work that used them has completed. */
#ifndef TN_RUNTIME_MEMORY_POOL_H
#define TN_RUNTIME_MEMORY_POOL_H

#include "runtime/queue/queue_tracker.h"
#include "runtime/memory/buffer_registry.h"

/* Size classes: sizes are rounded up to one of eight steps per power of two, from 1 KiB. */
enum { TN_POOL_MIN = 1024, TN_POOL_STEPS = 8, TN_POOL_CLASSES = 54 * TN_POOL_STEPS + 1 };

typedef struct tn_pool_batch tn_pool_batch;

/* The owner of a pool holds its lock while it calls the functions below. */
typedef struct tn_pool {
    uint64_t limit, bytes;                   /* maximum and current number of bytes in the pool */
    uint64_t served;                         /* number of allocations served */
    tn_buffer_entry *ready[TN_POOL_CLASSES]; /* reusable now */
    tn_buffer_entry *fresh;                  /* released since the last batch */
    uint32_t fresh_count;
    tn_pool_batch *batches, **last; /* batches that wait for their events, oldest first */
} tn_pool;

void tn_pool_init(tn_pool *pool, uint64_t limit);

/* Returns the class of a size, and in `rounded` the size of its buffers in bytes. */
uint32_t tn_pool_class(uint64_t bytes, uint64_t *rounded);

/* Takes a buffer of the class of `bytes`, or returns NULL. `tracker` tells when released buffers
 * become reusable. */
tn_buffer_entry *tn_pool_take(tn_pool *pool, tn_queue_tracker *tracker, uint64_t bytes);

/* Puts a buffer into the pool. Buffers that are evicted for it, possibly itself, are prepended to
 * `gone`. */
void tn_pool_put(tn_pool *pool, tn_buffer_entry *owned, tn_buffer_entry **gone);

/* Removes buffers until the pool has at most `bytes` bytes, and prepends them to `gone`. */
void tn_pool_shrink(tn_pool *pool, uint64_t bytes, tn_buffer_entry **gone);

#endif
