/* Internal interface of the families of optimizers and of clipping. */
#ifndef TN_OPS_OPTIMIZER_INTERNAL_H
#define TN_OPS_OPTIMIZER_INTERNAL_H

#include "check/bounds.h"
#include "ops/common/lines.h"
#include "optimizer/guard_flags.h"

#include <tenon/optimizer.h>

enum { SGD_GRADIENT, SGD_PARAMETER, SGD_VELOCITY, SGD_MASTER, SGD_OPERANDS };
enum { ADAM_GRADIENT, ADAM_PARAMETER, ADAM_FIRST, ADAM_SECOND, ADAM_MASTER, ADAM_OPERANDS };
enum { SQUARE_SUM_X, SQUARE_SUM_SUM, SQUARE_SUM_OPERANDS };
enum { CLIP_SUM, CLIP_X, CLIP_OPERANDS };
enum { NONFINITE_X, NONFINITE_FLAG, NONFINITE_OPERANDS };
enum { LOSS_SCALE_SKIP, LOSS_SCALE_STATE, LOSS_SCALE_OPERANDS };

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

/* A call of tenon_loss_scale. */
typedef struct loss_scale_problem {
    tn_problem head;
    int64_t stride;   /* of the state */
    uint64_t is_byte; /* the type of skip is u8 */
} loss_scale_problem;

extern const tn_family tn_sgd_family, tn_adam_family, tn_square_sum_family, tn_clip_family,
    tn_sgd_guarded_family, tn_adam_guarded_family, tn_clip_guarded_family, tn_nonfinite_family,
    tn_loss_scale_family;
extern const tn_solver tn_square_sum_lines, tn_square_sum_single;

/* Returns the type of state, sums and masters. */
tenon_dtype tn_state_dtype(tenon_dtype dtype);

/* Validates the operands: the types against the parameter's, and a common shape. The master is the
 * last of the first `count` operands; those of the guard follow. Fills in the problem and sets
 * *empty. */
tenon_status tn_optimizer_prepare(const tn_call *call, uint32_t count, uint32_t flags,
                                  tn_lines_problem *problem, bool *empty);

/* Configures the only solver of either optimizer, whose kernel has this number of scalars. */
const char *tn_optimizer_configure(tenon_context *context, const tn_problem *problem,
                                   const char *source, const char *kernel, uint32_t scalars,
                                   tn_choice *choice);
/* Sets the views of an awkward case with the operand types of `like`. The master is absent if the
 * parameter's type needs none. */
void tn_optimizer_awkward(const tn_lines_problem *like, uint32_t layout, struct tn_case *c);

/* Checks a tensor with one element that holds a sum over tensors of a type. */
tenon_status tn_sum_check(const char *caller, const tenon_tensor *sum, tenon_dtype dtype);

/* The guard of a step: the optional operands skip and gradient_scale, which parameters point to and
 * which are operands after all others. Calls with at least one of them have a description of their
 * own (sgd_guarded, …) and kernels built with TENON_GUARD. */
#define GUARD_OPERAND_INFOS                                                                        \
    {.name = "skip", .optional = true},                                                            \
    {                                                                                              \
        .name = "gradient_scale", .optional = true                                                 \
    }
/* The bits of problems whose paths depend on the guard. */
#define GUARD_FLAGS (GUARD_HAS_SKIP | GUARD_SKIP_BYTE | GUARD_HAS_SCALE)

/* Stores the operands of the guard, and returns true if there is one. */
bool tn_guard_views(const tenon_tensor *skip, const tenon_tensor *gradient_scale,
                    const tenon_tensor **views);

/* Validates the operands of the guard, from number `first` on, if the call's description has them,
 * and adds them to the problem. */
tenon_status tn_guard_prepare(const tn_call *call, uint32_t first, tn_lines_problem *problem);

/* Adds the build option of a problem with a guard. */
void tn_guard_option(const tn_lines_problem *problem, char options[TN_OPTIONS_SIZE]);

/* Sets the guard's views of an awkward case like those of a problem. */
void tn_guard_awkward(const tn_lines_problem *problem, tenon_tensor *views);

/* Writes valid values to the guard's operands: one step of four is skipped. */
void tn_guard_fill(const tenon_tensor *const *views, uint64_t *seed);

/* The values of the guard's operands. */
typedef struct tn_guard {
    bool skips, scales;
    double scale;
} tn_guard;

/* Reads the guard from host memory; false if memory is short. */
bool tn_guard_read(const tenon_tensor *const *views, tn_guard *guard);

/* Checks that an operand has a single element and one of the types i32 and u8 (`is_flag`), or f32.
 */
tenon_status tn_single_check(const char *caller, const char *argument, const tenon_tensor *view,
                             bool is_flag);

tn_prepare_function tn_sgd_prepare, tn_adam_prepare, tn_square_sum_prepare, tn_clip_prepare,
    tn_nonfinite_prepare, tn_loss_scale_prepare;

void tn_sgd_scalars(const tenon_sgd_params *params, double scalars[TN_MAX_SCALARS]);
void tn_adam_scalars(const tenon_adam_params *params, double scalars[TN_MAX_SCALARS]);

/* Members of tn_operation. */
tn_reference_function tn_sgd_reference, tn_adam_reference, tn_square_sum_reference,
    tn_clip_reference, tn_sgd_guarded_reference, tn_adam_guarded_reference,
    tn_clip_guarded_reference, tn_nonfinite_reference, tn_loss_scale_reference;

#endif
