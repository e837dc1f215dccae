/* Shared parts of the tests of random numbers, dropout, optimizers and clipping: calls on operands
 * of one shape, whose types and layouts may differ and which may be absent. */
#ifndef TEST_OPS_LINES_CASE_H
#define TEST_OPS_LINES_CASE_H

#include "fixture.h"

/* Begins a call with parameters (the operation's struct). Operands have a type
 * (TENON_DTYPE_INVALID: absent) but no shape yet. */
void lines_begin(test_fixture *f, const tn_operation *operation, const void *params,
                 const tenon_dtype *types);

/* Gives every operand a shape and a layout, `offset` elements after the start. */
void lines_lay(test_fixture *f, uint32_t rank, const int64_t *shape, test_layout layout, bool gap,
               int64_t offset);
void lines_dense(test_fixture *f, int64_t size, int64_t offset);

/* Draws a shape, and a layout for each operand; at most `most` elements. */
void lines_draw(test_fixture *f, test_random *random, int64_t most);

/* Returns the number of plans in the context's table. A call that shares a plan does not change
 * it. */
uint32_t lines_plans(void);

#endif
