/* Argument validation of tenon_resize_forward and tenon_resize_backward, and their families. */
#include "base/shape.h"
#include "ops/resize/internal.h"

static const tn_solver *const solvers[] = {&tn_resize_rows, &tn_resize_items};
static const tn_solver *const backward_solvers[] = {&tn_resize_backward_rows,
                                                    &tn_resize_backward_items};

/* Bits for the mode, the flags, normalized weights, and images with contiguous channels. */
static uint64_t resize_paths(const tn_problem *problem)
{
    const resize_problem *p = (const resize_problem *)problem;
    const uint32_t by_channels = p->x[1] == 1 && p->x[4] != 1;
    uint32_t normalized = 0;
    for (int d = 0; d < 3; d++)
        normalized |= p->map[d].is_normalized != 0;
    return tn_paths_of_flags(1U << p->mode, 1U << p->mode) |
           tn_paths_of_flags(p->flags << 4, (RESIZE_EXCLUDES | RESIZE_EXTRAPOLATES) << 4) |
           tn_paths_of_flags(normalized << 8 | by_channels << 9, 3U << 8);
}

const tn_family tn_resize_family = {
    .name = "resize", TN_SOLVERS(solvers), .awkward = tn_resize_awkward, .paths = resize_paths};

const tn_family tn_resize_backward_family = {.name = "resize_backward",
                                             TN_SOLVERS(backward_solvers),
                                             .awkward = tn_resize_backward_awkward,
                                             .paths = resize_paths};

static void resize_set_scalars(const tenon_resize_params *params, tn_call *call)
{
    call->scalars[RESIZE_SCALAR_CUBIC] = params->cubic_a;
    call->scalars[RESIZE_SCALAR_EXTRAPOLATION] = params->extrapolation;
}

tenon_status tn_resize_prepare(const void *given, tn_call *call, tn_problem *problem, bool *empty)
{
    const char *caller = call->caller;
    const tenon_tensor *x = call->operands[RESIZE_X].view, *y = call->operands[RESIZE_Y].view;
    const resize_views views = {"x", "y", x, y};
    TN_TRY(tn_float_check(caller, "x", call->context, x->dtype));
    TN_TRY(tn_same_dtype_check(caller, "y", y, "x", x->dtype));
    TN_TRY(tn_resize_canonicalize(caller, given, &views, (resize_problem *)problem));
    resize_set_scalars(given, call);
    *empty = tn_tensor_empty(y);
    return TENON_OK;
}

tenon_status tn_resize_backward_prepare(const void *given, tn_call *call, tn_problem *problem,
                                        bool *empty)
{
    const char *caller = call->caller;
    const tenon_tensor *dy = call->operands[RESIZE_BACKWARD_DY].view,
                       *dx = call->operands[RESIZE_BACKWARD_DX].view;
    const resize_views views = {"dx", "dy", dx, dy};
    resize_problem *p = (resize_problem *)problem;
    TN_TRY(tn_float_check(caller, "dy", call->context, dy->dtype));
    TN_TRY(tn_same_dtype_check(caller, "dx", dx, "dy", dy->dtype));
    TN_TRY(tn_resize_canonicalize(caller, given, &views, p));
    p->is_backward = true;
    resize_set_scalars(given, call);
    *empty = tn_tensor_empty(dx);
    return TENON_OK;
}
