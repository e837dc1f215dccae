/* The validation context of a context, which tn_validation describes. */
#ifndef TN_RUNTIME_CONTEXT_VALIDATION_H
#define TN_RUNTIME_CONTEXT_VALIDATION_H

#include "runtime/context/context.h"

/* Enters the validation context of a context: the caller alone uses it until tn_validation_leave.
 * Must not be called with a lock held. */
tenon_status tn_validation_enter(tenon_context *context, tenon_stream **stream);
void tn_validation_leave(tenon_context *context);

/* For who has entered it, after a command failed there: whether the validation context takes none
 * any more, as after an illegal address, while a new one does. Then the new one takes its place,
 * `*stream` is its stream, and what was run before is to blame. Keeps the thread's message. */
bool tn_validation_renewed(tenon_context *context, tenon_stream **stream);

#endif
