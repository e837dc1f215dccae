#include "base/log.h"

#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void tn_log_send(const tn_log *log, tenon_log_level level, const char *format, ...)
{
    if (log->callback == NULL || (uint32_t)level > log->level)
        return;
    char text[1024], *whole = text;
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    /* Build logs may exceed any sensible stack buffer. If memory is short, the log is truncated. */
    if (length >= (int)sizeof text && (whole = malloc((size_t)length + 1)) != NULL) {
        va_start(arguments, format);
        vsnprintf(whole, (size_t)length + 1, format, arguments);
        va_end(arguments);
    }
    /* The callback may call the library and fail. That must not replace the error message of
     * tn_log_send's caller. */
    tn_kept_message kept;
    const bool is_kept = tn_message_keep(&kept);
    log->callback(log->user, level, whole != NULL ? whole : text);
    if (is_kept)
        tn_message_restore(&kept);
    if (whole != text)
        free(whole);
}
