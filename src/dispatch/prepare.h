/* Plans that are made on a thread of the library's, while their caller goes on (tenon/plan.h). */
#ifndef TN_DISPATCH_PREPARE_H
#define TN_DISPATCH_PREPARE_H

#include "dispatch/plan.h"

/* Whether this thread wants its plans of the context made later. */
bool tn_prepares(const tenon_context *context);

/* Has the plan, whose operands are known, made later. The problem and the call are copied. */
tenon_status tn_prepare_later(tenon_plan *plan, const tn_request *request);

/* Waits until the plan has been made; fails as that did. */
tenon_status tn_plan_await(const tenon_plan *plan);

/* The thread of a context and its queue. */
typedef struct tn_preparer tn_preparer;

/* Ends the thread of a context; nothing is left for it to do, since plans hold their context. */
void tn_preparer_end(tn_preparer *preparer);

#endif
