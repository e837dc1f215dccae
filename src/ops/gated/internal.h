/* Internal interface of the families of gated linear units. */
#ifndef TN_OPS_GATED_INTERNAL_H
#define TN_OPS_GATED_INTERNAL_H

#include "ops/common/pointwise.h"

#include <tenon/gated.h>

enum { GATED_A, GATED_B, GATED_Y, GATED_OPERANDS };
enum {
    GATED_DY = GATED_Y,
    GATED_DA,
    GATED_DB,
    GATED_BACKWARD_OPERANDS,
    GATED_GRADIENTS = GATED_BACKWARD_OPERANDS - GATED_DA
};

/* For both families, the problem's kind is the tenon_activation_kind. */
extern const tn_family tn_gated_family, tn_gated_backward_family;
extern const tn_solver tn_gated_rows;

/* Members of both operations and both families. */
tn_prepare_function tn_gated_prepare;
tn_awkward_function tn_gated_awkward;

/* Members of tn_operation. */
tn_reference_function tn_gated_reference, tn_gated_backward_reference;

#endif
