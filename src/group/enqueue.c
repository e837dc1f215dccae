/* Enqueuing a call: the members' streams, and the job. */
#include "group/group.h"

#include "base/shape.h"
#include "group/agree.h"
#include "group/collective.h"
#include "group/progress.h"
#include "runtime/queue/host_event.h"

#include <stdio.h>
#include <string.h>

static void fill_header(tenon_group *group, tn_job *job)
{
    const tn_collective *c = &job->call.collective;
    tn_header *h = &job->own;
    const tenon_tensor *tensors =
        job->call.x[0].dtype != TENON_DTYPE_INVALID && c->kind != TN_BROADCAST ? job->call.x
                                                                               : job->call.y;
    if (!tn_is_pair(job))
        h->number = ++group->calls;
    h->kind = (uint32_t)c->kind;
    h->combination = (uint32_t)job->call.combination;
    h->root = c->root;
    h->to = c->to;
    snprintf(h->name, sizeof h->name, "%s", job->call.name);
    if (c->kind != TN_BARRIER)
        tn_header_set_tensors(h, tensors, job->call.count, c->length);
}

static void append(tenon_group *group, tn_job *job)
{
    tn_mutex_lock(&group->lock);
    *group->last_added = job;
    group->last_added = &job->next;
    group->unfinished++;
    tn_condition_broadcast(&group->changed);
    tn_mutex_unlock(&group->lock);
    if (!group->has_thread)
        tn_progress_make(group);
}

/* Returns true if the input of a small all-reduce can be sent as it is. */
static bool can_copy_ahead(const tenon_group *group, const tn_job *job)
{
    const tn_collective *c = &job->call.collective;
    return c->kind == TN_ALL_REDUCE && c->is_small && job->peers == 1 && job->members == 1 &&
           job->call.count == 1 && c->length > 0 && group->members[job->first].is_unified &&
           tn_tensor_dense(&job->call.x[0]);
}

/* Copies the input to the host in the application's stream. A copy in the group's own stream would
 * have to wait until the host knows that the earlier work is done, which takes as long as the copy
 * of a small tensor. */
static tenon_status copy_ahead(tenon_group *group, tn_job *job, const tenon_sync *sync)
{
    const tn_group_member *member = &group->members[job->first];
    tenon_tensor x = tenon_tensor_view(job->call.x[0].dtype, 1, &job->call.collective.length);
    const uint64_t bytes = (uint64_t)x.shape[0] * tenon_dtype_size(x.dtype);
    x.memory = job->call.x[0].memory;
    x.offset = job->call.x[0].offset;
    TN_TRY(tn_staging_take(&group->staging, member, bytes, &job->ahead));
    return tenon_tensor_download_async(member->stream, &x, job->ahead->pointer, bytes, sync);
}

/* Notes the earlier work of a member and makes its later work wait for the job. */
static tenon_status enter_member(tenon_group *group, tn_job *job, uint32_t m, cl_event *event)
{
    tenon_stream *stream = group->members[job->first + m].stream;
    const char *caller = job->call.name;
    const tenon_sync before = {.event = &job->ready[m]};
    if (can_copy_ahead(group, job))
        TN_TRY(tn_group_fail_at(group, m, copy_ahead(group, job, &before)));
    else
        TN_TRY(tn_sync_marker(caller, stream, &before));
    return tn_host_event_enqueue(caller, stream, &job->done[m], event);
}

static uint32_t count_peers(const tenon_group *group, const tn_collective *c)
{
    if (!tn_kind_is_pair(c->kind))
        return group->places.processes - 1;
    return !tn_is_local(&group->places, c->root) || !tn_is_local(&group->places, c->to);
}

tenon_status tn_group_enqueue(tenon_group *group, const tn_group_call *call, uint32_t first,
                              uint32_t members, cl_event *events)
{
    cl_event made[TENON_GROUP_MAX_MEMBERS] = {NULL};
    for (uint32_t m = 0; m < members; m++)
        TN_TRY(tn_stream_check(call->name, group->members[first + m].stream));
    tn_job *job = tn_job_create(call, first, members, count_peers(group, &call->collective));
    tenon_status status = TENON_OK;
    if (job == NULL)
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory", call->name);
    for (uint32_t m = 0; m < members && status == TENON_OK; m++)
        status = enter_member(group, job, m, &made[m]);
    if (status == TENON_OK && events != NULL)
        memcpy(events, made, members * sizeof *events);
    else
        for (uint32_t m = 0; m < members; m++)
            tn_event_release(made[m]);
    if (status == TENON_OK) {
        fill_header(group, job);
        append(group, job);
    } else {
        tn_job_release(job);
        tn_collective_drop_ahead(group, job);
        tn_job_free(job);
    }
    return status;
}
