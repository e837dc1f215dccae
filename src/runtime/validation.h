/* The validation context of a context, which tn_validation describes. */
#ifndef TN_RUNTIME_VALIDATION_H
#define TN_RUNTIME_VALIDATION_H

#include "runtime/context.h"

/* Enters the validation context of a context: the caller alone uses it until tn_validation_leave.
 * Must not be called with a lock held. */
tenon_status tn_validation_enter(tenon_context *context, tenon_stream **stream);
void tn_validation_leave(tenon_context *context);

#endif
