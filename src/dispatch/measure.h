/* Timing choices side by side, on memory of their own, in the validation context. */
#ifndef TN_DISPATCH_MEASURE_H
#define TN_DISPATCH_MEASURE_H

#include "dispatch/call.h"

/* Nanoseconds of each of `count` choices for the problem of a call: medians of runs
 * that take turns. A choice that proves twice as slow as the best is left out of further turns; one
 * that fails takes forever. Choices must have been checked. Fails where the operands' memory is not
 * to be had. */
tenon_status tn_measure(tenon_context *context, const tn_problem *problem, const tn_call *call,
                        tn_choice *const *choices, uint32_t count, double *nanoseconds);

/* Whether it can be done at all: the time of what values decide (labels, offsets) is not measured.
 */
bool tn_can_measure(const tn_call *call);

#endif
