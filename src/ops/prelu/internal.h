/* The families of the parametric ReLU within the library. */
#ifndef TN_OPS_PRELU_INTERNAL_H
#define TN_OPS_PRELU_INTERNAL_H

#include "ops/common/pointwise.h"
#include "prelu/args.h"

#include <tenon/prelu.h>

enum { PRELU_X, PRELU_SLOPE, PRELU_Y, PRELU_OPERANDS };
enum { PRELU_DY = PRELU_Y, PRELU_DX, PRELU_DSLOPE, PRELU_BACKWARD_OPERANDS };

/* The index space of x with the dimensions of slope first. There are always some of either sort,
 * if of size 1. */
typedef struct prelu_backward_problem {
    tn_problem head;
    uint32_t dtype;
    uint32_t kept, rank;
    uint32_t reserved;
    int64_t shape[PRELU_RANK]; /* the last one may be 0 */
    int64_t stride[PRELU_VIEWS][PRELU_RANK];
} prelu_backward_problem;

extern const tn_family tn_prelu_family, tn_prelu_backward_family;
extern const tn_solver tn_prelu_rows;
extern const tn_solver tn_prelu_along, tn_prelu_across, tn_prelu_along_split, tn_prelu_across_split;

/* Fills in a problem from checked views, of which dslope is not empty. */
tenon_status tn_prelu_backward_canonicalise(const char *operation, const tn_argument *arguments,
                                            prelu_backward_problem *problem);

/* Results in double with their error bounds, in row-major order (false without memory); inputs are
 * host memory of kind SVM. The gradients are dx's, then dslope's. */
bool tn_prelu_forward_reference(const tenon_tensor *x, const tenon_tensor *slope,
                                tn_bounded *results);
bool tn_prelu_backward_reference(const tenon_tensor *x, const tenon_tensor *slope,
                                 const tenon_tensor *dy, tn_bounded *results);

tenon_status tn_prelu_self_check(tenon_stream *stream, const tn_problem *problem,
                                 const tn_choice *choice, bool *right, char why[256]);
tenon_status tn_prelu_backward_self_check(tenon_stream *stream, const tn_problem *problem,
                                          const tn_choice *choice, bool *right, char why[256]);

#endif
