/* Events between a stream and a thread of the host. */
#ifndef TN_RUNTIME_QUEUE_HOST_EVENT_H
#define TN_RUNTIME_QUEUE_HOST_EVENT_H

#include "runtime/queue/stream.h"

/* Makes an event that the host completes, and lets the stream's later work wait for it. `after` (or
 * NULL) receives an event of the stream that completes after it. The caller releases both. On
 * failure nothing waits for an event that was made: *event is complete or NULL. */
tenon_status tn_host_event_enqueue(const char *caller, tenon_stream *stream, cl_event *event,
                                   cl_event *after);

/* Completes an event. It completes normally even if the work that it stands for has failed: drivers
 * may end the process if a command waits for an event with an error (docs/drivers.md). If the
 * driver is out of resources or memory, waits and tries again: otherwise the queue would stand
 * still. */
void tn_host_event_complete(cl_event event);

/* Waits for an event of a stream. Returns TENON_ERROR_ASYNCHRONOUS if its command has failed. */
tenon_status tn_event_wait(const char *caller, cl_event event);

/* Returns TENON_OK and sets *over if the event's command has completed. Otherwise as tn_event_wait.
 */
tenon_status tn_event_test(const char *caller, cl_event event, bool *over);

/* Frees a block of memory when the event's command has ended. A driver that does not report it
 * (PoCL 3.1, if the command fails) leaves the block allocated. */
void tn_event_free_after(cl_event event, void *block);

/* Releases an event; NULL is allowed. */
void tn_event_release(cl_event event);

#endif
