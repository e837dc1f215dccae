/* tenon_activation_forward: the public entry, and the family. */
#include "base/shape.h"
#include "ops/activation/internal.h"

#include <string.h>

TENON_API tenon_activation_params tenon_activation_params_default(void)
{
    return (tenon_activation_params)TENON_ACTIVATION_PARAMS_INIT;
}

static const tn_solver *const solvers[] = {&tn_activation_dense, &tn_activation_strided};

const tn_family tn_activation_family = {.name = "activation",
                                        .solvers = solvers,
                                        .solver_count = sizeof solvers / sizeof *solvers,
                                        .self_check = tn_activation_self_check};

void tn_activation_canonicalise(const tenon_activation *activation, const tenon_tensor *x,
                                const tenon_tensor *y, activation_problem *problem)
{
    tn_space space = {.rank = y->rank, .views = ACTIVATION_OPERANDS};
    memcpy(space.shape, y->shape, sizeof space.shape);
    memcpy(space.stride[ACTIVATION_X], x->stride, sizeof x->stride);
    memcpy(space.stride[ACTIVATION_Y], y->stride, sizeof y->stride);
    tn_space_collapse(&space);
    if (space.rank == 0) { /* one element */
        space.rank = 1;
        space.shape[0] = 1;
        space.stride[ACTIVATION_X][0] = space.stride[ACTIVATION_Y][0] = 1;
    }
    memset(problem, 0, sizeof *problem);
    problem->head.size = sizeof *problem;
    problem->head.forced = -1;
    problem->dtype = y->dtype;
    problem->activation = activation->kind;
    problem->rank = space.rank;
    memcpy(problem->shape, space.shape, sizeof problem->shape);
    memcpy(problem->stride, space.stride, sizeof problem->stride);
}

static tenon_status prepare(tenon_context *context, const tenon_activation_params *params,
                            tn_call *call, activation_problem *problem, bool *empty)
{
    char sx[160], sy[160];
    const char *operation = call->operation;
    const tenon_tensor *x = call->operands[ACTIVATION_X].view,
                       *y = call->operands[ACTIVATION_Y].view;
    TN_TRY(tn_params_check(operation, params->struct_size, sizeof *params, params->flags, 0));
    TN_TRY(tn_tensor_check(operation, "x", x));
    TN_TRY(tn_call_check_views(call));
    TN_TRY(tn_activation_check(operation, &params->activation));
    TN_TRY(tn_float_check(operation, context, x->dtype));
    TN_TRY(tn_same_dtype_check(operation, "y", y, "x", x->dtype));
    if (!tn_tensor_same_shape(x, y))
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: y: shape is %s, must be that of x, %s",
                       operation, tn_shape_text(y->rank, y->shape, sy),
                       tn_shape_text(x->rank, x->shape, sx));
    *empty = tn_tensor_empty(y);
    tn_activation_canonicalise(&params->activation, x, y, problem);
    TN_TRY(tn_solver_force(operation, &tn_activation_family, params->solver, &problem->head));
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
    TN_TRY(prepare(stream->context, params != NULL ? params : &defaults, &call, &problem, &empty));
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
    TN_TRY(prepare(context, params != NULL ? params : &defaults, &call, &problem, &empty));
    return tn_call_plan(context, &tn_activation_family, empty ? NULL : &problem.head, &call, plan);
}
