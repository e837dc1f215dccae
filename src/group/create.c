#include "group/create.h"

#include "group/connect.h"
#include "group/progress.h"

#include <stdlib.h>

/* A longer deadline is as good as none. */
#define LONGEST_DEADLINE_S 1e9

/* Ranges have at least TN_GROUP_ALIGNMENT elements: a smaller number would not shorten them. */
#define LEAST_CHUNK_BYTES 64

tenon_status tn_group_check_params(const char *caller, const tenon_group_params *p)
{
    if (p->flags != 0)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: flags is %u, must be 0", caller,
                       (unsigned)p->flags);
    if (!(p->deadline_s > 0 && p->deadline_s <= LONGEST_DEADLINE_S))
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: deadline_s is %g, must be greater than 0 and at most %g", caller,
                       p->deadline_s, LONGEST_DEADLINE_S);
    if (p->chunk_bytes != 0 &&
        (p->chunk_bytes < LEAST_CHUNK_BYTES || p->chunk_bytes > TENON_TRANSPORT_MESSAGE_MAX))
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: chunk_bytes is %llu, must be 0 or %d to %llu", caller,
                       (unsigned long long)p->chunk_bytes, LEAST_CHUNK_BYTES,
                       (unsigned long long)TENON_TRANSPORT_MESSAGE_MAX);
    return p->transport != NULL ? tn_transport_check(caller, p->transport) : TENON_OK;
}

tenon_status tn_group_check_streams(const char *caller, tenon_stream *const *streams,
                                    uint32_t count)
{
    if (streams == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: streams is NULL", caller);
    if (count == 0 || count > TENON_GROUP_MAX_MEMBERS)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: count is %u, must be 1 to %d", caller,
                       (unsigned)count, TENON_GROUP_MAX_MEMBERS);
    for (uint32_t i = 0; i < count; i++) {
        if (streams[i] == NULL)
            return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: streams[%u] is NULL", caller,
                           (unsigned)i);
        for (uint32_t j = 0; j < i; j++)
            if (streams[j] == streams[i])
                return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                               "%s: streams[%u] and streams[%u] are the same stream", caller,
                               (unsigned)j, (unsigned)i);
    }
    return TENON_OK;
}

static tenon_status open_members(tenon_group *group, tenon_stream *const *streams, uint32_t count)
{
    for (uint32_t m = 0; m < count; m++) {
        tn_group_member *member = &group->members[m];
        member->stream = streams[m];
        member->context = streams[m]->context;
        member->is_unified = member->context->device.info.unified_memory != 0;
        tenon_context_retain(member->context);
        group->opened = m + 1;
        TN_TRY(tenon_stream_create(member->context, NULL, &member->own));
    }
    return TENON_OK;
}

static tenon_group *allocate(uint32_t count, uint32_t processes)
{
    tenon_group *group = calloc(1, sizeof *group);
    if (group == NULL)
        return NULL;
    group->members = calloc(count, sizeof *group->members);
    group->told = calloc(processes + (size_t)1, sizeof *group->told);
    group->tellings = calloc(2 * (size_t)processes, sizeof *group->tellings);
    group->heard = group->told != NULL ? group->told + 1 : NULL;
    group->hearings = group->tellings != NULL ? group->tellings + processes : NULL;
    group->last_added = &group->added;
    bool is_whole = group->members != NULL && group->told != NULL && group->tellings != NULL &&
                    tn_mutex_init(&group->lock);
    if (is_whole && !tn_condition_init(&group->changed)) {
        tn_mutex_destroy(&group->lock);
        is_whole = false;
    }
    if (is_whole && !tn_staging_pool_init(&group->staging)) {
        tn_condition_destroy(&group->changed);
        tn_mutex_destroy(&group->lock);
        is_whole = false;
    }
    if (is_whole)
        return group;
    free(group->members);
    free(group->told);
    free(group->tellings);
    free(group);
    return NULL;
}

void tn_group_free(tenon_group *group, bool with_transport)
{
    const bool is_unused = tn_progress_stop_listening(group);
    for (uint32_t m = 0; m < group->opened; m++) {
        tenon_stream_destroy(group->members[m].own);
        tenon_context_release(group->members[m].context);
    }
    tn_staging_pool_destroy(&group->staging);
    if (with_transport && group->transport.destroy != NULL)
        group->transport.destroy(group->transport.state);
    if (is_unused)
        free(group->told);
    tn_condition_destroy(&group->changed);
    tn_mutex_destroy(&group->lock);
    free(group->tellings);
    free(group->failure_message);
    free(group->members);
    free(group);
}

tenon_status tn_group_build(const char *caller, tenon_stream *const *streams, uint32_t count,
                            const tenon_group_params *params, tenon_group **out)
{
    const tenon_transport *transport = params->transport;
    tenon_group *group = allocate(count, transport != NULL ? transport->size : 1);
    if (group == NULL)
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory", caller);
    if (transport != NULL)
        group->transport = *transport;
    group->places.processes = transport != NULL ? transport->size : 1;
    group->places.process = transport != NULL ? transport->rank : 0;
    group->deadline_s = params->deadline_s;
    group->chunk_bytes = params->chunk_bytes;
    group->has_thread =
        group->places.processes == 1 || (transport->flags & TENON_TRANSPORT_THREADS) != 0;
    tenon_status status = open_members(group, streams, count);
    if (status == TENON_OK)
        status = tn_connect(group, count);
    if (status == TENON_OK)
        status = tn_progress_listen(group);
    if (status == TENON_OK) {
        *out = group;
        return TENON_OK;
    }
    tn_group_free(group, false);
    return tn_fail_because(status, "%s", caller);
}
