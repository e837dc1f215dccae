/* Failing: a status to return and the message that tenon_last_error() gives the calling thread. */
#ifndef TN_BASE_STATUS_H
#define TN_BASE_STATUS_H

#include <tenon/status.h>

#include <stdarg.h>

/* The whole of the library's global state is one message of this many bytes a thread. */
#define TN_MESSAGE_SIZE (16 * 1024)

/* Keeps the message, sets the OpenCL error to CL_SUCCESS, and returns `status` for the caller to
 * return. */
tenon_status tn_fail(tenon_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The same with the OpenCL error that is behind the failure. */
tenon_status tn_fail_cl(tenon_status status, cl_int error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Appends to the message; where it would not fit, the middle of `text` is left out. */
void tn_fail_append(const char *text);

/* Keeps the thread's message across work whose failures are not the caller's: a trial that is
 * refused, for example. Without memory to keep it in, the message is lost. */
typedef struct tn_kept_message {
    char *text;
    cl_int cl_error;
} tn_kept_message;
tn_kept_message tn_message_keep(void);
void tn_message_restore(tn_kept_message kept);

/* Leaves with the status of a call that failed. */
#define TN_TRY(call)                                                                               \
    do {                                                                                           \
        tenon_status tn_try_status = (call);                                                       \
        if (tn_try_status != TENON_OK)                                                             \
            return tn_try_status;                                                                  \
    } while (0)

#endif
