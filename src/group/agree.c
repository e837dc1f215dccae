#include "group/agree.h"

uint32_t tn_peer_of(const tenon_group *group, const tn_job *job, uint32_t i)
{
    const tn_collective *c = &job->call.collective;
    if (tn_is_pair(job))
        return tn_process_of(&group->places, c->kind == TN_SEND ? c->to : c->root);
    return i < group->places.process ? i : i + 1;
}

tenon_status tn_agree_ready(tenon_group *group, tn_job *job, tn_progress *progress, bool *over)
{
    *over = true;
    for (uint32_t m = 0; m < job->members; m++) {
        bool is_over = true;
        if (job->ready[m] == NULL)
            continue;
        const tenon_status status = tn_job_test_events(job, &job->ready[m], 1, progress, &is_over);
        *over = *over && (is_over || status != TENON_OK);
        if (status == TENON_OK)
            continue;
        tn_event_release(job->ready[m]);
        job->ready[m] = NULL;
        if (job->peers == 0 && !tn_is_pair(job))
            return tn_group_fail_at(group, job->first + m, status);
        job->own.status = (uint32_t)status;
        job->own.failed = tn_first_rank(&group->places) + job->first + m;
    }
    if (*over)
        job->began = tn_now();
    else
        progress->waits_for_members = true;
    return TENON_OK;
}

static uint32_t tag_of(const tn_job *job, bool is_sent)
{
    const tn_collective *c = &job->call.collective;
    if (!tn_is_pair(job))
        return TN_TAG_HEADER;
    return tn_pair_tag_of(c->root, c->to,
                          (c->kind == TN_SEND) == is_sent ? TN_PAIR_SENDER : TN_PAIR_RECEIVER);
}

static tenon_status send_headers(tenon_group *group, tn_job *job)
{
    for (uint32_t i = 0; i < job->peers; i++)
        TN_TRY(tn_message_receive(&group->transport, &group->places, tn_peer_of(group, job, i),
                                  tag_of(job, false), &job->headers[i], sizeof job->own,
                                  &job->header_receives[i]));
    for (uint32_t i = 0; i < job->peers; i++)
        TN_TRY(tn_message_send(&group->transport, &group->places, tn_peer_of(group, job, i),
                               tag_of(job, true), &job->own, sizeof job->own,
                               &job->header_sends[i]));
    job->has_begun = true;
    return TENON_OK;
}

/* Returns the header of a process: one that was received, or this process's own. */
static const tn_header *header_of(const tenon_group *group, const tn_job *job, uint32_t process)
{
    for (uint32_t i = 0; i < job->peers; i++)
        if (tn_peer_of(group, job, i) == process)
            return &job->headers[i];
    return &job->own;
}

/* The same in all processes: everything is compared with the header of the first one. */
static tenon_status judge(const tenon_group *group, const tn_job *job)
{
    const tn_collective *c = &job->call.collective;
    const tn_places *places = &group->places;
    if (tn_is_pair(job)) {
        const tn_header *a = header_of(group, job, tn_process_of(places, c->root)),
                        *b = header_of(group, job, tn_process_of(places, c->to));
        TN_TRY(tn_header_compare(a, c->root, b, c->to));
        TN_TRY(tn_header_check(a));
        return tn_header_check(b);
    }
    const tn_header *first = header_of(group, job, 0);
    for (uint32_t p = 1; p < places->processes; p++)
        TN_TRY(tn_header_compare(first, places->starts[0], header_of(group, job, p),
                                 places->starts[p]));
    for (uint32_t p = 0; p < places->processes; p++)
        TN_TRY(tn_header_check(header_of(group, job, p)));
    return TENON_OK;
}

tenon_status tn_agree(tenon_group *group, tn_job *job, tn_progress *progress, bool *over)
{
    *over = true;
    if (job->peers == 0)
        return TENON_OK;
    if (!job->has_begun)
        TN_TRY(send_headers(group, job));
    for (uint32_t i = 0; i < job->peers; i++) {
        tn_message *sent = &job->header_sends[i], *received = &job->header_receives[i];
        TN_TRY(tn_message_test(&group->transport, &group->places, sent, &progress->moved));
        TN_TRY(tn_message_test(&group->transport, &group->places, received, &progress->moved));
        *over = *over && !sent->is_pending && !received->is_pending;
    }
    progress->waits_for_messages = progress->waits_for_messages || !*over;
    if (!*over)
        return TENON_OK;
    const tenon_status status = judge(group, job);
    job->is_common = status != TENON_OK;
    return status;
}

bool tn_agree_abandon(tenon_group *group, tn_job *job)
{
    bool is_free = true;
    for (uint32_t i = 0; i < job->peers; i++) {
        is_free = tn_message_cancel(&group->transport, &job->header_sends[i]) && is_free;
        is_free = tn_message_cancel(&group->transport, &job->header_receives[i]) && is_free;
    }
    return is_free;
}
