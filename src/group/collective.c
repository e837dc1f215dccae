#include "group/collective.h"

#include "base/checked.h"
#include "group/agree.h"
#include "group/arrays.h"

/* Bytes of a range if the group's parameters do not set them: long enough for bandwidth, and short
 * enough for three of them to overlap in tensors of 32 MiB. */
#define RANGE_BYTES (UINT64_C(8) << 20)

/* Returns the number of elements of a range. Divided tensors have one part for each member. */
static int64_t range_length(const tenon_group *group, const tn_job *job)
{
    const tn_collective *c = &job->call.collective;
    const tenon_tensor *any = job->x[0].dtype != TENON_DTYPE_INVALID ? &job->x[0] : &job->y[0];
    const bool is_divided =
        c->kind == TN_REDUCE_SCATTER || c->kind == TN_ALL_GATHER || c->kind == TN_ALL_TO_ALL;
    const uint64_t bytes = group->chunk_bytes > 0 ? group->chunk_bytes : RANGE_BYTES,
                   parts = is_divided ? c->members : 1;
    const int64_t length = (int64_t)(bytes / parts / tenon_dtype_size(any->dtype));
    if (job->peers == 0)
        return c->length;
    return tn_max_i64(length / TN_GROUP_ALIGNMENT, 1) * TN_GROUP_ALIGNMENT;
}

static tenon_status begin_moves(tenon_group *group, tn_job *job)
{
    const tn_collective *c = &job->call.collective;
    job->state = TN_JOB_MOVES;
    if (c->length > 0)
        job->next_range.count = tn_min_i64(range_length(group, job), c->length);
    return TENON_OK;
}

/* Begins the next range in an idle slot. */
static tenon_status begin_range(tenon_group *group, tn_job *job, tn_exchange *slot)
{
    const tn_range range = job->next_range;
    const int64_t end = range.start + range.count;
    job->next_range.start = end;
    job->next_range.count = tn_min_i64(range.count, job->call.collective.length - end);
    return tn_exchange_begin(group, job, slot, range, job->next_number++);
}

static tenon_status advance_ranges(tenon_group *group, tn_job *job, tn_progress *progress,
                                   bool *over)
{
    *over = true;
    for (int i = 0; i < TN_GROUP_SLOTS; i++) {
        tn_exchange *slot = &job->slots[i];
        if (slot->state == TN_EXCHANGE_IDLE && job->next_range.count > 0)
            TN_TRY(begin_range(group, job, slot));
        if (slot->state != TN_EXCHANGE_IDLE)
            TN_TRY(tn_exchange_advance(group, job, slot, progress));
        *over = *over && slot->state == TN_EXCHANGE_IDLE;
    }
    *over = *over && job->next_range.count == 0 && job->has_agreed;
    return TENON_OK;
}

/* Starts to copy to (true) or from the arrays. */
static tenon_status start_copies(tenon_group *group, tn_job *job, bool gathers)
{
    uint64_t members = 0;
    job->state = gathers ? TN_JOB_GATHERS : TN_JOB_SCATTERS;
    TN_TRY(gathers ? tn_arrays_gather(group, job, &members)
                   : tn_arrays_scatter(group, job, &members));
    return tn_group_mark(group, members, job->marks);
}

/* Reports commands that have failed, and waits for the last ones. */
static tenon_status finish(tenon_group *group, tn_job *job)
{
    for (uint32_t m = 0; m < job->members; m++)
        TN_TRY(tn_group_fail_at(group, m, tenon_stream_finish(group->members[m].own)));
    job->state = TN_JOB_ENDED;
    return TENON_OK;
}

tenon_status tn_collective_advance(tenon_group *group, tn_job *job, tn_progress *progress)
{
    bool over = true;
    if (job->state == TN_JOB_WAITS) {
        TN_TRY(tn_agree_ready(group, job, progress, &over));
        if (!over)
            return TENON_OK;
        job->state = TN_JOB_AGREES;
    }
    if (!job->has_agreed)
        TN_TRY(tn_agree(group, job, progress, &job->has_agreed));
    if (job->state == TN_JOB_AGREES && job->call.collective.kind == TN_BARRIER && job->has_agreed)
        job->state = TN_JOB_ENDED;
    if (job->state == TN_JOB_AGREES) {
        if (job->own.status != TENON_OK || job->call.collective.kind == TN_BARRIER)
            return TENON_OK;
        TN_TRY(start_copies(group, job, true)); /* while the headers are on their way */
    }
    if (job->state == TN_JOB_GATHERS) {
        TN_TRY(tn_job_test_events(job, job->marks, job->members, progress, &over));
        if (!over)
            return TENON_OK;
        TN_TRY(begin_moves(group, job));
    }
    if (job->state == TN_JOB_MOVES) {
        TN_TRY(advance_ranges(group, job, progress, &over));
        if (!over)
            return TENON_OK;
        TN_TRY(start_copies(group, job, false));
    }
    if (job->state == TN_JOB_SCATTERS) {
        TN_TRY(tn_job_test_events(job, job->marks, job->members, progress, &over));
        if (over)
            return finish(group, job);
    }
    return TENON_OK;
}

uint32_t tn_collective_pending(const tenon_group *group, const tn_job *job)
{
    for (uint32_t i = 0; i < job->peers; i++)
        if (job->header_sends[i].is_pending || job->header_receives[i].is_pending)
            return group->places.starts[tn_peer_of(group, job, i)];
    for (int i = 0; i < TN_GROUP_SLOTS; i++) {
        const uint32_t process = tn_exchange_pending(&job->slots[i]);
        if (process != TN_NO_PROCESS)
            return group->places.starts[process];
    }
    return TN_ALL_MEMBERS;
}

void tn_collective_drop_ahead(tenon_group *group, tn_job *job)
{
    if (job->ahead != NULL && job->ready[0] != NULL) /* the copy has not ended */
        tn_staging_free_after(job->ahead, job->ready[0]);
    else
        tn_staging_give_back(&group->staging, job->ahead);
    job->ahead = NULL;
}

bool tn_collective_abandon(tenon_group *group, tn_job *job)
{
    for (int i = 0; i < TN_GROUP_SLOTS; i++)
        tn_exchange_abandon(group, job, &job->slots[i]);
    tn_collective_drop_ahead(group, job);
    return tn_agree_abandon(group, job);
}
