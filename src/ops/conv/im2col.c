/* tenon_im2col: the public entry, and the family. */
#include "base/shape.h"
#include "ops/conv/internal.h"

TENON_API tenon_im2col_params tenon_im2col_params_default(void)
{
    return (tenon_im2col_params)TENON_IM2COL_PARAMS_INIT;
}

static const tn_solver *const solvers[] = {&tn_im2col_channels, &tn_im2col_rows};

const tn_family tn_im2col_family = {.name = "im2col",
                                    .solvers = solvers,
                                    .solver_count = sizeof solvers / sizeof *solvers,
                                    .self_check = tn_im2col_self_check};

tenon_status tn_im2col_record(const char *operation, tn_recording *recording,
                              const im2col_problem *problem)
{
    tn_choice choice;
    TN_TRY(tn_select(operation, recording->context, &tn_im2col_family, &problem->head, &choice));
    return choice.solver->record(operation, recording, &problem->head, choice.values);
}

static tenon_status prepare(tenon_context *context, const tenon_im2col_params *params,
                            tn_call *call, im2col_problem *problem, bool *empty)
{
    const char *operation = call->operation;
    const tenon_tensor *x = call->operands[IM2COL_X].view, *col = call->operands[IM2COL_COL].view;
    TN_TRY(tn_params_check(operation, params->struct_size, sizeof *params, params->flags, 0));
    TN_TRY(tn_tensor_check(operation, "x", x));
    TN_TRY(tn_call_check_views(call));
    TN_TRY(tn_float_check(operation, "x", context, x->dtype));
    TN_TRY(tn_same_dtype_check(operation, "col", col, "x", x->dtype));
    TN_TRY(tn_im2col_canonicalise(operation, params, x, col, problem));
    *empty = tn_tensor_empty(col);
    return tn_solver_force(operation, &tn_im2col_family, params->solver, &problem->head);
}

static tn_call make_call(const char *operation, const tenon_tensor *x, const tenon_tensor *col)
{
    return (tn_call){.operation = operation,
                     .operands = {{"x", x, TN_INPUT}, {"col", col, TN_OUTPUT}},
                     .operand_count = IM2COL_OPERANDS};
}

TENON_API tenon_status tenon_im2col(tenon_stream *stream, const tenon_im2col_params *params,
                                    const tenon_tensor *x, const tenon_tensor *col,
                                    const tenon_sync *sync)
{
    static const tenon_im2col_params defaults = TENON_IM2COL_PARAMS_INIT;
    tn_call call = make_call("tenon_im2col", x, col);
    im2col_problem problem;
    bool empty = false;
    TN_TRY(tn_stream_check(call.operation, stream));
    TN_TRY(prepare(stream->context, params != NULL ? params : &defaults, &call, &problem, &empty));
    return tn_call_run(stream, &tn_im2col_family, empty ? NULL : &problem.head, &call, sync);
}

TENON_API tenon_status tenon_im2col_plan(tenon_context *context, const tenon_im2col_params *params,
                                         const tenon_tensor *x, const tenon_tensor *col,
                                         tenon_plan **plan)
{
    static const tenon_im2col_params defaults = TENON_IM2COL_PARAMS_INIT;
    tn_call call = make_call("tenon_im2col_plan", x, col);
    im2col_problem problem;
    bool empty = false;
    TN_TRY(tn_plan_check(call.operation, context, plan));
    TN_TRY(prepare(context, params != NULL ? params : &defaults, &call, &problem, &empty));
    return tn_call_plan(context, &tn_im2col_family, empty ? NULL : &problem.head, &call, plan);
}
