/* Argument validation of tenon_softmax_forward and tenon_softmax_backward, and their families. */
#include "base/shape.h"
#include "ops/softmax/internal.h"

static const tn_solver *const solvers[] = {&tn_softmax_rows, &tn_softmax_columns,
                                           &tn_softmax_group};

const tn_family tn_softmax_family = {
    .name = "softmax", TN_SOLVERS(solvers), .awkward = tn_softmax_awkward, .paths = tn_rows_paths};

const tn_family tn_softmax_backward_family = {.name = "softmax_backward",
                                              TN_SOLVERS(solvers),
                                              .awkward = tn_softmax_awkward,
                                              .paths = tn_rows_paths};

/* Checks that all operands have the type and shape of the first. */
static tenon_status check_views(const tn_call *call)
{
    char s[160], s0[160];
    const char *caller = call->caller, *name0 = call->operands[0].name;
    const tenon_tensor *first = call->operands[0].view;
    TN_TRY(tn_float_check(caller, name0, call->context, first->dtype));
    for (uint32_t i = 1; i < call->operand_count; i++) {
        const tenon_tensor *view = call->operands[i].view;
        TN_TRY(tn_same_dtype_check(caller, call->operands[i].name, view, name0, first->dtype));
        if (!tn_tensor_same_shape(first, view))
            return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                           "%s: %s: shape is %s, must be that of %s, %s", caller,
                           call->operands[i].name, tn_shape_text(view->rank, view->shape, s), name0,
                           tn_shape_text(first->rank, first->shape, s0));
    }
    return TENON_OK;
}

tenon_status tn_softmax_prepare(const void *given, tn_call *call, tn_problem *problem, bool *empty)
{
    const char *caller = call->caller;
    const tenon_softmax_params *params = given;
    const tenon_tensor *views[TENON_ROWS_VIEWS] = {0}, *x = call->operands[0].view;
    const bool backward = call->operand_count == SOFTMAX_BACKWARD_OPERANDS;
    tn_rows_problem *p = (tn_rows_problem *)problem;
    uint32_t axis = 0;
    TN_TRY(tn_reserved_check(caller, params->reserved));
    TN_TRY(check_views(call));
    for (uint32_t i = 0; i < call->operand_count; i++)
        views[i] = call->operands[i].view;
    TN_TRY(tn_axis_check(caller, params->axis, x->rank, call->operands[0].name, &axis));
    *empty = tn_tensor_empty(x);
    tn_rows_canonicalize(views, call->operand_count, call->operand_count - 1, axis, p);
    p->backward = backward;
    p->flag = params->flags & TENON_SOFTMAX_LOG;
    return TENON_OK;
}
