/* The dropout family within the library. */
#ifndef TN_OPS_DROPOUT_INTERNAL_H
#define TN_OPS_DROPOUT_INTERNAL_H

#include "ops/common/lines.h"

#include <tenon/dropout.h>

enum { DROPOUT_X, DROPOUT_Y, DROPOUT_OPERANDS };

extern const tn_family tn_dropout_family;

tenon_status tn_dropout_prepare(const void *given, tn_call *call, tn_problem *problem, bool *empty);

/* As tn_operation and tn_family have them. */
bool tn_dropout_reference(const void *params, const tenon_tensor *const *views,
                          tn_bounded *expected);
bool tn_dropout_awkward(const tn_problem *problem, const tn_choice *choice, uint32_t number,
                        struct tn_case *c);

#endif
