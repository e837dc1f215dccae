/* The families of normalization, and the common part of their calls. */
#include "base/shape.h"
#include "ops/norm/internal.h"
#include "ops/registry.h"

static const tn_solver *const solvers[] = {&tn_norm_sets, &tn_norm_split, &tn_norm_given,
                                           &tn_norm_group};
static const tn_solver *const backward_solvers[] = {&tn_norm_backward_sets, &tn_norm_backward_split,
                                                    &tn_norm_backward_group};

/* Bits for the operands that are present, and for the other flags. */
static uint64_t norm_paths(const tn_problem *problem)
{
    const uint32_t all = NORM_HAS(NORM_VIEWS) - 1;
    return tn_paths_of_flags(((const norm_problem *)problem)->flags,
                             all | NORM_CENTERED | NORM_GIVEN | NORM_WEIGHTED);
}

const tn_family tn_norm_family = {
    .name = "norm", TN_SOLVERS(solvers), .awkward = tn_norm_awkward, .paths = norm_paths};

const tn_family tn_norm_backward_family = {.name = "norm_backward",
                                           TN_SOLVERS(backward_solvers),
                                           .awkward = tn_norm_awkward,
                                           .paths = norm_paths};

static bool is_backward(const tn_operation *operation)
{
    return operation->family == &tn_norm_backward_family;
}

static bool is_given(const tn_operation *operation)
{
    return operation == &tn_operation_norm_inference ||
           operation == &tn_operation_norm_inference_backward;
}

int tn_norm_number(const tn_operation *operation, uint32_t operand)
{
    static const int forward[TN_MAX_OPERANDS] =
        {NORM_X,    NORM_GAMMA, NORM_BETA,         NORM_Y,
         NORM_MEAN, NORM_RSTD,  NORM_RUNNING_MEAN, NORM_RUNNING_VARIANCE},
                     inference[TN_MAX_OPERANDS] = {NORM_X,    NORM_GAMMA, NORM_BETA,
                                                   NORM_MEAN, NORM_RSTD,  NORM_Y},
                     backward[TN_MAX_OPERANDS] = {NORM_X,    NORM_DY, NORM_GAMMA,  NORM_MEAN,
                                                  NORM_RSTD, NORM_DX, NORM_DGAMMA, NORM_DBETA};
    if (is_backward(operation))
        return backward[operand];
    return is_given(operation) ? inference[operand] : forward[operand];
}

norm_views tn_norm_views(const tn_operation *operation, const tenon_tensor *const *operands)
{
    norm_views views = {.backward = is_backward(operation), .given = is_given(operation)};
    for (uint32_t i = 0; i < operation->operand_count; i++) {
        const int number = tn_norm_number(operation, i);
        views.name[number] = operation->operands[i].name;
        views.view[number] = operands[i];
        views.operand[number] = (uint8_t)i;
    }
    return views;
}

tenon_status tn_norm_prepare(const void *given, tn_call *call, tn_problem *problem, bool *empty)
{
    const tenon_norm_params *params = given;
    const tenon_tensor *operands[TN_MAX_OPERANDS] = {0};
    for (uint32_t i = 0; i < call->operand_count; i++)
        operands[i] = call->operands[i].view;
    const norm_views views = tn_norm_views(call->operation, operands);
    TN_TRY(tn_norm_check(call->caller, call->context, params, &views));
    *empty = tn_tensor_empty(views.view[NORM_X]);
    if (!*empty)
        tn_norm_canonicalize(params, &views, (norm_problem *)problem);
    call->scalars[NORM_SCALAR_EPSILON] = params->epsilon;
    call->scalars[NORM_SCALAR_MOMENTUM] = params->momentum;
    return TENON_OK;
}
