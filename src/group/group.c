#include "group/group.h"

#include "base/sized.h"
#include "group/create.h"
#include "group/progress.h"
#include "runtime/context/process_end.h"

#include <stdlib.h>
#include <string.h>

tenon_status tn_group_fail_at(const tenon_group *group, uint32_t member, tenon_status status)
{
    if (status == TENON_OK)
        return TENON_OK;
    return tn_fail_because(status, "the member of rank %u",
                           (unsigned)(tn_first_rank(&group->places) + member));
}

tenon_status tn_group_mark(tenon_group *group, uint64_t members, cl_event *marks)
{
    for (uint32_t m = 0, used = 0; m < tn_local_count(group); m++) {
        tenon_stream *own = group->members[m].own;
        if ((members >> m & 1) == 0)
            continue;
        const tenon_sync sync = {.event = &marks[used++]};
        TN_TRY(tn_group_fail_at(group, m, tn_sync_marker("tenon_group", own, &sync)));
        TN_TRY(tn_group_fail_at(group, m, tenon_stream_flush(own)));
    }
    return TENON_OK;
}

/* Returns the kept failure, with its message. */
static tenon_status take_failure(const char *caller, tenon_group *group)
{
    tn_mutex_lock(&group->lock);
    const tenon_status status = group->failure;
    const char *message = group->failure_message;
    if (status != TENON_OK)
        tn_fail_cl(status, group->failure_cl, "%s: an earlier collective failed: %s", caller,
                   message != NULL ? message : "no memory for its message");
    if (!group->failure_lasts) {
        free(group->failure_message);
        group->failure_message = NULL;
        group->failure = TENON_OK;
    }
    tn_mutex_unlock(&group->lock);
    return status;
}

tenon_status tn_group_check(const char *caller, tenon_group *group)
{
    if (group == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: group is NULL", caller);
    if (!group->has_thread)
        tn_progress_make(group);
    return take_failure(caller, group);
}

/* Makes one attempt, in the only thread that does. The caller holds the lock. Returns false if
 * nothing can progress without another call. */
static bool drive(tenon_group *group, tn_patience *patience)
{
    group->is_driven = true;
    tn_mutex_unlock(&group->lock);
    const bool can_go_on = tn_progress_wait(group, patience);
    tn_mutex_lock(&group->lock);
    group->is_driven = false;
    if (group->is_draining)
        tn_condition_broadcast(&group->changed);
    return can_go_on;
}

static void *work(void *data)
{
    tenon_group *group = data;
    tn_patience patience = {0};
    bool can_go_on = true;
    tn_process_register_thread();
    tn_mutex_lock(&group->lock);
    for (;;) {
        while (group->is_draining || (!can_go_on && group->added == NULL && !group->is_ending)) {
            tn_condition_wait(&group->changed, &group->lock);
            patience.since = 0; /* another thread may have made progress */
        }
        if (group->is_ending && group->unfinished == 0)
            break;
        can_go_on = drive(group, &patience);
    }
    tn_mutex_unlock(&group->lock);
    return NULL;
}

static tenon_status start_thread(const char *caller, tenon_group *group)
{
    if (!group->has_thread || tn_thread_create(&group->thread, work, group))
        return TENON_OK;
    return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory for a thread", caller);
}

/* Waits until all jobs have ended. No call is made meanwhile. This thread takes over from that of
 * the group, so that a result need not pass from one to the other. */
static void drain(tenon_group *group, bool ends)
{
    tn_patience patience = {0};
    tn_mutex_lock(&group->lock);
    group->is_draining = true;
    while (group->is_driven)
        tn_condition_wait(&group->changed, &group->lock);
    while (group->unfinished > 0)
        drive(group, &patience);
    group->is_draining = false;
    group->is_ending = ends;
    /* Otherwise the group's thread has nothing to do before the next call. */
    if (ends || group->failure_lasts)
        tn_condition_broadcast(&group->changed);
    tn_mutex_unlock(&group->lock);
}

void tn_group_drain(tenon_group *group)
{
    drain(group, false);
}

static tenon_status make(const char *caller, tenon_stream *const *streams, uint32_t count,
                         const tenon_group_params *params, tenon_group **out)
{
    tenon_group *group = NULL;
    TN_TRY(tn_group_build(caller, streams, count, params, &group));
    const tenon_status status = start_thread(caller, group);
    if (status != TENON_OK)
        tn_group_free(group, false);
    else
        *out = group;
    return status;
}

static const tenon_group_params defaults = TENON_GROUP_PARAMS_INIT;

TENON_API void tenon_group_params_default(tenon_group_params *params, uint32_t size)
{
    tn_params_give(params, size, &defaults, sizeof defaults);
}

TENON_API tenon_status tenon_group_create(tenon_stream *const *streams, uint32_t count,
                                          const tenon_group_params *params, tenon_group **out)
{
    static const char caller[] = "tenon_group_create";
    tenon_group_params room;
    const void *taken;
    if (out == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: out is NULL", caller);
    *out = NULL;
    TN_TRY(tn_params_take(caller, params, &defaults, sizeof defaults, "TENON_GROUP_PARAMS_INIT",
                          &room, &taken));
    TN_TRY(tn_group_check_params(caller, taken));
    TN_TRY(tn_group_check_streams(caller, streams, count));
    return make(caller, streams, count, taken, out);
}

TENON_API void tenon_group_destroy(tenon_group *group)
{
    tn_kept_message kept;
    if (group == NULL)
        return;
    const bool is_kept = tn_message_keep(&kept);
    drain(group, true);
    if (group->has_thread)
        tn_thread_join(group->thread);
    tn_progress_end(group);
    tn_group_free(group, true);
    if (is_kept)
        tn_message_restore(&kept);
}

TENON_API uint32_t tenon_group_size(const tenon_group *group)
{
    return group != NULL ? tn_member_count(&group->places) : 0;
}

TENON_API uint32_t tenon_group_first_rank(const tenon_group *group)
{
    return group != NULL ? tn_first_rank(&group->places) : 0;
}

TENON_API uint32_t tenon_group_local_count(const tenon_group *group)
{
    return group != NULL ? tn_local_count(group) : 0;
}

TENON_API tenon_status tenon_group_poll(tenon_group *group, int *busy)
{
    const tenon_status status = tn_group_check("tenon_group_poll", group);
    if (group == NULL || busy == NULL)
        return status;
    tn_mutex_lock(&group->lock);
    *busy = group->unfinished > 0;
    tn_mutex_unlock(&group->lock);
    return status;
}

TENON_API tenon_status tenon_group_wait(tenon_group *group)
{
    static const char caller[] = "tenon_group_wait";
    if (group == NULL)
        return tn_group_check(caller, group);
    drain(group, false);
    return tn_group_check(caller, group);
}

/* Ends the unfinished collectives of a group that is left. */
static void leave(tenon_group *group)
{
    tn_mutex_lock(&group->lock);
    if (!group->failure_lasts) {
        free(group->failure_message);
        group->failure_message = tn_text_copy("the group was left by tenon_group_shrink");
        group->failure = TENON_ERROR_PEER_LOST;
        group->failure_lasts = true;
    }
    group->is_left = true;
    tn_condition_broadcast(&group->changed);
    tn_mutex_unlock(&group->lock);
    drain(group, false);
}

/* Fails if a transport that has shrunk names other processes than survivors in their old order. */
static tenon_status check_old_ranks(const char *caller, const tenon_group *group,
                                    const tenon_transport *transport, const uint32_t *old_ranks)
{
    const tn_places *places = &group->places;
    bool is_right = old_ranks[transport->rank] == places->process;
    for (uint32_t p = 0; p < transport->size; p++)
        is_right = is_right && old_ranks[p] < places->processes &&
                   (p == 0 || old_ranks[p - 1] < old_ranks[p]);
    if (is_right)
        return TENON_OK;
    return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                   "%s: transport: shrink gave old ranks that do not increase or are not those of "
                   "this and other processes",
                   caller);
}

static tenon_status shrink(const char *caller, tenon_group *group, tenon_group **out)
{
    uint32_t old_ranks[TENON_TRANSPORT_MAX_PROCESSES] = {0};
    tenon_stream *streams[TENON_GROUP_MAX_MEMBERS];
    tenon_transport transport = TENON_TRANSPORT_INIT;
    const tenon_status status =
        group->transport.shrink(group->transport.state, &transport, old_ranks);
    if (status != TENON_OK)
        return tn_fail(status, "%s: the transport cannot shrink: %s", caller,
                       tenon_status_string(status));
    for (uint32_t m = 0; m < tn_local_count(group); m++)
        streams[m] = group->members[m].stream;
    tenon_group_params params = TENON_GROUP_PARAMS_INIT;
    params.transport = &transport;
    params.deadline_s = group->deadline_s;
    params.chunk_bytes = group->chunk_bytes;
    tenon_status made = tn_group_check_params(caller, &params);
    if (made == TENON_OK)
        made = check_old_ranks(caller, group, &transport, old_ranks);
    if (made == TENON_OK)
        made = make(caller, streams, tn_local_count(group), &params, out);
    if (made != TENON_OK && transport.destroy != NULL)
        transport.destroy(transport.state);
    return made;
}

TENON_API tenon_status tenon_group_shrink(tenon_group *group, tenon_group **out)
{
    static const char caller[] = "tenon_group_shrink";
    if (out == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: out is NULL", caller);
    *out = NULL;
    if (group == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: group is NULL", caller);
    if (group->transport.shrink == NULL)
        return tn_fail(TENON_ERROR_UNSUPPORTED, "%s: the group has no transport that can shrink",
                       caller);
    leave(group);
    return shrink(caller, group, out);
}
