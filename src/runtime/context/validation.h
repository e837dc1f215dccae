/* The validation context: a private context for trials and self-checks. */
#ifndef TN_RUNTIME_CONTEXT_VALIDATION_H
#define TN_RUNTIME_CONTEXT_VALIDATION_H

#include "base/platform.h"
#include "runtime/context/reports.h"

#include <tenon/stream.h>

#include <stdatomic.h>

/* The validation context of a context: a private OpenCL context and queue on the same device, in
 * which trials and self-checks run. They neither wait for the application's events nor damage its
 * OpenCL context. Created when first needed. */
typedef struct tn_validation {
    tn_recursive_mutex lock; /* recursive: a self-check may ask for a capability, which may start a
                              * trial */
    _Atomic(tenon_context *) context;
    tenon_stream *stream;
    int depth;              /* how many times the lock is held */
    tenon_context *retired; /* list of those that a kernel has made unusable, linked by
                             * `replaced.next` */
    /* In a replaced validation context: the next one in that list, and its own stream. */
    struct {
        tenon_context *next;
        tenon_stream *stream;
    } replaced;
    tn_deferred_line *lines, **last_line;
} tn_validation;

/* Returns the validation context, or NULL if it has not been created. */
tenon_context *tn_validation_if_made(tenon_context *context);

/* Enters the validation context of a context. The caller has exclusive use of it until
 * tn_validation_leave. No lock may be held by the caller. */
tenon_status tn_validation_enter(tenon_context *context, tenon_stream **stream);
void tn_validation_leave(tenon_context *context);

/* To be called inside the validation context after a command failed there. Returns true if the
 * validation context accepts no more commands (after an illegal address, for example) while a new
 * one does. The new one then replaces it, `*stream` is its stream, and the command that ran before
 * is at fault. Preserves the thread's error message. */
bool tn_validation_renewed(tenon_context *context, tenon_stream **stream);

#endif
