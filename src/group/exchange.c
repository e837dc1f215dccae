#include "group/exchange.h"

#include "base/shape.h"
#include "group/combine.h"
#include "group/group.h"

#include <tenon/elementwise.h>

#include <stdlib.h>
#include <string.h>

static const tenon_tensor *array_of(const tn_job *job, const tn_places *places, uint32_t rank,
                                    bool is_output)
{
    const uint32_t m = rank - tn_first_rank(places);
    return is_output ? &job->y[m] : &job->x[m];
}

static size_t element_size(const tn_job *job)
{
    return tenon_dtype_size(job->x[0].dtype != TENON_DTYPE_INVALID ? job->x[0].dtype
                                                                   : job->y[0].dtype);
}

static uint32_t first_source(const tn_group_step *step)
{
    return step->from == TN_ALL_MEMBERS ? 0 : step->from;
}

static uint32_t sources_of(const tn_job *job, const tn_group_step *step)
{
    return step->from == TN_ALL_MEMBERS ? job->call.collective.members : 1;
}

/* Lists what a step moves between this process and others. */
static tenon_status list_step(const tenon_group *group, const tn_job *job, tn_exchange *e,
                              const tn_group_step *step)
{
    const tn_places *places = &group->places;
    const bool to_here = tn_is_local(places, step->to);
    for (uint32_t i = 0; i < sources_of(job, step); i++) {
        const uint32_t from = first_source(step) + i;
        tn_parcel parcel = {.from = from,
                            .from_output = step->from_output,
                            .start = step->from_start,
                            .count = step->count};
        parcel.message.peer = tn_process_of(places, to_here ? from : step->to);
        if (to_here && !tn_is_local(places, from))
            TN_TRY(tn_parcels_add(&e->in, &parcel));
        if (!to_here && tn_is_local(places, from))
            TN_TRY(tn_parcels_add(&e->out, &parcel));
    }
    return TENON_OK;
}

static tenon_status list_phase(const tenon_group *group, const tn_job *job, tn_exchange *e)
{
    const tn_collective *c = &job->call.collective;
    const uint32_t count = tn_group_step_count(c, e->phase);
    for (uint32_t i = 0; i < count && group->places.processes > 1; i++) {
        const tn_group_step step = tn_group_step_at(c, e->range, e->phase, i);
        if (step.count > 0)
            TN_TRY(list_step(group, job, e, &step));
    }
    return TENON_OK;
}

/* Starts all receives, into host memory of the kind that suits the first local member (staging.h).
 * All members can read it. */
static tenon_status start_receives(tenon_group *group, tn_job *job, tn_exchange *e)
{
    for (uint32_t i = 0; i < e->in.count; i++) {
        tn_parcel *in = &e->in.at[i];
        const uint64_t bytes = (uint64_t)in->count * element_size(job);
        TN_TRY(tn_staging_take(&group->staging, &group->members[0], bytes, &in->staging));
        TN_TRY(tn_message_receive(&group->transport, &group->places, in->message.peer,
                                  tn_data_tag(e->number, e->phase), in->staging->pointer, bytes,
                                  &in->message));
    }
    return TENON_OK;
}

/* For a command in the own stream of a member: its event replaces that of an earlier one, which
 * ends before. */
static tenon_sync mark_by(tn_exchange *e, uint32_t member)
{
    tn_event_release(e->marks[member]);
    e->marks[member] = NULL;
    return (tenon_sync){.event = &e->marks[member]};
}

/* Copies what is to be sent to the host. */
static tenon_status start_copies(tenon_group *group, tn_job *job, tn_exchange *e)
{
    for (uint32_t i = 0; i < e->out.count; i++) {
        tn_parcel *out = &e->out.at[i];
        const uint32_t m = out->from - tn_first_rank(&group->places);
        const tenon_tensor part = tn_array_part(
            array_of(job, &group->places, out->from, out->from_output), out->start, out->count);
        const uint64_t bytes = (uint64_t)out->count * element_size(job);
        if (job->ahead != NULL && out->count == job->call.collective.length) {
            out->staging = job->ahead;
            job->ahead = NULL;
            continue;
        }
        TN_TRY(tn_staging_take(&group->staging, &group->members[m], bytes, &out->staging));
        const tenon_sync sync = mark_by(e, m);
        TN_TRY(tn_group_fail_at(group, m,
                                tenon_tensor_download_async(group->members[m].own, &part,
                                                            out->staging->pointer, bytes, &sync)));
    }
    return TENON_OK;
}

static tenon_status start_sends(tenon_group *group, tn_job *job, tn_exchange *e)
{
    for (uint32_t i = 0; i < e->out.count; i++) {
        tn_parcel *out = &e->out.at[i];
        TN_TRY(tn_message_send(&group->transport, &group->places, out->message.peer,
                               tn_data_tag(e->number, e->phase), out->staging->pointer,
                               (uint64_t)out->count * element_size(job), &out->message));
    }
    return TENON_OK;
}

static tenon_status test_parcels(tenon_group *group, const tn_parcels *parcels,
                                 tn_progress *progress, bool *over)
{
    TN_TRY(tn_parcels_test(parcels, &group->transport, &group->places, &progress->moved, over));
    progress->waits_for_messages = progress->waits_for_messages || !*over;
    return TENON_OK;
}

/* Returns a view of the elements of member `from` for the member that executes the step. */
static tenon_status open_source(tenon_group *group, tn_job *job, tn_exchange *e,
                                const tn_group_step *step, uint32_t from, tenon_tensor *view)
{
    const tn_places *places = &group->places;
    const tn_group_member *user = &group->members[step->to - tn_first_rank(places)];
    if (!tn_is_local(places, from)) {
        tn_parcel wanted = {.from = from,
                            .from_output = step->from_output,
                            .start = step->from_start,
                            .count = step->count};
        wanted.message.peer = tn_process_of(places, from);
        const tn_parcel *in = tn_parcels_find(&e->in, &wanted);
        const tenon_tensor *y = array_of(job, places, step->to, true);
        return tn_source_wrap(&e->sources[e->source_count++], in->staging->pointer, y->dtype,
                              step->count, user, view);
    }
    const uint32_t m = from - tn_first_rank(places);
    *view = tn_array_part(array_of(job, places, from, step->from_output), step->from_start,
                          step->count);
    if (tn_source_is_shared(&group->members[m], user))
        return TENON_OK;
    return tn_source_map(&e->sources[e->source_count++], &group->members[m], view, user, view);
}

/* Executes a step of a local member. */
static tenon_status run_step(tenon_group *group, tn_job *job, tn_exchange *e,
                             const tn_group_step *step)
{
    const uint32_t first = first_source(step), count = sources_of(job, step),
                   m = step->to - tn_first_rank(&group->places);
    const tn_group_member *to = &group->members[m];
    const tenon_tensor y =
        tn_array_part(array_of(job, &group->places, step->to, true), step->to_start, step->count);
    tenon_tensor views[TENON_GROUP_MAX_MEMBERS];
    for (uint32_t i = 0; i < count; i++)
        TN_TRY(open_source(group, job, e, step, first + i, &views[i]));
    if (count == 1 && views[0].offset == y.offset && tn_same_memory(&views[0].memory, &y.memory))
        return TENON_OK;
    const tenon_sync sync = mark_by(e, m);
    if (step->from == TN_ALL_MEMBERS)
        return tn_combine(to, job->call.combination, views, count, &y, &sync);
    return tenon_copy(to->own, NULL, &views[0], &y, &sync);
}

/* Starts the work of all local members before any of it is waited for. */
static tenon_status start_steps(tenon_group *group, tn_job *job, tn_exchange *e)
{
    const tn_collective *c = &job->call.collective;
    const uint32_t count = tn_group_step_count(c, e->phase), first = tn_first_rank(&group->places);
    if (count == 0)
        return TENON_OK;
    const tn_group_step any = tn_group_step_at(c, e->range, e->phase, 0);
    e->sources = calloc((size_t)count * sources_of(job, &any), sizeof *e->sources);
    if (e->sources == NULL)
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "no memory for a list of sources");
    for (uint32_t i = 0; i < count; i++) {
        const tn_group_step step = tn_group_step_at(c, e->range, e->phase, i);
        if (step.count == 0 || !tn_is_local(&group->places, step.to))
            continue;
        TN_TRY(tn_group_fail_at(group, step.to - first, run_step(group, job, e, &step)));
    }
    return TENON_OK;
}

static tenon_status close_sources(tn_exchange *e)
{
    tenon_status status = TENON_OK;
    while (e->source_count > 0) {
        const tenon_status closed = tn_source_close(&e->sources[--e->source_count]);
        status = status == TENON_OK ? closed : status;
    }
    free(e->sources);
    e->sources = NULL;
    return status;
}

static tenon_status begin_phase(tenon_group *group, tn_job *job, tn_exchange *e)
{
    e->state = TN_EXCHANGE_COPIES;
    TN_TRY(list_phase(group, job, e));
    return start_copies(group, job, e);
}

tenon_status tn_exchange_begin(tenon_group *group, tn_job *job, tn_exchange *e, tn_range range,
                               uint64_t number)
{
    e->range = range;
    e->number = number;
    e->phase = 0;
    return begin_phase(group, job, e);
}

static tenon_status end_phase(tenon_group *group, tn_job *job, tn_exchange *e)
{
    tn_parcels_clear(&e->out, &group->transport, &group->staging);
    tn_parcels_clear(&e->in, &group->transport, &group->staging);
    e->state = TN_EXCHANGE_IDLE;
    if (++e->phase < TN_GROUP_PHASES && tn_group_step_count(&job->call.collective, e->phase) > 0)
        return begin_phase(group, job, e);
    return TENON_OK;
}

tenon_status tn_exchange_advance(tenon_group *group, tn_job *job, tn_exchange *e,
                                 tn_progress *progress)
{
    bool over = true;
    if (e->state == TN_EXCHANGE_COPIES) {
        TN_TRY(tn_job_test_events(job, e->marks, job->members, progress, &over));
        if (!over || !job->has_agreed)
            return TENON_OK;
        /* First the sends: MPI may copy a message within the call that receives it, and the peer
         * would wait for ours meanwhile. */
        TN_TRY(start_sends(group, job, e));
        TN_TRY(start_receives(group, job, e));
        e->state = TN_EXCHANGE_SENDS;
    }
    if (e->state == TN_EXCHANGE_SENDS) {
        TN_TRY(test_parcels(group, &e->in, progress, &over));
        if (!over)
            return TENON_OK;
        TN_TRY(start_steps(group, job, e));
        e->state = TN_EXCHANGE_COMBINES;
        progress->moved = true;
    }
    if (e->state == TN_EXCHANGE_COMBINES) {
        TN_TRY(test_parcels(group, &e->out, progress, &over)); /* the receivers may need it */
        TN_TRY(tn_job_test_events(job, e->marks, job->members, progress, &over));
        if (!over)
            return TENON_OK;
        TN_TRY(close_sources(e));
        e->state = TN_EXCHANGE_ENDS;
    }
    if (e->state == TN_EXCHANGE_ENDS) {
        TN_TRY(test_parcels(group, &e->out, progress, &over));
        if (over) {
            progress->moved = true;
            return end_phase(group, job, e);
        }
    }
    return TENON_OK;
}

void tn_exchange_abandon(tenon_group *group, tn_job *job, tn_exchange *e)
{
    for (uint32_t m = 0; m < job->members; m++) {
        tn_event_release(e->marks[m]);
        e->marks[m] = NULL;
    }
    close_sources(e);
    tn_parcels_clear(&e->out, &group->transport, &group->staging);
    tn_parcels_clear(&e->in, &group->transport, &group->staging);
    e->state = TN_EXCHANGE_IDLE;
}

uint32_t tn_exchange_pending(const tn_exchange *e)
{
    const uint32_t sender = tn_parcels_pending(&e->in);
    return sender != TN_NO_PROCESS ? sender : tn_parcels_pending(&e->out);
}
