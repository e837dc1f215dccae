/* The family of reductions within the library. */
#ifndef TN_OPS_REDUCE_INTERNAL_H
#define TN_OPS_REDUCE_INTERNAL_H

#include "ops/common/reduction.h"

#include <tenon/reduce.h>

enum { REDUCE_X, REDUCE_Y, REDUCE_OPERANDS };
enum { MOMENTS_X, MOMENTS_MEAN, MOMENTS_VARIANCE, MOMENTS_OPERANDS };

/* The names by tenon_reduce_kind; NULL ends them. */
extern const char *const tn_reduce_words[];

extern const tn_family tn_reduce_family;

tenon_status tn_reduce_prepare(const void *given, tn_call *call, tn_problem *problem, bool *empty);

/* As tn_operation and tn_family have them. */
bool tn_reduce_reference(const void *params, const tenon_tensor *const *views,
                         tn_bounded *expected);
bool tn_moments_reference(const void *params, const tenon_tensor *const *views,
                          tn_bounded *expected);
bool tn_reduce_awkward(const tn_problem *problem, const tn_choice *choice, uint32_t number,
                       struct tn_case *c);

#endif
