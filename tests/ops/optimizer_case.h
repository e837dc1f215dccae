/* What the tests of the optimizers share. */
#ifndef TEST_OPS_OPTIMIZER_CASE_H
#define TEST_OPS_OPTIMIZER_CASE_H

#include "lines_case.h"

#include "ops/optimizer/internal.h"

/* Which optional operands there are, and whether the gradient is of the state's type. */
enum { WITH_VELOCITY = 1, WITH_MASTER = 2, WIDE_GRADIENT = 4, WAYS = 8 };

/* A step in one of these ways, its shape and strides still to be set. */
lines_case optimizer_sgd(const tenon_sgd_params *params, tenon_dtype dtype, int way);
lines_case optimizer_adam(const tenon_adam_params *params, tenon_dtype dtype, int way);

tenon_sgd_params optimizer_draw_sgd(test_random *random, int way);
tenon_adam_params optimizer_draw_adam(test_random *random);

/* Three dimensions, with layouts of each operand's own. */
void optimizer_lay(lines_case *p, test_random *random, int number);

/* Fills all operands for the judge; a second moment is not negative. */
void optimizer_fill(lines_run *run, test_judge judge, test_random *random);

#endif
