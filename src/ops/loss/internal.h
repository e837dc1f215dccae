/* The families of losses within the library. */
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

/* What a problem gets from parameters: args.flag and args.value. */
void tn_cross_entropy_fill(const tenon_cross_entropy_params *params, bool backward, bool has_dloss,
                           tn_rows_problem *problem);

/* Results in double with their error bounds, in row-major order; views of host memory of kind SVM,
 * the outputs not read; dloss may be NULL. False without memory. */
bool tn_cross_entropy_forward_reference(const tenon_cross_entropy_params *params,
                                        const tenon_tensor *logits, const tenon_tensor *labels,
                                        tn_bounded *results);
bool tn_cross_entropy_backward_reference(const tenon_cross_entropy_params *params,
                                         const tenon_tensor *logits, const tenon_tensor *labels,
                                         const tenon_tensor *dloss, tn_bounded *results);

tenon_status tn_cross_entropy_self_check(tenon_stream *stream, const tn_problem *problem,
                                         const tn_choice *choice, bool *right, char why[256]);

enum { MSE_X, MSE_T, MSE_LOSS, MSE_OPERANDS };
enum { MSE_DLOSS = 2, MSE_DX, MSE_BACKWARD_OPERANDS };

extern const tn_family tn_mse_family, tn_mse_backward_family;
extern const tn_solver tn_mse_backward_rows, tn_mse_backward_columns;

/* What multiplies the sum of the squares. */
double tn_mse_factor(const tenon_mse_params *params, const tn_axes *axes, const tenon_tensor *x);

/* From checked views; those of the gradient are x, t, dloss, which may be NULL, and dx. */
void tn_mse_canonicalise(const tn_axes *axes, const tenon_tensor *x, const tenon_tensor *t,
                         const tenon_tensor *loss, tn_reduction_problem *problem);
void tn_mse_backward_canonicalise(const tn_axes *axes,
                                  const tenon_tensor *const view[TENON_ROWS_VIEWS],
                                  tn_rows_problem *problem);

/* As those of cross-entropy; of the loss only its type is read. */
bool tn_mse_forward_reference(const tenon_mse_params *params, const tenon_tensor *x,
                              const tenon_tensor *t, const tenon_tensor *loss, tn_bounded *results);
bool tn_mse_backward_reference(const tenon_mse_params *params, const tenon_tensor *x,
                               const tenon_tensor *t, const tenon_tensor *dloss,
                               tn_bounded *results);

tenon_status tn_mse_self_check(tenon_stream *stream, const tn_problem *problem,
                               const tn_choice *choice, bool *right, char why[256]);
tenon_status tn_mse_backward_self_check(tenon_stream *stream, const tn_problem *problem,
                                        const tn_choice *choice, bool *right, char why[256]);

#endif
