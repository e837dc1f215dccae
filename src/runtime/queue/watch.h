/* Detects commands that fail on the device after the call that enqueued them has returned, for
 * contexts with a `failure` callback. */
#ifndef TN_RUNTIME_QUEUE_WATCH_H
#define TN_RUNTIME_QUEUE_WATCH_H

#include <tenon/context.h>

#include <stdbool.h>

/* Watches the commands of a stream, on the stream's thread. Drivers report on their own threads. */
typedef struct tn_watch tn_watch;

/* Returns NULL if memory is short. */
tn_watch *tn_watch_create(tenon_failure_callback callback, void *user);

/* Stops reporting and frees the watch. NULL is allowed. */
void tn_watch_destroy(tn_watch *watch);

/* Allocates what the next tn_watch_event needs, before the command is enqueued. Returns false if
 * memory is short. An unused reservation remains for the next command. */
bool tn_watch_reserve(tn_watch *watch);

/* Watches a command, which ends after those watched before, and takes ownership of a reference to
 * its event. Requires a reservation. `label` may be NULL; TN_WATCH_LABEL - 1 characters are
 * copied. */
#define TN_WATCH_LABEL 128
void tn_watch_event(tn_watch *watch, cl_event event, const char *caller, const char *label);

/* Fails with the first failure since the last call; returns TENON_OK if there is none. The
 * callback has been called for it by then. */
tenon_status tn_watch_take(const char *caller, tn_watch *watch);

/* Fails because a command of an earlier call has failed. */
tenon_status tn_fail_earlier(const char *caller, const char *earlier, cl_int error);

#endif
