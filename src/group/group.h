/* A group: its members, its thread and the collectives that wait for it. */
#ifndef TN_GROUP_GROUP_H
#define TN_GROUP_GROUP_H

#include "base/platform.h"
#include "base/status.h"
#include "group/execute.h"

#include <CL/cl.h>

/* A collective in the queue, with memory for its arrays behind it. */
typedef struct tn_group_job {
    struct tn_group_job *next;
    tn_group_call call;
    cl_event *ready; /* one per member: its earlier work is done */
    cl_event *done;  /* one per member: a user event, for which its later work waits */
} tn_group_job;

struct tenon_group {
    uint32_t count;
    tn_group_member *members;
    tn_mutex lock;        /* of all that follows */
    tn_condition changed; /* a job was added or has ended, or the group ends */
    tn_group_job *first, **last;
    bool is_busy, is_ending;
    tenon_status failure; /* of a job that failed after its call had returned */
    cl_int failure_cl;
    char *failure_message;
    tn_thread thread;
};

/* Fails if the group is NULL, or with a kept failure, which is then forgotten. */
tenon_status tn_group_check(const char *caller, tenon_group *group);

/* Enqueues a collective: copies the tensors, notes the members' earlier work and makes their later
 * work wait. `events` (or NULL) receives one event per member. */
tenon_status tn_group_enqueue(tenon_group *group, const tn_group_call *call, cl_event *events);

#endif
