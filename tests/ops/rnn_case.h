/* Test cases of recurrent layers: calls of the layer and of its gradients. */
#ifndef TEST_OPS_RNN_CASE_H
#define TEST_OPS_RNN_CASE_H

#include "fixture.h"

#include "ops/registry.h"
#include "ops/rnn/internal.h"

/* A call: sizes, the optional operands as RNN_HAS_* flags, and layouts chosen by `layout` (0: all
 * row-major). */
typedef struct rnn_case {
    tenon_rnn_params params;
    int64_t steps, batch, inputs, hidden, output; /* output: 0 without a projection */
    uint32_t has;
    uint32_t layout;
} rnn_case;

#define RNN_PARAMS(kind, direction, order, flags, clip)                                            \
    {                                                                                              \
        sizeof(tenon_rnn_params), flags, NULL, kind, direction, order, 0, clip                     \
    }

/* Begins a call of one of the three operations on a case. */
void rnn_begin(test_fixture *f, const rnn_case *r, tenon_dtype dtype,
               const tn_operation *operation);

/* Runs the call in every floating-point type. */
void rnn_check(const rnn_case *r, const tn_operation *operation, test_extent extent,
               test_random *random);

/* Draws a case; `has` are the possible flags. */
rnn_case rnn_random_case(test_random *random, uint32_t has);

/* Copies the inputs of a call to the inputs of the same names of another one. */
void rnn_share(test_fixture *from, test_fixture *to);

/* Copies the expected values of outputs to inputs of another call, by name. */
void rnn_pass(const test_fixture *from, test_fixture *to);

#endif
