/* The softmax families within the library. */
#ifndef TN_OPS_SOFTMAX_INTERNAL_H
#define TN_OPS_SOFTMAX_INTERNAL_H

#include "ops/common/rows.h"

#include <tenon/softmax.h>

enum { SOFTMAX_X, SOFTMAX_Y, SOFTMAX_OPERANDS };
enum { SOFTMAX_BACKWARD_Y, SOFTMAX_BACKWARD_DY, SOFTMAX_BACKWARD_DX, SOFTMAX_BACKWARD_OPERANDS };

extern const tn_family tn_softmax_family, tn_softmax_backward_family;
extern const tn_solver tn_softmax_rows, tn_softmax_columns, tn_softmax_group;

tenon_status tn_softmax_prepare(const void *given, tn_call *call, tn_problem *problem, bool *empty);

/* As tn_operation and tn_family have them. */
bool tn_softmax_forward_reference(const void *params, const tenon_tensor *const *views,
                                  tn_bounded *expected);
bool tn_softmax_backward_reference(const void *params, const tenon_tensor *const *views,
                                   tn_bounded *expected);
bool tn_softmax_awkward(const tn_problem *problem, const tn_choice *choice, uint32_t number,
                        struct tn_case *c);

#endif
