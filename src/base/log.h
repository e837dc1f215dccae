/* The application's log callback. */
#ifndef TN_BASE_LOG_H
#define TN_BASE_LOG_H

#include "base/platform.h"

#include <tenon/status.h>

typedef struct tn_log {
    tenon_log_callback callback; /* NULL: nothing is logged */
    void *user;
    uint32_t level;
} tn_log;

/* Sends a message if its level is enabled. The caller must not hold a lock. */
void tn_log_send(const tn_log *log, tenon_log_level level, const char *format, ...) TN_PRINTF(3, 4);

#endif
