#include "group/pair.h"

#include "base/checked.h"
#include "group/agree.h"

#include <stdlib.h>

static const tenon_tensor *tensor_of(const tn_job *job)
{
    return job->call.collective.kind == TN_SEND ? &job->call.x[0] : &job->call.y[0];
}

static uint64_t bytes_of(const tn_job *job)
{
    const tenon_tensor *t = tensor_of(job);
    return (uint64_t)tenon_tensor_elements(t) * tenon_dtype_size(t->dtype);
}

static tenon_status take_staging(tenon_group *group, tn_job *job)
{
    return bytes_of(job) == 0 ? TENON_OK
                              : tn_staging_take(&group->staging, &group->members[job->first],
                                                bytes_of(job), &job->staging);
}

/* Copies the tensor of a send to host memory. */
static tenon_status stage(tenon_group *group, tn_job *job)
{
    job->state = TN_JOB_STAGES;
    TN_TRY(take_staging(group, job));
    if (job->staging == NULL)
        return TENON_OK;
    const tenon_sync sync = {.event = job->marks};
    return tenon_tensor_download_async(group->members[job->first].own, tensor_of(job),
                                       job->staging->pointer, bytes_of(job), &sync);
}

/* Copies host memory to the tensor of a receive. */
static tenon_status deliver(tenon_group *group, tn_job *job, const tn_staging *staging)
{
    job->state = TN_JOB_SCATTERS;
    if (staging == NULL)
        return TENON_OK;
    const tenon_sync sync = {.event = job->marks};
    return tenon_tensor_upload_async(group->members[job->first].own, staging->pointer,
                                     bytes_of(job), tensor_of(job), &sync);
}

/* Starts all messages with the data. */
static tenon_status start_parts(tenon_group *group, tn_job *job)
{
    const tn_collective *c = &job->call.collective;
    const uint32_t tag = tn_pair_tag_of(c->root, c->to, TN_PAIR_DATA),
                   peer = tn_peer_of(group, job, 0);
    uint64_t left = bytes_of(job);
    job->state = TN_JOB_MOVES;
    if (job->staging == NULL)
        TN_TRY(take_staging(group, job));
    if (job->staging == NULL) /* no bytes */
        return TENON_OK;
    char *at = job->staging->pointer;
    job->parts = calloc((size_t)(left / TENON_TRANSPORT_MESSAGE_MAX + 1), sizeof *job->parts);
    if (job->parts == NULL)
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "no memory for a list of messages");
    for (uint64_t size; left > 0; left -= size, at += size) {
        tn_message *part = &job->parts[job->part_count];
        size = left < TENON_TRANSPORT_MESSAGE_MAX ? left : TENON_TRANSPORT_MESSAGE_MAX;
        if (c->kind == TN_SEND)
            TN_TRY(tn_message_send(&group->transport, &group->places, peer, tag, at, size, part));
        else
            TN_TRY(
                tn_message_receive(&group->transport, &group->places, peer, tag, at, size, part));
        job->part_count++;
    }
    return TENON_OK;
}

static tenon_status test_parts(tenon_group *group, tn_job *job, tn_progress *progress, bool *over)
{
    *over = true;
    for (uint32_t i = 0; i < job->part_count; i++) {
        TN_TRY(
            tn_message_test(&group->transport, &group->places, &job->parts[i], &progress->moved));
        *over = *over && !job->parts[i].is_pending;
    }
    progress->waits_for_messages = progress->waits_for_messages || !*over;
    return TENON_OK;
}

/* Returns the first send of this process that the receive takes; NULL if there is none yet. */
static tn_job *find_send(const tenon_group *group, const tn_job *receive)
{
    const tn_collective *c = &receive->call.collective;
    for (tn_job *job = group->active; job != NULL; job = job->next) {
        const tn_collective *s = &job->call.collective;
        if (s->kind == TN_SEND && s->root == c->root && s->to == c->to &&
            job->state != TN_JOB_ENDED)
            return job;
    }
    return NULL;
}

/* Takes the data of a send of this process. */
static tenon_status take_send(tenon_group *group, tn_job *job, tn_progress *progress)
{
    const tn_collective *c = &job->call.collective;
    tn_job *send = find_send(group, job);
    if (send == NULL || !send->is_parked) {
        progress->waits_for_calls = true;
        return TENON_OK;
    }
    job->is_common = true; /* after a mismatch the send has ended too */
    tenon_status status = tn_header_compare(&send->own, c->root, &job->own, c->to);
    if (status == TENON_OK)
        status = tn_header_check(&send->own);
    if (status == TENON_OK)
        status = tn_header_check(&job->own);
    if (status == TENON_OK)
        status = deliver(group, job, send->staging);
    job->staging = send->staging;
    send->staging = NULL;
    send->state = TN_JOB_ENDED;
    progress->moved = true;
    return status;
}

/* Goes on when the data of a send is in host memory, or a receive may overwrite its tensor. */
static tenon_status agree(tenon_group *group, tn_job *job, tn_progress *progress)
{
    bool over = true;
    job->state = TN_JOB_AGREES;
    if (job->peers == 0 && job->call.collective.kind == TN_SEND) {
        progress->moved = progress->moved || !job->is_parked;
        job->is_parked = true;
        tn_job_release(job);
        return TENON_OK;
    }
    if (job->is_blocked)
        return TENON_OK;
    if (job->peers == 0)
        return take_send(group, job, progress);
    TN_TRY(tn_agree(group, job, progress, &over));
    return over ? start_parts(group, job) : TENON_OK;
}

static tenon_status begin_pair(tenon_group *group, tn_job *job, tn_progress *progress)
{
    bool over = true;
    TN_TRY(tn_agree_ready(group, job, progress, &over));
    if (!over)
        return TENON_OK;
    if (job->call.collective.kind == TN_SEND && job->own.status == TENON_OK)
        return stage(group, job);
    return agree(group, job, progress);
}

tenon_status tn_pair_advance(tenon_group *group, tn_job *job, tn_progress *progress)
{
    bool over = true;
    if (job->state == TN_JOB_WAITS)
        TN_TRY(begin_pair(group, job, progress));
    if (job->state == TN_JOB_STAGES) {
        TN_TRY(tn_job_test_events(job, job->marks, 1, progress, &over));
        if (!over)
            return TENON_OK;
        TN_TRY(tenon_stream_finish(group->members[job->first].own));
        tn_job_release(job); /* the tensor may be overwritten */
        job->state = TN_JOB_AGREES;
    }
    if (job->state == TN_JOB_AGREES)
        TN_TRY(agree(group, job, progress));
    if (job->state == TN_JOB_MOVES) {
        TN_TRY(test_parts(group, job, progress, &over));
        if (!over)
            return TENON_OK;
        if (job->call.collective.kind == TN_SEND)
            job->state = TN_JOB_ENDED;
        else
            TN_TRY(deliver(group, job, job->staging));
    }
    if (job->state == TN_JOB_SCATTERS) {
        TN_TRY(tn_job_test_events(job, job->marks, 1, progress, &over));
        if (!over)
            return TENON_OK;
        TN_TRY(tenon_stream_finish(group->members[job->first].own));
        job->state = TN_JOB_ENDED;
    }
    return TENON_OK;
}

uint32_t tn_pair_pending(const tn_job *job)
{
    const tn_collective *c = &job->call.collective;
    const bool waits = job->state == TN_JOB_AGREES || job->state == TN_JOB_MOVES;
    if (!waits || job->is_parked)
        return TN_ALL_MEMBERS;
    return c->kind == TN_SEND ? c->to : c->root;
}

bool tn_pair_abandon(tenon_group *group, tn_job *job)
{
    bool is_free = tn_agree_abandon(group, job), has_data = true;
    for (uint32_t i = 0; i < job->part_count; i++)
        has_data = tn_message_cancel(&group->transport, &job->parts[i]) && has_data;
    if (has_data)
        tn_staging_give_back(&group->staging, job->staging);
    job->staging = NULL;
    return is_free;
}
