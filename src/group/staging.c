#include "group/staging.h"

#include "base/status.h"
#include "group/staging_choice.h"
#include "runtime/queue/host_event.h"

#include <stdlib.h>

/* The context in which the member's messages are pinned, or NULL. */
static tenon_context *pinned_in(const tn_group_member *member)
{
    const bool is_pinned = !member->is_unified && tn_staging_is_pinned(member->context);
    return is_pinned ? member->context : NULL;
}

/* Returns true if the memory serves: of the right kind, and less than half of it unused. */
static bool serves(const tn_staging *staging, const tenon_context *context, uint64_t bytes)
{
    return staging->context == context && staging->bytes >= bytes && staging->bytes / 2 <= bytes;
}

static void destroy(tn_staging *staging)
{
    tenon_pinned_destroy(staging->pinned);
    free(staging->block);
    free(staging);
}

static tenon_status allocate(tn_staging *staging, tenon_context *context)
{
    if (context != NULL) {
        TN_TRY(tenon_pinned_create(context, staging->bytes, &staging->pinned));
        staging->context = context;
        staging->pointer = tenon_pinned_pointer(staging->pinned);
        return TENON_OK;
    }
    staging->block = malloc((size_t)staging->bytes + TN_STAGING_ALIGNMENT);
    if (staging->block == NULL)
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "no memory for a message of %llu bytes",
                       (unsigned long long)staging->bytes);
    const size_t beyond = (size_t)((uintptr_t)staging->block % TN_STAGING_ALIGNMENT);
    staging->pointer = (char *)staging->block + TN_STAGING_ALIGNMENT - beyond;
    return TENON_OK;
}

bool tn_staging_pool_init(tn_staging_pool *pool)
{
    pool->first = NULL;
    return tn_mutex_init(&pool->lock);
}

/* Takes unused memory from the pool; NULL if none serves. */
static tn_staging *take_unused(tn_staging_pool *pool, const tenon_context *context, uint64_t bytes)
{
    tn_staging *found = NULL;
    tn_mutex_lock(&pool->lock);
    for (tn_staging **at = &pool->first; *at != NULL; at = &(*at)->next)
        if (serves(*at, context, bytes)) {
            found = *at;
            *at = found->next;
            break;
        }
    tn_mutex_unlock(&pool->lock);
    return found;
}

tenon_status tn_staging_take(tn_staging_pool *pool, const tn_group_member *member, uint64_t bytes,
                             tn_staging **out)
{
    tenon_context *context = pinned_in(member);
    tn_staging *staging = take_unused(pool, context, bytes);
    if (staging != NULL) {
        *out = staging;
        return TENON_OK;
    }
    staging = calloc(1, sizeof *staging);
    if (staging == NULL)
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "no memory for a message");
    staging->bytes = bytes;
    const tenon_status status = allocate(staging, context);
    if (status == TENON_OK)
        *out = staging;
    else
        free(staging);
    return status;
}

void tn_staging_give_back(tn_staging_pool *pool, tn_staging *staging)
{
    if (staging == NULL)
        return;
    tn_mutex_lock(&pool->lock);
    staging->next = pool->first;
    pool->first = staging;
    tn_mutex_unlock(&pool->lock);
}

void tn_staging_free_after(tn_staging *staging, cl_event event)
{
    tn_event_free_after(event, staging->block);
    free(staging);
}

void tn_staging_pool_destroy(tn_staging_pool *pool)
{
    while (pool->first != NULL) {
        tn_staging *staging = pool->first;
        pool->first = staging->next;
        destroy(staging);
    }
    tn_mutex_destroy(&pool->lock);
}
