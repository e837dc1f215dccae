/* Argument validation of convolutions whose images and filters have other types than the result,
 * their family, reference and awkward cases, and its solver conv_mixed/converted. */
#include "ops/conv/mixed.h"

#include "base/shape.h"
#include "check/awkward.h"
#include "dispatch/self_check.h"
#include "ops/registry.h"

#include <string.h>

static const tn_solver *const solvers[] = {&tn_conv_mixed_converted};

static bool mixed_awkward(const tn_problem *problem, const tn_choice *choice, uint32_t number,
                          tn_case *c)
{
    const conv_mixed_problem *like = (const conv_mixed_problem *)problem;
    if (number > 0 || !tn_conv_awkward(problem, choice, number, c))
        return false;
    c->operation = &tn_operation_conv_mixed;
    for (int x = CONV_X; x <= CONV_W; x++)
        c->views[x].dtype = (tenon_dtype)like->types[x];
    return true;
}

const tn_family tn_conv_mixed_family = {
    .name = "conv_mixed", TN_SOLVERS(solvers), .awkward = mixed_awkward, .paths = tn_conv_paths};

tenon_status tn_conv_mixed_prepare(const void *given, tn_call *call, tn_problem *problem,
                                   bool *empty)
{
    const tenon_conv_params *params = given;
    const char *caller = call->caller;
    const tn_argument *o = call->operands;
    const tenon_tensor *y = o[CONV_Y].view;
    conv_mixed_problem *p = (conv_mixed_problem *)problem;
    TN_TRY(tn_mixed_check(caller, &o[CONV_X], &o[CONV_W], &o[CONV_Y]));
    TN_TRY(tn_epilogue_check(caller, &params->epilogue, o[CONV_C].view));
    TN_TRY(tn_epilogue_refuse_post(caller, &params->epilogue));
    for (int i = CONV_C; i < CONV_OPERANDS; i++)
        TN_TRY(tn_same_dtype_check(caller, o[i].name, o[i].view, "y", y->dtype));
    memset(p, 0, sizeof *p);
    TN_TRY(tn_conv_canonicalize(caller, params, o[CONV_X].view, o[CONV_W].view, o[CONV_C].view,
                                o[CONV_BIAS].view, y, &p->conv));
    p->conv.head.size = sizeof *p;
    p->conv.exact = (params->flags & TENON_CONV_EXACT) != 0;
    for (int x = CONV_X; x <= CONV_W; x++)
        p->types[x] = o[x].view->dtype;
    *empty = tn_tensor_empty(y);
    if (params->epilogue.beta == 0)
        call->operands[CONV_C].view = NULL; /* not read: c may have no memory */
    tn_epilogue_scalars(&params->epilogue, call->scalars);
    return TENON_OK;
}

/* Any solver of conv may compute the result; conv/winograd4 has the largest bound. */
bool tn_conv_mixed_reference(const void *given, const tenon_tensor *const *v, tn_bounded *expected)
{
    tenon_conv_params params = *(const tenon_conv_params *)given;
    params.solver = (params.flags & TENON_CONV_EXACT) == 0 ? "conv/winograd4" : NULL;
    return tn_conv_reference(&params, v, expected);
}

/* Returns the images or the filters as a view with five dimensions. */
static tenon_tensor view_of(const conv_mixed_problem *p, int operand)
{
    const conv_problem *c = &p->conv;
    const bool is_x = operand == CONV_X;
    tenon_tensor view = {.dtype = (tenon_dtype)p->types[operand], .rank = CONV_RANK};
    view.shape[0] = is_x ? c->n : c->groups * c->k;
    view.shape[1] = is_x ? c->groups * c->c : c->c;
    memcpy(view.shape + 2, is_x ? c->window.size : c->window.filter, 3 * sizeof *view.shape);
    memcpy(view.stride, is_x ? c->x : c->w, sizeof c->x);
    return view;
}

/* Makes the convolution of the copies, which are operands of their own numbers. */
static conv_problem convert(const conv_mixed_problem *p, tn_widened_factors *copies)
{
    conv_problem conv = p->conv;
    tn_problem_begin(&conv.head, sizeof conv.head);
    conv.head.size = sizeof conv;
    *copies = (tn_widened_factors){.count = 0};
    for (int x = CONV_X; x <= CONV_W && (conv.flags & CONV_SKIP_XW) == 0; x++) {
        const tenon_tensor view = view_of(p, x);
        if (p->types[x] == conv.dtype)
            continue;
        const tenon_tensor copy = tn_widen(copies, &view, (uint16_t)x);
        memcpy(x == CONV_X ? conv.x : conv.w, copy.stride, sizeof conv.x);
    }
    conv.head.workspace_limit = tn_frame_room(p->conv.head.workspace_limit, copies->bytes);
    return conv;
}

static const char *mixed_configure(tenon_context *context, const tn_problem *problem,
                                   tn_choice *choice)
{
    const conv_mixed_problem *p = (const conv_mixed_problem *)problem;
    tn_widened_factors copies;
    const conv_problem conv = convert(p, &copies);
    choice->time = tn_problem_time(context, &tn_conv_family, &conv.head) +
                   tn_widen_time(context, &copies, problem->workspace_limit);
    return tn_mixed_choose(p->types, copies.bytes, choice);
}

static tenon_status mixed_launch(const char *caller, tn_recording *recording,
                                 const tn_problem *problem, const tn_choice *choice)
{
    tn_widened_factors copies;
    conv_problem conv = convert((const conv_mixed_problem *)problem, &copies);
    tn_frame frame = tn_frame_after(copies.bytes);
    (void)choice;
    TN_TRY(tn_widen_record(caller, recording, &copies, problem->workspace_limit, &frame));
    if (tn_self_check_runs(recording->context))
        TN_TRY(tn_solver_force(caller, &tn_conv_family, "conv/direct", &conv.head));
    return tn_child_record(caller, recording, &frame, &tn_conv_family, &conv.head);
}

const tn_solver tn_conv_mixed_converted = {
    .name = "converted",
    .serves = "everything: a convolution by a solver of conv, of copies of the images and filters "
              "in f32",
    .needs = "workspace for the copies, and that of the solver",
    .inexact = true, /* as conv/winograd4 is */
    .configure = mixed_configure,
    .launch = mixed_launch};
