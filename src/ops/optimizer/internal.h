/* The families of the optimizers and of clipping, within the library. */
#ifndef TN_OPS_OPTIMIZER_INTERNAL_H
#define TN_OPS_OPTIMIZER_INTERNAL_H

#include "ops/common/lines.h"

#include <tenon/optimizer.h>

enum { SGD_GRADIENT, SGD_PARAMETER, SGD_VELOCITY, SGD_MASTER, SGD_OPERANDS };
enum { ADAM_GRADIENT, ADAM_PARAMETER, ADAM_FIRST, ADAM_SECOND, ADAM_MASTER, ADAM_OPERANDS };
enum { SQUARE_SUM_X, SQUARE_SUM_SUM, SQUARE_SUM_OPERANDS };
enum { CLIP_SUM, CLIP_X, CLIP_OPERANDS };

/* In both optimizers the first operand is the gradient and the second the parameter. */
#define OPTIMIZER_GRADIENT  0
#define OPTIMIZER_PARAMETER 1

/* The scalars of a run, in the order of the kernels'. */
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

/* The type of state, sums and masters. */
tenon_dtype tn_state_dtype(tenon_dtype dtype);

/* Checks operands (the parameter's type, the gradient's, state's and master's by it, and one shape
 * for all; the master is the last operand), fills in the problem and sets *empty. */
tenon_status tn_optimizer_prepare(const tn_call *call, uint32_t flags, tn_lines_problem *problem,
                                  bool *empty);

/* Configures the one solver of either, whose kernel takes so many scalars. */
const char *tn_optimizer_configure(tenon_context *context, const tn_problem *problem,
                                   const char *source, const char *kernel, uint32_t scalars,
                                   tn_choice *choice);
/* The views of an awkward case whose operands have the types of `like`'s; a parameter whose type
 * needs no master has none. */
void tn_optimizer_awkward(const tn_lines_problem *like, uint32_t layout, struct tn_case *c);

/* Checks a tensor of one element that holds a sum for tensors of a type. */
tenon_status tn_sum_check(const char *caller, const tenon_tensor *sum, tenon_dtype dtype);

tn_prepare_function tn_sgd_prepare, tn_adam_prepare, tn_square_sum_prepare, tn_clip_prepare;

void tn_sgd_scalars(const tenon_sgd_params *params, double scalars[TN_MAX_SCALARS]);
void tn_adam_scalars(const tenon_adam_params *params, double scalars[TN_MAX_SCALARS]);

/* As tn_operation has them. */
tn_reference_function tn_sgd_reference, tn_adam_reference, tn_square_sum_reference,
    tn_clip_reference;

#endif
