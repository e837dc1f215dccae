/* Argument validation of tenon_sgd, its family, solver and awkward cases. */
#include "check/awkward.h"
#include "base/shape.h"
#include "ops/optimizer/internal.h"
#include "optimizer/flags.h"
#include "ops/registry.h"
#include "ops/common/epilogue.h"

#include <math.h>

void tn_sgd_scalars(const tenon_sgd_params *params, double scalars[TN_MAX_SCALARS])
{
    scalars[SGD_RATE] = params->learning_rate;
    scalars[SGD_MOMENTUM] = params->momentum;
    scalars[SGD_FRESH] = 1 - params->dampening;
    scalars[SGD_DECAY] = params->weight_decay;
}

static const char *optimizer_sgd_configure(tenon_context *context, const tn_problem *problem,
                                           tn_choice *choice)
{
    return tn_optimizer_configure(context, problem, "optimizer/sgd", "sgd", SGD_SCALARS, choice);
}

static const tn_solver lines_solver = {.name = "lines",
                                       .serves = "everything",
                                       .configure = optimizer_sgd_configure,
                                       .launch = tn_lines_launch_choice};

/* Makes cases with and without each operand and flag, which are all in one build. */
static bool awkward(const tn_problem *problem, const tn_choice *choice, uint32_t number, tn_case *c)
{
    static const uint32_t flags[] = {0, TENON_SGD_FIRST | TENON_SGD_NESTEROV,
                                     TENON_SGD_NESTEROV | TENON_SGD_MAXIMIZE, 0};
    const tn_lines_problem *p = (const tn_lines_problem *)problem;
    const uint32_t way = number / TN_LINES_LAYOUTS;
    tenon_sgd_params *params = (tenon_sgd_params *)c->params.bytes;
    (void)choice;
    if (way == sizeof flags / sizeof *flags)
        return false;
    tn_awkward_begin(c, p->singles > 0 ? &tn_operation_sgd_guarded : &tn_operation_sgd);
    params->flags = flags[way];
    params->momentum = way < 3 ? 0.9 : 0;
    params->dampening = 0.25;
    params->weight_decay = way % 2 == 0 ? 0.125 : 0;
    tn_optimizer_awkward(p, number % TN_LINES_LAYOUTS, c);
    tn_guard_awkward(p, c->views + SGD_OPERANDS);
    if (way == 3)
        c->views[SGD_VELOCITY] = c->views[SGD_MASTER] = (tenon_tensor){.rank = 0};
    return true;
}

static const tn_solver *const solvers[] = {&lines_solver};

static uint64_t optimizer_sgd_paths(const tn_problem *problem)
{
    return tn_paths_of_flags(((const tn_lines_problem *)problem)->flags,
                             TENON_SGD_NESTEROV | TENON_SGD_FIRST | TENON_SGD_MAXIMIZE |
                                 OPTIMIZER_HAS_VELOCITY | OPTIMIZER_HAS_MASTER | GUARD_FLAGS);
}

const tn_family tn_sgd_family = {
    .name = "sgd", TN_SOLVERS(solvers), .awkward = awkward, .paths = optimizer_sgd_paths};

/* Steps with a guard. */
const tn_family tn_sgd_guarded_family = {
    .name = "sgd_guarded", TN_SOLVERS(solvers), .awkward = awkward, .paths = optimizer_sgd_paths};

static tenon_status optimizer_sgd_check_params(const char *caller, const tenon_sgd_params *params,
                                               const tenon_tensor *velocity)
{
    const double most = (double)INFINITY;
    TN_TRY(tn_number_check(caller, "learning_rate", params->learning_rate, -most, most));
    TN_TRY(tn_number_check(caller, "momentum", params->momentum, -most, most));
    TN_TRY(tn_number_check(caller, "dampening", params->dampening, -most, most));
    TN_TRY(tn_number_check(caller, "weight_decay", params->weight_decay, -most, most));
    if (velocity == NULL && params->momentum != 0)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: velocity is NULL, but momentum is %g; without velocity it must be 0",
                       caller, params->momentum);
    return TENON_OK;
}

tenon_status tn_sgd_prepare(const void *given, tn_call *call, tn_problem *problem, bool *empty)
{
    const tenon_sgd_params *params = given;
    const tenon_tensor *velocity = call->operands[SGD_VELOCITY].view;
    tn_lines_problem *p = (tn_lines_problem *)problem;
    TN_TRY(optimizer_sgd_check_params(call->caller, params, velocity));
    TN_TRY(tn_optimizer_prepare(call, SGD_OPERANDS, params->flags, p, empty));
    p->flags |= velocity != NULL ? OPTIMIZER_HAS_VELOCITY : 0;
    tn_sgd_scalars(params, call->scalars);
    return TENON_OK;
}
