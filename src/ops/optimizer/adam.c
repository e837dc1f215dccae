/* tenon_adam: the public entry, the family and its solver. */
#include "base/shape.h"
#include "ops/optimizer/internal.h"
#include "optimizer/flags.h"
#include "ops/registry.h"
#include "ops/common/epilogue.h"

#include <float.h>
#include <math.h>

TENON_API tenon_adam_params tenon_adam_params_default(void)
{
    return (tenon_adam_params)TENON_ADAM_PARAMS_INIT;
}

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

void tn_adam_canonicalise(const void *params, const tenon_tensor *const *views,
                          tn_lines_problem *problem)
{
    tn_optimizer_canonicalise(views, ADAM_OPERANDS, ((const tenon_adam_params *)params)->flags,
                              problem);
}

static tenon_status record(const char *operation, tn_recording *recording,
                           const tn_problem *problem, const int32_t *values)
{
    (void)values;
    return tn_optimizer_record(operation, recording, problem, "optimizer/adam", "adam",
                               ADAM_SCALARS);
}

static const tn_solver lines_solver = {.name = "lines",
                                       .refuses = tn_lines_refuses,
                                       .estimate = tn_lines_estimate,
                                       .options = tn_optimizer_options,
                                       .record = record};

/* With each flag, with a master and without. β₂ is so small that most second moments that the check
 * makes up of numbers in [-1, 1] have a root afterwards. */
static tenon_status self_check(tenon_stream *stream, const tn_problem *problem,
                               const tn_choice *choice, bool *right, char why[256])
{
    static const uint32_t flags[] = {0, TENON_ADAM_DECOUPLED, TENON_ADAM_MAXIMIZE};
    for (uint32_t i = 0; i < 3 && *right; i++) {
        tenon_adam_params params = TENON_ADAM_PARAMS_INIT;
        params.flags = flags[i];
        params.step = 3;
        params.beta2 = 0.25;
        params.weight_decay = i < 2 ? 0.125 : 0;
        tn_lines_trial trial = {
            .of = &tn_operation_adam, .params = &params, .canonicalise = tn_adam_canonicalise};
        tn_optimizer_trial((const tn_lines_problem *)problem, &trial);
        if (i == 1)
            trial.dtype[ADAM_MASTER] = TENON_DTYPE_INVALID;
        tn_adam_scalars(&params, trial.scalars);
        TN_TRY(tn_lines_self_check(stream, choice, &trial, right, why));
    }
    return TENON_OK;
}

static const tn_solver *const solvers[] = {&lines_solver};

static uint64_t paths(const tn_problem *problem)
{
    return tn_paths_of_flags(((const tn_lines_problem *)problem)->flags,
                             TENON_ADAM_DECOUPLED | TENON_ADAM_MAXIMIZE | OPTIMIZER_HAS_MASTER);
}

const tn_family tn_adam_family = {.name = "adam",
                                  .solvers = solvers,
                                  .solver_count = sizeof solvers / sizeof *solvers,
                                  .self_check = self_check,
                                  .paths = paths};

static tenon_status check_params(const char *operation, const tenon_adam_params *params)
{
    const double most = (double)INFINITY, below_one = 1 - DBL_EPSILON / 2;
    TN_TRY(tn_params_check(operation, params->struct_size, sizeof *params, params->flags,
                           TENON_ADAM_DECOUPLED | TENON_ADAM_MAXIMIZE));
    TN_TRY(tn_number_check(operation, "learning_rate", params->learning_rate, -most, most));
    TN_TRY(tn_number_check(operation, "beta1", params->beta1, 0, below_one));
    TN_TRY(tn_number_check(operation, "beta2", params->beta2, 0, below_one));
    TN_TRY(tn_number_check(operation, "epsilon", params->epsilon, 0, most));
    TN_TRY(tn_number_check(operation, "weight_decay", params->weight_decay, -most, most));
    if (params->step == 0)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: params: step is 0, the first is 1",
                       operation);
    return TENON_OK;
}

static tenon_status prepare(tenon_context *context, const tenon_adam_params *params, tn_call *call,
                            tn_lines_problem *problem, bool *empty)
{
    const tenon_tensor *views[ADAM_OPERANDS];
    for (uint32_t i = 0; i < ADAM_OPERANDS; i++)
        views[i] = call->operands[i].view;
    TN_TRY(check_params(call->operation, params));
    TN_TRY(tn_optimizer_check(context, call));
    *empty = tn_tensor_empty(views[ADAM_PARAMETER]);
    tn_adam_canonicalise(params, views, problem);
    tn_adam_scalars(params, call->scalars);
    return tn_solver_force(call->operation, &tn_adam_family, params->solver, &problem->head);
}

static tn_call make_call(const char *operation, const tenon_tensor *gradient,
                         const tenon_tensor *parameter, const tenon_tensor *first,
                         const tenon_tensor *second, const tenon_tensor *master)
{
    return (tn_call){.operation = operation,
                     .operands = {{"gradient", gradient, TN_INPUT},
                                  {"parameter", parameter, TN_OUTPUT},
                                  {"first", first, TN_OUTPUT},
                                  {"second", second, TN_OUTPUT},
                                  {"master", master, TN_OPTIONAL_OUTPUT}},
                     .operand_count = ADAM_OPERANDS};
}

TENON_API tenon_status tenon_adam(tenon_stream *stream, const tenon_adam_params *params,
                                  const tenon_tensor *gradient, const tenon_tensor *parameter,
                                  const tenon_tensor *first, const tenon_tensor *second,
                                  const tenon_tensor *master, const tenon_sync *sync)
{
    static const tenon_adam_params defaults = TENON_ADAM_PARAMS_INIT;
    tn_call call = make_call("tenon_adam", gradient, parameter, first, second, master);
    tn_lines_problem problem;
    bool empty = false;
    TN_TRY(tn_stream_check(call.operation, stream));
    TN_TRY(prepare(stream->context, params != NULL ? params : &defaults, &call, &problem, &empty));
    return tn_call_run(stream, &tn_adam_family, empty ? NULL : &problem.head, &call, sync);
}

TENON_API tenon_status tenon_adam_plan(tenon_context *context, const tenon_adam_params *params,
                                       const tenon_tensor *gradient, const tenon_tensor *parameter,
                                       const tenon_tensor *first, const tenon_tensor *second,
                                       const tenon_tensor *master, tenon_plan **plan)
{
    static const tenon_adam_params defaults = TENON_ADAM_PARAMS_INIT;
    tn_call call = make_call("tenon_adam_plan", gradient, parameter, first, second, master);
    tn_lines_problem problem;
    bool empty = false;
    TN_TRY(tn_plan_check(call.operation, context, plan));
    TN_TRY(prepare(context, params != NULL ? params : &defaults, &call, &problem, &empty));
    return tn_call_plan(context, &tn_adam_family, empty ? NULL : &problem.head, &call, plan);
}
