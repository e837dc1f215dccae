/* What tenon_dropout refuses, its scalars, and the family. */
#include "base/shape.h"
#include "ops/common/philox.h"
#include "ops/dropout/internal.h"
#include "ops/common/epilogue.h"

#include <string.h>

static const tn_solver *const solvers[] = {&tn_dropout_lines};

const tn_family tn_dropout_family = {.name = "dropout",
                                     .solvers = solvers,
                                     .solver_count = sizeof solvers / sizeof *solvers,
                                     .awkward = tn_dropout_awkward};

/* The seed, the sequence, the threshold of what is dropped, the scale. */
static void set_scalars(const tenon_dropout_params *params, double scalars[TN_MAX_SCALARS])
{
    const int64_t threshold = tn_philox_threshold(params->probability);
    memcpy(&scalars[0], &params->seed, sizeof params->seed);
    memcpy(&scalars[1], &params->sequence, sizeof params->sequence);
    memcpy(&scalars[2], &threshold, sizeof threshold);
    scalars[3] = params->probability < 1 ? 1 / (1 - params->probability) : 0;
}

tenon_status tn_dropout_prepare(const void *given, tn_call *call, tn_problem *problem, bool *empty)
{
    const char *operation = call->operation;
    const tenon_dropout_params *params = given;
    const tenon_tensor *views[] = {call->operands[DROPOUT_X].view, call->operands[DROPOUT_Y].view};
    const tenon_tensor *x = views[DROPOUT_X], *y = views[DROPOUT_Y];
    TN_TRY(tn_params_check(operation, params->struct_size, sizeof *params, params->flags, 0));
    TN_TRY(tn_tensor_check(operation, "x", x));
    TN_TRY(tn_call_check_views(call));
    TN_TRY(tn_float_check(operation, "x", call->context, x->dtype));
    TN_TRY(tn_same_dtype_check(operation, "y", y, "x", x->dtype));
    TN_TRY(tn_lines_shape_check(operation, "y", y, "x", x));
    TN_TRY(tn_number_check(operation, "probability", params->probability, 0, 1));
    *empty = tn_tensor_empty(y);
    tn_lines_canonicalise(views, DROPOUT_OPERANDS, TN_LINES_NUMBERED, (tn_lines_problem *)problem);
    set_scalars(params, call->scalars);
    return tn_solver_force(operation, &tn_dropout_family, params->solver, problem);
}
