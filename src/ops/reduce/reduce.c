/* Argument validation of tenon_reduce and tenon_moments, and their family. */
#include "base/dtype.h"
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

const char *const tn_reduce_words[] = {
    "sum",   "mean",        "max",         "min",         "argmax",  "argmin", "sum_squares",
    "norm",  "variance",    "product",     "sum_abs",     "max_abs", "any",    "all",
    "count", "log_sum_exp", "argmax_last", "argmin_last", NULL};

/* Public kinds after the variance, as a kind of the kernels and a variant. */
static const struct {
    uint32_t kind, variant;
} forms[] = {
    [TENON_REDUCE_PRODUCT] = {REDUCTION_SUM, REDUCTION_PRODUCT},
    [TENON_REDUCE_SUM_ABS] = {REDUCTION_SUM, REDUCTION_ABS},
    [TENON_REDUCE_MAX_ABS] = {REDUCTION_MAX, REDUCTION_ABS},
    [TENON_REDUCE_ANY] = {REDUCTION_ANY, REDUCTION_COUNT},
    [TENON_REDUCE_ALL] = {REDUCTION_ALL, REDUCTION_COUNT},
    [TENON_REDUCE_COUNT] = {REDUCTION_TOTAL, REDUCTION_COUNT},
    [TENON_REDUCE_LOG_SUM_EXP] = {REDUCTION_MAX, REDUCTION_LOG_SUM_EXP},
    [TENON_REDUCE_ARGMAX_LAST] = {REDUCTION_ARGMAX, REDUCTION_LAST},
    [TENON_REDUCE_ARGMIN_LAST] = {REDUCTION_ARGMIN, REDUCTION_LAST},
};
_Static_assert(sizeof forms / sizeof *forms == TN_REDUCE_KINDS, "every variant has a public kind");

uint32_t tn_reduce_kind_of(const tn_reduction_problem *problem)
{
    for (uint32_t kind = TENON_REDUCE_PRODUCT; kind < TN_REDUCE_KINDS; kind++)
        if (forms[kind].kind == problem->kind && forms[kind].variant == problem->variant)
            return kind;
    return problem->kind;
}

bool tn_reduce_is_place(uint32_t kind)
{
    return kind == TENON_REDUCE_ARGMAX || kind == TENON_REDUCE_ARGMIN ||
           kind == TENON_REDUCE_ARGMAX_LAST || kind == TENON_REDUCE_ARGMIN_LAST;
}

bool tn_reduce_counts(uint32_t kind)
{
    return kind >= TENON_REDUCE_ANY && kind <= TENON_REDUCE_COUNT;
}

tenon_dtype tn_reduce_result(uint32_t kind, tenon_dtype x)
{
    return tn_reduce_is_place(kind) || kind == TENON_REDUCE_COUNT ? TENON_DTYPE_I32
           : tn_reduce_counts(kind)                               ? TENON_DTYPE_BOOL
                                                                  : x;
}

/* Returns true if the kind is defined without elements. */
static bool may_be_empty(uint32_t kind)
{
    return kind == TENON_REDUCE_SUM || kind == TENON_REDUCE_SUM_SQUARES ||
           kind == TENON_REDUCE_NORM || kind == TENON_REDUCE_PRODUCT ||
           kind == TENON_REDUCE_SUM_ABS || kind == TENON_REDUCE_LOG_SUM_EXP ||
           tn_reduce_counts(kind);
}

static tenon_status reduce_check_params(const char *caller, const tenon_reduce_params *params)
{
    TN_TRY(tn_kind_check(caller, "kind", params->kind, TN_REDUCE_KINDS - 1, "tenon_reduce_kind"));
    return tn_reserved_check(caller, params->reserved);
}

/* Checks the number of elements along the axes. */
static tenon_status check_size(const char *caller, const tenon_reduce_params *params, int64_t size)
{
    uint32_t kind = params->kind;
    if (size == 0 && !may_be_empty(kind))
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: x: has no elements along the axes, must have at least one for %s",
                       caller, tn_reduce_words[kind]);
    if (kind == TENON_REDUCE_VARIANCE && size <= params->correction)
        return tn_fail(
            TENON_ERROR_INVALID_ARGUMENT,
            "%s: params: correction is %u, must be less than the number of elements along the "
            "axes, %" PRId64,
            caller, params->correction, size);
    if ((tn_reduce_is_place(kind) && size > INT64_C(1) + INT32_MAX) ||
        (tn_reduce_counts(kind) && size > INT32_MAX))
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
    const tenon_dtype wanted = tn_reduce_result(params->kind, (tenon_dtype)x->dtype);
    if (!tn_reduce_is_place(params->kind) && !tn_reduce_counts(params->kind))
        TN_TRY(tn_reduced_dtype_check(caller, name, view, x));
    else if (view->dtype != wanted &&
             !(wanted == TENON_DTYPE_BOOL && view->dtype == TENON_DTYPE_U8) &&
             !(wanted == TENON_DTYPE_I32 && view->dtype == TENON_DTYPE_I64))
        return tn_fail(TENON_ERROR_UNSUPPORTED, "%s: %s: type is %s, must be %s", caller, name,
                       tenon_dtype_string(view->dtype), tenon_dtype_string(wanted));
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
    if (!tn_reduce_counts(params->kind) || tn_dtype_is_float((tenon_dtype)x->dtype))
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
    const bool is_variant = params->kind > TENON_REDUCE_VARIANCE;
    tn_reduction_canonicalize(is_variant ? forms[params->kind].kind : params->kind, &axes, views,
                              numbers, p);
    p->variant = is_variant ? forms[params->kind].variant : REDUCTION_PLAIN;
    if (params->kind == TENON_REDUCE_VARIANCE)
        p->divisor -= params->correction;
    *empty = tn_tensor_empty(operands[y].view);
    return TENON_OK;
}
