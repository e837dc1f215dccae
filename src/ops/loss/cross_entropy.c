/* Argument validation and the families of cross-entropy and its gradient. */
#include "base/shape.h"
#include "ops/loss/internal.h"

#include <math.h>

static const tn_solver *const solvers[] = {&tn_cross_entropy_rows, &tn_cross_entropy_columns,
                                           &tn_cross_entropy_group};

const tn_family tn_cross_entropy_family = {.name = "cross_entropy",
                                           TN_SOLVERS(solvers),
                                           .awkward = tn_cross_entropy_awkward,
                                           .paths = tn_rows_paths};

const tn_family tn_cross_entropy_backward_family = {.name = "cross_entropy_backward",
                                                    TN_SOLVERS(solvers),
                                                    .awkward = tn_cross_entropy_awkward,
                                                    .paths = tn_rows_paths};

/* Checks the shape of an operand: that of the logits or, for operands with one element per row,
 * that shape without the axis. */
static tenon_status check_shape(const char *caller, const tn_argument *operand,
                                const tenon_tensor *logits, uint32_t axis, bool has_axis)
{
    tenon_tensor wanted = *logits;
    if (!has_axis) {
        wanted.rank--;
        for (uint32_t d = axis; d < wanted.rank; d++)
            wanted.shape[d] = logits->shape[d + 1];
    }
    return tn_shape_check(caller, operand->name, operand->view, wanted.rank, wanted.shape);
}

static tenon_status check_views(const tn_call *call, int32_t axis_given, uint32_t *axis)
{
    const char *caller = call->caller;
    const tn_argument *operands = call->operands;
    const tenon_tensor *logits = operands[CROSS_ENTROPY_LOGITS].view,
                       *labels = operands[CROSS_ENTROPY_LABELS].view;
    TN_TRY(tn_float_check(caller, "logits", call->context, logits->dtype));
    if (labels->dtype != TENON_DTYPE_I32)
        return tn_fail(TENON_ERROR_UNSUPPORTED, "%s: labels: type is %s, must be i32", caller,
                       tenon_dtype_string(labels->dtype));
    TN_TRY(tn_axis_check(caller, axis_given, logits->rank, "logits", axis));
    if (logits->shape[*axis] == 0)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: logits: axis %u has size 0, must have at least one class", caller,
                       *axis);
    for (uint32_t i = 1; i < call->operand_count; i++) {
        if (operands[i].view == NULL)
            continue;
        if (i != CROSS_ENTROPY_LABELS)
            TN_TRY(tn_same_dtype_check(caller, operands[i].name, operands[i].view, "logits",
                                       logits->dtype));
        TN_TRY(check_shape(caller, &operands[i], logits, *axis, i == CROSS_ENTROPY_DLOGITS));
    }
    return TENON_OK;
}

tenon_status tn_cross_entropy_prepare(const void *given, tn_call *call, tn_problem *problem,
                                      bool *empty)
{
    const tenon_cross_entropy_params *params = given;
    const bool backward = call->operand_count == CROSS_ENTROPY_BACKWARD_OPERANDS;
    const bool ignores = (params->flags & TENON_CROSS_ENTROPY_IGNORE) != 0;
    const tenon_tensor *views[TENON_ROWS_VIEWS] = {0};
    tn_rows_problem *p = (tn_rows_problem *)problem;
    uint32_t axis = 0;
    TN_TRY(
        tn_number_check(call->caller, "scale", params->scale, -(double)INFINITY, (double)INFINITY));
    TN_TRY(check_views(call, params->axis, &axis));
    for (uint32_t i = 0; i < call->operand_count; i++)
        views[i] = call->operands[i].view;
    *empty = tn_tensor_empty(views[CROSS_ENTROPY_LOGITS]);
    tn_rows_canonicalize(views, call->operand_count,
                         backward ? CROSS_ENTROPY_DLOGITS : CROSS_ENTROPY_LOGITS, axis, p);
    p->backward = backward;
    p->flag = (ignores ? CROSS_ENTROPY_IGNORES : 0) |
              (backward && views[CROSS_ENTROPY_DLOSS] != NULL ? CROSS_ENTROPY_HAS_DLOSS : 0);
    p->value = ignores ? params->ignore_label : 0;
    call->scalars[TN_SCALAR_ROWS] = params->scale;
    return TENON_OK;
}
