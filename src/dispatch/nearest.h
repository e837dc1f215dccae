/* Measurements of similar calls. Only those found by `tenon tune` are used: a call's choice, and
 * with it the bits of its result, must not change because another call was measured while its plan
 * was created. */
#ifndef TN_DISPATCH_NEAREST_H
#define TN_DISPATCH_NEAREST_H

#include "dispatch/state.h"
#include "dispatch/tuning.h"

/* Returns the distance of two calls, written as arguments of `tenon check`: the sum of |log2| of
 * the ratios of their sizes. It is infinite if they differ in anything else, in a size below 8, or
 * in one size by more than half. */
double tn_call_distance(const char *a, const char *b);

/* Finds the measurement of the family's nearest call, if one is near enough. */
bool tn_nearest_find(const tn_request *request, tn_tuned *tuned);

/* Frees what a context has read from the store. */
void tn_nearest_forget(tn_dispatch *dispatch);

#endif
