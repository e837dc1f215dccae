#include "group/job.h"

#include "base/status.h"

#include <stdlib.h>
#include <string.h>

/* Takes `count` elements of `size` from memory, of which `used` bytes are taken. NULL without
 * memory. Sizes are rounded up for alignment. */
static void *take(char *memory, size_t *used, size_t count, size_t size)
{
    void *taken = memory != NULL ? memory + *used : NULL;
    *used += (count * size + 15) / 16 * 16;
    return taken;
}

/* Divides the memory behind the job among its arrays; returns the size. */
static size_t divide(tn_job *job, char *memory, size_t members, size_t tensors, size_t peers)
{
    size_t used = 0;
    job->tensors = take(memory, &used, 2 * tensors, sizeof(tenon_tensor));
    job->x = take(memory, &used, members, sizeof(tenon_tensor));
    job->y = take(memory, &used, members, sizeof(tenon_tensor));
    job->ready = take(memory, &used, members, sizeof(cl_event));
    job->done = take(memory, &used, members, sizeof(cl_event));
    job->marks = take(memory, &used, members, sizeof(cl_event));
    for (int i = 0; i < TN_GROUP_SLOTS; i++)
        job->slots[i].marks = take(memory, &used, members, sizeof(cl_event));
    job->headers = take(memory, &used, peers, sizeof(tn_header));
    job->header_sends = take(memory, &used, peers, sizeof(tn_message));
    job->header_receives = take(memory, &used, peers, sizeof(tn_message));
    job->x_made = take(memory, &used, members, sizeof(bool));
    job->y_made = take(memory, &used, members, sizeof(bool));
    return used;
}

tn_job *tn_job_create(const tn_group_call *call, uint32_t first, uint32_t members, uint32_t peers)
{
    const size_t tensors = (size_t)members * call->count, head = (sizeof(tn_job) + 15) / 16 * 16;
    tn_job sizes;
    tn_job *job = calloc(1, head + divide(&sizes, NULL, members, tensors, peers));
    if (job == NULL)
        return NULL;
    job->call = *call;
    job->first = first;
    job->members = members;
    job->peers = peers;
    divide(job, (char *)job + head, members, tensors, peers);
    memcpy(job->tensors, call->x, tensors * sizeof *call->x);
    memcpy(job->tensors + tensors, call->y, tensors * sizeof *call->y);
    job->call.x = job->tensors;
    job->call.y = job->tensors + tensors;
    return job;
}

static void release_events(cl_event *events, uint32_t count)
{
    for (uint32_t m = 0; m < count; m++) {
        tn_event_release(events[m]);
        events[m] = NULL;
    }
}

void tn_job_free(tn_job *job)
{
    release_events(job->ready, job->members);
    release_events(job->done, job->members);
    release_events(job->marks, job->members);
    for (uint32_t m = 0; m < job->members; m++) {
        if (job->x_made[m])
            tenon_tensor_destroy(&job->x[m]);
        if (job->y_made[m])
            tenon_tensor_destroy(&job->y[m]);
    }
    free(job->parts);
    free(job);
}

void tn_job_release(tn_job *job)
{
    for (uint32_t m = 0; m < job->members && !job->is_released; m++)
        if (job->done[m] != NULL)
            tn_host_event_complete(job->done[m]);
    job->is_released = true;
}

bool tn_job_precedes(const tn_job *a, const tn_job *b)
{
    const tn_collective *c = &a->call.collective, *d = &b->call.collective;
    if (tn_kind_is_pair(c->kind) || tn_kind_is_pair(d->kind))
        return c->kind == d->kind && c->root == d->root && c->to == d->to;
    return true;
}

tenon_status tn_job_test_events(const tn_job *job, cl_event *events, uint32_t count,
                                tn_progress *progress, bool *over)
{
    *over = true;
    for (uint32_t m = 0; m < count; m++) {
        bool is_over = false;
        if (events[m] == NULL)
            continue;
        TN_TRY(tn_event_test(job->call.name, events[m], &is_over));
        if (is_over) {
            tn_event_release(events[m]);
            events[m] = NULL;
            progress->moved = true;
        } else {
            *over = false;
            if (progress->event == NULL)
                progress->event = events[m];
        }
    }
    return TENON_OK;
}
