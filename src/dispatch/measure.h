/* Timing of choices against each other, in the validation context and on memory of its own. */
#ifndef TN_DISPATCH_MEASURE_H
#define TN_DISPATCH_MEASURE_H

#include "dispatch/call.h"

/* Measures `count` choices for the problem of a call, in nanoseconds: medians of alternating runs.
 * A choice that is twice as slow as the best is excluded from later rounds; one that fails gets an
 * infinite time. The choices must have passed their self-checks; their children are those with the
 * lowest estimates. Fails if memory for the operands is not available. */
tenon_status tn_measure(tenon_context *context, const tn_problem *problem, const tn_call *call,
                        tn_choice *const *choices, uint32_t count, double *nanoseconds);

/* Returns true if the call can be measured. Operations whose time depends on values (labels,
 * offsets) cannot. */
bool tn_can_measure(const tn_call *call);

#endif
