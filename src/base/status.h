/* Failing: a status to return and the message that tenon_last_error() gives the calling thread. */
#ifndef TN_BASE_STATUS_H
#define TN_BASE_STATUS_H

#include "base/platform.h"

#include <tenon/status.h>

#include <stdarg.h>
#include <stdbool.h>

/* The whole of the library's global state is one message of this many bytes a thread. */
#define TN_MESSAGE_SIZE (16 * 1024)

/* Keeps the message, sets the OpenCL error to CL_SUCCESS, and returns `status` for the caller to
 * return. */
tenon_status tn_fail(tenon_status status, const char *format, ...) TN_PRINTF(2, 3);

/* The same with the OpenCL error that is behind the failure. */
tenon_status tn_fail_cl(tenon_status status, cl_int error, const char *format, ...) TN_PRINTF(3, 4);

/* Appends to the message; where it would not fit, the middle of `text` is left out. */
void tn_fail_append(const char *text);

/* Fails because of the failure that the message tells of: puts the text and ": " before it, and
 * leaves the OpenCL error that is behind it. */
tenon_status tn_fail_because(tenon_status status, const char *format, ...) TN_PRINTF(2, 3);

/*
 * A call that succeeds leaves the thread's message and OpenCL error as they were (tenon/status.h),
 * also where it failed at something on the way and went on. The rule is kept where such ways begin:
 * the making of a plan (dispatch/plan.c), a trial (runtime/probe/capability.c), the search for a
 * device (runtime/opencl/device_list.c), a callback of the log (base/log.c).
 */
typedef struct tn_kept_message {
    char *text; /* NULL for "" */
    cl_int cl_error;
} tn_kept_message;

/* Takes down what must come back. False without memory for it: nothing is kept then. */
bool tn_message_keep(tn_kept_message *kept);

/* Brings it back, and frees it. */
void tn_message_restore(tn_kept_message *kept);

/* Brings it back where the work succeeded; where it failed, its own message stays. Returns
 * `status`. */
tenon_status tn_message_end(tn_kept_message *kept, tenon_status status);

/* Leaves with the status of a call that failed. */
#define TN_TRY(call)                                                                               \
    do {                                                                                           \
        tenon_status tn_try_status = (call);                                                       \
        if (tn_try_status != TENON_OK)                                                             \
            return tn_try_status;                                                                  \
    } while (0)

#endif
