/* Argument validation of tenon_function, and its family. */
#include "base/dtype.h"
#include "base/shape.h"
#include "ops/function/internal.h"

static const tn_solver *const solvers[] = {&tn_function_rows, &tn_function_integers};

const tn_family tn_function_family = {.name = "function",
                                      TN_SOLVERS(solvers),
                                      .awkward = tn_function_awkward,
                                      .paths = tn_pointwise_paths};

const char *const tn_function_words[] = {TENON_UNARY_FUNCTIONS(TN_FUNCTION_WORD) NULL};

#define CHECK_NUMBER(number, NAME, name, is_build, ulps, device, reference)                        \
    _Static_assert((int)TENON_FUNCTION_##NAME == (number), "kernels take the public numbers");
TENON_UNARY_FUNCTIONS(CHECK_NUMBER)

bool tn_function_is_build(uint32_t kind)
{
#define IS_BUILD(number, NAME, name, is_build, ulps, device, reference) is_build,
    static const bool builds[] = {TENON_UNARY_FUNCTIONS(IS_BUILD)};
    return kind < TN_FUNCTION_KINDS && builds[kind];
}

tenon_status tn_function_prepare(const void *given, tn_call *call, tn_problem *problem, bool *empty)
{
    const char *caller = call->caller;
    const tenon_function_params *params = given;
    const tn_argument *x = &call->operands[FUNCTION_X];
    TN_TRY(
        tn_kind_check(caller, "kind", params->kind, TN_FUNCTION_KINDS - 1, "tenon_function_kind"));
    TN_TRY(tn_reserved_check(caller, params->reserved));
    if (params->kind > TENON_FUNCTION_SIGN || !tn_dtype_is_integer((tenon_dtype)x->view->dtype))
        TN_TRY(tn_float_check(caller, x->name, call->context, (tenon_dtype)x->view->dtype));
    TN_TRY(tn_alike_check(call, true));
    *empty = tn_tensor_empty(x->view);
    TN_TRY(tn_pointwise_canonicalize(call, 1, sizeof(tn_pointwise_problem), problem));
    ((tn_pointwise_problem *)problem)->kind = params->kind;
    return TENON_OK;
}
