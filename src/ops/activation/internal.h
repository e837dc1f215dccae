/* The activation families within the library. */
#ifndef TN_OPS_ACTIVATION_INTERNAL_H
#define TN_OPS_ACTIVATION_INTERNAL_H

#include "ops/common/epilogue.h"

/* The operands of forward, and those of backward, whose views are as many as there may be. */
enum { ACTIVATION_X, ACTIVATION_Y, ACTIVATION_OPERANDS };
enum { BACKWARD_X, BACKWARD_DY, BACKWARD_DX, ACTIVATION_VIEWS };

/* All views over one collapsed index space. */
typedef struct activation_problem {
    tn_problem head;
    uint32_t dtype;
    uint32_t activation; /* tenon_activation_kind */
    uint32_t views;      /* ACTIVATION_OPERANDS forward, ACTIVATION_VIEWS backward */
    uint32_t rank;       /* at least 1 */
    int64_t shape[TENON_MAX_RANK];
    int64_t stride[ACTIVATION_VIEWS][TENON_MAX_RANK];
} activation_problem;

extern const tn_family tn_activation_family, tn_activation_backward_family;
/* Both families have the same solvers. */
extern const tn_solver *const tn_activation_solvers[2];
extern const tn_solver tn_activation_dense;

/* Fills in a problem from checked, non-empty views of one shape. */
void tn_activation_canonicalise(const tenon_activation *activation,
                                const tenon_tensor *const *views, uint32_t count,
                                activation_problem *problem);

/* Checks a call and fills in its problem and scalars. All operands must have the first one's type
 * and shape. */
tenon_status tn_activation_prepare(tenon_context *context, const tn_family *family,
                                   const tenon_activation_params *params, tn_call *call,
                                   activation_problem *problem, bool *empty);

/* Results in double with their error bounds, in row-major order (false without memory); inputs are
 * host memory of kind SVM, the output is not read. */
bool tn_activation_forward_reference(const tenon_activation_params *params, const tenon_tensor *x,
                                     const tenon_tensor *y, tn_bounded *results);
bool tn_activation_backward_reference(const tenon_activation_params *params, const tenon_tensor *x,
                                      const tenon_tensor *dy, const tenon_tensor *dx,
                                      tn_bounded *results);

/* Of both families. */
uint64_t tn_activation_paths(const tn_problem *problem);
tenon_status tn_activation_self_check(tenon_stream *stream, const tn_problem *problem,
                                      const tn_choice *choice, bool *right, char why[256]);

#endif
