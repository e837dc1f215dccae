/* Internal interface of the softmax families. */
#ifndef TN_OPS_SOFTMAX_INTERNAL_H
#define TN_OPS_SOFTMAX_INTERNAL_H

#include "ops/common/rows.h"

#include <tenon/softmax.h>

enum { SOFTMAX_X, SOFTMAX_Y, SOFTMAX_OPERANDS };
enum { SOFTMAX_BACKWARD_Y, SOFTMAX_BACKWARD_DY, SOFTMAX_BACKWARD_DX, SOFTMAX_BACKWARD_OPERANDS };

extern const tn_family tn_softmax_family, tn_softmax_backward_family;
extern const tn_solver tn_softmax_rows, tn_softmax_columns, tn_softmax_group;

tn_prepare_function tn_softmax_prepare;

/* Members of tn_operation and tn_family. */
tn_reference_function tn_softmax_forward_reference, tn_softmax_backward_reference;
tn_awkward_function tn_softmax_awkward;

#endif
