/* tenon_softmax_forward and tenon_softmax_backward: the public entries, and the families. */
#include "base/shape.h"
#include "ops/softmax/internal.h"

TENON_API tenon_softmax_params tenon_softmax_params_default(void)
{
    return (tenon_softmax_params)TENON_SOFTMAX_PARAMS_INIT;
}

static const tn_solver *const solvers[] = {&tn_softmax_rows, &tn_softmax_columns,
                                           &tn_softmax_group};

const tn_family tn_softmax_family = {.name = "softmax",
                                     .solvers = solvers,
                                     .solver_count = sizeof solvers / sizeof *solvers,
                                     .self_check = tn_softmax_self_check,
                                     .paths = tn_rows_paths};

const tn_family tn_softmax_backward_family = {.name = "softmax_backward",
                                              .solvers = solvers,
                                              .solver_count = sizeof solvers / sizeof *solvers,
                                              .self_check = tn_softmax_self_check,
                                              .paths = tn_rows_paths};

/* Every operand is of the first's type and shape. */
static tenon_status check_views(tenon_context *context, const tn_call *call)
{
    char s[160], s0[160];
    const char *operation = call->operation, *name0 = call->operands[0].name;
    const tenon_tensor *first = call->operands[0].view;
    for (uint32_t i = 0; i < call->operand_count; i++)
        TN_TRY(tn_tensor_check(operation, call->operands[i].name, call->operands[i].view));
    TN_TRY(tn_call_check_views(call));
    TN_TRY(tn_float_check(operation, name0, context, first->dtype));
    for (uint32_t i = 1; i < call->operand_count; i++) {
        const tenon_tensor *view = call->operands[i].view;
        TN_TRY(tn_same_dtype_check(operation, call->operands[i].name, view, name0, first->dtype));
        if (!tn_tensor_same_shape(first, view))
            return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                           "%s: %s: shape is %s, must be that of %s, %s", operation,
                           call->operands[i].name, tn_shape_text(view->rank, view->shape, s), name0,
                           tn_shape_text(first->rank, first->shape, s0));
    }
    return TENON_OK;
}

static tenon_status prepare(tenon_context *context, const tn_family *family,
                            const tenon_softmax_params *params, const tn_call *call,
                            tn_rows_problem *problem, bool *empty)
{
    const char *operation = call->operation;
    const tenon_tensor *views[TENON_ROWS_VIEWS] = {0};
    uint32_t axis = 0;
    TN_TRY(tn_params_check(operation, params->struct_size, sizeof *params, params->flags,
                           TENON_SOFTMAX_LOG));
    if (params->reserved != 0)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: params: reserved is %u, must be 0",
                       operation, params->reserved);
    TN_TRY(check_views(context, call));
    for (uint32_t i = 0; i < call->operand_count; i++)
        views[i] = call->operands[i].view;
    TN_TRY(tn_axis_check(operation, params->axis, views[0]->rank, call->operands[0].name, &axis));
    *empty = tn_tensor_empty(views[0]);
    tn_rows_canonicalise(views, call->operand_count, call->operand_count - 1, axis, problem);
    problem->backward = family == &tn_softmax_backward_family;
    problem->flag = params->flags & TENON_SOFTMAX_LOG;
    return tn_solver_force(operation, family, params->solver, &problem->head);
}

static tenon_status run(tenon_stream *stream, const tn_family *family,
                        const tenon_softmax_params *params, const tn_call *call,
                        const tenon_sync *sync)
{
    static const tenon_softmax_params defaults = TENON_SOFTMAX_PARAMS_INIT;
    tn_rows_problem problem;
    bool empty = false;
    TN_TRY(tn_stream_check(call->operation, stream));
    TN_TRY(prepare(stream->context, family, params != NULL ? params : &defaults, call, &problem,
                   &empty));
    return tn_call_run(stream, family, empty ? NULL : &problem.head, call, sync);
}

static tenon_status plan_call(tenon_context *context, const tn_family *family,
                              const tenon_softmax_params *params, const tn_call *call,
                              tenon_plan **plan)
{
    static const tenon_softmax_params defaults = TENON_SOFTMAX_PARAMS_INIT;
    tn_rows_problem problem;
    bool empty = false;
    TN_TRY(tn_plan_check(call->operation, context, plan));
    TN_TRY(prepare(context, family, params != NULL ? params : &defaults, call, &problem, &empty));
    return tn_call_plan(context, family, empty ? NULL : &problem.head, call, plan);
}

static tn_call forward_call(const char *operation, const tenon_tensor *x, const tenon_tensor *y)
{
    return (tn_call){.operation = operation,
                     .operands = {{"x", x, TN_INPUT_OR_SAME}, {"y", y, TN_OUTPUT}},
                     .operand_count = SOFTMAX_OPERANDS};
}

static tn_call backward_call(const char *operation, const tenon_tensor *y, const tenon_tensor *dy,
                             const tenon_tensor *dx)
{
    return (tn_call){.operation = operation,
                     .operands = {{"y", y, TN_INPUT_OR_SAME},
                                  {"dy", dy, TN_INPUT_OR_SAME},
                                  {"dx", dx, TN_OUTPUT}},
                     .operand_count = SOFTMAX_BACKWARD_OPERANDS};
}

TENON_API tenon_status tenon_softmax_forward(tenon_stream *stream,
                                             const tenon_softmax_params *params,
                                             const tenon_tensor *x, const tenon_tensor *y,
                                             const tenon_sync *sync)
{
    const tn_call call = forward_call("tenon_softmax_forward", x, y);
    return run(stream, &tn_softmax_family, params, &call, sync);
}

TENON_API tenon_status tenon_softmax_forward_plan(tenon_context *context,
                                                  const tenon_softmax_params *params,
                                                  const tenon_tensor *x, const tenon_tensor *y,
                                                  tenon_plan **plan)
{
    const tn_call call = forward_call("tenon_softmax_forward_plan", x, y);
    return plan_call(context, &tn_softmax_family, params, &call, plan);
}

TENON_API tenon_status tenon_softmax_backward(tenon_stream *stream,
                                              const tenon_softmax_params *params,
                                              const tenon_tensor *y, const tenon_tensor *dy,
                                              const tenon_tensor *dx, const tenon_sync *sync)
{
    const tn_call call = backward_call("tenon_softmax_backward", y, dy, dx);
    return run(stream, &tn_softmax_backward_family, params, &call, sync);
}

TENON_API tenon_status tenon_softmax_backward_plan(tenon_context *context,
                                                   const tenon_softmax_params *params,
                                                   const tenon_tensor *y, const tenon_tensor *dy,
                                                   const tenon_tensor *dx, tenon_plan **plan)
{
    const tn_call call = backward_call("tenon_softmax_backward_plan", y, dy, dx);
    return plan_call(context, &tn_softmax_backward_family, params, &call, plan);
}
