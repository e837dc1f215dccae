/* Test cases of the optimizers. */
#ifndef TEST_OPS_OPTIMIZER_CASE_H
#define TEST_OPS_OPTIMIZER_CASE_H

#include "lines_case.h"

#include "ops/optimizer/internal.h"
#include "ops/registry.h"

/* Bits of a variant: the optional operands that are present, and whether the gradient has the type
 * of the state. */
enum { WITH_VELOCITY = 1, WITH_MASTER = 2, WIDE_GRADIENT = 4, WAYS = 8 };

/* Begins a step of sgd or adam in one of these variants, without shapes. */
void optimizer_begin(test_fixture *f, const tn_operation *operation, const void *params,
                     tenon_dtype dtype, int way);

tenon_sgd_params optimizer_draw_sgd(test_random *random, int way);
tenon_adam_params optimizer_draw_adam(test_random *random);

/* Gives the operands three dimensions and a layout each. */
void optimizer_lay(test_fixture *f, test_random *random, int number);

#endif
