#include "runtime/context/context.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const stages[] = {
    [TENON_PROGRESS_BUILD] = "build of kernel",
    [TENON_PROGRESS_TRIAL] = "trial of",
    [TENON_PROGRESS_CHECK] = "self-check of",
};

/* Holds a line back, since the validation context's lock is held, under which the application's
 * callback must not run. Without memory the line is lost. */
static void defer_line(tn_validation *validation, tenon_log_level level, const char *text)
{
    tn_deferred_line *line = malloc(sizeof *line + strlen(text) + 1);
    if (line == NULL)
        return;
    line->next = NULL;
    line->level = level;
    memcpy(line->text, text, strlen(text) + 1);
    if (validation->lines == NULL)
        validation->last_line = &validation->lines;
    *validation->last_line = line;
    validation->last_line = &line->next;
}

void tn_deferred_lines_send(const tn_log *log, tn_deferred_line *lines)
{
    while (lines != NULL) {
        tn_deferred_line *next = lines->next;
        if (log != NULL)
            tn_log_send(log, lines->level, "%s", lines->text);
        free(lines);
        lines = next;
    }
}

/* Returns true if this thread is inside the validation context. Works because the lock is
 * recursive. */
static bool has_entered(tn_validation *validation)
{
    if (!tn_recursive_mutex_try(&validation->lock))
        return false;
    const bool entered = validation->depth > 0;
    tn_recursive_mutex_unlock(&validation->lock);
    return entered;
}

static void tell(void *user, tenon_log_level level, const char *text)
{
    tenon_context *owner = user;
    if (has_entered(&owner->validation))
        defer_line(&owner->validation, level, text);
    else
        tn_log_send(&owner->reports.log, level, "%s", text);
}

tn_log tn_context_log(tenon_context *context)
{
    tenon_context *owner = context->owner != NULL ? context->owner : context;
    return (tn_log){owner->reports.log.callback != NULL ? tell : NULL, owner,
                    owner->reports.log.level};
}

void tn_progress_send(tenon_context *context, tenon_progress_stage stage, const char *name,
                      const char *details, double milliseconds)
{
    tenon_context *owner = context->owner != NULL ? context->owner : context;
    const tenon_progress progress = {.struct_size = sizeof progress,
                                     .stage = stage,
                                     .is_done = milliseconds >= 0,
                                     .name = name,
                                     .milliseconds = milliseconds >= 0 ? milliseconds : 0};
    char text[1024];
    if (owner->reports.progress != NULL)
        owner->reports.progress(owner->reports.progress_user, &progress);
    if (milliseconds < 0 || owner->reports.log.callback == NULL ||
        owner->reports.log.level < TENON_LOG_INFO)
        return;
    snprintf(text, sizeof text, "%s %s: %.1f ms; %s", stages[stage], name, milliseconds, details);
    tell(owner, TENON_LOG_INFO, text);
}
