/* tenon_activation_forward: the public entry, and the family. */
#include "base/shape.h"
#include "ops/activation/internal.h"

#include <string.h>

TENON_API tenon_activation_params tenon_activation_params_default(void)
{
    return (tenon_activation_params)TENON_ACTIVATION_PARAMS_INIT;
}

uint64_t tn_activation_paths(const tn_problem *problem)
{
    return UINT64_C(1) << ((const activation_problem *)problem)->activation;
}

const tn_family tn_activation_family = {.name = "activation",
                                        .solvers = tn_activation_solvers,
                                        .solver_count = 2,
                                        .self_check = tn_activation_self_check,
                                        .paths = tn_activation_paths};

void tn_activation_canonicalise(const tenon_activation *activation,
                                const tenon_tensor *const *views, uint32_t count,
                                activation_problem *problem)
{
    tn_space space = {.rank = views[0]->rank, .views = count};
    memcpy(space.shape, views[0]->shape, sizeof space.shape);
    for (uint32_t v = 0; v < count; v++)
        memcpy(space.stride[v], views[v]->stride, sizeof space.stride[v]);
    tn_space_collapse(&space);
    memset(problem, 0, sizeof *problem);
    problem->head.size = sizeof *problem;
    problem->head.forced = -1;
    problem->dtype = views[0]->dtype;
    problem->activation = activation->kind;
    problem->views = count;
    problem->rank = space.rank;
    memcpy(problem->shape, space.shape, sizeof problem->shape);
    for (uint32_t v = 0; v < count; v++)
        memcpy(problem->stride[v], space.stride[v], sizeof problem->stride[v]);
    if (space.rank == 0) { /* one element */
        problem->rank = 1;
        problem->shape[0] = 1;
        for (uint32_t v = 0; v < count; v++)
            problem->stride[v][0] = 1;
    }
}

static tenon_status check_operand(const char *operation, const tn_argument *argument,
                                  const tn_argument *first)
{
    char text[160], wanted[160];
    const tenon_tensor *view = argument->view, *x = first->view;
    TN_TRY(tn_same_dtype_check(operation, argument->name, view, first->name, x->dtype));
    if (tn_tensor_same_shape(x, view))
        return TENON_OK;
    return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s: shape is %s, must be that of %s, %s",
                   operation, argument->name, tn_shape_text(view->rank, view->shape, text),
                   first->name, tn_shape_text(x->rank, x->shape, wanted));
}

tenon_status tn_activation_prepare(tenon_context *context, const tn_family *family,
                                   const tenon_activation_params *params, tn_call *call,
                                   activation_problem *problem, bool *empty)
{
    const char *operation = call->operation;
    const tenon_tensor *views[ACTIVATION_VIEWS];
    TN_TRY(tn_params_check(operation, params->struct_size, sizeof *params, params->flags, 0));
    for (uint32_t i = 0; i < call->operand_count; i++) {
        views[i] = call->operands[i].view;
        TN_TRY(tn_tensor_check(operation, call->operands[i].name, views[i]));
    }
    TN_TRY(tn_call_check_views(call));
    TN_TRY(tn_activation_check(operation, &params->activation));
    TN_TRY(tn_float_check(operation, call->operands[0].name, context, views[0]->dtype));
    for (uint32_t i = 1; i < call->operand_count; i++)
        TN_TRY(check_operand(operation, &call->operands[i], &call->operands[0]));
    *empty = tn_tensor_empty(views[0]);
    tn_activation_canonicalise(&params->activation, views, call->operand_count, problem);
    TN_TRY(tn_solver_force(operation, family, params->solver, &problem->head));
    call->scalars[TN_SCALAR_ACT_ALPHA] = params->activation.alpha;
    call->scalars[TN_SCALAR_ACT_BETA] = params->activation.beta;
    return TENON_OK;
}

static tn_call make_call(const char *operation, const tenon_tensor *x, const tenon_tensor *y)
{
    return (tn_call){.operation = operation,
                     .operands = {{"x", x, TN_INPUT_OR_SAME}, {"y", y, TN_OUTPUT}},
                     .operand_count = ACTIVATION_OPERANDS};
}

TENON_API tenon_status tenon_activation_forward(tenon_stream *stream,
                                                const tenon_activation_params *params,
                                                const tenon_tensor *x, const tenon_tensor *y,
                                                const tenon_sync *sync)
{
    static const tenon_activation_params defaults = TENON_ACTIVATION_PARAMS_INIT;
    tn_call call = make_call("tenon_activation_forward", x, y);
    activation_problem problem;
    bool empty = false;
    TN_TRY(tn_stream_check(call.operation, stream));
    TN_TRY(tn_activation_prepare(stream->context, &tn_activation_family,
                                 params != NULL ? params : &defaults, &call, &problem, &empty));
    return tn_call_run(stream, &tn_activation_family, empty ? NULL : &problem.head, &call, sync);
}

TENON_API tenon_status tenon_activation_forward_plan(tenon_context *context,
                                                     const tenon_activation_params *params,
                                                     const tenon_tensor *x, const tenon_tensor *y,
                                                     tenon_plan **plan)
{
    static const tenon_activation_params defaults = TENON_ACTIVATION_PARAMS_INIT;
    tn_call call = make_call("tenon_activation_forward_plan", x, y);
    activation_problem problem;
    bool empty = false;
    TN_TRY(tn_plan_check(call.operation, context, plan));
    TN_TRY(tn_activation_prepare(context, &tn_activation_family,
                                 params != NULL ? params : &defaults, &call, &problem, &empty));
    return tn_call_plan(context, &tn_activation_family, empty ? NULL : &problem.head, &call, plan);
}
