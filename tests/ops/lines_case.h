/* What the tests of random numbers, dropout, the optimizers and clipping share: calls on operands
 * of one shape, which may differ in type and layout, or be absent. */
#ifndef TEST_OPS_LINES_CASE_H
#define TEST_OPS_LINES_CASE_H

#include "fixture.h"

/* A call with parameters (the operation's struct); operands have types (TENON_DTYPE_INVALID:
 * absent), but no shape yet. */
void lines_begin(test_fixture *f, const tn_operation *operation, const void *params,
                 const tenon_dtype *types);

/* Gives every operand a shape and a layout, `offset` elements behind the start. */
void lines_lay(test_fixture *f, uint32_t rank, const int64_t *shape, test_layout layout, bool gap,
               int64_t offset);
void lines_dense(test_fixture *f, int64_t size, int64_t offset);

/* Draws all of these, each operand's layout for itself; `most` elements at the utmost. */
void lines_draw(test_fixture *f, test_random *random, int64_t most);

/* The plans that the context keeps: calls that share one do not add to them. */
uint32_t lines_plans(void);

#endif
