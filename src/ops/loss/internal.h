/* The families of losses within the library. */
#ifndef TN_OPS_LOSS_INTERNAL_H
#define TN_OPS_LOSS_INTERNAL_H

#include "loss/flags.h"
#include "ops/common/rows.h"

#include <tenon/loss.h>

enum { CROSS_ENTROPY_LOGITS, CROSS_ENTROPY_LABELS, CROSS_ENTROPY_LOSS, CROSS_ENTROPY_OPERANDS };
enum { CROSS_ENTROPY_DLOSS = 2, CROSS_ENTROPY_DLOGITS, CROSS_ENTROPY_BACKWARD_OPERANDS };

extern const tn_family tn_cross_entropy_family, tn_cross_entropy_backward_family;
extern const tn_solver tn_cross_entropy_rows, tn_cross_entropy_columns;

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

#endif
