/* The validation context of a context, which tn_validation describes. */
#ifndef TN_RUNTIME_CONTEXT_VALIDATION_H
#define TN_RUNTIME_CONTEXT_VALIDATION_H

#include "base/platform.h"
#include "runtime/context/reports.h"

#include <tenon/stream.h>

#include <stdatomic.h>

/* Where trials and self-checks run: a private OpenCL context and queue on the same device, so that
 * they can neither wait behind the application's events nor spoil its context. Made at the first
 * need. */
typedef struct tn_validation {
    tn_recursive_mutex lock; /* a self-check may ask for a capability, which may need a trial */
    _Atomic(tenon_context *) context;
    tenon_stream *stream;
    int depth;              /* how often the lock is held */
    tenon_context *retired; /* those that a kernel has spoilt, linked by their `replaced` */
    /* For the context that was replaced itself: its successor in that list, and its stream. */
    struct {
        tenon_context *next;
        tenon_stream *stream;
    } replaced;
    tn_late_line *lines, **last_line;
} tn_validation;

/* The validation context where it has been made, or NULL. */
tenon_context *tn_validation_if_made(tenon_context *context);

/* Enters the validation context of a context: the caller alone uses it until tn_validation_leave.
 * Must not be called with a lock held. */
tenon_status tn_validation_enter(tenon_context *context, tenon_stream **stream);
void tn_validation_leave(tenon_context *context);

/* For who has entered it, after a command failed there: whether the validation context takes none
 * any more, as after an illegal address, while a new one does. Then the new one takes its place,
 * `*stream` is its stream, and what was run before is to blame. Keeps the thread's message. */
bool tn_validation_renewed(tenon_context *context, tenon_stream **stream);

#endif
