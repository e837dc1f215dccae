/* The families of gated linear units within the library. */
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

/* Of both, the problem's kind is the tenon_activation_kind. */
extern const tn_family tn_gated_family, tn_gated_backward_family;
extern const tn_solver tn_gated_rows;

/* Results in double with their error bounds, in row-major order (false without memory); inputs are
 * host memory of kind SVM. The gradients are da's, then db's. */
bool tn_gated_forward_reference(const tenon_gated_params *params, const tenon_tensor *a,
                                const tenon_tensor *b, tn_bounded *results);
bool tn_gated_backward_reference(const tenon_gated_params *params, const tenon_tensor *a,
                                 const tenon_tensor *b, const tenon_tensor *dy,
                                 tn_bounded *results);

/* Of both families. */
tenon_status tn_gated_self_check(tenon_stream *stream, const tn_problem *problem,
                                 const tn_choice *choice, bool *right, char why[256]);

#endif
