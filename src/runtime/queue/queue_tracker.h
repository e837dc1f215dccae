/* Tracks the work that is enqueued in a context's streams: the queues of open streams, and the
 * final events of destroyed ones. Used for memory that must not be reused before that work
 * completes. */
#ifndef TN_RUNTIME_QUEUE_QUEUE_TRACKER_H
#define TN_RUNTIME_QUEUE_QUEUE_TRACKER_H

#include "base/platform.h"
#include "base/status.h"

typedef struct tn_queue_tracker {
    tn_mutex lock;
    cl_command_queue *queues; /* one entry per open stream; two streams may share a queue */
    uint32_t queue_count, queue_capacity;
    cl_event *left; /* events that complete with the work of destroyed streams */
    uint32_t left_count, left_capacity;
} tn_queue_tracker;

tenon_status tn_queue_tracker_init(const char *caller, tn_queue_tracker *tracker);
void tn_queue_tracker_destroy(tn_queue_tracker *tracker);

/* Adds the queue of a new stream; removes that of a destroyed one, whose work may still be
 * running. */
tenon_status tn_queue_tracker_begin(const char *caller, tn_queue_tracker *tracker,
                                    cl_command_queue queue);
void tn_queue_tracker_end(tn_queue_tracker *tracker, cl_command_queue queue);

/* Removes the queue of a destroyed stream whose remaining work does not matter. */
void tn_queue_tracker_drop(tn_queue_tracker *tracker, cl_command_queue queue);

/* Returns the number of events, and the events, that complete when all work enqueued so far is
 * done. The caller releases them with tn_events_release. If the driver provides no event for a
 * queue, or memory is short, waits instead; an empty list means that all work is done. */
uint32_t tn_queue_tracker_mark(tn_queue_tracker *tracker, cl_event **events);
void tn_events_release(cl_event *events, uint32_t count);

/* Returns true if a command has finished, successfully or not. */
bool tn_event_is_over(cl_event event);

#endif
