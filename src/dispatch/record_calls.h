/* Calls written down for `tenon tune`: TENON_RECORD names a file. */
#ifndef TN_DISPATCH_RECORD_CALLS_H
#define TN_DISPATCH_RECORD_CALLS_H

#include "dispatch/call.h"

/* Appends the call in the words of `tenon check`, a line in one write, so that several processes
 * may share the file. Does nothing where the context records nothing. */
void tn_call_record(tenon_context *context, const tn_call *call);

#endif
