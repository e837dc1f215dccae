/* Argument validation of tenon_reduce and tenon_moments, and their family. */
#include "base/shape.h"
#include "ops/reduce/internal.h"

#include <inttypes.h>

_Static_assert((int)TENON_REDUCE_SUM == REDUCTION_SUM && (int)TENON_REDUCE_MAX == REDUCTION_MAX &&
                   (int)TENON_REDUCE_ARGMIN == REDUCTION_ARGMIN &&
                   (int)TENON_REDUCE_SUM_SQUARES == REDUCTION_SUM_SQUARES &&
                   (int)TENON_REDUCE_VARIANCE == REDUCTION_VARIANCE,
               "kernels take the numbers of the public kinds");

static const tn_solver *const solvers[] = {&tn_reduction_rows, &tn_reduction_columns,
                                           &tn_reduction_split_rows, &tn_reduction_split_columns,
                                           &tn_reduction_group};

const tn_family tn_reduce_family = {.name = "reduce",
                                    TN_SOLVERS(solvers),
                                    .awkward = tn_reduce_awkward,
                                    .paths = tn_reduction_paths};

const char *const tn_reduce_words[] = {"sum",    "mean",        "max",  "min",      "argmax",
                                       "argmin", "sum_squares", "norm", "variance", NULL};

static bool is_place(uint32_t kind)
{
    return kind == TENON_REDUCE_ARGMAX || kind == TENON_REDUCE_ARGMIN;
}

static tenon_status reduce_check_params(const char *caller, const tenon_reduce_params *params)
{
    TN_TRY(tn_kind_check(caller, "kind", params->kind, TENON_REDUCE_VARIANCE, "tenon_reduce_kind"));
    return tn_reserved_check(caller, params->reserved);
}

/* Checks the number of elements along the axes. */
static tenon_status check_size(const char *caller, const tenon_reduce_params *params, int64_t size)
{
    uint32_t kind = params->kind;
    bool may_be_empty =
        kind == TENON_REDUCE_SUM || kind == TENON_REDUCE_SUM_SQUARES || kind == TENON_REDUCE_NORM;
    if (size == 0 && !may_be_empty)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: x: has no elements along the axes, must have at least one for %s",
                       caller, tn_reduce_words[kind]);
    if (kind == TENON_REDUCE_VARIANCE && size <= params->correction)
        return tn_fail(
            TENON_ERROR_INVALID_ARGUMENT,
            "%s: params: correction is %u, must be less than the number of elements along the "
            "axes, %" PRId64,
            caller, params->correction, size);
    if (is_place(kind) && size > INT64_C(1) + INT32_MAX)
        return tn_fail(TENON_ERROR_UNSUPPORTED,
                       "%s: y: i32 is too small for the %" PRId64 " elements along the axes",
                       caller, size);
    return TENON_OK;
}

static tenon_status check_result(const tn_call *call, const tenon_reduce_params *params, uint32_t i,
                                 const tn_axes *axes)
{
    const char *caller = call->caller, *name = call->operands[i].name;
    const tenon_tensor *view = call->operands[i].view, *x = call->operands[REDUCE_X].view;
    if (!is_place(params->kind))
        TN_TRY(tn_reduced_dtype_check(caller, name, view, x));
    else if (view->dtype != TENON_DTYPE_I32)
        return tn_fail(TENON_ERROR_UNSUPPORTED, "%s: %s: type is %s, must be i32", caller, name,
                       tenon_dtype_string(view->dtype));
    return tn_reduced_shape_check(caller, name, view, x, axes);
}

/* The operands are x and y, or x, mean and variance. */
tenon_status tn_reduce_prepare(const void *given, tn_call *call, tn_problem *problem, bool *empty)
{
    const char *caller = call->caller;
    const tenon_reduce_params *params = given;
    const tn_argument *operands = call->operands;
    const tenon_tensor *x = operands[REDUCE_X].view;
    const bool moments = call->operand_count == MOMENTS_OPERANDS;
    const uint32_t y = call->operand_count - 1;
    tn_reduction_problem *p = (tn_reduction_problem *)problem;
    tn_axes axes;
    TN_TRY(reduce_check_params(caller, params));
    if (moments && params->kind != TENON_REDUCE_VARIANCE)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: params: kind is %s, must be variance",
                       caller, tn_reduce_words[params->kind]);
    TN_TRY(tn_float_check(caller, "x", call->context, x->dtype));
    TN_TRY(tn_axes_check(caller, params->axis_count, params->axes, x->rank, "x", &axes));
    for (uint32_t i = REDUCE_Y; i <= y; i++)
        TN_TRY(check_result(call, params, i, &axes));
    if (moments)
        TN_TRY(tn_same_dtype_check(caller, "variance", operands[MOMENTS_VARIANCE].view, "mean",
                                   operands[MOMENTS_MEAN].view->dtype));
    TN_TRY(check_size(caller, params, tn_axes_size(&axes, x)));
    const tenon_tensor *const views[REDUCTION_VIEWS] = {
        [REDUCTION_X] = x,
        [REDUCTION_Y] = operands[y].view,
        [REDUCTION_MEANS] = moments ? operands[MOMENTS_MEAN].view : NULL};
    const uint32_t numbers[REDUCTION_VIEWS] = {
        [REDUCTION_X] = REDUCE_X, [REDUCTION_Y] = y, [REDUCTION_MEANS] = MOMENTS_MEAN};
    tn_reduction_canonicalize(params->kind, &axes, views, numbers, p);
    if (params->kind == TENON_REDUCE_VARIANCE)
        p->divisor -= params->correction;
    *empty = tn_tensor_empty(operands[y].view);
    return TENON_OK;
}
