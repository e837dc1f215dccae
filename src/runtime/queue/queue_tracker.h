/* What has been enqueued in a context's streams, for memory that must not be used again before it
 * is done: the open streams' queues, and the ends of what destroyed streams have left. */
#ifndef TN_RUNTIME_QUEUE_QUEUE_TRACKER_H
#define TN_RUNTIME_QUEUE_QUEUE_TRACKER_H

#include "base/platform.h"
#include "base/status.h"

typedef struct tn_queue_tracker {
    tn_mutex lock;
    cl_command_queue *queues; /* one of each open stream; two streams may have the same */
    uint32_t queue_count, queue_capacity;
    cl_event *left; /* what completes with the work of streams that have been destroyed */
    uint32_t left_count, left_capacity;
} tn_queue_tracker;

tenon_status tn_queue_tracker_init(const char *caller, tn_queue_tracker *followed);
void tn_queue_tracker_destroy(tn_queue_tracker *followed);

/* A stream begins, or ends; what was enqueued there may go on. */
tenon_status tn_queue_tracker_begin(const char *caller, tn_queue_tracker *followed,
                                    cl_command_queue queue);
void tn_queue_tracker_end(tn_queue_tracker *followed, cl_command_queue queue);

/* A stream ends, and what it has left does not matter. */
void tn_queue_tracker_drop(tn_queue_tracker *followed, cl_command_queue queue);

/* Events after which all is done that has been enqueued so far; the caller gives them back with
 * tn_events_release. Where the driver has no event for a queue, or there is no memory, it waits
 * instead: an empty list means that nothing is left. */
uint32_t tn_queue_tracker_mark(tn_queue_tracker *followed, cl_event **events);
void tn_events_release(cl_event *events, uint32_t count);

/* Whether a command has come to its end, rightly or not. */
bool tn_event_is_over(cl_event event);

#endif
