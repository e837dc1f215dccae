/* tenon_col2im: the public entry, and the family. */
#include "base/shape.h"
#include "ops/conv/gradient.h"

#include <string.h>

enum { OPERAND_COL, OPERAND_X, OPERANDS }; /* as the caller numbers them */

static const tn_solver *const solvers[] = {&tn_col2im_channels, &tn_col2im_rows,
                                           &tn_col2im_elements};

static uint64_t paths(const tn_problem *problem)
{
    const col2im_problem *p = (const col2im_problem *)problem;
    return tn_epilogue_paths(p->flags, p->activation);
}

const tn_family tn_col2im_family = {.name = "col2im",
                                    .solvers = solvers,
                                    .solver_count = sizeof solvers / sizeof *solvers,
                                    .self_check = tn_col2im_self_check,
                                    .paths = paths};

tenon_status tn_col2im_record(const char *operation, tn_recording *recording,
                              const col2im_problem *problem)
{
    tn_choice choice;
    TN_TRY(tn_select(operation, recording->context, &tn_col2im_family, &problem->head, &choice));
    return choice.solver->record(operation, recording, &problem->head, choice.values);
}

tenon_status tn_col2im_canonicalise(const char *operation, const tenon_im2col_params *params,
                                    const tenon_tensor *col, const tenon_tensor *x,
                                    col2im_problem *p)
{
    static const uint8_t operand[COL2IM_OPERANDS] = {OPERAND_COL, OPERAND_X, OPERAND_X, OPERAND_X};
    im2col_problem unfolding;
    TN_TRY(tn_im2col_canonicalise(operation, params, x, col, &unfolding));
    memset(p, 0, sizeof *p);
    p->head.size = sizeof *p;
    p->head.forced = -1;
    p->dtype = x->dtype;
    p->first_scalar = CONV_SCALAR_ONES;
    p->n = unfolding.n;
    p->c = unfolding.c;
    p->window = unfolding.window;
    memcpy(p->operand, operand, sizeof operand);
    memcpy(p->col, unfolding.col, sizeof p->col);
    memcpy(p->x, unfolding.x, sizeof p->x);
    return TENON_OK;
}

static tenon_status prepare(tenon_context *context, const tenon_im2col_params *params,
                            tn_call *call, col2im_problem *problem, bool *empty)
{
    const char *operation = call->operation;
    const tenon_tensor *col = call->operands[OPERAND_COL].view, *x = call->operands[OPERAND_X].view;
    const tenon_epilogue epilogue = TENON_EPILOGUE_INIT;
    TN_TRY(tn_params_check(operation, params->struct_size, sizeof *params, params->flags, 0));
    TN_TRY(tn_tensor_check(operation, "col", col));
    TN_TRY(tn_call_check_views(call));
    TN_TRY(tn_float_check(operation, "col", context, col->dtype));
    TN_TRY(tn_same_dtype_check(operation, "x", x, "col", col->dtype));
    TN_TRY(tn_col2im_canonicalise(operation, params, col, x, problem));
    *empty = tn_tensor_empty(x);
    tn_conv_scalars(&epilogue, call->scalars);
    return tn_solver_force(operation, &tn_col2im_family, params->solver, &problem->head);
}

static tn_call make_call(const char *operation, const tenon_tensor *col, const tenon_tensor *x)
{
    return (tn_call){.operation = operation,
                     .operands = {{"col", col, TN_INPUT}, {"x", x, TN_OUTPUT}},
                     .operand_count = OPERANDS};
}

static const tenon_im2col_params defaults = TENON_IM2COL_PARAMS_INIT;

TENON_API tenon_status tenon_col2im(tenon_stream *stream, const tenon_im2col_params *params,
                                    const tenon_tensor *col, const tenon_tensor *x,
                                    const tenon_sync *sync)
{
    tn_call call = make_call("tenon_col2im", col, x);
    col2im_problem problem;
    bool empty = false;
    TN_TRY(tn_stream_check(call.operation, stream));
    TN_TRY(prepare(stream->context, params != NULL ? params : &defaults, &call, &problem, &empty));
    return tn_call_run(stream, &tn_col2im_family, empty ? NULL : &problem.head, &call, sync);
}

TENON_API tenon_status tenon_col2im_plan(tenon_context *context, const tenon_im2col_params *params,
                                         const tenon_tensor *col, const tenon_tensor *x,
                                         tenon_plan **plan)
{
    tn_call call = make_call("tenon_col2im_plan", col, x);
    col2im_problem problem;
    bool empty = false;
    TN_TRY(tn_plan_check(call.operation, context, plan));
    TN_TRY(prepare(context, params != NULL ? params : &defaults, &call, &problem, &empty));
    return tn_call_plan(context, &tn_col2im_family, empty ? NULL : &problem.head, &call, plan);
}
