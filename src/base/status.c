#include "base/status.h"

#include "base/platform.h"

#include <tenon/transport.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local char message[TN_MESSAGE_SIZE];
static _Thread_local cl_int cl_error;

TENON_API const char *tenon_status_string(tenon_status status)
{
    switch (status) {
    case TENON_OK:
        return "TENON_OK";
    case TENON_ERROR_INVALID_ARGUMENT:
        return "TENON_ERROR_INVALID_ARGUMENT";
    case TENON_ERROR_UNSUPPORTED:
        return "TENON_ERROR_UNSUPPORTED";
    case TENON_ERROR_UNSUPPORTED_DEVICE:
        return "TENON_ERROR_UNSUPPORTED_DEVICE";
    case TENON_ERROR_DEVICE_NOT_FOUND:
        return "TENON_ERROR_DEVICE_NOT_FOUND";
    case TENON_ERROR_OUT_OF_MEMORY:
        return "TENON_ERROR_OUT_OF_MEMORY";
    case TENON_ERROR_WORKSPACE_TOO_SMALL:
        return "TENON_ERROR_WORKSPACE_TOO_SMALL";
    case TENON_ERROR_BUILD_FAILED:
        return "TENON_ERROR_BUILD_FAILED";
    case TENON_ERROR_SOLVER_BARRED:
        return "TENON_ERROR_SOLVER_BARRED";
    case TENON_ERROR_OPENCL:
        return "TENON_ERROR_OPENCL";
    case TENON_ERROR_DEVICE_LOST:
        return "TENON_ERROR_DEVICE_LOST";
    case TENON_ERROR_INCOMPLETE:
        return "TENON_ERROR_INCOMPLETE";
    case TENON_ERROR_NO_OPENCL:
        return "TENON_ERROR_NO_OPENCL";
    case TENON_ERROR_ASYNCHRONOUS:
        return "TENON_ERROR_ASYNCHRONOUS";
    case TENON_ERROR_PROCESS:
        return "TENON_ERROR_PROCESS";
    case TENON_ERROR_PEER_LOST:
        return "TENON_ERROR_PEER_LOST";
    case TENON_ERROR_TIMEOUT:
        return "TENON_ERROR_TIMEOUT";
    case TENON_ERROR_MISMATCH:
        return "TENON_ERROR_MISMATCH";
    case TENON_ERROR_FILE:
        return "TENON_ERROR_FILE";
    }
    return "unknown status";
}

TENON_API const char *tenon_last_error(void)
{
    return message;
}

TENON_API cl_int tenon_last_cl_error(void)
{
    return cl_error;
}

static tenon_status fail(tenon_status status, cl_int error, const char *format, va_list arguments)
{
    /* An argument may be the previous message itself, so the text is formatted in a separate
     * buffer. */
    char text[2048];
    vsnprintf(text, sizeof text, format, arguments);
    memcpy(message, text, strlen(text) + 1);
    cl_error = error;
    return status;
}

tenon_status tn_fail(tenon_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fail(status, CL_SUCCESS, format, arguments);
    va_end(arguments);
    return status;
}

tenon_status tn_fail_cl(tenon_status status, cl_int error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fail(status, error, format, arguments);
    va_end(arguments);
    return status;
}

void tn_fail_append(const char *text)
{
    static const char gap[] = "\n[…]\n";
    size_t used = strlen(message), room = sizeof message - used - 1, length = strlen(text);
    if (length <= room) {
        memcpy(message + used, text, length + 1);
        return;
    }
    if (room < 2 * sizeof gap)
        return;
    size_t head = (room - (sizeof gap - 1)) / 2, tail = room - (sizeof gap - 1) - head;
    memcpy(message + used, text, head);
    memcpy(message + used + head, gap, sizeof gap - 1);
    memcpy(message + used + head + sizeof gap - 1, text + length - tail, tail + 1);
}

tenon_status tn_fail_because(tenon_status status, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text - 2, format, arguments);
    va_end(arguments);
    memcpy(text + strlen(text), ": ", 3);
    size_t before = strlen(text), cause = strlen(message);
    if (cause > sizeof message - before - 1)
        cause = sizeof message - before - 1;
    memmove(message + before, message, cause);
    message[before + cause] = '\0';
    memcpy(message, text, before);
    return status;
}

bool tn_message_keep(tn_kept_message *kept)
{
    const bool empty = message[0] == '\0';
    *kept = (tn_kept_message){empty ? NULL : tn_text_copy(message), cl_error};
    return empty || kept->text != NULL;
}

void tn_message_restore(tn_kept_message *kept)
{
    snprintf(message, sizeof message, "%s", kept->text != NULL ? kept->text : "");
    cl_error = kept->cl_error;
    free(kept->text);
}

tenon_status tn_message_end(tn_kept_message *kept, tenon_status status)
{
    if (status == TENON_OK)
        tn_message_restore(kept);
    else
        free(kept->text);
    return status;
}

TENON_API tenon_status tenon_transport_fail(tenon_status status, const char *text)
{
    return tn_fail(status, "%s", text != NULL ? text : "");
}
