/* Jobs: the collectives, sends and receives that have been called and have not ended. */
#ifndef TN_GROUP_JOB_H
#define TN_GROUP_JOB_H

#include "group/exchange.h"
#include "group/header.h"

#include "runtime/queue/host_event.h"

/* A call with its tensors. */
typedef struct tn_group_call {
    const char *name; /* of the public function */
    tn_collective collective;
    tenon_group_kind combination; /* of the kinds that combine */
    uint32_t count;               /* tensors of each member that are seen as one; 1 */
    const tenon_tensor *x, *y;    /* `count` per local member; zeros without an input or output */
} tn_group_call;

/* The states of a job, in their order. */
typedef enum tn_job_state {
    TN_JOB_WAITS,    /* for the earlier work of its members */
    TN_JOB_STAGES,   /* a send: copies its tensor to the host */
    TN_JOB_AGREES,   /* exchanges headers; a collective does so in the next states, too */
    TN_JOB_GATHERS,  /* copies inputs with other strides to arrays */
    TN_JOB_MOVES,    /* moves and combines the data */
    TN_JOB_SCATTERS, /* copies arrays to outputs with other strides */
    TN_JOB_ENDED
} tn_job_state;

/* Ranges of a collective that are in flight at a time. */
#define TN_GROUP_SLOTS 3

/* A job, with memory for its arrays behind it. */
typedef struct tn_job {
    struct tn_job *next;
    tn_group_call call;
    tenon_tensor *tensors; /* the call's x, then y */
    tn_job_state state;
    uint32_t first, members; /* the local members that take part, counted from 0 */
    uint64_t began;          /* time when it began to wait for other processes; 0: not yet */
    bool is_released;        /* the events in `done` are complete */
    bool is_common;          /* it failed, and all its processes know why */
    bool is_parked;          /* a send within this process that no receive has taken */
    bool has_begun;          /* its headers have been sent */
    bool has_agreed; /* all processes make this call: data may be sent and outputs written */
    bool is_blocked; /* an earlier job must end first */
    cl_event *ready; /* one per member: its earlier work is done */
    cl_event *done;  /* one per member: a user event, for which its later work waits */
    cl_event *marks; /* one per member: its work in its own stream; NULL: none */

    /* The headers of this and of the other processes. */
    tn_header own;
    uint32_t peers; /* other processes */
    tn_header *headers;
    tn_message *header_sends, *header_receives;

    /* Collectives. */
    tn_staging *ahead; /* the input, to which work in the application's stream copies it; or NULL */
    tenon_tensor *x, *y; /* one-dimensional arrays, one per member */
    bool *x_made, *y_made;
    tn_range next_range;
    uint64_t next_number;
    tn_exchange slots[TN_GROUP_SLOTS];

    /* A send or receive. */
    tn_staging *staging;
    tn_message *parts; /* of the data */
    uint32_t part_count;
} tn_job;

/* The result of an attempt to make progress. */
typedef struct tn_progress {
    bool moved;              /* something has ended; otherwise: what is waited for */
    bool waits_for_messages; /* of other processes */
    bool waits_for_calls;    /* of this process */
    bool waits_for_members;  /* their earlier work, which may take any time */
    cl_event event;          /* the first command that has not ended; NULL: none */
} tn_progress;

/* Makes a job and copies the tensors. `peers` other processes take part. NULL: no memory. */
tn_job *tn_job_create(const tn_group_call *call, uint32_t first, uint32_t members, uint32_t peers);

/* Frees a job whose messages and commands have ended. */
void tn_job_free(tn_job *job);

/* Completes the events for which the members' later work waits. */
void tn_job_release(tn_job *job);

/* Returns true if b must not begin before a has ended. */
bool tn_job_precedes(const tn_job *a, const tn_job *b);

/* Tests events, releases those of commands that have ended, and sets *over if all have. */
tenon_status tn_job_test_events(const tn_job *job, cl_event *events, uint32_t count,
                                tn_progress *progress, bool *over);

#endif
