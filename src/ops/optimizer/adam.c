/* Argument validation of tenon_adam, its family, solver and awkward cases. */
#include "check/awkward.h"
#include "base/shape.h"
#include "ops/optimizer/internal.h"
#include "optimizer/flags.h"
#include "ops/registry.h"
#include "ops/common/epilogue.h"

#include <float.h>
#include <math.h>

void tn_adam_scalars(const tenon_adam_params *params, double scalars[TN_MAX_SCALARS])
{
    const bool decoupled = (params->flags & TENON_ADAM_DECOUPLED) != 0;
    const double step = (double)params->step;
    scalars[ADAM_RATE] = params->learning_rate / (1 - pow(params->beta1, step));
    scalars[ADAM_KEEP_FIRST] = params->beta1;
    scalars[ADAM_NEW_FIRST] = 1 - params->beta1;
    scalars[ADAM_KEEP_SECOND] = params->beta2;
    scalars[ADAM_NEW_SECOND] = 1 - params->beta2;
    scalars[ADAM_ROOT] = 1 / sqrt(1 - pow(params->beta2, step));
    scalars[ADAM_EPSILON] = params->epsilon;
    scalars[ADAM_DECAY] =
        decoupled ? 1 - params->learning_rate * params->weight_decay : params->weight_decay;
}

static const char *optimizer_adam_configure(tenon_context *context, const tn_problem *problem,
                                            tn_choice *choice)
{
    return tn_optimizer_configure(context, problem, "optimizer/adam", "adam", ADAM_SCALARS, choice);
}

static const tn_solver lines_solver = {.name = "lines",
                                       .serves = "everything",
                                       .configure = optimizer_adam_configure,
                                       .launch = tn_lines_launch_choice};

/* Makes a case for each flag, with and without a master. β₂ is small, to give the new term of the
 * second moment a weight similar to the old one's. */
static bool awkward(const tn_problem *problem, const tn_choice *choice, uint32_t number, tn_case *c)
{
    static const uint32_t flags[] = {0, TENON_ADAM_DECOUPLED, TENON_ADAM_MAXIMIZE};
    const tn_lines_problem *p = (const tn_lines_problem *)problem;
    const uint32_t way = number / TN_LINES_LAYOUTS;
    tenon_adam_params *params = (tenon_adam_params *)c->params.bytes;
    (void)choice;
    if (way == sizeof flags / sizeof *flags)
        return false;
    tn_awkward_begin(c, p->singles > 0 ? &tn_operation_adam_guarded : &tn_operation_adam);
    params->flags = flags[way];
    params->step = 3;
    params->beta2 = 0.25;
    params->weight_decay = way < 2 ? 0.125 : 0;
    tn_optimizer_awkward(p, number % TN_LINES_LAYOUTS, c);
    tn_guard_awkward(p, c->views + ADAM_OPERANDS);
    if (way == 1)
        c->views[ADAM_MASTER] = (tenon_tensor){.rank = 0};
    return true;
}

static const tn_solver *const solvers[] = {&lines_solver};

static uint64_t optimizer_adam_paths(const tn_problem *problem)
{
    return tn_paths_of_flags(((const tn_lines_problem *)problem)->flags,
                             TENON_ADAM_DECOUPLED | TENON_ADAM_MAXIMIZE | OPTIMIZER_HAS_MASTER |
                                 GUARD_FLAGS);
}

const tn_family tn_adam_family = {
    .name = "adam", TN_SOLVERS(solvers), .awkward = awkward, .paths = optimizer_adam_paths};

/* Steps with a guard. */
const tn_family tn_adam_guarded_family = {
    .name = "adam_guarded", TN_SOLVERS(solvers), .awkward = awkward, .paths = optimizer_adam_paths};

static tenon_status optimizer_adam_check_params(const char *caller, const tenon_adam_params *params)
{
    const double most = (double)INFINITY, below_one = 1 - DBL_EPSILON / 2;
    TN_TRY(tn_number_check(caller, "learning_rate", params->learning_rate, -most, most));
    TN_TRY(tn_number_check(caller, "beta1", params->beta1, 0, below_one));
    TN_TRY(tn_number_check(caller, "beta2", params->beta2, 0, below_one));
    TN_TRY(tn_number_check(caller, "epsilon", params->epsilon, 0, most));
    TN_TRY(tn_number_check(caller, "weight_decay", params->weight_decay, -most, most));
    if (params->step == 0)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: params: step is 0, must be at least 1",
                       caller);
    return TENON_OK;
}

tenon_status tn_adam_prepare(const void *given, tn_call *call, tn_problem *problem, bool *empty)
{
    const tenon_adam_params *params = given;
    TN_TRY(optimizer_adam_check_params(call->caller, params));
    TN_TRY(tn_optimizer_prepare(call, ADAM_OPERANDS, params->flags, (tn_lines_problem *)problem,
                                empty));
    tn_adam_scalars(params, call->scalars);
    return TENON_OK;
}
