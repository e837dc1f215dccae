/* Gradients of convolution and transposed convolution: solver families and argument validation. */
#include "ops/conv/problem/gradient.h"

#include "base/shape.h"

#include <string.h>

static const tn_solver *const data_solvers[] = {
    &tn_conv_backward_data_pointwise,       &tn_conv_backward_data_depthwise,
    &tn_conv_backward_data_implicit_packed, &tn_conv_backward_data_implicit_tiled,
    &tn_conv_backward_data_implicit_matrix, &tn_conv_backward_data_implicit_wgmma,
    &tn_conv_backward_data_col2im_gemm,     &tn_conv_backward_data_direct};
static const tn_solver *const filter_solvers[] = {
    &tn_conv_backward_filter_pointwise,       &tn_conv_backward_filter_depthwise,
    &tn_conv_backward_filter_implicit_packed, &tn_conv_backward_filter_implicit_tiled,
    &tn_conv_backward_filter_implicit_matrix, &tn_conv_backward_filter_implicit_wgmma,
    &tn_conv_backward_filter_im2col_gemm,     &tn_conv_backward_filter_direct};

const tn_family tn_conv_backward_data_family = {.name = "conv_backward_data",
                                                TN_SOLVERS(data_solvers),
                                                .awkward = tn_conv_backward_data_awkward,
                                                .paths = tn_conv_paths};

const tn_family tn_conv_transpose_family = {.name = "conv_transpose",
                                            TN_SOLVERS(data_solvers),
                                            .awkward = tn_conv_transpose_awkward,
                                            .paths = tn_conv_paths};

static const tn_solver *const post_solvers[] = {&tn_conv_transpose_two_steps,
                                                &tn_conv_backward_data_direct};
const tn_family tn_conv_transpose_post_family = {.name = "conv_transpose_post",
                                                 TN_SOLVERS(post_solvers),
                                                 .awkward = tn_conv_transpose_awkward,
                                                 .paths = tn_conv_paths};

const tn_family tn_conv_backward_filter_family = {.name = "conv_backward_filter",
                                                  TN_SOLVERS(filter_solvers),
                                                  .awkward = tn_conv_backward_filter_awkward,
                                                  .paths = tn_conv_paths};

const conv_gradient tn_conv_gradient_of_image = {
    {"dy", "w", "dx"}, {CONV_Y, CONV_W, CONV_X}, false};
const conv_gradient tn_conv_gradient_of_filter = {
    {"x", "dy", "dw"}, {CONV_X, CONV_Y, CONV_W}, false};
/* The gradients of a transposed convolution are those of the convolution with x and y exchanged. */
const conv_gradient tn_conv_transpose_gradient_of_x = {
    {"dy", "w", "dx"}, {CONV_X, CONV_W, CONV_Y}, true};
const conv_gradient tn_conv_transpose_gradient_of_filter = {
    {"x", "dy", "dw"}, {CONV_Y, CONV_X, CONV_W}, true};

tenon_status tn_conv_gradient_canonicalize(const char *caller, const conv_gradient *gradient,
                                           const tenon_conv_backward_params *params,
                                           const tenon_tensor *const views[3],
                                           conv_problem *problem)
{
    uint8_t at[CONV_OPERANDS] = {0};
    for (int i = 0; i < 3; i++)
        at[gradient->tensor[i]] = (uint8_t)i;
    const conv_views named = {gradient->name[at[CONV_X]], gradient->name[at[CONV_W]],
                              gradient->name[at[CONV_Y]], views[at[CONV_X]],
                              views[at[CONV_W]],          views[at[CONV_Y]],
                              gradient->is_transposed};
    TN_TRY(tn_conv_take_shapes(caller, params->groups, &params->geometry, &named, problem));
    at[CONV_C] = at[CONV_BIAS] = 2; /* a nonzero beta adds the output's contents */
    memcpy(problem->operand, at, sizeof at);
    if (params->beta == 0)
        return TENON_OK;
    problem->flags = CONV_HAS_C;
    memcpy(problem->res, gradient->tensor[2] == CONV_Y ? problem->y : problem->x,
           sizeof problem->res);
    return TENON_OK;
}

static tenon_status prepare(const conv_gradient *gradient, const tenon_conv_backward_params *params,
                            tn_call *call, tn_problem *problem, bool *empty)
{
    const char *caller = call->caller;
    const tn_argument *operands = call->operands;
    const tenon_tensor *const views[3] = {operands[0].view, operands[1].view, operands[2].view};
    tenon_epilogue epilogue = TENON_EPILOGUE_INIT;
    TN_TRY(tn_float_check(caller, operands[0].name, call->context, views[0]->dtype));
    for (int i = 1; i < 3; i++)
        TN_TRY(tn_same_dtype_check(caller, operands[i].name, views[i], operands[0].name,
                                   views[0]->dtype));
    TN_TRY(tn_conv_gradient_canonicalize(caller, gradient, params, views, (conv_problem *)problem));
    *empty = tn_tensor_empty(views[2]);
    call->operands[2].unread = params->beta == 0;
    epilogue.beta = params->beta;
    tn_epilogue_scalars(&epilogue, call->scalars);
    return TENON_OK;
}

tenon_status tn_conv_backward_data_prepare(const void *params, tn_call *call, tn_problem *problem,
                                           bool *empty)
{
    return prepare(&tn_conv_gradient_of_image, params, call, problem, empty);
}

tenon_status tn_conv_backward_filter_prepare(const void *params, tn_call *call, tn_problem *problem,
                                             bool *empty)
{
    return prepare(&tn_conv_gradient_of_filter, params, call, problem, empty);
}

tenon_status tn_conv_transpose_backward_data_prepare(const void *params, tn_call *call,
                                                     tn_problem *problem, bool *empty)
{
    return prepare(&tn_conv_transpose_gradient_of_x, params, call, problem, empty);
}

tenon_status tn_conv_transpose_backward_filter_prepare(const void *params, tn_call *call,
                                                       tn_problem *problem, bool *empty)
{
    return prepare(&tn_conv_transpose_gradient_of_filter, params, call, problem, empty);
}
