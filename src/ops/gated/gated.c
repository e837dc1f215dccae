/* Argument validation of tenon_gated_forward and tenon_gated_backward, and their families. */
#include "base/shape.h"
#include "ops/gated/internal.h"

static const tn_solver *const solvers[] = {&tn_gated_rows};

const tn_family tn_gated_family = {
    .name = "gated", TN_SOLVERS(solvers), .awkward = tn_gated_awkward, .paths = tn_pointwise_paths};

const tn_family tn_gated_backward_family = {.name = "gated_backward",
                                            TN_SOLVERS(solvers),
                                            .awkward = tn_gated_awkward,
                                            .paths = tn_pointwise_paths};

tenon_status tn_gated_prepare(const void *given, tn_call *call, tn_problem *problem, bool *empty)
{
    const char *caller = call->caller;
    const tenon_gated_params *params = given;
    const tenon_tensor *a = call->operands[GATED_A].view;
    const bool is_forward = call->operand_count == GATED_OPERANDS;
    TN_TRY(tn_activation_check(caller, &params->activation));
    TN_TRY(tn_float_check(caller, "a", call->context, (tenon_dtype)a->dtype));
    TN_TRY(tn_alike_check(call, true));
    *empty = tn_tensor_empty(a);
    TN_TRY(tn_pointwise_canonicalize(call, is_forward ? 1 : GATED_GRADIENTS,
                                     sizeof(tn_pointwise_problem), problem));
    ((tn_pointwise_problem *)problem)->kind = params->activation.kind;
    call->scalars[TN_SCALAR_ACT_ALPHA] = params->activation.alpha;
    call->scalars[TN_SCALAR_ACT_BETA] = params->activation.beta;
    return TENON_OK;
}
