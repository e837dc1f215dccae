#include "group/progress.h"

#include "group/agree.h"
#include "group/collective.h"
#include "group/pair.h"

#include "runtime/queue/host_event.h"

#include <stdlib.h>
#include <string.h>

/* While nothing but a command of the group itself is waited for, the thread blocks: a thread that
 * only yields keeps its processor busy in the eyes of the system, which then wakes the driver's
 * thread on one that another process needs.
 *
 * Other waits test again and again. At first they only yield the processor, which kernels and other
 * processes may need: messages within a host take microseconds, and to sleep takes longer. Then
 * they pause, for a share of the time that they have lasted. Calls of this process take the
 * longest, and a broken group only waits for processes to take its notice. */
#define BUSY_NS          UINT64_C(500000)
#define PAUSE_NS         UINT64_C(20000)
#define PAUSE_SHARE      16
#define LONGEST_PAUSE_NS UINT64_C(200000)
#define LONGEST_IDLE_NS  UINT64_C(5000000)

/* Stores the first failure for the next call, or replaces it by one that breaks the group. */
static void keep_failure(tenon_group *group, tenon_status status, bool lasts)
{
    tn_mutex_lock(&group->lock);
    if (group->failure == TENON_OK || (lasts && !group->failure_lasts)) {
        free(group->failure_message);
        group->failure = status;
        group->failure_cl = tenon_last_cl_error();
        group->failure_message = tn_text_copy(tenon_last_error());
        group->failure_lasts = lasts;
    }
    tn_mutex_unlock(&group->lock);
}

static tenon_status describe(const tn_job *job, tenon_status status)
{
    if (job->own.number > 0)
        return tn_fail_because(status, "%s, call %llu", job->call.name,
                               (unsigned long long)job->own.number);
    return tn_fail_because(status, "%s from rank %u to rank %u", job->call.name,
                           (unsigned)job->call.collective.root, (unsigned)job->call.collective.to);
}

/* Releases all that a job holds, completes its events and removes it from the list. */
static void end_job(tenon_group *group, tn_job **at)
{
    tn_job *job = *at;
    *at = job->next;
    for (uint32_t m = 0; m < job->members && job->state != TN_JOB_ENDED; m++)
        tn_stream_settle(group->members[job->first + m].own);
    const bool is_free =
        tn_is_pair(job) ? tn_pair_abandon(group, job) : tn_collective_abandon(group, job);
    tn_job_release(job);
    const bool was_counted = !job->is_parked;
    if (is_free)
        tn_job_free(job);
    tn_mutex_lock(&group->lock);
    group->unfinished -= was_counted; /* only the thread that makes progress waits for this */
    tn_mutex_unlock(&group->lock);
}

/* Tells the other processes, without waiting for them. Some may be lost. */
static void tell(tenon_group *group, tenon_status status)
{
    group->told->status = (uint32_t)status;
    snprintf(group->told->text, sizeof group->told->text, "%.500s", tenon_last_error());
    for (uint32_t p = 0; p < group->places.processes; p++)
        if (p != group->places.process)
            tn_message_send(&group->transport, &group->places, p, TN_TAG_FAILURE, group->told,
                            sizeof *group->told, &group->tellings[p]);
}

static void end_all(tenon_group *group)
{
    group->is_broken = true;
    while (group->active != NULL)
        end_job(group, &group->active);
}

void tn_progress_break(tenon_group *group, tenon_status status)
{
    keep_failure(group, status, true);
    tell(group, status);
    end_all(group);
}

tenon_status tn_progress_listen(tenon_group *group)
{
    for (uint32_t p = 0; p < group->places.processes; p++)
        if (p != group->places.process)
            TN_TRY(tn_message_receive(&group->transport, &group->places, p, TN_TAG_FAILURE,
                                      &group->heard[p], sizeof *group->heard, &group->hearings[p]));
    return TENON_OK;
}

bool tn_progress_stop_listening(tenon_group *group)
{
    bool is_free = true;
    for (uint32_t p = 0; p < group->places.processes; p++) {
        is_free = tn_message_cancel(&group->transport, &group->tellings[p]) && is_free;
        is_free = tn_message_cancel(&group->transport, &group->hearings[p]) && is_free;
    }
    return is_free;
}

/* Breaks the group if another process has, or if one is lost. */
static void hear(tenon_group *group)
{
    for (uint32_t p = 0; p < group->places.processes && !group->is_broken; p++) {
        bool has_ended = false;
        const unsigned rank = group->places.starts[p];
        const tenon_status status =
            tn_message_test(&group->transport, &group->places, &group->hearings[p], &has_ended);
        if (status != TENON_OK) {
            tn_progress_break(group, status);
        } else if (has_ended) {
            tn_failure_notice *notice = &group->heard[p];
            notice->text[sizeof notice->text - 1] = '\0';
            tn_fail((tenon_status)notice->status, "the process of rank %u has failed: %s", rank,
                    notice->text);
            keep_failure(group, (tenon_status)notice->status, true);
            end_all(group);
        }
    }
}

/* Continues to tell others of a failure. Returns true if that is not done. */
static bool goes_on_telling(tenon_group *group)
{
    bool moved = false, goes_on = false;
    for (uint32_t p = 0; p < group->places.processes; p++) {
        tn_message_test(&group->transport, &group->places, &group->tellings[p], &moved);
        goes_on = goes_on || group->tellings[p].is_pending;
    }
    return goes_on;
}

/* Fails if the job waits for another process, or a call of this process, for too long. */
static tenon_status check_deadline(const tenon_group *group, const tn_job *job)
{
    const double waited = job->began > 0 ? (double)(tn_now() - job->began) * 1e-9 : 0;
    if (waited <= group->deadline_s)
        return TENON_OK;
    const uint32_t rank =
        tn_is_pair(job) ? tn_pair_pending(job) : tn_collective_pending(group, job);
    if (rank == TN_ALL_MEMBERS)
        return TENON_OK;
    return tn_fail(TENON_ERROR_TIMEOUT, "nothing from rank %u within %g s", (unsigned)rank,
                   group->deadline_s);
}

/* Returns true if an earlier job must end first. A send may copy its tensor to the host all the
 * same. */
static bool is_blocked(const tenon_group *group, const tn_job *job)
{
    for (const tn_job *earlier = group->active; earlier != job; earlier = earlier->next)
        if (tn_job_precedes(earlier, job) && !earlier->is_parked)
            return true;
    return false;
}

/* A failure that only this process knows, of a job with other processes, breaks the group. */
static void fail_job(tenon_group *group, tn_job **at, tenon_status status)
{
    status = describe(*at, status);
    if ((*at)->peers > 0 && !(*at)->is_common) {
        tn_progress_break(group, status);
        return;
    }
    keep_failure(group, status, false);
    end_job(group, at);
}

static void take_added(tenon_group *group)
{
    tn_job **last = &group->active;
    while (*last != NULL)
        last = &(*last)->next;
    tn_mutex_lock(&group->lock);
    *last = group->added;
    group->added = NULL;
    group->last_added = &group->added;
    group->drains = group->is_draining;
    const bool is_left = group->is_left;
    tn_mutex_unlock(&group->lock);
    if (is_left && !group->is_broken)
        tn_progress_break(group,
                          tn_fail(TENON_ERROR_PEER_LOST, "the group was left for a smaller one"));
}

/* A send within the process has ended for its caller when no receive has taken it yet. */
static void park(tenon_group *group)
{
    tn_mutex_lock(&group->lock);
    group->unfinished--;
    tn_mutex_unlock(&group->lock);
}

/* Continues a job. Sets *ended if it ended or failed. */
static tenon_status advance(tenon_group *group, tn_job *job, tn_progress *progress, bool *ended)
{
    const bool was_parked = job->is_parked;
    tenon_status status = TENON_OK;
    *ended = false;
    job->is_blocked = is_blocked(group, job);
    if (job->is_blocked && job->began > 0)
        job->began = tn_now();
    if (job->is_blocked && job->call.collective.kind != TN_SEND)
        return TENON_OK;
    if (job->state != TN_JOB_ENDED)
        status = tn_is_pair(job) ? tn_pair_advance(group, job, progress)
                                 : tn_collective_advance(group, job, progress);
    if (job->is_parked && !was_parked)
        park(group);
    if (status == TENON_OK && job->state != TN_JOB_ENDED)
        status = check_deadline(group, job);
    *ended = status != TENON_OK || job->state == TN_JOB_ENDED;
    return status;
}

/* One attempt for each job. */
static void attempt(tenon_group *group, tn_progress *progress)
{
    memset(progress, 0, sizeof *progress);
    take_added(group);
    if (group->active != NULL && group->places.processes > 1 && !group->is_broken)
        hear(group);
    if (group->is_broken) {
        end_all(group);
        progress->waits_for_messages = goes_on_telling(group);
        return;
    }
    for (tn_job **at = &group->active; *at != NULL && !group->is_broken;) {
        bool has_ended;
        const tenon_status status = advance(group, *at, progress, &has_ended);
        progress->moved = progress->moved || has_ended;
        if (status != TENON_OK)
            fail_job(group, at, status);
        else if (has_ended)
            end_job(group, at);
        else
            at = &(*at)->next;
    }
}

/* Fails the receives whose send has not been called, while no call can be made. */
static void fail_unmatched(tenon_group *group)
{
    for (tn_job **at = &group->active; *at != NULL;)
        if ((*at)->call.collective.kind == TN_RECEIVE && (*at)->state == TN_JOB_AGREES) {
            (*at)->is_common = true;
            fail_job(group, at,
                     tn_fail(TENON_ERROR_MISMATCH, "the send has not been called in this process"));
        } else {
            at = &(*at)->next;
        }
}

void tn_progress_make(tenon_group *group)
{
    tn_progress progress;
    do
        attempt(group, &progress);
    while (progress.moved);
}

static void pause(uint64_t longest, tn_patience *patience)
{
    const uint64_t now = tn_now();
    if (patience->since == 0)
        patience->since = now;
    const uint64_t waited = now - patience->since, wanted = waited / PAUSE_SHARE;
    if (waited < BUSY_NS)
        tn_yield();
    else
        tn_sleep(wanted < PAUSE_NS ? PAUSE_NS : wanted < longest ? wanted : longest);
}

/* Waits for a command. Its failure is found by the job. */
static void wait_for(cl_event event)
{
    tn_kept_message kept;
    if (!tn_message_keep(&kept))
        return;
    tn_event_wait("tenon_group_wait", event);
    tn_message_restore(&kept);
}

bool tn_progress_wait(tenon_group *group, tn_patience *patience)
{
    tn_progress progress;
    attempt(group, &progress);
    const bool waits_here = !progress.moved && !progress.waits_for_messages;
    if (progress.moved)
        patience->since = 0;
    else if (waits_here && progress.waits_for_calls && progress.event == NULL && group->drains)
        fail_unmatched(group);
    else if (waits_here && progress.event != NULL && !progress.waits_for_calls &&
             (group->places.processes == 1 || !progress.waits_for_members))
        wait_for(progress.event);
    else if (waits_here && progress.event == NULL && !progress.waits_for_calls)
        return false;
    else
        pause(progress.waits_for_messages && !group->is_broken ? LONGEST_PAUSE_NS : LONGEST_IDLE_NS,
              patience);
    return true;
}

void tn_progress_end(tenon_group *group)
{
    group->is_broken = true;
    end_all(group);
}
