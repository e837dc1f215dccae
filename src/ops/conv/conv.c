/* tenon_conv_forward: the public entry, and the family. */
#include "base/shape.h"
#include "ops/conv/gradient.h"

TENON_API tenon_conv_params tenon_conv_params_default(void)
{
    return (tenon_conv_params)TENON_CONV_PARAMS_INIT;
}

static const tn_solver *const solvers[] = {
    &tn_conv_pointwise,      &tn_conv_depthwise,       &tn_conv_implicit_packed,
    &tn_conv_implicit_tiled, &tn_conv_implicit_matrix, &tn_conv_winograd2,
    &tn_conv_winograd4,      &tn_conv_winograd2_gemm,  &tn_conv_winograd4_gemm,
    &tn_conv_im2col_gemm,    &tn_conv_cpu_direct,      &tn_conv_direct};

uint64_t tn_conv_paths(const tn_problem *problem)
{
    const conv_problem *p = (const conv_problem *)problem;
    return tn_epilogue_paths(p->flags, p->activation);
}

const tn_family tn_conv_family = {.name = "conv",
                                  .solvers = solvers,
                                  .solver_count = sizeof solvers / sizeof *solvers,
                                  .self_check = tn_conv_self_check,
                                  .paths = tn_conv_paths};

static tenon_status prepare(tenon_context *context, const tenon_conv_params *params, tn_call *call,
                            conv_problem *problem, bool *empty)
{
    const char *operation = call->operation;
    const tn_argument *o = call->operands;
    const tenon_tensor *y = o[CONV_Y].view;
    TN_TRY(tn_params_check(operation, params->struct_size, sizeof *params, params->flags,
                           TENON_CONV_EXACT));
    TN_TRY(tn_conv_check_call(context, call, &params->epilogue));
    TN_TRY(tn_conv_canonicalise(operation, params, o[CONV_X].view, o[CONV_W].view, o[CONV_C].view,
                                o[CONV_BIAS].view, y, problem));
    TN_TRY(tn_solver_force(operation, &tn_conv_family, params->solver, &problem->head));
    problem->exact = (params->flags & TENON_CONV_EXACT) != 0;
    *empty = tn_tensor_empty(y);
    if (params->epilogue.beta == 0)
        call->operands[CONV_C].view = NULL; /* not read: it need not have memory */
    tn_conv_scalars(&params->epilogue, call->scalars);
    return TENON_OK;
}

tenon_status tn_conv_forward_call(const char *operation, tenon_stream *stream,
                                  const tenon_conv_params *params, const tenon_tensor *x,
                                  const tenon_tensor *w, const tenon_tensor *c,
                                  const tenon_tensor *bias, const tenon_tensor *y,
                                  const tenon_sync *sync)
{
    static const tenon_conv_params defaults = TENON_CONV_PARAMS_INIT;
    tn_call call = tn_conv_call(operation, x, w, c, bias, y);
    conv_problem problem;
    bool empty = false;
    TN_TRY(tn_stream_check(call.operation, stream));
    TN_TRY(prepare(stream->context, params != NULL ? params : &defaults, &call, &problem, &empty));
    return tn_call_run(stream, &tn_conv_family, empty ? NULL : &problem.head, &call, sync);
}

tenon_status tn_conv_forward_call_plan(const char *operation, tenon_context *context,
                                       const tenon_conv_params *params, const tenon_tensor *x,
                                       const tenon_tensor *w, const tenon_tensor *c,
                                       const tenon_tensor *bias, const tenon_tensor *y,
                                       tenon_plan **plan)
{
    static const tenon_conv_params defaults = TENON_CONV_PARAMS_INIT;
    tn_call call = tn_conv_call(operation, x, w, c, bias, y);
    conv_problem problem;
    bool empty = false;
    TN_TRY(tn_plan_check(call.operation, context, plan));
    TN_TRY(prepare(context, params != NULL ? params : &defaults, &call, &problem, &empty));
    return tn_call_plan(context, &tn_conv_family, empty ? NULL : &problem.head, &call, plan);
}

TENON_API tenon_status tenon_conv_forward(tenon_stream *stream, const tenon_conv_params *params,
                                          const tenon_tensor *x, const tenon_tensor *w,
                                          const tenon_tensor *c, const tenon_tensor *bias,
                                          const tenon_tensor *y, const tenon_sync *sync)
{
    return tn_conv_forward_call("tenon_conv_forward", stream, params, x, w, c, bias, y, sync);
}

TENON_API tenon_status tenon_conv_forward_plan(tenon_context *context,
                                               const tenon_conv_params *params,
                                               const tenon_tensor *x, const tenon_tensor *w,
                                               const tenon_tensor *c, const tenon_tensor *bias,
                                               const tenon_tensor *y, tenon_plan **plan)
{
    return tn_conv_forward_call_plan("tenon_conv_forward_plan", context, params, x, w, c, bias, y,
                                     plan);
}
