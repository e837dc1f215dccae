/*
 * What was measured for a call that is like the one at hand. Only what `tenon tune` has found
 * counts: a call's choice, and with it its bits, must not change because another call was measured
 * at its plan's making.
 */
#ifndef TN_DISPATCH_NEAREST_H
#define TN_DISPATCH_NEAREST_H

#include "dispatch/state.h"
#include "dispatch/tuning.h"

/* How far two calls are apart, in the words of `tenon check`: the sum of |log2| of the ratios of
 * their sizes. Infinite where they differ in anything else, in a size below 8, or in one by
 * more than half. */
double tn_call_distance(const char *a, const char *b);

/* The outcome of the nearest call of the family, where one is near enough. */
bool tn_nearest_find(const tn_request *request, tn_tuned *tuned);

/* Frees what a context has read of the store. */
void tn_nearest_forget(tn_dispatch *dispatch);

#endif
