/* Calls of random shapes, small enough to be run by the thousand. */
#ifndef TEST_OPS_RANDOM_CALLS_H
#define TEST_OPS_RANDOM_CALLS_H

#include "support.h"

/* One of the first `kinds` of: a relu, a softmax, a product, a convolution, all of f32. */
enum { RANDOM_CALLS = 4 };
void random_call(test_random *random, int kinds, tn_case *out);

/* Runs it against its reference; says what is wrong, or "". */
const char *random_call_run(tenon_stream *stream, const tn_case *c, char why[512]);

#endif
