#include "group/group.h"

#include "base/sized.h"
#include "runtime/context/process_end.h"
#include "runtime/queue/host_event.h"

#include <stdlib.h>
#include <string.h>

static const tenon_group_params defaults = TENON_GROUP_PARAMS_INIT;

tenon_status tn_group_check(const char *caller, tenon_group *group)
{
    if (group == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: group is NULL", caller);
    tn_mutex_lock(&group->lock);
    const tenon_status status = group->failure;
    char *message = group->failure_message;
    const cl_int error = group->failure_cl;
    group->failure = TENON_OK;
    group->failure_message = NULL;
    tn_mutex_unlock(&group->lock);
    if (status != TENON_OK)
        tn_fail_cl(status, error, "%s: an earlier collective failed: %s", caller,
                   message != NULL ? message : "no memory for its message");
    free(message);
    return status;
}

static void release_events(cl_event *events, uint32_t count)
{
    for (uint32_t m = 0; m < count; m++)
        tn_event_release(events[m]);
}

static void free_job(tn_group_job *job)
{
    release_events(job->ready, job->call.collective.members);
    release_events(job->done, job->call.collective.members);
    free(job);
}

static tn_group_job *make_job(const tn_group_call *call)
{
    const size_t n = call->collective.members;
    tn_group_job *job =
        calloc(1, sizeof *job + n * (2 * sizeof(tenon_tensor) + 2 * sizeof(cl_event)));
    if (job == NULL)
        return NULL;
    job->call = *call;
    job->call.x = (tenon_tensor *)(job + 1);
    job->call.y = job->call.x + n;
    job->ready = (cl_event *)(job->call.y + n);
    job->done = job->ready + n;
    memcpy(job->call.x, call->x, n * sizeof *call->x);
    memcpy(job->call.y, call->y, n * sizeof *call->y);
    return job;
}

/* Keeps the first failure. The caller is the group's thread. */
static void keep_failure(tenon_group *group, tenon_status status)
{
    tn_mutex_lock(&group->lock);
    if (group->failure == TENON_OK) {
        group->failure = status;
        group->failure_cl = tenon_last_cl_error();
        group->failure_message = tn_text_copy(tenon_last_error());
    }
    tn_mutex_unlock(&group->lock);
}

static tenon_status wait_for_members(const tn_group_job *job)
{
    for (uint32_t m = 0; m < job->call.collective.members; m++) {
        const tenon_status status = tn_event_wait(job->call.name, job->ready[m]);
        if (status != TENON_OK)
            return tn_fail_because(status, "%s: the member of rank %u", job->call.name,
                                   (unsigned)m);
    }
    return TENON_OK;
}

static void run_job(tenon_group *group, tn_group_job *job)
{
    tenon_status status = wait_for_members(job);
    if (status == TENON_OK)
        status = tn_group_execute(group->members, &job->call);
    if (status != TENON_OK)
        keep_failure(group, status);
    for (uint32_t m = 0; m < group->count; m++)
        tn_host_event_complete(job->done[m]);
}

static void *work(void *data)
{
    tenon_group *group = data;
    tn_process_register_thread();
    tn_mutex_lock(&group->lock);
    for (;;) {
        while (group->first == NULL && !group->is_ending)
            tn_condition_wait(&group->changed, &group->lock);
        tn_group_job *job = group->first;
        if (job == NULL)
            break;
        if ((group->first = job->next) == NULL)
            group->last = &group->first;
        group->is_busy = true;
        tn_mutex_unlock(&group->lock);
        run_job(group, job);
        free_job(job);
        tn_mutex_lock(&group->lock);
        group->is_busy = false;
        tn_condition_broadcast(&group->changed);
    }
    tn_mutex_unlock(&group->lock);
    return NULL;
}

static void append(tenon_group *group, tn_group_job *job)
{
    tn_mutex_lock(&group->lock);
    *group->last = job;
    group->last = &job->next;
    tn_condition_broadcast(&group->changed);
    tn_mutex_unlock(&group->lock);
}

/* Notes the earlier work of a member and makes its later work wait for the job. */
static tenon_status enter_member(tenon_group *group, tn_group_job *job, uint32_t m, cl_event *event)
{
    tenon_stream *stream = group->members[m].stream;
    const char *caller = job->call.name;
    const tenon_sync before = {.event = &job->ready[m]};
    TN_TRY(tn_sync_marker(caller, stream, &before));
    return tn_host_event_enqueue(caller, stream, &job->done[m], event);
}

tenon_status tn_group_enqueue(tenon_group *group, const tn_group_call *call, cl_event *events)
{
    cl_event made[TENON_GROUP_MAX_MEMBERS] = {NULL};
    for (uint32_t m = 0; m < group->count; m++)
        TN_TRY(tn_stream_check(call->name, group->members[m].stream));
    tn_group_job *job = make_job(call);
    tenon_status status = TENON_OK;
    if (job == NULL)
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory", call->name);
    for (uint32_t m = 0; m < group->count && status == TENON_OK; m++)
        status = enter_member(group, job, m, &made[m]);
    if (status == TENON_OK) {
        append(group, job);
    } else {
        for (uint32_t m = 0; m < group->count; m++)
            if (job->done[m] != NULL)
                tn_host_event_complete(job->done[m]);
        free_job(job);
    }
    if (status == TENON_OK && events != NULL)
        memcpy(events, made, group->count * sizeof *events);
    else
        release_events(made, group->count);
    return status;
}

static tenon_status check_streams(const char *caller, tenon_stream *const *streams, uint32_t count)
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

static void free_group(tenon_group *group)
{
    for (uint32_t m = 0; m < group->count; m++) {
        tenon_stream_destroy(group->members[m].own);
        tenon_context_release(group->members[m].context);
    }
    free(group->failure_message);
    free(group->members);
    free(group);
}

static tenon_status open_members(tenon_group *group, tenon_stream *const *streams, uint32_t count)
{
    for (uint32_t m = 0; m < count; m++) {
        tn_group_member *member = &group->members[m];
        member->stream = streams[m];
        member->context = streams[m]->context;
        member->is_unified = member->context->device.info.unified_memory != 0;
        tenon_context_retain(member->context);
        group->count = m + 1;
        TN_TRY(tenon_stream_create(member->context, NULL, &member->own));
    }
    return TENON_OK;
}

static tenon_status start(const char *caller, tenon_group *group)
{
    group->last = &group->first;
    if (!tn_mutex_init(&group->lock))
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory for a lock", caller);
    if (tn_condition_init(&group->changed)) {
        if (tn_thread_create(&group->thread, work, group))
            return TENON_OK;
        tn_condition_destroy(&group->changed);
    }
    tn_mutex_destroy(&group->lock);
    return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory for a thread", caller);
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
    params = taken;
    if (params->flags != 0)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: flags is %u, must be 0", caller,
                       (unsigned)params->flags);
    TN_TRY(check_streams(caller, streams, count));
    tenon_group *group = calloc(1, sizeof *group);
    if (group != NULL)
        group->members = calloc(count, sizeof *group->members);
    if (group == NULL || group->members == NULL) {
        free(group);
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory", caller);
    }
    tenon_status status = open_members(group, streams, count);
    if (status == TENON_OK)
        status = start(caller, group);
    if (status != TENON_OK)
        free_group(group);
    else
        *out = group;
    return status;
}

TENON_API void tenon_group_destroy(tenon_group *group)
{
    if (group == NULL)
        return;
    tn_mutex_lock(&group->lock);
    group->is_ending = true;
    tn_condition_broadcast(&group->changed);
    tn_mutex_unlock(&group->lock);
    tn_thread_join(group->thread);
    tn_condition_destroy(&group->changed);
    tn_mutex_destroy(&group->lock);
    free_group(group);
}

TENON_API uint32_t tenon_group_size(const tenon_group *group)
{
    return group != NULL ? group->count : 0;
}

TENON_API tenon_status tenon_group_wait(tenon_group *group)
{
    static const char caller[] = "tenon_group_wait";
    if (group == NULL)
        return tn_group_check(caller, group);
    tn_mutex_lock(&group->lock);
    while (group->first != NULL || group->is_busy)
        tn_condition_wait(&group->changed, &group->lock);
    tn_mutex_unlock(&group->lock);
    return tn_group_check(caller, group);
}
