/* A group: its members, its jobs, and what makes them progress. */
#ifndef TN_GROUP_GROUP_H
#define TN_GROUP_GROUP_H

#include "base/platform.h"
#include "base/status.h"
#include "group/job.h"

/* The message with which a process tells the others that it has broken the group. */
typedef struct tn_failure_notice {
    uint32_t status, unused;
    char text[512];
} tn_failure_notice;

struct tenon_group {
    tn_places places;
    tn_group_member *members;  /* local */
    tenon_transport transport; /* used if there are several processes */
    double deadline_s;
    uint64_t chunk_bytes;
    bool is_uniform; /* all members have the same device and driver: equal arithmetic */
    bool has_thread; /* otherwise the callers make progress */

    /* Used only by the thread that makes progress: the group's, or the caller's while it waits. */
    tn_job *active;
    tn_staging_pool staging;         /* also used by the callers */
    tn_failure_notice *told, *heard; /* `heard` and the messages: one per process */
    tn_message *tellings, *hearings;
    bool is_broken;
    bool drains; /* no call will be made before all jobs have ended */

    tn_mutex lock;        /* of all that follows */
    tn_condition changed; /* a job was added or has ended, or the group ends */
    tn_job *added, **last_added;
    uint32_t unfinished; /* jobs */
    uint64_t calls;      /* collectives so far; used by the callers only */
    bool is_driven;      /* a thread makes progress: the group's, or one that waits */
    bool is_ending, is_draining, is_left;
    uint32_t opened;      /* members with a context */
    tenon_status failure; /* of a job that failed after its call had returned */
    cl_int failure_cl;
    char *failure_message;
    bool failure_lasts; /* the group is broken */
    tn_thread thread;
};

_Static_assert(TENON_GROUP_MAX_MEMBERS <= 64, "the bits of members have 64");

static inline uint32_t tn_local_count(const tenon_group *group)
{
    const tn_places *p = &group->places;
    return p->starts[p->process + 1] - p->starts[p->process];
}

/* Fails if the group is NULL, or with a kept failure, which is then forgotten unless the group is
 * broken. Makes progress if the group has no thread. */
tenon_status tn_group_check(const char *caller, tenon_group *group);

/* Enqueues a call of `members` local members from `first` on, with `peers` other processes: copies
 * the tensors, notes the members' earlier work and makes their later work wait. `events` (or NULL)
 * receives one event per member. */
tenon_status tn_group_enqueue(tenon_group *group, const tn_group_call *call, uint32_t first,
                              uint32_t members, cl_event *events);

/* Waits until all collectives have ended. No call is made meanwhile. A failure is kept. */
void tn_group_drain(tenon_group *group);

/* Adds "the member of rank …" to the message of a failure. `member` is a local one. */
tenon_status tn_group_fail_at(const tenon_group *group, uint32_t member, tenon_status status);

/* Submits the commands in the own streams of members, by the bits of `members`, and makes an event
 * of each, in the order of the members from `marks` on. */
tenon_status tn_group_mark(tenon_group *group, uint64_t members, cl_event *marks);

#endif
