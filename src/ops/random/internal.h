/* The random family within the library. */
#ifndef TN_OPS_RANDOM_INTERNAL_H
#define TN_OPS_RANDOM_INTERNAL_H

#include "ops/common/lines.h"

#include <tenon/random.h>

enum { RANDOM_Y, RANDOM_OPERANDS };

extern const tn_family tn_random_family;
extern const tn_solver tn_random_lines;

/* The least and the greatest number of a type in [low, high); false where there is none. */
bool tn_random_limits(tenon_dtype dtype, double low, double high, double *least, double *most);

tenon_status tn_random_prepare(const void *given, tn_call *call, tn_problem *problem, bool *empty);

/* As tn_operation and tn_family have them. */
bool tn_random_reference(const void *params, const tenon_tensor *const *views,
                         tn_bounded *expected);
bool tn_random_awkward(const tn_problem *problem, const tn_choice *choice, uint32_t number,
                       struct tn_case *c);

#endif
