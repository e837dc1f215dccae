/* The softmax families within the library. */
#ifndef TN_OPS_SOFTMAX_INTERNAL_H
#define TN_OPS_SOFTMAX_INTERNAL_H

#include "ops/common/rows.h"

#include <tenon/softmax.h>

enum { SOFTMAX_X, SOFTMAX_Y, SOFTMAX_OPERANDS };
enum { SOFTMAX_BACKWARD_Y, SOFTMAX_BACKWARD_DY, SOFTMAX_BACKWARD_DX, SOFTMAX_BACKWARD_OPERANDS };

extern const tn_family tn_softmax_family, tn_softmax_backward_family;
extern const tn_solver tn_softmax_rows, tn_softmax_columns, tn_softmax_group;

/* Results in double with their error bounds, in row-major order; all views are of one shape, with
 * host memory of kind SVM; the outputs are not read. False without memory. */
bool tn_softmax_forward_reference(const tenon_softmax_params *params, const tenon_tensor *x,
                                  const tenon_tensor *y, tn_bounded *results);
bool tn_softmax_backward_reference(const tenon_softmax_params *params, const tenon_tensor *y,
                                   const tenon_tensor *dy, const tenon_tensor *dx,
                                   tn_bounded *results);

tenon_status tn_softmax_self_check(tenon_stream *stream, const tn_problem *problem,
                                   const tn_choice *choice, bool *right, char why[256]);

#endif
