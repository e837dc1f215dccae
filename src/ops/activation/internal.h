/* The activation family within the library. */
#ifndef TN_OPS_ACTIVATION_INTERNAL_H
#define TN_OPS_ACTIVATION_INTERNAL_H

#include "ops/common/epilogue.h"

enum { ACTIVATION_X, ACTIVATION_Y, ACTIVATION_OPERANDS };

/* Both views over one collapsed index space. */
typedef struct activation_problem {
    tn_problem head;
    uint32_t dtype;
    uint32_t activation; /* tenon_activation_kind */
    uint64_t rank;       /* at least 1 */
    int64_t shape[TENON_MAX_RANK];
    int64_t stride[ACTIVATION_OPERANDS][TENON_MAX_RANK];
} activation_problem;

extern const tn_family tn_activation_family;
extern const tn_solver tn_activation_dense, tn_activation_strided;

/* Fills in a problem from checked, non-empty views. */
void tn_activation_canonicalise(const tenon_activation *activation, const tenon_tensor *x,
                                const tenon_tensor *y, activation_problem *problem);

/* Results in double with their error bounds, in row-major order (false without memory); x is host memory of kind SVM, y is
 * not read. */
bool tn_activation_forward_reference(const tenon_activation_params *params, const tenon_tensor *x,
                                     const tenon_tensor *y, tn_bounded *results);

tenon_status tn_activation_self_check(tenon_stream *stream, const tn_problem *problem,
                                      const tn_choice *choice, bool *right, char why[256]);

#endif
