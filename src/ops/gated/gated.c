/* tenon_gated_forward and tenon_gated_backward: the public entries, and the families. */
#include "base/shape.h"
#include "ops/gated/internal.h"

TENON_API tenon_gated_params tenon_gated_params_default(void)
{
    return (tenon_gated_params)TENON_GATED_PARAMS_INIT;
}

static const tn_solver *const solvers[] = {&tn_gated_rows};

const tn_family tn_gated_family = {.name = "gated",
                                   .solvers = solvers,
                                   .solver_count = sizeof solvers / sizeof *solvers,
                                   .self_check = tn_gated_self_check,
                                   .paths = tn_pointwise_paths};

const tn_family tn_gated_backward_family = {.name = "gated_backward",
                                            .solvers = solvers,
                                            .solver_count = sizeof solvers / sizeof *solvers,
                                            .self_check = tn_gated_self_check,
                                            .paths = tn_pointwise_paths};

static tenon_status prepare(tenon_context *context, const tn_family *family,
                            const tenon_gated_params *params, tn_call *call,
                            tn_pointwise_problem *problem, bool *empty)
{
    const char *operation = call->operation;
    const tenon_tensor *a = call->operands[GATED_A].view;
    const uint32_t outputs = family == &tn_gated_family ? 1 : GATED_GRADIENTS;
    TN_TRY(tn_params_check(operation, params->struct_size, sizeof *params, params->flags, 0));
    for (uint32_t i = 0; i < call->operand_count; i++)
        TN_TRY(tn_tensor_check(operation, call->operands[i].name, call->operands[i].view));
    TN_TRY(tn_call_check_views(call));
    TN_TRY(tn_activation_check(operation, &params->activation));
    TN_TRY(tn_float_check(operation, "a", context, (tenon_dtype)a->dtype));
    TN_TRY(tn_alike_check(call, true));
    *empty = tn_tensor_empty(a);
    TN_TRY(tn_pointwise_canonicalise(operation, call->operands, call->operand_count, outputs,
                                     sizeof *problem, problem));
    problem->kind = params->activation.kind;
    call->scalars[TN_SCALAR_ACT_ALPHA] = params->activation.alpha;
    call->scalars[TN_SCALAR_ACT_BETA] = params->activation.beta;
    return tn_solver_force(operation, family, params->solver, &problem->head);
}

static tenon_status run(tenon_stream *stream, const tn_family *family,
                        const tenon_gated_params *params, tn_call *call, const tenon_sync *sync)
{
    static const tenon_gated_params defaults = TENON_GATED_PARAMS_INIT;
    tn_pointwise_problem problem;
    bool empty = false;
    TN_TRY(tn_stream_check(call->operation, stream));
    TN_TRY(prepare(stream->context, family, params != NULL ? params : &defaults, call, &problem,
                   &empty));
    return tn_call_run(stream, family, empty ? NULL : &problem.head, call, sync);
}

static tenon_status plan_call(tenon_context *context, const tn_family *family,
                              const tenon_gated_params *params, tn_call *call, tenon_plan **plan)
{
    static const tenon_gated_params defaults = TENON_GATED_PARAMS_INIT;
    tn_pointwise_problem problem;
    bool empty = false;
    TN_TRY(tn_plan_check(call->operation, context, plan));
    TN_TRY(prepare(context, family, params != NULL ? params : &defaults, call, &problem, &empty));
    return tn_call_plan(context, family, empty ? NULL : &problem.head, call, plan);
}

static tn_call forward_call(const char *operation, const tenon_tensor *a, const tenon_tensor *b,
                            const tenon_tensor *y)
{
    return (tn_call){
        .operation = operation,
        .operands = {{"a", a, TN_INPUT_OR_SAME}, {"b", b, TN_INPUT_OR_SAME}, {"y", y, TN_OUTPUT}},
        .operand_count = GATED_OPERANDS};
}

static tn_call backward_call(const char *operation, const tenon_tensor *a, const tenon_tensor *b,
                             const tenon_tensor *dy, const tenon_tensor *da, const tenon_tensor *db)
{
    return (tn_call){.operation = operation,
                     .operands = {{"a", a, TN_INPUT_OR_SAME},
                                  {"b", b, TN_INPUT_OR_SAME},
                                  {"dy", dy, TN_INPUT_OR_SAME},
                                  {"da", da, TN_OUTPUT},
                                  {"db", db, TN_OUTPUT}},
                     .operand_count = GATED_BACKWARD_OPERANDS};
}

TENON_API tenon_status tenon_gated_forward(tenon_stream *stream, const tenon_gated_params *params,
                                           const tenon_tensor *a, const tenon_tensor *b,
                                           const tenon_tensor *y, const tenon_sync *sync)
{
    tn_call call = forward_call("tenon_gated_forward", a, b, y);
    return run(stream, &tn_gated_family, params, &call, sync);
}

TENON_API tenon_status tenon_gated_forward_plan(tenon_context *context,
                                                const tenon_gated_params *params,
                                                const tenon_tensor *a, const tenon_tensor *b,
                                                const tenon_tensor *y, tenon_plan **plan)
{
    tn_call call = forward_call("tenon_gated_forward_plan", a, b, y);
    return plan_call(context, &tn_gated_family, params, &call, plan);
}

TENON_API tenon_status tenon_gated_backward(tenon_stream *stream, const tenon_gated_params *params,
                                            const tenon_tensor *a, const tenon_tensor *b,
                                            const tenon_tensor *dy, const tenon_tensor *da,
                                            const tenon_tensor *db, const tenon_sync *sync)
{
    tn_call call = backward_call("tenon_gated_backward", a, b, dy, da, db);
    return run(stream, &tn_gated_backward_family, params, &call, sync);
}

TENON_API tenon_status tenon_gated_backward_plan(tenon_context *context,
                                                 const tenon_gated_params *params,
                                                 const tenon_tensor *a, const tenon_tensor *b,
                                                 const tenon_tensor *dy, const tenon_tensor *da,
                                                 const tenon_tensor *db, tenon_plan **plan)
{
    tn_call call = backward_call("tenon_gated_backward_plan", a, b, dy, da, db);
    return plan_call(context, &tn_gated_backward_family, params, &call, plan);
}
