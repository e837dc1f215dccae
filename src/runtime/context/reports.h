/* What a context reports to the application: log lines, progress, and failures of the driver. */
#ifndef TN_RUNTIME_CONTEXT_REPORTS_H
#define TN_RUNTIME_CONTEXT_REPORTS_H

#include "base/log.h"
#include "runtime/opencl/listener.h"

#include <tenon/context.h>

#include <stdbool.h>

typedef struct tn_reports {
    tn_log log;
    bool is_verbose; /* TENON_VERBOSE: `log` prints, and passes lines on to `application_log` */
    tn_log application_log;
    tenon_progress_callback progress; /* or NULL */
    void *progress_user;
} tn_reports;

/* A line of the log that waits until the validation context is left. */
typedef struct tn_late_line {
    struct tn_late_line *next;
    tenon_log_level level;
    char text[];
} tn_late_line;

/* The callback for errors that a driver reports of an OpenCL context. */
typedef struct tn_driver_listener {
    tenon_failure_callback failure;
    void *user;
    tn_listener *listener;
} tn_driver_listener;

typedef struct tn_failure_reports {
    tenon_failure_callback callback; /* or NULL */
    void *user;
    tn_driver_listener *driver; /* of an OpenCL context that the library created; or NULL */
} tn_failure_reports;

/* Tells the application of something that takes its time: begun (milliseconds below 0), or done,
 * which the log is told as well. */
void tn_progress_send(tenon_context *context, tenon_progress_stage stage, const char *name,
                      const char *details, double milliseconds);

/* The log of a context, or of the owner of a validation context, for whoever may be within the
 * validation context: there lines wait until it is left, since no callback runs under a lock. */
tn_log tn_context_log(tenon_context *context);

/* Sends lines that have waited (to nobody, where `log` is NULL), and frees them. */
void tn_late_lines_send(const tn_log *log, tn_late_line *lines);

#endif
