/* Argument validation of tenon_prelu_forward and tenon_prelu_backward, and their families. */
#include "base/shape.h"
#include "ops/prelu/internal.h"

static const tn_solver *const solvers[] = {&tn_prelu_rows};

const tn_family tn_prelu_family = {
    .name = "prelu", TN_SOLVERS(solvers), .awkward = tn_prelu_awkward};

static const tn_solver *const backward_solvers[] = {&tn_prelu_along, &tn_prelu_across,
                                                    &tn_prelu_along_split, &tn_prelu_across_split};

const tn_family tn_prelu_backward_family = {
    .name = "prelu_backward", TN_SOLVERS(backward_solvers), .awkward = tn_prelu_backward_awkward};

static tenon_status check(const tn_call *call, bool *empty)
{
    const char *caller = call->caller;
    const tn_argument *operands = call->operands;
    TN_TRY(tn_float_check(caller, "x", call->context, (tenon_dtype)operands[PRELU_X].view->dtype));
    TN_TRY(tn_alike_check(call, false));
    for (uint32_t i = PRELU_Y; i < call->operand_count; i++)
        TN_TRY(tn_same_shape_check(caller, &operands[i],
                                   &operands[i == PRELU_DSLOPE ? PRELU_SLOPE : PRELU_X]));
    *empty = tn_tensor_empty(operands[call->operand_count - 1].view);
    return TENON_OK;
}

tenon_status tn_prelu_prepare(const void *params, tn_call *call, tn_problem *problem, bool *empty)
{
    (void)params;
    TN_TRY(check(call, empty));
    TN_TRY(tn_pointwise_canonicalize(call, 1, sizeof(tn_pointwise_problem), problem));
    return TENON_OK;
}

tenon_status tn_prelu_backward_prepare(const void *params, tn_call *call, tn_problem *problem,
                                       bool *empty)
{
    (void)params;
    TN_TRY(check(call, empty));
    TN_TRY(tn_prelu_backward_canonicalize(call, (prelu_backward_problem *)problem));
    return TENON_OK;
}
