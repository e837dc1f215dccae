/* Work that fails on the device after the call that enqueued it has returned, where a context's
 * `failure` asks to be told. */
#ifndef TN_RUNTIME_WATCH_H
#define TN_RUNTIME_WATCH_H

#include <tenon/context.h>

/* What follows the commands of a stream; of its own life, since their events may come late. */
typedef struct tn_watch tn_watch;

/* NULL without memory. */
tn_watch *tn_watch_create(tenon_failure_callback callback, void *user);

/* Drops the stream's reference. NULL is allowed. */
void tn_watch_release(tn_watch *watch);

/* Follows a command. Where that cannot be done its failure is not told. `label`, which is copied,
 * may be NULL. */
void tn_watch_event(tn_watch *watch, cl_event event, const char *operation, const char *label);

/* Fails for the first failure since it was asked the last time; TENON_OK where there is none. */
tenon_status tn_watch_take(const char *operation, tn_watch *watch);

/* Waits until what has ended has been told of: drivers tell after they have let clFinish go. Not
 * for ever, since some may not tell at all. */
void tn_watch_settle(tn_watch *watch);

/* Fails because a command of an earlier call has failed; `label` may be NULL. */
tenon_status tn_fail_earlier(const char *operation, const char *earlier, const char *label,
                             cl_int error);

#endif
