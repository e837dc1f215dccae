/* Argument validation of tenon_compare, tenon_classify, tenon_logic and tenon_where, and their
 * families. */
#include "ops/select/internal.h"

#include "base/dtype.h"
#include "base/shape.h"

static const tn_solver *const compare_solvers[] = {&tn_compare_rows},
                              *const classify_solvers[] = {&tn_classify_rows},
                              *const logic_solvers[] = {&tn_logic_rows},
                              *const where_solvers[] = {&tn_where_rows};

const tn_family tn_compare_family = {.name = "compare",
                                     TN_SOLVERS(compare_solvers),
                                     .awkward = tn_compare_awkward,
                                     .paths = tn_pointwise_paths};
const tn_family tn_classify_family = {.name = "classify",
                                      TN_SOLVERS(classify_solvers),
                                      .awkward = tn_classify_awkward,
                                      .paths = tn_pointwise_paths};
const tn_family tn_logic_family = {.name = "logic",
                                   TN_SOLVERS(logic_solvers),
                                   .awkward = tn_logic_awkward,
                                   .paths = tn_pointwise_paths};
const tn_family tn_where_family = {
    .name = "where", TN_SOLVERS(where_solvers), .awkward = tn_where_awkward};

/* Checks that an operand is a bool. */
static tenon_status check_bool(const char *caller, const tn_argument *argument)
{
    if (argument->view->dtype == TENON_DTYPE_BOOL)
        return TENON_OK;
    return tn_fail(TENON_ERROR_UNSUPPORTED, "%s: %s: type is %s, must be bool", caller,
                   argument->name, tenon_dtype_string(argument->view->dtype));
}

/* Checks that an operand, if present, has the type of `like`. */
static tenon_status check_like(const char *caller, const tn_argument *argument,
                               const tn_argument *like)
{
    return tn_same_dtype_check(caller, argument->name, argument->view, like->name,
                               (tenon_dtype)like->view->dtype);
}

/* Fills in the problem and `empty`. The last operand is the output. */
static tenon_status select_finish(tn_call *call, uint32_t kind, tn_problem *problem, bool *empty)
{
    *empty = tn_tensor_empty(call->operands[call->operand_count - 1].view);
    TN_TRY(tn_pointwise_canonicalize(call, 1, sizeof(tn_pointwise_problem), problem));
    ((tn_pointwise_problem *)problem)->kind = kind;
    return TENON_OK;
}

tenon_status tn_compare_prepare(const void *given, tn_call *call, tn_problem *problem, bool *empty)
{
    const tenon_compare_params *params = given;
    const tn_argument *a = &call->operands[COMPARE_A];
    const char *caller = call->caller;
    TN_TRY(tn_kind_check(caller, "kind", params->kind, TENON_COMPARE_GREATER_EQUAL,
                         "tenon_compare_kind"));
    TN_TRY(tn_reserved_check(caller, params->reserved));
    TN_TRY(tn_moved_check(caller, "a", a->view->dtype));
    if (a->view->dtype == TENON_DTYPE_F64)
        TN_TRY(tn_float_check(caller, "a", call->context, TENON_DTYPE_F64));
    TN_TRY(check_like(caller, &call->operands[COMPARE_B], a));
    TN_TRY(check_bool(caller, &call->operands[COMPARE_D]));
    return select_finish(call, params->kind, problem, empty);
}

tenon_status tn_classify_prepare(const void *given, tn_call *call, tn_problem *problem, bool *empty)
{
    const tenon_classify_params *params = given;
    const tn_argument *x = &call->operands[CLASSIFY_X], *y = &call->operands[CLASSIFY_Y];
    const char *caller = call->caller;
    TN_TRY(
        tn_kind_check(caller, "kind", params->kind, TENON_CLASSIFY_FINITE, "tenon_classify_kind"));
    TN_TRY(tn_reserved_check(caller, params->reserved));
    TN_TRY(tn_float_check(caller, "x", call->context, x->view->dtype));
    TN_TRY(check_bool(caller, y));
    TN_TRY(tn_same_shape_check(caller, y, x));
    return select_finish(call, params->kind, problem, empty);
}

static tenon_status check_logic_type(const char *caller, uint32_t kind, tenon_dtype dtype)
{
    const bool shifts = kind >= TENON_LOGIC_SHIFT_LEFT;
    if (tn_dtype_is_integer(dtype) || (dtype == TENON_DTYPE_BOOL && !shifts))
        return TENON_OK;
    return tn_fail(TENON_ERROR_UNSUPPORTED, "%s: a: type %s is not supported; %s", caller,
                   tenon_dtype_string(dtype),
                   shifts ? "a shift needs an integer type" : "bool and the integer types are");
}

tenon_status tn_logic_prepare(const void *given, tn_call *call, tn_problem *problem, bool *empty)
{
    const tenon_logic_params *params = given;
    const tn_argument *a = &call->operands[LOGIC_A], *b = &call->operands[LOGIC_B];
    const char *caller = call->caller;
    const bool is_unary = params->kind == TENON_LOGIC_NOT;
    TN_TRY(
        tn_kind_check(caller, "kind", params->kind, TENON_LOGIC_SHIFT_RIGHT, "tenon_logic_kind"));
    TN_TRY(tn_reserved_check(caller, params->reserved));
    if ((b->view == NULL) != is_unary)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: b is %s, must %sbe NULL for this kind",
                       caller, is_unary ? "not NULL" : "NULL", is_unary ? "" : "not ");
    TN_TRY(check_logic_type(caller, params->kind, a->view->dtype));
    TN_TRY(check_like(caller, b, a));
    TN_TRY(check_like(caller, &call->operands[LOGIC_D], a));
    return select_finish(call, params->kind, problem, empty);
}

tenon_status tn_where_prepare(const void *given, tn_call *call, tn_problem *problem, bool *empty)
{
    const tn_argument *a = &call->operands[WHERE_A];
    const char *caller = call->caller;
    (void)given;
    TN_TRY(check_bool(caller, &call->operands[WHERE_CONDITION]));
    TN_TRY(tn_moved_check(caller, "a", a->view->dtype));
    TN_TRY(check_like(caller, &call->operands[WHERE_B], a));
    TN_TRY(check_like(caller, &call->operands[WHERE_D], a));
    return select_finish(call, 0, problem, empty);
}
