/* Argument validation and the families of activations and their gradients. */
#include "base/shape.h"
#include "ops/activation/internal.h"

const tn_family tn_activation_family = {.name = "activation",
                                        TN_SOLVERS(tn_activation_solvers),
                                        .awkward = tn_activation_awkward,
                                        .paths = tn_pointwise_paths};

const tn_family tn_activation_backward_family = {.name = "activation_backward",
                                                 TN_SOLVERS(tn_activation_solvers),
                                                 .awkward = tn_activation_awkward,
                                                 .paths = tn_pointwise_paths};

tenon_status tn_activation_prepare(const void *given, tn_call *call, tn_problem *problem,
                                   bool *empty)
{
    const char *caller = call->caller;
    const tenon_activation_params *params = given;
    const tn_argument *x = &call->operands[ACTIVATION_X];
    TN_TRY(tn_activation_check(caller, &params->activation));
    TN_TRY(tn_float_check(caller, x->name, call->context, (tenon_dtype)x->view->dtype));
    TN_TRY(tn_alike_check(call, true));
    *empty = tn_tensor_empty(x->view);
    TN_TRY(tn_pointwise_canonicalize(call, 1, sizeof(tn_pointwise_problem), problem));
    ((tn_pointwise_problem *)problem)->kind = params->activation.kind;
    call->scalars[TN_SCALAR_ACT_ALPHA] = params->activation.alpha;
    call->scalars[TN_SCALAR_ACT_BETA] = params->activation.beta;
    return TENON_OK;
}
