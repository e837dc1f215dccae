/* What tenon_activation_forward and tenon_activation_backward refuse, and the families. */
#include "base/shape.h"
#include "ops/activation/internal.h"
#include "ops/common/pointwise.h"

#include <string.h>

static uint64_t paths(const tn_problem *problem)
{
    return UINT64_C(1) << ((const activation_problem *)problem)->activation;
}

const tn_family tn_activation_family = {.name = "activation",
                                        .solvers = tn_activation_solvers,
                                        .solver_count = 2,
                                        .awkward = tn_activation_awkward,
                                        .paths = paths};

const tn_family tn_activation_backward_family = {.name = "activation_backward",
                                                 .solvers = tn_activation_solvers,
                                                 .solver_count = 2,
                                                 .awkward = tn_activation_awkward,
                                                 .paths = paths};

/* Fills in a problem from checked views of one shape. */
static void canonicalise(const tenon_activation *activation, const tn_call *call,
                         activation_problem *problem)
{
    const uint32_t count = call->operand_count;
    const tenon_tensor *x = call->operands[0].view;
    tn_space space = {.rank = x->rank, .views = count};
    memcpy(space.shape, x->shape, sizeof space.shape);
    for (uint32_t v = 0; v < count; v++)
        memcpy(space.stride[v], call->operands[v].view->stride, sizeof space.stride[v]);
    tn_space_collapse(&space);
    memset(problem, 0, sizeof *problem);
    problem->head.size = sizeof *problem;
    problem->head.forced = -1;
    problem->dtype = x->dtype;
    problem->activation = activation->kind;
    problem->views = count;
    problem->rank = space.rank;
    memcpy(problem->shape, space.shape, sizeof problem->shape);
    for (uint32_t v = 0; v < count; v++)
        memcpy(problem->stride[v], space.stride[v], sizeof problem->stride[v]);
    if (space.rank == 0) { /* one element */
        problem->rank = 1;
        problem->shape[0] = 1;
        for (uint32_t v = 0; v < count; v++)
            problem->stride[v][0] = 1;
    }
}

tenon_status tn_activation_prepare(const void *given, tn_call *call, tn_problem *problem,
                                   bool *empty)
{
    const char *operation = call->operation;
    const tenon_activation_params *params = given;
    const tn_argument *x = &call->operands[ACTIVATION_X];
    const bool is_forward = call->operand_count == ACTIVATION_OPERANDS;
    TN_TRY(tn_params_check(operation, params->struct_size, sizeof *params, params->flags, 0));
    for (uint32_t i = 0; i < call->operand_count; i++)
        TN_TRY(tn_tensor_check(operation, call->operands[i].name, call->operands[i].view));
    TN_TRY(tn_call_check_views(call));
    TN_TRY(tn_activation_check(operation, &params->activation));
    TN_TRY(tn_float_check(operation, x->name, call->context, (tenon_dtype)x->view->dtype));
    TN_TRY(tn_alike_check(call, true));
    *empty = tn_tensor_empty(x->view);
    canonicalise(&params->activation, call, (activation_problem *)problem);
    call->scalars[TN_SCALAR_ACT_ALPHA] = params->activation.alpha;
    call->scalars[TN_SCALAR_ACT_BETA] = params->activation.beta;
    return tn_solver_force(operation,
                           is_forward ? &tn_activation_family : &tn_activation_backward_family,
                           params->solver, problem);
}
