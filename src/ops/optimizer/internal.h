/* Internal interface of the families of optimizers and of clipping. */
#ifndef TN_OPS_OPTIMIZER_INTERNAL_H
#define TN_OPS_OPTIMIZER_INTERNAL_H

#include "ops/common/lines.h"

#include <tenon/optimizer.h>

enum { SGD_GRADIENT, SGD_PARAMETER, SGD_VELOCITY, SGD_MASTER, SGD_OPERANDS };
enum { ADAM_GRADIENT, ADAM_PARAMETER, ADAM_FIRST, ADAM_SECOND, ADAM_MASTER, ADAM_OPERANDS };
enum { SQUARE_SUM_X, SQUARE_SUM_SUM, SQUARE_SUM_OPERANDS };
enum { CLIP_SUM, CLIP_X, CLIP_OPERANDS };

/* Operands that both optimizers have in common. */
#define OPTIMIZER_GRADIENT  0
#define OPTIMIZER_PARAMETER 1

/* Indices of a run's scalars, in the order of the kernels. */
enum { SGD_RATE, SGD_MOMENTUM, SGD_FRESH, SGD_DECAY, SGD_SCALARS };
enum {
    ADAM_RATE,
    ADAM_KEEP_FIRST,
    ADAM_NEW_FIRST,
    ADAM_KEEP_SECOND,
    ADAM_NEW_SECOND,
    ADAM_ROOT,
    ADAM_EPSILON,
    ADAM_DECAY,
    ADAM_SCALARS
};
enum { CLIP_MOST, CLIP_EPSILON, CLIP_SCALARS };

extern const tn_family tn_sgd_family, tn_adam_family, tn_square_sum_family, tn_clip_family;
extern const tn_solver tn_square_sum_lines, tn_square_sum_single;

/* Returns the type of state, sums and masters. */
tenon_dtype tn_state_dtype(tenon_dtype dtype);

/* Validates the operands: the types against the parameter's, and a common shape. The master is the
 * last operand. Fills in the problem and sets *empty. */
tenon_status tn_optimizer_prepare(const tn_call *call, uint32_t flags, tn_lines_problem *problem,
                                  bool *empty);

/* Configures the only solver of either optimizer, whose kernel has this number of scalars. */
const char *tn_optimizer_configure(tenon_context *context, const tn_problem *problem,
                                   const char *source, const char *kernel, uint32_t scalars,
                                   tn_choice *choice);
/* Sets the views of an awkward case with the operand types of `like`. The master is absent if the
 * parameter's type needs none. */
void tn_optimizer_awkward(const tn_lines_problem *like, uint32_t layout, struct tn_case *c);

/* Checks a tensor with one element that holds a sum over tensors of a type. */
tenon_status tn_sum_check(const char *caller, const tenon_tensor *sum, tenon_dtype dtype);

tn_prepare_function tn_sgd_prepare, tn_adam_prepare, tn_square_sum_prepare, tn_clip_prepare;

void tn_sgd_scalars(const tenon_sgd_params *params, double scalars[TN_MAX_SCALARS]);
void tn_adam_scalars(const tenon_adam_params *params, double scalars[TN_MAX_SCALARS]);

/* Members of tn_operation. */
tn_reference_function tn_sgd_reference, tn_adam_reference, tn_square_sum_reference,
    tn_clip_reference;

#endif
