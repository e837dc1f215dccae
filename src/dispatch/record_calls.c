#include "dispatch/record_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* False, and errno, where not all of it was written. */
static bool append(const char *path, const char *text, size_t length)
{
    const int file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC,
                          S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH);
    if (file < 0)
        return false;
    errno = ENOSPC;
    const bool written = write(file, text, length) == (ssize_t)length;
    const int error = errno;
    close(file);
    errno = error;
    return written;
}

void tn_call_record(tenon_context *context, const tn_call *call)
{
    char text[TN_REPEAT_SIZE + 1];
    if (context->record == NULL || context->owner != NULL || call == NULL)
        return;
    tn_call_text(call, text);
    const size_t length = strlen(text);
    text[length] = '\n';
    if (append(context->record, text, length + 1) || atomic_exchange(&context->record_failed, true))
        return;
    tn_log_send(&context->log, TENON_LOG_WARNING, "TENON_RECORD: file %s: error %d",
                context->record, errno);
}
