/* Argument validation, problems and families of tenon_mse_forward and tenon_mse_backward. */
#include "base/shape.h"
#include "ops/loss/internal.h"

#include <math.h>
#include <string.h>

static const tn_solver *const solvers[] = {&tn_reduction_rows, &tn_reduction_columns,
                                           &tn_reduction_split_rows, &tn_reduction_split_columns,
                                           &tn_reduction_group};
static const tn_solver *const backward_solvers[] = {&tn_mse_backward_rows,
                                                    &tn_mse_backward_columns};

const tn_family tn_mse_family = {
    .name = "mse", TN_SOLVERS(solvers), .awkward = tn_mse_awkward, .paths = tn_reduction_paths};

const tn_family tn_mse_backward_family = {.name = "mse_backward",
                                          TN_SOLVERS(backward_solvers),
                                          .awkward = tn_mse_backward_awkward,
                                          .paths = tn_rows_paths};

/* Fills in the gradient's problem, in which every element is a row. dloss repeats along the axes.
 */
static void canonicalize_backward(const tn_axes *axes,
                                  const tenon_tensor *const view[TENON_ROWS_VIEWS],
                                  tn_rows_problem *problem)
{
    const tenon_tensor *dx = view[MSE_DX];
    tenon_tensor weights = *dx;
    tn_space space = {.rank = dx->rank, .views = TENON_ROWS_VIEWS};
    tn_problem_begin(&problem->head, sizeof *problem);
    if (tn_tensor_empty(dx))
        return;
    memcpy(space.shape, dx->shape, sizeof space.shape);
    memset(weights.stride, 0, sizeof weights.stride);
    for (uint32_t d = 0; view[MSE_DLOSS] != NULL && d < dx->rank; d++)
        weights.stride[d] = tn_reduced_stride(view[MSE_DLOSS], dx, axes, d);
    for (uint32_t v = 0; v < TENON_ROWS_VIEWS; v++)
        memcpy(space.stride[v], v == MSE_DLOSS ? weights.stride : view[v]->stride,
               sizeof *space.stride);
    tn_space_sort(&space, MSE_DX);
    tn_space_collapse(&space);
    if (space.rank == 0)
        space.rank = (uint32_t)(space.shape[0] = 1);
    problem->dtype = dx->dtype;
    problem->views = TENON_ROWS_VIEWS;
    for (uint32_t v = 0; v < TENON_ROWS_VIEWS; v++)
        problem->element_size[v] = view[v] != NULL ? (uint32_t)tenon_dtype_size(dx->dtype) : 0;
    problem->backward = 1;
    problem->flag = view[MSE_DLOSS] != NULL ? MSE_HAS_DLOSS : 0;
    problem->size = 1;
    problem->rank = space.rank;
    memcpy(problem->shape, space.shape, sizeof problem->shape);
    memcpy(problem->stride, space.stride, sizeof problem->stride);
}

double tn_mse_factor(const tenon_mse_params *params, const tn_axes *axes, const tenon_tensor *x)
{
    bool mean = (params->flags & TENON_MSE_MEAN) != 0;
    return mean ? params->scale / (double)tn_axes_size(axes, x) : params->scale;
}

static tenon_status check_views(const tenon_mse_params *params, const tn_call *call, bool backward,
                                tn_axes *axes)
{
    const char *caller = call->caller;
    const tn_argument *operands = call->operands;
    const tenon_tensor *x = operands[MSE_X].view;
    char text[160], x_text[160];
    TN_TRY(tn_float_check(caller, "x", call->context, x->dtype));
    TN_TRY(tn_axes_check(caller, params->axis_count, params->axes, x->rank, "x", axes));
    for (uint32_t i = MSE_T; i < call->operand_count; i++) {
        const tenon_tensor *view = operands[i].view;
        if (view == NULL)
            continue;
        if (i == MSE_LOSS && !backward)
            TN_TRY(tn_reduced_dtype_check(caller, operands[i].name, view, x));
        else
            TN_TRY(tn_same_dtype_check(caller, operands[i].name, view, "x", x->dtype));
        if (i == MSE_LOSS)
            TN_TRY(tn_reduced_shape_check(caller, operands[i].name, view, x, axes));
        else if (!tn_tensor_same_shape(view, x))
            return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                           "%s: %s: shape is %s, must be that of x, %s", caller, operands[i].name,
                           tn_shape_text(view->rank, view->shape, text),
                           tn_shape_text(x->rank, x->shape, x_text));
    }
    return TENON_OK;
}

static tenon_status loss_mse_check_params(const char *caller, const tenon_mse_params *params)
{
    TN_TRY(tn_reserved_check(caller, params->reserved));
    return tn_number_check(caller, "scale", params->scale, -(double)INFINITY, (double)INFINITY);
}

tenon_status tn_mse_prepare(const void *given, tn_call *call, tn_problem *problem, bool *empty)
{
    const tenon_mse_params *params = given;
    const tenon_tensor *x = call->operands[MSE_X].view, *loss = call->operands[MSE_LOSS].view;
    tn_axes axes;
    TN_TRY(loss_mse_check_params(call->caller, params));
    TN_TRY(check_views(params, call, false, &axes));
    if ((params->flags & TENON_MSE_MEAN) != 0 && tn_axes_size(&axes, x) == 0)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: x: has no elements along the axes, must have at least one for a mean",
                       call->caller);
    const tenon_tensor *const views[REDUCTION_VIEWS] = {
        [REDUCTION_X] = x, [REDUCTION_T] = call->operands[MSE_T].view, [REDUCTION_Y] = loss};
    const uint32_t numbers[REDUCTION_VIEWS] = {
        [REDUCTION_X] = MSE_X, [REDUCTION_T] = MSE_T, [REDUCTION_Y] = MSE_LOSS};
    tn_reduction_canonicalize(REDUCTION_SQUARED_ERROR, &axes, views, numbers,
                              (tn_reduction_problem *)problem);
    call->scalars[TN_SCALAR_REDUCTION] = tn_mse_factor(params, &axes, x);
    *empty = tn_tensor_empty(loss);
    return TENON_OK;
}

tenon_status tn_mse_backward_prepare(const void *given, tn_call *call, tn_problem *problem,
                                     bool *empty)
{
    const tenon_mse_params *params = given;
    const tenon_tensor *views[TENON_ROWS_VIEWS];
    tn_axes axes;
    TN_TRY(loss_mse_check_params(call->caller, params));
    TN_TRY(check_views(params, call, true, &axes));
    for (uint32_t i = 0; i < TENON_ROWS_VIEWS; i++)
        views[i] = call->operands[i].view;
    *empty = tn_tensor_empty(views[MSE_DX]);
    canonicalize_backward(&axes, views, (tn_rows_problem *)problem);
    call->scalars[TN_SCALAR_ROWS] = 2 * tn_mse_factor(params, &axes, views[MSE_X]);
    return TENON_OK;
}
