/* Argument validation of tenon_copy, and its family. */
#include "base/dtype.h"
#include "base/shape.h"
#include "ops/elementwise/internal.h"

static const tn_solver *const solvers[] = {&tn_copy_rows, &tn_copy_convert, &tn_copy_transpose,
                                           &tn_copy_transpose_local};

const tn_family tn_copy_family = {.name = "copy", TN_SOLVERS(solvers), .awkward = tn_copy_awkward};

static tenon_status check_types(const char *caller, tenon_context *context, const tenon_tensor *x,
                                const tenon_tensor *y)
{
    const tenon_dtype types[] = {x->dtype, y->dtype};
    for (int i = 0; i < 2; i++)
        TN_TRY(tn_moved_check(caller, i == 0 ? "x" : "y", types[i]));
    if (types[0] == types[1] || (types[0] != TENON_DTYPE_F64 && types[1] != TENON_DTYPE_F64))
        return TENON_OK;
    return tn_float_check(caller, types[0] == TENON_DTYPE_F64 ? "x" : "y", context,
                          TENON_DTYPE_F64);
}

/* Returns the flags that matter for the types: both are about integers. */
static uint32_t flags_used(uint32_t flags, tenon_dtype from, tenon_dtype to)
{
    if (from == to || !tn_dtype_is_integer(to) || from == TENON_DTYPE_BOOL)
        return 0;
    return tn_dtype_is_float(from) ? flags : flags & TENON_COPY_WRAP;
}

tenon_status tn_copy_prepare(const void *given, tn_call *call, tn_problem *problem, bool *empty)
{
    const char *caller = call->caller;
    const tenon_copy_params *params = given;
    const tenon_tensor *x = call->operands[COPY_X].view, *y = call->operands[COPY_Y].view;
    TN_TRY(check_types(caller, call->context, x, y));
    TN_TRY(tn_same_shape_check(caller, &call->operands[COPY_Y], &call->operands[COPY_X]));
    *empty = tn_tensor_empty(y);
    TN_TRY(tn_pointwise_canonicalize(call, 1, sizeof(tn_pointwise_problem), problem));
    ((tn_pointwise_problem *)problem)->kind = flags_used(params->flags, x->dtype, y->dtype);
    return TENON_OK;
}
