/* Creation of plans on a background thread (tenon/plan.h). */
#ifndef TN_DISPATCH_PREPARE_H
#define TN_DISPATCH_PREPARE_H

#include "dispatch/plan.h"

/* Returns true if this thread creates its plans of the context in the background. */
bool tn_prepares(const tenon_context *context);

/* Queues the creation of a plan whose operands are known. Copies the problem and the call. */
tenon_status tn_prepare_later(tenon_plan *plan, const tn_request *request);

/* Waits until the plan is created, and returns the status of that. */
tenon_status tn_plan_await(const tenon_plan *plan);

/* The background thread of a context with its queue. */
typedef struct tn_preparer tn_preparer;

/* Ends the thread of a context. Its queue is empty by then, since plans retain their context. */
void tn_preparer_end(tn_preparer *preparer);

#endif
