#include "runtime/memory/pool.h"

#include <stdlib.h>
#include <string.h>

/* Number of released buffers that are searched for a fitting size. Beyond it they form a batch. */
enum { MOST_FRESH = 32 };

struct tn_pool_batch {
    tn_pool_batch *next;
    cl_event *events;
    uint32_t event_count;
    tn_buffer_entry *buffers;
};

void tn_pool_init(tn_pool *pool, uint64_t limit)
{
    memset(pool, 0, sizeof *pool);
    pool->limit = limit;
    pool->last = &pool->batches;
}

uint32_t tn_pool_class(uint64_t bytes, uint64_t *rounded)
{
    uint64_t base = TN_POOL_MIN;
    uint32_t number = 0;
    *rounded = base;
    if (bytes <= base)
        return 0;
    for (; bytes > 2 * base; number += TN_POOL_STEPS)
        base *= 2;
    const uint64_t step = base / TN_POOL_STEPS, steps = (bytes - base + step - 1) / step;
    *rounded = base + steps * step;
    return number + (uint32_t)steps;
}

static void push(tn_buffer_entry **list, tn_buffer_entry *owned)
{
    owned->next = *list;
    *list = owned;
}

static tn_buffer_entry *pop(tn_buffer_entry **list)
{
    tn_buffer_entry *owned = *list;
    if (owned != NULL)
        *list = owned->next;
    return owned;
}

static void make_ready(tn_pool *pool, tn_buffer_entry *buffers)
{
    for (tn_buffer_entry *owned; (owned = pop(&buffers)) != NULL;) {
        uint64_t rounded;
        push(&pool->ready[tn_pool_class(owned->bytes, &rounded)], owned);
    }
}

static bool is_over(const tn_pool_batch *batch)
{
    for (uint32_t i = 0; i < batch->event_count; i++)
        if (!tn_event_is_over(batch->events[i]))
            return false;
    return true;
}

/* Removes the batch that `at` links to. */
static void end_batch(tn_pool *pool, tn_pool_batch **at)
{
    tn_pool_batch *batch = *at;
    *at = batch->next;
    if (pool->last == &batch->next)
        pool->last = at;
    tn_events_release(batch->events, batch->event_count);
    free(batch);
}

static void collect(tn_pool *pool)
{
    for (tn_pool_batch **at = &pool->batches; *at != NULL;)
        if (is_over(*at)) {
            make_ready(pool, (*at)->buffers);
            end_batch(pool, at);
        } else {
            at = &(*at)->next;
        }
}

/* Makes a batch of the released buffers, which waits for all work enqueued so far. If memory is
 * short they stay where they are until the next call. */
static void mark(tn_pool *pool, tn_queue_tracker *tracker)
{
    tn_pool_batch *batch = calloc(1, sizeof *batch);
    if (batch == NULL)
        return;
    batch->event_count = tn_queue_tracker_mark(tracker, &batch->events);
    batch->buffers = pool->fresh;
    pool->fresh = NULL;
    pool->fresh_count = 0;
    *pool->last = batch;
    pool->last = &batch->next;
}

/* Returns true if the released buffers justify a marker in every stream. */
static bool is_worth_it(const tn_pool *pool, uint64_t bytes)
{
    const tn_buffer_entry *owned = pool->fresh;
    if (pool->fresh_count > MOST_FRESH)
        return true;
    while (owned != NULL && owned->bytes != bytes)
        owned = owned->next;
    return owned != NULL;
}

tn_buffer_entry *tn_pool_take(tn_pool *pool, tn_queue_tracker *tracker, uint64_t bytes)
{
    uint64_t rounded;
    tn_buffer_entry **ready = &pool->ready[tn_pool_class(bytes, &rounded)];
    if (*ready == NULL)
        collect(pool);
    if (*ready == NULL && is_worth_it(pool, rounded)) {
        mark(pool, tracker);
        collect(pool);
    }
    tn_buffer_entry *owned = pop(ready);
    if (owned != NULL) {
        pool->bytes -= owned->bytes;
        pool->served++;
    }
    return owned;
}

/* Takes any buffer, preferably one that is reusable now or soon. */
static tn_buffer_entry *take_any(tn_pool *pool)
{
    for (uint32_t i = TN_POOL_CLASSES; i-- > 0;)
        if (pool->ready[i] != NULL)
            return pop(&pool->ready[i]);
    while (pool->batches != NULL) {
        tn_buffer_entry *owned = pop(&pool->batches->buffers);
        if (owned != NULL)
            return owned;
        end_batch(pool, &pool->batches);
    }
    pool->fresh_count--;
    return pop(&pool->fresh);
}

void tn_pool_shrink(tn_pool *pool, uint64_t bytes, tn_buffer_entry **gone)
{
    while (pool->bytes > bytes) {
        tn_buffer_entry *owned = take_any(pool);
        pool->bytes -= owned->bytes;
        push(gone, owned);
    }
    /* Batches without buffers need not be waited for. */
    while (pool->bytes == 0 && pool->batches != NULL)
        end_batch(pool, &pool->batches);
}

void tn_pool_put(tn_pool *pool, tn_buffer_entry *owned, tn_buffer_entry **gone)
{
    if (owned->bytes > pool->limit) {
        push(gone, owned);
        return;
    }
    tn_pool_shrink(pool, pool->limit - owned->bytes, gone);
    push(&pool->fresh, owned);
    pool->fresh_count++;
    pool->bytes += owned->bytes;
}
