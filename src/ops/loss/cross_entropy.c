/* tenon_cross_entropy_forward and tenon_cross_entropy_backward: the public entries, and the
 * families. */
#include "base/shape.h"
#include "ops/loss/internal.h"

#include <math.h>

TENON_API tenon_cross_entropy_params tenon_cross_entropy_params_default(void)
{
    return (tenon_cross_entropy_params)TENON_CROSS_ENTROPY_PARAMS_INIT;
}

static const tn_solver *const solvers[] = {&tn_cross_entropy_rows, &tn_cross_entropy_columns,
                                           &tn_cross_entropy_group};

const tn_family tn_cross_entropy_family = {.name = "cross_entropy",
                                           .solvers = solvers,
                                           .solver_count = sizeof solvers / sizeof *solvers,
                                           .self_check = tn_cross_entropy_self_check,
                                           .paths = tn_rows_paths};

const tn_family tn_cross_entropy_backward_family = {.name = "cross_entropy_backward",
                                                    .solvers = solvers,
                                                    .solver_count =
                                                        sizeof solvers / sizeof *solvers,
                                                    .self_check = tn_cross_entropy_self_check,
                                                    .paths = tn_rows_paths};

void tn_cross_entropy_fill(const tenon_cross_entropy_params *params, bool backward, bool has_dloss,
                           tn_rows_problem *problem)
{
    bool ignores = (params->flags & TENON_CROSS_ENTROPY_IGNORE) != 0;
    problem->backward = backward;
    problem->flag =
        (ignores ? CROSS_ENTROPY_IGNORES : 0) | (has_dloss ? CROSS_ENTROPY_HAS_DLOSS : 0);
    problem->value = ignores ? params->ignore_label : 0;
}

/* The shape of an operand beside the logits: theirs, or for what has one element a row theirs
 * without the axis. */
static tenon_status check_shape(const char *operation, const tn_argument *operand,
                                const tenon_tensor *logits, uint32_t axis, bool has_axis)
{
    char text[160], wanted_text[160];
    const tenon_tensor *view = operand->view;
    tenon_tensor wanted = *logits;
    if (!has_axis) {
        wanted.rank--;
        for (uint32_t d = axis; d < wanted.rank; d++)
            wanted.shape[d] = logits->shape[d + 1];
    }
    if (!tn_tensor_same_shape(view, &wanted))
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s: shape is %s, must be %s", operation,
                       operand->name, tn_shape_text(view->rank, view->shape, text),
                       tn_shape_text(wanted.rank, wanted.shape, wanted_text));
    return TENON_OK;
}

static tenon_status check_views(tenon_context *context, const tn_call *call, int32_t axis_given,
                                uint32_t *axis)
{
    const char *operation = call->operation;
    const tn_argument *operands = call->operands;
    const tenon_tensor *logits = operands[CROSS_ENTROPY_LOGITS].view,
                       *labels = operands[CROSS_ENTROPY_LABELS].view;
    TN_TRY(tn_tensor_check(operation, "logits", logits));
    TN_TRY(tn_tensor_check(operation, "labels", labels));
    TN_TRY(tn_call_check_views(call));
    TN_TRY(tn_float_check(operation, "logits", context, logits->dtype));
    if (labels->dtype != TENON_DTYPE_I32)
        return tn_fail(TENON_ERROR_UNSUPPORTED, "%s: labels: type is %s, must be i32", operation,
                       tenon_dtype_string(labels->dtype));
    TN_TRY(tn_axis_check(operation, axis_given, logits->rank, "logits", axis));
    if (logits->shape[*axis] == 0)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: logits: axis %u has size 0, there must be a class", operation, *axis);
    for (uint32_t i = 1; i < call->operand_count; i++) {
        if (operands[i].view == NULL)
            continue;
        if (i != CROSS_ENTROPY_LABELS)
            TN_TRY(tn_same_dtype_check(operation, operands[i].name, operands[i].view, "logits",
                                       logits->dtype));
        TN_TRY(check_shape(operation, &operands[i], logits, *axis, i == CROSS_ENTROPY_DLOGITS));
    }
    return TENON_OK;
}

static tenon_status prepare(tenon_context *context, const tn_family *family,
                            const tenon_cross_entropy_params *params, tn_call *call,
                            tn_rows_problem *problem, bool *empty)
{
    const bool backward = family == &tn_cross_entropy_backward_family;
    const tenon_tensor *views[TENON_ROWS_VIEWS] = {0};
    uint32_t axis = 0;
    TN_TRY(tn_params_check(call->operation, params->struct_size, sizeof *params, params->flags,
                           TENON_CROSS_ENTROPY_IGNORE));
    TN_TRY(tn_number_check(call->operation, "scale", params->scale, -(double)INFINITY,
                           (double)INFINITY));
    TN_TRY(check_views(context, call, params->axis, &axis));
    for (uint32_t i = 0; i < call->operand_count; i++)
        views[i] = call->operands[i].view;
    *empty = tn_tensor_empty(views[CROSS_ENTROPY_LOGITS]);
    tn_rows_canonicalise(views, call->operand_count,
                         backward ? CROSS_ENTROPY_DLOGITS : CROSS_ENTROPY_LOGITS, axis, problem);
    tn_cross_entropy_fill(params, backward, backward && views[CROSS_ENTROPY_DLOSS] != NULL,
                          problem);
    call->scalars[TN_SCALAR_ROWS] = params->scale;
    return tn_solver_force(call->operation, family, params->solver, &problem->head);
}

static tenon_status run(tenon_stream *stream, const tn_family *family,
                        const tenon_cross_entropy_params *params, tn_call *call,
                        const tenon_sync *sync)
{
    static const tenon_cross_entropy_params defaults = TENON_CROSS_ENTROPY_PARAMS_INIT;
    tn_rows_problem problem;
    bool empty = false;
    TN_TRY(tn_stream_check(call->operation, stream));
    TN_TRY(prepare(stream->context, family, params != NULL ? params : &defaults, call, &problem,
                   &empty));
    return tn_call_run(stream, family, empty ? NULL : &problem.head, call, sync);
}

static tenon_status plan_call(tenon_context *context, const tn_family *family,
                              const tenon_cross_entropy_params *params, tn_call *call,
                              tenon_plan **plan)
{
    static const tenon_cross_entropy_params defaults = TENON_CROSS_ENTROPY_PARAMS_INIT;
    tn_rows_problem problem;
    bool empty = false;
    TN_TRY(tn_plan_check(call->operation, context, plan));
    TN_TRY(prepare(context, family, params != NULL ? params : &defaults, call, &problem, &empty));
    return tn_call_plan(context, family, empty ? NULL : &problem.head, call, plan);
}

static tn_call forward_call(const char *operation, const tenon_tensor *logits,
                            const tenon_tensor *labels, const tenon_tensor *loss)
{
    return (tn_call){.operation = operation,
                     .operands = {{"logits", logits, TN_INPUT},
                                  {"labels", labels, TN_INPUT},
                                  {"loss", loss, TN_OUTPUT}},
                     .operand_count = CROSS_ENTROPY_OPERANDS};
}

static tn_call backward_call(const char *operation, const tenon_tensor *logits,
                             const tenon_tensor *labels, const tenon_tensor *dloss,
                             const tenon_tensor *dlogits)
{
    return (tn_call){.operation = operation,
                     .operands = {{"logits", logits, TN_INPUT_OR_SAME},
                                  {"labels", labels, TN_INPUT},
                                  {"dloss", dloss, TN_INPUT},
                                  {"dlogits", dlogits, TN_OUTPUT}},
                     .operand_count = CROSS_ENTROPY_BACKWARD_OPERANDS};
}

TENON_API tenon_status tenon_cross_entropy_forward(tenon_stream *stream,
                                                   const tenon_cross_entropy_params *params,
                                                   const tenon_tensor *logits,
                                                   const tenon_tensor *labels,
                                                   const tenon_tensor *loss, const tenon_sync *sync)
{
    tn_call call = forward_call("tenon_cross_entropy_forward", logits, labels, loss);
    return run(stream, &tn_cross_entropy_family, params, &call, sync);
}

TENON_API tenon_status tenon_cross_entropy_forward_plan(tenon_context *context,
                                                        const tenon_cross_entropy_params *params,
                                                        const tenon_tensor *logits,
                                                        const tenon_tensor *labels,
                                                        const tenon_tensor *loss, tenon_plan **plan)
{
    tn_call call = forward_call("tenon_cross_entropy_forward_plan", logits, labels, loss);
    return plan_call(context, &tn_cross_entropy_family, params, &call, plan);
}

TENON_API tenon_status tenon_cross_entropy_backward(
    tenon_stream *stream, const tenon_cross_entropy_params *params, const tenon_tensor *logits,
    const tenon_tensor *labels, const tenon_tensor *dloss, const tenon_tensor *dlogits,
    const tenon_sync *sync)
{
    tn_call call = backward_call("tenon_cross_entropy_backward", logits, labels, dloss, dlogits);
    return run(stream, &tn_cross_entropy_backward_family, params, &call, sync);
}

TENON_API tenon_status tenon_cross_entropy_backward_plan(
    tenon_context *context, const tenon_cross_entropy_params *params, const tenon_tensor *logits,
    const tenon_tensor *labels, const tenon_tensor *dloss, const tenon_tensor *dlogits,
    tenon_plan **plan)
{
    tn_call call =
        backward_call("tenon_cross_entropy_backward_plan", logits, labels, dloss, dlogits);
    return plan_call(context, &tn_cross_entropy_backward_family, params, &call, plan);
}
