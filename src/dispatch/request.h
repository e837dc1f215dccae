/* A request for a solver. It passes through the plan table, selection, self-check and measurement.
 */
#ifndef TN_DISPATCH_REQUEST_H
#define TN_DISPATCH_REQUEST_H

#include "dispatch/call.h"

typedef struct tn_request {
    const char *caller; /* name of the public function, for messages */
    tenon_context *context;
    const tn_family *family;
    const tn_problem *problem; /* NULL if the output is empty */
    const tn_call *call;       /* the call to measure; NULL: nothing is measured */
} tn_request;

#endif
