/* Advice on the layout of a call's operands: another layout with which the call is estimated to
 * take at most half of the time. Computed for `tenon explain` and in verbose contexts only. */
#ifndef TN_DISPATCH_ALTERNATIVES_H
#define TN_DISPATCH_ALTERNATIVES_H

#include "dispatch/request.h"

#define TN_ADVICE_SIZE 256

/* Writes the advice as a sentence without the name of the operation. Returns false if there is
 * none: the request has no call or forces a solver, or no alternative of its operation
 * (dispatch/operation.h) halves the estimate. Both times are the lowest estimates of the solvers
 * for that layout. */
bool tn_layout_advice(const tn_request *request, char text[TN_ADVICE_SIZE]);

/* In a verbose context, logs the advice. */
void tn_layout_advice_log(const tn_request *request);

#endif
