/* Error reporting: a status to return, and the message that tenon_last_error() returns to the
 * calling thread. */
#ifndef TN_BASE_STATUS_H
#define TN_BASE_STATUS_H

#include "base/platform.h"

#include <tenon/status.h>

#include <stdarg.h>
#include <stdbool.h>

/* Size of the thread-local message, which is all of the library's global state. */
#define TN_MESSAGE_SIZE (16 * 1024)

/* Sets the message, sets the OpenCL error to CL_SUCCESS, and returns `status`. */
tenon_status tn_fail(tenon_status status, const char *format, ...) TN_PRINTF(2, 3);

/* The same, with the OpenCL error that caused the failure. */
tenon_status tn_fail_cl(tenon_status status, cl_int error, const char *format, ...) TN_PRINTF(3, 4);

/* Appends to the message. If it would not fit, the middle of `text` is omitted. */
void tn_fail_append(const char *text);

/* Fails because of the failure that the message describes: prepends the text and ": ", and keeps
 * the OpenCL error. */
tenon_status tn_fail_because(tenon_status status, const char *format, ...) TN_PRINTF(2, 3);

/* A successful call leaves the thread's message and OpenCL error unchanged (tenon/status.h), even
 * if a step failed and was handled. The rule is enforced where such steps begin: creating a plan
 * (dispatch/plan.c), a trial (runtime/probe/capability.c), enumerating devices
 * (runtime/opencl/device_list.c), the log callback (base/log.c). */
typedef struct tn_kept_message {
    char *text; /* NULL if empty */
    cl_int cl_error;
} tn_kept_message;

/* Saves the message and error. Returns false if memory is short; nothing is saved then. */
bool tn_message_keep(tn_kept_message *kept);

/* Restores the saved message and frees it. */
void tn_message_restore(tn_kept_message *kept);

/* Restores the saved message if the work succeeded; otherwise keeps the new one. Returns `status`.
 */
tenon_status tn_message_end(tn_kept_message *kept, tenon_status status);

/* Returns from the caller with the status of a failed call. */
#define TN_TRY(call)                                                                               \
    do {                                                                                           \
        tenon_status tn_try_status = (call);                                                       \
        if (tn_try_status != TENON_OK)                                                             \
            return tn_try_status;                                                                  \
    } while (0)

#endif
