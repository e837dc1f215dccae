/* tenon_prelu_forward and tenon_prelu_backward: the public entries, and the families. */
#include "base/shape.h"
#include "ops/prelu/internal.h"

TENON_API tenon_prelu_params tenon_prelu_params_default(void)
{
    return (tenon_prelu_params)TENON_PRELU_PARAMS_INIT;
}

static const tn_solver *const solvers[] = {&tn_prelu_rows};

const tn_family tn_prelu_family = {.name = "prelu",
                                   .solvers = solvers,
                                   .solver_count = sizeof solvers / sizeof *solvers,
                                   .self_check = tn_prelu_self_check};

static const tn_solver *const backward_solvers[] = {&tn_prelu_along, &tn_prelu_across,
                                                    &tn_prelu_along_split, &tn_prelu_across_split};

const tn_family tn_prelu_backward_family = {.name = "prelu_backward",
                                            .solvers = backward_solvers,
                                            .solver_count =
                                                sizeof backward_solvers / sizeof *backward_solvers,
                                            .self_check = tn_prelu_backward_self_check};

/* Either of the two. */
typedef union any_problem {
    tn_problem head;
    tn_pointwise_problem forward;
    prelu_backward_problem backward;
} any_problem;

static tenon_status check_views(tenon_context *context, const tn_call *call)
{
    const char *operation = call->operation;
    const tn_argument *operands = call->operands;
    for (uint32_t i = 0; i < call->operand_count; i++)
        TN_TRY(tn_tensor_check(operation, operands[i].name, operands[i].view));
    TN_TRY(tn_call_check_views(call));
    TN_TRY(tn_float_check(operation, "x", context, (tenon_dtype)operands[PRELU_X].view->dtype));
    TN_TRY(tn_alike_check(call, false));
    for (uint32_t i = PRELU_Y; i < call->operand_count; i++)
        TN_TRY(tn_same_shape_check(operation, &operands[i],
                                   &operands[i == PRELU_DSLOPE ? PRELU_SLOPE : PRELU_X]));
    return TENON_OK;
}

static tenon_status prepare(tenon_context *context, const tn_family *family,
                            const tenon_prelu_params *params, const tn_call *call,
                            any_problem *problem, bool *empty)
{
    const char *operation = call->operation;
    TN_TRY(tn_params_check(operation, params->struct_size, sizeof *params, params->flags, 0));
    TN_TRY(check_views(context, call));
    *empty = tn_tensor_empty(call->operands[call->operand_count - 1].view);
    if (family == &tn_prelu_family)
        TN_TRY(tn_pointwise_canonicalise(operation, call->operands, PRELU_OPERANDS, 1,
                                         sizeof problem->forward, &problem->forward));
    else
        TN_TRY(tn_prelu_backward_canonicalise(operation, call->operands, &problem->backward));
    return tn_solver_force(operation, family, params->solver, &problem->head);
}

static tenon_status run(tenon_stream *stream, const tn_family *family,
                        const tenon_prelu_params *params, const tn_call *call,
                        const tenon_sync *sync)
{
    static const tenon_prelu_params defaults = TENON_PRELU_PARAMS_INIT;
    any_problem problem;
    bool empty = false;
    TN_TRY(tn_stream_check(call->operation, stream));
    TN_TRY(prepare(stream->context, family, params != NULL ? params : &defaults, call, &problem,
                   &empty));
    return tn_call_run(stream, family, empty ? NULL : &problem.head, call, sync);
}

static tenon_status plan_call(tenon_context *context, const tn_family *family,
                              const tenon_prelu_params *params, const tn_call *call,
                              tenon_plan **plan)
{
    static const tenon_prelu_params defaults = TENON_PRELU_PARAMS_INIT;
    any_problem problem;
    bool empty = false;
    TN_TRY(tn_plan_check(call->operation, context, plan));
    TN_TRY(prepare(context, family, params != NULL ? params : &defaults, call, &problem, &empty));
    return tn_call_plan(context, family, empty ? NULL : &problem.head, call, plan);
}

static tn_call forward_call(const char *operation, const tenon_tensor *x, const tenon_tensor *slope,
                            const tenon_tensor *y)
{
    return (tn_call){.operation = operation,
                     .operands = {{"x", x, TN_INPUT_OR_SAME},
                                  {"slope", slope, TN_INPUT_OR_SAME},
                                  {"y", y, TN_OUTPUT}},
                     .operand_count = PRELU_OPERANDS};
}

static tn_call backward_call(const char *operation, const tenon_tensor *x,
                             const tenon_tensor *slope, const tenon_tensor *dy,
                             const tenon_tensor *dx, const tenon_tensor *dslope)
{
    return (tn_call){.operation = operation,
                     .operands = {{"x", x, TN_INPUT_OR_SAME},
                                  {"slope", slope, TN_INPUT_OR_SAME},
                                  {"dy", dy, TN_INPUT_OR_SAME},
                                  {"dx", dx, TN_OUTPUT},
                                  {"dslope", dslope, TN_OUTPUT}},
                     .operand_count = PRELU_BACKWARD_OPERANDS};
}

TENON_API tenon_status tenon_prelu_forward(tenon_stream *stream, const tenon_prelu_params *params,
                                           const tenon_tensor *x, const tenon_tensor *slope,
                                           const tenon_tensor *y, const tenon_sync *sync)
{
    const tn_call call = forward_call("tenon_prelu_forward", x, slope, y);
    return run(stream, &tn_prelu_family, params, &call, sync);
}

TENON_API tenon_status tenon_prelu_forward_plan(tenon_context *context,
                                                const tenon_prelu_params *params,
                                                const tenon_tensor *x, const tenon_tensor *slope,
                                                const tenon_tensor *y, tenon_plan **plan)
{
    const tn_call call = forward_call("tenon_prelu_forward_plan", x, slope, y);
    return plan_call(context, &tn_prelu_family, params, &call, plan);
}

TENON_API tenon_status tenon_prelu_backward(tenon_stream *stream, const tenon_prelu_params *params,
                                            const tenon_tensor *x, const tenon_tensor *slope,
                                            const tenon_tensor *dy, const tenon_tensor *dx,
                                            const tenon_tensor *dslope, const tenon_sync *sync)
{
    const tn_call call = backward_call("tenon_prelu_backward", x, slope, dy, dx, dslope);
    return run(stream, &tn_prelu_backward_family, params, &call, sync);
}

TENON_API tenon_status tenon_prelu_backward_plan(tenon_context *context,
                                                 const tenon_prelu_params *params,
                                                 const tenon_tensor *x, const tenon_tensor *slope,
                                                 const tenon_tensor *dy, const tenon_tensor *dx,
                                                 const tenon_tensor *dslope, tenon_plan **plan)
{
    const tn_call call = backward_call("tenon_prelu_backward_plan", x, slope, dy, dx, dslope);
    return plan_call(context, &tn_prelu_backward_family, params, &call, plan);
}
