/* Recording of calls for `tenon tune`: TENON_RECORD names the file. */
#ifndef TN_DISPATCH_RECORD_CALLS_H
#define TN_DISPATCH_RECORD_CALLS_H

#include "dispatch/call.h"

/* Appends the call, as arguments of `tenon check`, in a single write per line, so that several
 * processes may share the file. Does nothing if the context does not record. */
void tn_call_record(tenon_context *context, const tn_call *call);

#endif
