/* A sequence of two layers for tests: y = tanh(x · w1) · w2, in f32. */
#ifndef TENON_TESTS_OPS_LAYERS_CASE_H
#define TENON_TESTS_OPS_LAYERS_CASE_H

#include "support.h"

enum { LAYERS_ROWS = 5, LAYERS_INNER = 7, LAYERS_HIDDEN = 33, LAYERS_COLUMNS = 11 };

/* The shapes of the operands, and of the intermediate h. */
extern const int64_t layers_x[2], layers_w1[2], layers_h[2], layers_w2[2], layers_y[2];

/* Returns a tensor of random numbers between -1 and 1. */
tenon_tensor layers_random(test_random *random, const int64_t *shape);

/* Returns a plan of d = activation(a · b + c); c may be NULL. */
tenon_plan *layers_plan(const tenon_tensor *a, const tenon_tensor *b, const tenon_tensor *c,
                        const tenon_tensor *d, uint32_t activation);

/* Adds a layer d = activation(a · b). */
void layers_add(tenon_sequence *sequence, const tenon_tensor *a, const tenon_tensor *b,
                const tenon_tensor *d, uint32_t activation);

/* Returns an operand of the sequence, or an intermediate if the name is NULL. */
tenon_tensor layers_tensor(tenon_sequence *sequence, const char *name, const int64_t *shape);

/* Returns the finished sequence of both layers. */
tenon_sequence *layers_sequence(const tenon_tensor *w1, const tenon_tensor *w2);

#endif
