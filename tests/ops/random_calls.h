/* Calls with random shapes, small enough to run thousands of them. */
#ifndef TEST_OPS_RANDOM_CALLS_H
#define TEST_OPS_RANDOM_CALLS_H

#include "support.h"

/* Draws one of the first `kinds` of four f32 calls: a relu, a softmax, a matrix product, a
 * convolution. */
enum { RANDOM_CALLS = 4 };
void random_call(test_random *random, int kinds, tn_case *out);

/* Runs the call and compares it with its reference. Returns the reason if it is wrong, or "". */
const char *random_call_run(tenon_stream *stream, const tn_case *c, char why[512]);

#endif
