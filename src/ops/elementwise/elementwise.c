/* Argument validation of tenon_elementwise, and its family. */
#include "ops/elementwise/internal.h"

#include "base/dtype.h"
#include "base/shape.h"

static const tn_solver *const solvers[] = {&tn_elementwise_rows, &tn_elementwise_integers,
                                           &tn_elementwise_function};

#define CHECK_NUMBER(number, NAME, name, is_build, ulps, device, reference)                        \
    _Static_assert((int)TENON_ELEMENTWISE_##NAME == (number), "kernels take the public numbers");
TENON_BINARY_FUNCTIONS(CHECK_NUMBER)

const tn_family tn_elementwise_family = {.name = "elementwise",
                                         TN_SOLVERS(solvers),
                                         .awkward = tn_elementwise_awkward,
                                         .paths = tn_pointwise_paths};

static tenon_status elementwise_check_params(const char *caller,
                                             const tenon_elementwise_params *params)
{
    TN_TRY(tn_kind_check(caller, "kind", params->kind, TENON_ELEMENTWISE_ATAN2,
                         "tenon_elementwise_kind"));
    return tn_reserved_check(caller, params->reserved);
}

/* Checks the type of a. */
static tenon_status check_type(const tn_call *call, uint32_t kind, tenon_dtype dtype)
{
    const bool is_for_integers =
        kind != TENON_ELEMENTWISE_SCALE_ADD && kind <= TENON_ELEMENTWISE_REMAINDER;
    if (is_for_integers && tn_dtype_is_integer(dtype))
        return TENON_OK;
    if (is_for_integers && !tn_dtype_is_float(dtype))
        return tn_fail(TENON_ERROR_UNSUPPORTED,
                       "%s: a: type %s is not supported; f64, f32, f16, bf16 and the integer types "
                       "are",
                       call->caller, tenon_dtype_string(dtype));
    return tn_float_check(call->caller, "a", call->context, dtype);
}

tenon_status tn_elementwise_prepare(const void *given, tn_call *call, tn_problem *problem,
                                    bool *empty)
{
    const char *caller = call->caller;
    const tenon_elementwise_params *params = given;
    const tenon_tensor *a = call->operands[ELEMENTWISE_A].view;
    TN_TRY(elementwise_check_params(caller, params));
    TN_TRY(check_type(call, params->kind, a->dtype));
    TN_TRY(tn_alike_check(call, false));
    *empty = tn_tensor_empty(call->operands[ELEMENTWISE_D].view);
    TN_TRY(tn_pointwise_canonicalize(call, 1, sizeof(tn_pointwise_problem), problem));
    ((tn_pointwise_problem *)problem)->kind = params->kind;
    call->scalars[TN_SCALAR_ALPHA] = params->alpha;
    call->scalars[TN_SCALAR_BETA] = params->beta;
    return TENON_OK;
}
