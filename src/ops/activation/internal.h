/* Internal interface of the activation families. */
#ifndef TN_OPS_ACTIVATION_INTERNAL_H
#define TN_OPS_ACTIVATION_INTERNAL_H

#include "ops/common/pointwise.h"

/* Operands of the forward and of the backward operation. ACTIVATION_VIEWS is the larger number. */
enum { ACTIVATION_X, ACTIVATION_Y, ACTIVATION_OPERANDS };
enum { BACKWARD_X, BACKWARD_DY, BACKWARD_DX, ACTIVATION_VIEWS };

/* For both families, the problem's kind is the tenon_activation_kind. */
extern const tn_family tn_activation_family, tn_activation_backward_family;
/* Both families have the same solvers. */
extern const tn_solver *const tn_activation_solvers[2];

/* Members of both operations and both families. */
tn_prepare_function tn_activation_prepare;
tn_awkward_function tn_activation_awkward;

/* Members of tn_operation. */
tn_reference_function tn_activation_forward_reference, tn_activation_backward_reference;

#endif
