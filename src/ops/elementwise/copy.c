/* tenon_copy: the public entry, and the family. */
#include "base/shape.h"
#include "ops/elementwise/internal.h"

TENON_API tenon_copy_params tenon_copy_params_default(void)
{
    return (tenon_copy_params)TENON_COPY_PARAMS_INIT;
}

static const tn_solver *const solvers[] = {&tn_copy_rows, &tn_copy_transpose,
                                           &tn_copy_transpose_local};

const tn_family tn_copy_family = {.name = "copy",
                                  .solvers = solvers,
                                  .solver_count = sizeof solvers / sizeof *solvers,
                                  .self_check = tn_copy_self_check};

static tenon_status check_types(const char *operation, tenon_context *context,
                                const tenon_tensor *x, const tenon_tensor *y)
{
    const tenon_dtype types[] = {x->dtype, y->dtype};
    for (int i = 0; i < 2; i++)
        TN_TRY(tn_moved_check(operation, i == 0 ? "x" : "y", types[i]));
    if (types[0] == types[1] || (types[0] != TENON_DTYPE_F64 && types[1] != TENON_DTYPE_F64))
        return TENON_OK;
    return tn_float_check(operation, types[0] == TENON_DTYPE_F64 ? "x" : "y", context,
                          TENON_DTYPE_F64);
}

static tenon_status prepare(tenon_context *context, const tenon_copy_params *params, tn_call *call,
                            tn_pointwise_problem *problem, bool *empty)
{
    const char *operation = call->operation;
    const tenon_tensor *x = call->operands[COPY_X].view, *y = call->operands[COPY_Y].view;
    TN_TRY(tn_params_check(operation, params->struct_size, sizeof *params, params->flags, 0));
    TN_TRY(tn_tensor_check(operation, "x", x));
    TN_TRY(tn_call_check_views(call));
    TN_TRY(check_types(operation, context, x, y));
    TN_TRY(tn_same_shape_check(operation, &call->operands[COPY_Y], &call->operands[COPY_X]));
    *empty = tn_tensor_empty(y);
    TN_TRY(tn_pointwise_canonicalise(operation, call->operands, COPY_OPERANDS, 1, sizeof *problem,
                                     problem));
    return tn_solver_force(operation, &tn_copy_family, params->solver, &problem->head);
}

static tn_call make_call(const char *operation, const tenon_tensor *x, const tenon_tensor *y)
{
    return (tn_call){.operation = operation,
                     .operands = {{"x", x, TN_INPUT_OR_SAME}, {"y", y, TN_OUTPUT}},
                     .operand_count = COPY_OPERANDS};
}

tenon_status tn_copy_run(const char *operation, tenon_stream *stream,
                         const tenon_copy_params *params, const tenon_tensor *x,
                         const tenon_tensor *y, const tenon_sync *sync)
{
    tn_call call = make_call(operation, x, y);
    tn_pointwise_problem problem;
    bool empty = false;
    TN_TRY(tn_stream_check(operation, stream));
    TN_TRY(prepare(stream->context, params, &call, &problem, &empty));
    return tn_call_run(stream, &tn_copy_family, empty ? NULL : &problem.head, &call, sync);
}

TENON_API tenon_status tenon_copy(tenon_stream *stream, const tenon_copy_params *params,
                                  const tenon_tensor *x, const tenon_tensor *y,
                                  const tenon_sync *sync)
{
    static const tenon_copy_params defaults = TENON_COPY_PARAMS_INIT;
    return tn_copy_run("tenon_copy", stream, params != NULL ? params : &defaults, x, y, sync);
}

TENON_API tenon_status tenon_copy_plan(tenon_context *context, const tenon_copy_params *params,
                                       const tenon_tensor *x, const tenon_tensor *y,
                                       tenon_plan **plan)
{
    static const tenon_copy_params defaults = TENON_COPY_PARAMS_INIT;
    tn_call call = make_call("tenon_copy_plan", x, y);
    tn_pointwise_problem problem;
    bool empty = false;
    TN_TRY(tn_plan_check(call.operation, context, plan));
    TN_TRY(prepare(context, params != NULL ? params : &defaults, &call, &problem, &empty));
    return tn_call_plan(context, &tn_copy_family, empty ? NULL : &problem.head, &call, plan);
}
