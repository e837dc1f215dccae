/* tenon_sgd: the public entry, the family and its solver. */
#include "base/shape.h"
#include "ops/optimizer/internal.h"
#include "optimizer/flags.h"
#include "ops/registry.h"
#include "ops/common/epilogue.h"

#include <math.h>

TENON_API tenon_sgd_params tenon_sgd_params_default(void)
{
    return (tenon_sgd_params)TENON_SGD_PARAMS_INIT;
}

void tn_sgd_scalars(const tenon_sgd_params *params, double scalars[TN_MAX_SCALARS])
{
    scalars[SGD_RATE] = params->learning_rate;
    scalars[SGD_MOMENTUM] = params->momentum;
    scalars[SGD_FRESH] = 1 - params->dampening;
    scalars[SGD_DECAY] = params->weight_decay;
}

void tn_sgd_canonicalise(const void *params, const tenon_tensor *const *views,
                         tn_lines_problem *problem)
{
    tn_optimizer_canonicalise(views, SGD_OPERANDS, ((const tenon_sgd_params *)params)->flags,
                              problem);
    if (views[SGD_VELOCITY] != NULL)
        problem->flags |= OPTIMIZER_HAS_VELOCITY;
}

static tenon_status record(const char *operation, tn_recording *recording,
                           const tn_problem *problem, const int32_t *values)
{
    (void)values;
    return tn_optimizer_record(operation, recording, problem, "optimizer/sgd", "sgd", SGD_SCALARS);
}

static const tn_solver lines_solver = {.name = "lines",
                                       .refuses = tn_lines_refuses,
                                       .estimate = tn_lines_estimate,
                                       .options = tn_optimizer_options,
                                       .record = record};

/* With and without each of the operands and flags, which are all in one build. */
static tenon_status self_check(tenon_stream *stream, const tn_problem *problem,
                               const tn_choice *choice, bool *right, char why[256])
{
    static const uint32_t flags[] = {0, TENON_SGD_FIRST | TENON_SGD_NESTEROV,
                                     TENON_SGD_NESTEROV | TENON_SGD_MAXIMIZE};
    for (uint32_t i = 0; i < 4 && *right; i++) {
        tenon_sgd_params params = TENON_SGD_PARAMS_INIT;
        params.flags = flags[i % 3];
        params.momentum = 0.9;
        params.dampening = 0.25;
        params.weight_decay = i % 2 == 0 ? 0.125 : 0;
        tn_lines_trial trial = {
            .of = &tn_operation_sgd, .params = &params, .canonicalise = tn_sgd_canonicalise};
        tn_optimizer_trial((const tn_lines_problem *)problem, &trial);
        if (i == 3)
            trial.dtype[SGD_VELOCITY] = trial.dtype[SGD_MASTER] = TENON_DTYPE_INVALID;
        tn_sgd_scalars(&params, trial.scalars);
        TN_TRY(tn_lines_self_check(stream, choice, &trial, right, why));
    }
    return TENON_OK;
}

static const tn_solver *const solvers[] = {&lines_solver};

static uint64_t paths(const tn_problem *problem)
{
    return tn_paths_of_flags(((const tn_lines_problem *)problem)->flags,
                             TENON_SGD_NESTEROV | TENON_SGD_FIRST | TENON_SGD_MAXIMIZE |
                                 OPTIMIZER_HAS_VELOCITY | OPTIMIZER_HAS_MASTER);
}

const tn_family tn_sgd_family = {.name = "sgd",
                                 .solvers = solvers,
                                 .solver_count = sizeof solvers / sizeof *solvers,
                                 .self_check = self_check,
                                 .paths = paths};

static tenon_status check_params(const char *operation, const tenon_sgd_params *params,
                                 const tenon_tensor *velocity)
{
    const double most = (double)INFINITY;
    TN_TRY(tn_params_check(operation, params->struct_size, sizeof *params, params->flags,
                           TENON_SGD_NESTEROV | TENON_SGD_FIRST | TENON_SGD_MAXIMIZE));
    TN_TRY(tn_number_check(operation, "learning_rate", params->learning_rate, -most, most));
    TN_TRY(tn_number_check(operation, "momentum", params->momentum, -most, most));
    TN_TRY(tn_number_check(operation, "dampening", params->dampening, -most, most));
    TN_TRY(tn_number_check(operation, "weight_decay", params->weight_decay, -most, most));
    if (velocity == NULL && params->momentum != 0)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: velocity is NULL, but momentum is %g",
                       operation, params->momentum);
    return TENON_OK;
}

static tenon_status prepare(tenon_context *context, const tenon_sgd_params *params, tn_call *call,
                            tn_lines_problem *problem, bool *empty)
{
    const tenon_tensor *views[SGD_OPERANDS];
    for (uint32_t i = 0; i < SGD_OPERANDS; i++)
        views[i] = call->operands[i].view;
    TN_TRY(check_params(call->operation, params, views[SGD_VELOCITY]));
    TN_TRY(tn_optimizer_check(context, call));
    *empty = tn_tensor_empty(views[SGD_PARAMETER]);
    tn_sgd_canonicalise(params, views, problem);
    tn_sgd_scalars(params, call->scalars);
    return tn_solver_force(call->operation, &tn_sgd_family, params->solver, &problem->head);
}

static tn_call make_call(const char *operation, const tenon_tensor *gradient,
                         const tenon_tensor *parameter, const tenon_tensor *velocity,
                         const tenon_tensor *master)
{
    return (tn_call){.operation = operation,
                     .operands = {{"gradient", gradient, TN_INPUT},
                                  {"parameter", parameter, TN_OUTPUT},
                                  {"velocity", velocity, TN_OPTIONAL_OUTPUT},
                                  {"master", master, TN_OPTIONAL_OUTPUT}},
                     .operand_count = SGD_OPERANDS};
}

TENON_API tenon_status tenon_sgd(tenon_stream *stream, const tenon_sgd_params *params,
                                 const tenon_tensor *gradient, const tenon_tensor *parameter,
                                 const tenon_tensor *velocity, const tenon_tensor *master,
                                 const tenon_sync *sync)
{
    static const tenon_sgd_params defaults = TENON_SGD_PARAMS_INIT;
    tn_call call = make_call("tenon_sgd", gradient, parameter, velocity, master);
    tn_lines_problem problem;
    bool empty = false;
    TN_TRY(tn_stream_check(call.operation, stream));
    TN_TRY(prepare(stream->context, params != NULL ? params : &defaults, &call, &problem, &empty));
    return tn_call_run(stream, &tn_sgd_family, empty ? NULL : &problem.head, &call, sync);
}

TENON_API tenon_status tenon_sgd_plan(tenon_context *context, const tenon_sgd_params *params,
                                      const tenon_tensor *gradient, const tenon_tensor *parameter,
                                      const tenon_tensor *velocity, const tenon_tensor *master,
                                      tenon_plan **plan)
{
    static const tenon_sgd_params defaults = TENON_SGD_PARAMS_INIT;
    tn_call call = make_call("tenon_sgd_plan", gradient, parameter, velocity, master);
    tn_lines_problem problem;
    bool empty = false;
    TN_TRY(tn_plan_check(call.operation, context, plan));
    TN_TRY(prepare(context, params != NULL ? params : &defaults, &call, &problem, &empty));
    return tn_call_plan(context, &tn_sgd_family, empty ? NULL : &problem.head, &call, plan);
}
