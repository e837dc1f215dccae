/* Argument validation and the solver table of tenon_conv_forward. */
#include "base/shape.h"
#include "ops/conv/problem/gradient.h"

static const tn_solver *const solvers[] = {
    &tn_conv_pointwise,      &tn_conv_depthwise,       &tn_conv_implicit_packed,
    &tn_conv_implicit_tiled, &tn_conv_implicit_matrix, &tn_conv_implicit_wgmma,
    &tn_conv_winograd2,      &tn_conv_winograd4,       &tn_conv_winograd2_gemm,
    &tn_conv_winograd4_gemm, &tn_conv_im2col_gemm,     &tn_conv_cpu_direct,
    &tn_conv_direct};

const tn_family tn_conv_family = {
    .name = "conv", TN_SOLVERS(solvers), .awkward = tn_conv_awkward, .paths = tn_conv_paths};

static const tn_solver *const post_solvers[] = {&tn_conv_pointwise, &tn_conv_two_steps,
                                                &tn_conv_direct};

const tn_family tn_conv_post_family = {.name = "conv_post",
                                       TN_SOLVERS(post_solvers),
                                       .awkward = tn_conv_awkward,
                                       .paths = tn_conv_paths};

tenon_status tn_conv_prepare_post(tn_call *call, conv_problem *problem)
{
    const tn_argument *o = call->operands;
    const tenon_tensor *const terms[POST_TERMS] = {o[CONV_POST + POST_SCALE].view,
                                                   o[CONV_POST + POST_SHIFT].view,
                                                   o[CONV_POST + POST_RESIDUAL].view};
    TN_TRY(tn_conv_take_post(call->caller, terms, o[CONV_Y].view, problem));
    problem->flags |= tn_epilogue_post_in_place(call, CONV_POST + POST_RESIDUAL, CONV_Y);
    return TENON_OK;
}

tenon_status tn_conv_prepare(const void *given, tn_call *call, tn_problem *head, bool *empty)
{
    const char *caller = call->caller;
    const tenon_conv_params *params = given;
    const tn_argument *o = call->operands;
    const tenon_tensor *y = o[CONV_Y].view;
    conv_problem *problem = (conv_problem *)head;
    TN_TRY(tn_conv_check_call(call, &params->epilogue));
    TN_TRY(tn_conv_canonicalize(caller, params, o[CONV_X].view, o[CONV_W].view, o[CONV_C].view,
                                o[CONV_BIAS].view, y, problem));
    TN_TRY(tn_conv_prepare_post(call, problem));
    problem->exact = (params->flags & TENON_CONV_EXACT) != 0;
    *empty = tn_tensor_empty(y);
    if (params->epilogue.beta == 0)
        call->operands[CONV_C].view = NULL; /* not read: c may have no memory */
    tn_epilogue_scalars(&params->epilogue, call->scalars);
    return TENON_OK;
}
