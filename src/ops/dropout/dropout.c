/* tenon_dropout: the public entry, and the family. */
#include "base/shape.h"
#include "ops/common/philox.h"
#include "ops/dropout/internal.h"
#include "ops/common/epilogue.h"

#include <string.h>

TENON_API tenon_dropout_params tenon_dropout_params_default(void)
{
    return (tenon_dropout_params)TENON_DROPOUT_PARAMS_INIT;
}

static const tn_solver *const solvers[] = {&tn_dropout_lines};

const tn_family tn_dropout_family = {.name = "dropout",
                                     .solvers = solvers,
                                     .solver_count = sizeof solvers / sizeof *solvers,
                                     .self_check = tn_dropout_self_check};

void tn_dropout_scalars(const tenon_dropout_params *params, double scalars[TN_MAX_SCALARS])
{
    const int64_t threshold = tn_philox_threshold(params->probability);
    memcpy(&scalars[0], &params->seed, sizeof params->seed);
    memcpy(&scalars[1], &params->sequence, sizeof params->sequence);
    memcpy(&scalars[2], &threshold, sizeof threshold);
    scalars[3] = params->probability < 1 ? 1 / (1 - params->probability) : 0;
}

void tn_dropout_canonicalise(const void *params, const tenon_tensor *const *views,
                             tn_lines_problem *problem)
{
    (void)params;
    tn_lines_canonicalise(views, DROPOUT_OPERANDS, TN_LINES_NUMBERED, problem);
}

static tenon_status prepare(tenon_context *context, const tenon_dropout_params *params,
                            tn_call *call, tn_lines_problem *problem, bool *empty)
{
    const char *operation = call->operation;
    const tenon_tensor *views[] = {call->operands[DROPOUT_X].view, call->operands[DROPOUT_Y].view};
    const tenon_tensor *x = views[DROPOUT_X], *y = views[DROPOUT_Y];
    TN_TRY(tn_params_check(operation, params->struct_size, sizeof *params, params->flags, 0));
    TN_TRY(tn_tensor_check(operation, "x", x));
    TN_TRY(tn_call_check_views(call));
    TN_TRY(tn_float_check(operation, "x", context, x->dtype));
    TN_TRY(tn_same_dtype_check(operation, "y", y, "x", x->dtype));
    TN_TRY(tn_lines_shape_check(operation, "y", y, "x", x));
    TN_TRY(tn_number_check(operation, "probability", params->probability, 0, 1));
    *empty = tn_tensor_empty(y);
    tn_dropout_canonicalise(params, views, problem);
    tn_dropout_scalars(params, call->scalars);
    return tn_solver_force(operation, &tn_dropout_family, params->solver, &problem->head);
}

static tn_call make_call(const char *operation, const tenon_tensor *x, const tenon_tensor *y)
{
    return (tn_call){.operation = operation,
                     .operands = {{"x", x, TN_INPUT_OR_SAME}, {"y", y, TN_OUTPUT}},
                     .operand_count = DROPOUT_OPERANDS};
}

TENON_API tenon_status tenon_dropout(tenon_stream *stream, const tenon_dropout_params *params,
                                     const tenon_tensor *x, const tenon_tensor *y,
                                     const tenon_sync *sync)
{
    static const tenon_dropout_params defaults = TENON_DROPOUT_PARAMS_INIT;
    tn_call call = make_call("tenon_dropout", x, y);
    tn_lines_problem problem;
    bool empty = false;
    TN_TRY(tn_stream_check(call.operation, stream));
    TN_TRY(prepare(stream->context, params != NULL ? params : &defaults, &call, &problem, &empty));
    return tn_call_run(stream, &tn_dropout_family, empty ? NULL : &problem.head, &call, sync);
}

TENON_API tenon_status tenon_dropout_plan(tenon_context *context,
                                          const tenon_dropout_params *params, const tenon_tensor *x,
                                          const tenon_tensor *y, tenon_plan **plan)
{
    static const tenon_dropout_params defaults = TENON_DROPOUT_PARAMS_INIT;
    tn_call call = make_call("tenon_dropout_plan", x, y);
    tn_lines_problem problem;
    bool empty = false;
    TN_TRY(tn_plan_check(call.operation, context, plan));
    TN_TRY(prepare(context, params != NULL ? params : &defaults, &call, &problem, &empty));
    return tn_call_plan(context, &tn_dropout_family, empty ? NULL : &problem.head, &call, plan);
}
