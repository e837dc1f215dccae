/* Reports to the application: log lines, progress, and failures of the driver. */
#ifndef TN_RUNTIME_CONTEXT_REPORTS_H
#define TN_RUNTIME_CONTEXT_REPORTS_H

#include "base/log.h"
#include "runtime/opencl/listener.h"

#include <tenon/context.h>

#include <stdbool.h>

typedef struct tn_reports {
    tn_log log;
    bool is_verbose; /* TENON_VERBOSE: `log` prints lines and forwards them to `application_log` */
    tn_log application_log;
    bool checks_numerics; /* outputs are checked for NaN and infinity (dispatch/numerics.h) */
    bool prints_numerics; /* TENON_CHECK_NUMERICS: also prints what is found to stderr */
    tenon_progress_callback progress; /* or NULL */
    void *progress_user;
} tn_reports;

/* A log line that is held back until the validation context is left. */
typedef struct tn_deferred_line {
    struct tn_deferred_line *next;
    tenon_log_level level;
    char text[];
} tn_deferred_line;

/* Receiver of the errors that a driver reports for an OpenCL context. */
typedef struct tn_driver_listener {
    tenon_failure_callback failure;
    void *user;
    tn_listener *listener;
} tn_driver_listener;

typedef struct tn_failure_reports {
    tenon_failure_callback callback; /* or NULL */
    void *user;
    tn_driver_listener *driver; /* for an OpenCL context that the library created; otherwise NULL */
} tn_failure_reports;

/* Reports progress of a long step to the application: its start (milliseconds below 0) or its end,
 * which is also logged. */
void tn_progress_send(tenon_context *context, tenon_progress_stage stage, const char *name,
                      const char *details, double milliseconds);

/* Returns the log of a context, or of the owner of a validation context. While this thread is
 * inside the validation context, lines are held back until it leaves, since no callback may run
 * under a lock. */
tn_log tn_context_log(tenon_context *context);

/* Sends the lines that were held back and frees them. With `log` NULL, only frees them. */
void tn_deferred_lines_send(const tn_log *log, tn_deferred_line *lines);

#endif
