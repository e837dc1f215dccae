/* What the tests of the optimizers share. */
#ifndef TEST_OPS_OPTIMIZER_CASE_H
#define TEST_OPS_OPTIMIZER_CASE_H

#include "lines_case.h"

#include "ops/optimizer/internal.h"
#include "ops/registry.h"

/* Which optional operands there are, and whether the gradient is of the state's type. */
enum { WITH_VELOCITY = 1, WITH_MASTER = 2, WIDE_GRADIENT = 4, WAYS = 8 };

/* A step of sgd or adam in one of these ways, its views still to be laid. */
void optimizer_begin(test_fixture *f, const tn_operation *operation, const void *params,
                     tenon_dtype dtype, int way);

tenon_sgd_params optimizer_draw_sgd(test_random *random, int way);
tenon_adam_params optimizer_draw_adam(test_random *random);

/* Three dimensions, with layouts of each operand's own. */
void optimizer_lay(test_fixture *f, test_random *random, int number);

#endif
