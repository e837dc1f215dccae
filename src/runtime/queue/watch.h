/* Work that fails on the device after the call that enqueued it has returned, where a context's
 * `failure` asks to be told. */
#ifndef TN_RUNTIME_QUEUE_WATCH_H
#define TN_RUNTIME_QUEUE_WATCH_H

#include <tenon/context.h>

#include <stdbool.h>

/* What follows the commands of a stream, on its thread; drivers tell on theirs. */
typedef struct tn_watch tn_watch;

/* NULL without memory. */
tn_watch *tn_watch_create(tenon_failure_callback callback, void *user);

/* Tells of nothing any more. NULL is allowed. */
void tn_watch_destroy(tn_watch *watch);

/* Allocates what the next tn_watch_event needs, before the command is enqueued; false without
 * memory. A reservation that is not used stays for the next command. */
bool tn_watch_reserve(tn_watch *watch);

/* Follows a command, which ends after those before it, and takes over a reference to its event.
 * Needs a reservation. `label`, of which TN_WATCH_LABEL - 1 characters are copied, may be NULL. */
#define TN_WATCH_LABEL 128
void tn_watch_event(tn_watch *watch, cl_event event, const char *caller, const char *label);

/* Fails for the first failure since it was asked the last time; TENON_OK where there is none. The
 * callback has been told of it, here at the latest. */
tenon_status tn_watch_take(const char *caller, tn_watch *watch);

/* Fails because a command of an earlier call has failed. */
tenon_status tn_fail_earlier(const char *caller, const char *earlier, cl_int error);

#endif
