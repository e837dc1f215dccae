/* Internal interface of the loss families. */
#ifndef TN_OPS_LOSS_INTERNAL_H
#define TN_OPS_LOSS_INTERNAL_H

#include "loss/flags.h"
#include "ops/common/reduction.h"
#include "ops/common/rows.h"

#include <tenon/loss.h>

enum { CROSS_ENTROPY_LOGITS, CROSS_ENTROPY_LABELS, CROSS_ENTROPY_LOSS, CROSS_ENTROPY_OPERANDS };
enum { CROSS_ENTROPY_DLOSS = 2, CROSS_ENTROPY_DLOGITS, CROSS_ENTROPY_BACKWARD_OPERANDS };

extern const tn_family tn_cross_entropy_family, tn_cross_entropy_backward_family;
extern const tn_solver tn_cross_entropy_rows, tn_cross_entropy_columns, tn_cross_entropy_group;

tn_prepare_function tn_cross_entropy_prepare;

/* Members of tn_operation and tn_family. */
tn_reference_function tn_cross_entropy_forward_reference, tn_cross_entropy_backward_reference;
tn_awkward_function tn_cross_entropy_awkward;

enum { MSE_X, MSE_T, MSE_LOSS, MSE_OPERANDS };
enum { MSE_DLOSS = 2, MSE_DX, MSE_BACKWARD_OPERANDS };

extern const tn_family tn_mse_family, tn_mse_backward_family;
extern const tn_solver tn_mse_backward_rows, tn_mse_backward_columns;

/* Returns the factor of the sum of squares. */
double tn_mse_factor(const tenon_mse_params *params, const tn_axes *axes, const tenon_tensor *x);

tn_prepare_function tn_mse_prepare, tn_mse_backward_prepare;

/* Members of tn_operation and tn_family. */
tn_reference_function tn_mse_forward_reference, tn_mse_backward_reference;
tn_awkward_function tn_mse_awkward, tn_mse_backward_awkward;

#endif
