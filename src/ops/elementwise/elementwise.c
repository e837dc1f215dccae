/* tenon_elementwise: the public entry, and the family. */
#include "ops/elementwise/internal.h"

#include "base/shape.h"

TENON_API tenon_elementwise_params tenon_elementwise_params_default(void)
{
    return (tenon_elementwise_params)TENON_ELEMENTWISE_PARAMS_INIT;
}

static const tn_solver *const solvers[] = {&tn_elementwise_rows};

const tn_family tn_elementwise_family = {.name = "elementwise",
                                         .solvers = solvers,
                                         .solver_count = sizeof solvers / sizeof *solvers,
                                         .self_check = tn_elementwise_self_check,
                                         .paths = tn_pointwise_paths};

static tenon_status check_params(const char *operation, const tenon_elementwise_params *params)
{
    TN_TRY(tn_params_check(operation, params->struct_size, sizeof *params, params->flags, 0));
    if (params->kind > TENON_ELEMENTWISE_SCALE_ADD)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: params: kind is %u, which is no tenon_elementwise_kind", operation,
                       params->kind);
    if (params->reserved != 0)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: params: reserved is %u, must be 0",
                       operation, params->reserved);
    return TENON_OK;
}

static tenon_status prepare(tenon_context *context, const tenon_elementwise_params *params,
                            tn_call *call, tn_pointwise_problem *problem, bool *empty)
{
    const char *operation = call->operation;
    const tenon_tensor *a = call->operands[ELEMENTWISE_A].view,
                       *b = call->operands[ELEMENTWISE_B].view,
                       *d = call->operands[ELEMENTWISE_D].view;
    TN_TRY(check_params(operation, params));
    TN_TRY(tn_tensor_check(operation, "a", a));
    TN_TRY(tn_tensor_check(operation, "b", b));
    TN_TRY(tn_call_check_views(call));
    TN_TRY(tn_float_check(operation, "a", context, a->dtype));
    TN_TRY(tn_alike_check(call, false));
    *empty = tn_tensor_empty(d);
    TN_TRY(tn_pointwise_canonicalise(operation, call->operands, ELEMENTWISE_OPERANDS, 1,
                                     sizeof *problem, problem));
    problem->kind = params->kind;
    TN_TRY(tn_solver_force(operation, &tn_elementwise_family, params->solver, &problem->head));
    call->scalars[TN_SCALAR_ALPHA] = params->alpha;
    call->scalars[TN_SCALAR_BETA] = params->beta;
    return TENON_OK;
}

static tn_call make_call(const char *operation, const tenon_tensor *a, const tenon_tensor *b,
                         const tenon_tensor *d)
{
    return (tn_call){
        .operation = operation,
        .operands = {{"a", a, TN_INPUT_OR_SAME}, {"b", b, TN_INPUT_OR_SAME}, {"d", d, TN_OUTPUT}},
        .operand_count = ELEMENTWISE_OPERANDS};
}

TENON_API tenon_status tenon_elementwise(tenon_stream *stream,
                                         const tenon_elementwise_params *params,
                                         const tenon_tensor *a, const tenon_tensor *b,
                                         const tenon_tensor *d, const tenon_sync *sync)
{
    static const tenon_elementwise_params defaults = TENON_ELEMENTWISE_PARAMS_INIT;
    tn_call call = make_call("tenon_elementwise", a, b, d);
    tn_pointwise_problem problem;
    bool empty = false;
    TN_TRY(tn_stream_check(call.operation, stream));
    TN_TRY(prepare(stream->context, params != NULL ? params : &defaults, &call, &problem, &empty));
    return tn_call_run(stream, &tn_elementwise_family, empty ? NULL : &problem.head, &call, sync);
}

TENON_API tenon_status tenon_elementwise_plan(tenon_context *context,
                                              const tenon_elementwise_params *params,
                                              const tenon_tensor *a, const tenon_tensor *b,
                                              const tenon_tensor *d, tenon_plan **plan)
{
    static const tenon_elementwise_params defaults = TENON_ELEMENTWISE_PARAMS_INIT;
    tn_call call = make_call("tenon_elementwise_plan", a, b, d);
    tn_pointwise_problem problem;
    bool empty = false;
    TN_TRY(tn_plan_check(call.operation, context, plan));
    TN_TRY(prepare(context, params != NULL ? params : &defaults, &call, &problem, &empty));
    return tn_call_plan(context, &tn_elementwise_family, empty ? NULL : &problem.head, &call, plan);
}
