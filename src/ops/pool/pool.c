/* tenon_pool_forward and tenon_pool_backward: the public entries, and the families. */
#include "base/shape.h"
#include "ops/pool/internal.h"

TENON_API tenon_pool_params tenon_pool_params_default(void)
{
    return (tenon_pool_params)TENON_POOL_PARAMS_INIT;
}

static const tenon_pool_params defaults = TENON_POOL_PARAMS_INIT;

static const tn_solver *const solvers[] = {&tn_pool_rows, &tn_pool_channels, &tn_pool_items,
                                           &tn_pool_groups};
static const tn_solver *const backward_solvers[] = {
    &tn_pool_backward_rows, &tn_pool_backward_channels, &tn_pool_backward_items};

/* Kinds, and whether there are indices and neighbouring work-items have neighbouring channels. */
static uint64_t paths(const tn_problem *problem)
{
    const pool_problem *p = (const pool_problem *)problem;
    const uint32_t by_channels = p->x[1] == 1 && p->x[4] != 1;
    return tn_paths_of_flags(1U << p->kind, 1U << p->kind) |
           tn_paths_of_flags(p->flags << 8, (uint64_t)POOL_HAS_INDICES << 8) |
           tn_paths_of_flags((uint64_t)by_channels << 16, 1U << 16);
}

const tn_family tn_pool_family = {.name = "pool",
                                  .solvers = solvers,
                                  .solver_count = sizeof solvers / sizeof *solvers,
                                  .self_check = tn_pool_self_check,
                                  .paths = paths};

const tn_family tn_pool_backward_family = {.name = "pool_backward",
                                           .solvers = backward_solvers,
                                           .solver_count =
                                               sizeof backward_solvers / sizeof *backward_solvers,
                                           .self_check = tn_pool_backward_self_check,
                                           .paths = paths};

static tenon_status check_params(const char *operation, const tenon_pool_params *params)
{
    return tn_params_check(operation, params->struct_size, sizeof *params, params->flags,
                           TENON_POOL_GLOBAL);
}

static tenon_status prepare_forward(tenon_context *context, const tenon_pool_params *params,
                                    const tn_call *call, pool_problem *problem, bool *empty)
{
    const char *operation = call->operation;
    const tenon_tensor *x = call->operands[POOL_X].view, *y = call->operands[POOL_Y].view;
    const pool_views views = {"x", "y", x, y, call->operands[POOL_INDICES].view, NULL};
    TN_TRY(check_params(operation, params));
    TN_TRY(tn_tensor_check(operation, "x", x));
    TN_TRY(tn_call_check_views(call));
    TN_TRY(tn_float_check(operation, "x", context, x->dtype));
    TN_TRY(tn_same_dtype_check(operation, "y", y, "x", x->dtype));
    TN_TRY(tn_pool_canonicalise(operation, params, &views, problem));
    *empty = tn_tensor_empty(y);
    return tn_solver_force(operation, &tn_pool_family, params->solver, &problem->head);
}

static tn_call forward_call(const char *operation, const tenon_tensor *x, const tenon_tensor *y,
                            const tenon_tensor *indices)
{
    return (tn_call){.operation = operation,
                     .operands = {{"x", x, TN_INPUT},
                                  {"y", y, TN_OUTPUT},
                                  {"indices", indices, TN_OPTIONAL_OUTPUT}},
                     .operand_count = POOL_OPERANDS};
}

TENON_API tenon_status tenon_pool_forward(tenon_stream *stream, const tenon_pool_params *params,
                                          const tenon_tensor *x, const tenon_tensor *y,
                                          const tenon_tensor *indices, const tenon_sync *sync)
{
    const tn_call call = forward_call("tenon_pool_forward", x, y, indices);
    pool_problem problem;
    bool empty = false;
    TN_TRY(tn_stream_check(call.operation, stream));
    TN_TRY(prepare_forward(stream->context, params != NULL ? params : &defaults, &call, &problem,
                           &empty));
    return tn_call_run(stream, &tn_pool_family, empty ? NULL : &problem.head, &call, sync);
}

TENON_API tenon_status tenon_pool_forward_plan(tenon_context *context,
                                               const tenon_pool_params *params,
                                               const tenon_tensor *x, const tenon_tensor *y,
                                               const tenon_tensor *indices, tenon_plan **plan)
{
    const tn_call call = forward_call("tenon_pool_forward_plan", x, y, indices);
    pool_problem problem;
    bool empty = false;
    TN_TRY(tn_plan_check(call.operation, context, plan));
    TN_TRY(prepare_forward(context, params != NULL ? params : &defaults, &call, &problem, &empty));
    return tn_call_plan(context, &tn_pool_family, empty ? NULL : &problem.head, &call, plan);
}

static tenon_status check_sources(const char *operation, const tenon_pool_params *params,
                                  const tenon_tensor *x, const tenon_tensor *indices)
{
    if (params->kind == TENON_POOL_MAX && x == NULL && indices == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: x and indices are both NULL, the maximum needs one of them", operation);
    return TENON_OK;
}

static tenon_status prepare_backward(tenon_context *context, const tenon_pool_params *params,
                                     const tn_call *call, pool_problem *problem, bool *empty)
{
    const char *operation = call->operation;
    const tenon_tensor *x = call->operands[POOL_BACKWARD_X].view,
                       *dy = call->operands[POOL_BACKWARD_DY].view,
                       *indices = call->operands[POOL_BACKWARD_INDICES].view,
                       *dx = call->operands[POOL_BACKWARD_DX].view;
    const pool_views views = {"dx", "dy", dx, dy, indices, x};
    TN_TRY(check_params(operation, params));
    TN_TRY(tn_tensor_check(operation, "dy", dy));
    TN_TRY(tn_call_check_views(call));
    TN_TRY(tn_float_check(operation, "dy", context, dy->dtype));
    TN_TRY(tn_same_dtype_check(operation, "dx", dx, "dy", dy->dtype));
    TN_TRY(tn_same_dtype_check(operation, "x", x, "dy", dy->dtype));
    TN_TRY(check_sources(operation, params, x, indices));
    TN_TRY(tn_pool_canonicalise(operation, params, &views, problem));
    *empty = tn_tensor_empty(dx);
    return tn_solver_force(operation, &tn_pool_backward_family, params->solver, &problem->head);
}

static tn_call backward_call(const char *operation, const tenon_tensor *x, const tenon_tensor *dy,
                             const tenon_tensor *indices, const tenon_tensor *dx)
{
    return (tn_call){.operation = operation,
                     .operands = {{"x", x, TN_INPUT},
                                  {"dy", dy, TN_INPUT},
                                  {"indices", indices, TN_INPUT},
                                  {"dx", dx, TN_OUTPUT}},
                     .operand_count = POOL_BACKWARD_OPERANDS};
}

TENON_API tenon_status tenon_pool_backward(tenon_stream *stream, const tenon_pool_params *params,
                                           const tenon_tensor *x, const tenon_tensor *dy,
                                           const tenon_tensor *indices, const tenon_tensor *dx,
                                           const tenon_sync *sync)
{
    const tn_call call = backward_call("tenon_pool_backward", x, dy, indices, dx);
    pool_problem problem;
    bool empty = false;
    TN_TRY(tn_stream_check(call.operation, stream));
    TN_TRY(prepare_backward(stream->context, params != NULL ? params : &defaults, &call, &problem,
                            &empty));
    return tn_call_run(stream, &tn_pool_backward_family, empty ? NULL : &problem.head, &call, sync);
}

TENON_API tenon_status tenon_pool_backward_plan(tenon_context *context,
                                                const tenon_pool_params *params,
                                                const tenon_tensor *x, const tenon_tensor *dy,
                                                const tenon_tensor *indices, const tenon_tensor *dx,
                                                tenon_plan **plan)
{
    const tn_call call = backward_call("tenon_pool_backward_plan", x, dy, indices, dx);
    pool_problem problem;
    bool empty = false;
    TN_TRY(tn_plan_check(call.operation, context, plan));
    TN_TRY(prepare_backward(context, params != NULL ? params : &defaults, &call, &problem, &empty));
    return tn_call_plan(context, &tn_pool_backward_family, empty ? NULL : &problem.head, &call,
                        plan);
}
