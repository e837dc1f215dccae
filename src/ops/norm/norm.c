/* The public entries of normalization, and the families. */
#include "base/shape.h"
#include "ops/norm/internal.h"

static const tenon_norm_params defaults = TENON_NORM_PARAMS_INIT;

TENON_API tenon_norm_params tenon_norm_params_default(void)
{
    return defaults;
}

static const tn_solver *const solvers[] = {&tn_norm_sets, &tn_norm_split, &tn_norm_given,
                                           &tn_norm_group};
static const tn_solver *const backward_solvers[] = {&tn_norm_backward_sets, &tn_norm_backward_split,
                                                    &tn_norm_backward_group};

/* Which operands there are, and what the flags beyond them say. */
static uint64_t paths(const tn_problem *problem)
{
    const uint32_t all = NORM_HAS(NORM_VIEWS) - 1;
    return tn_paths_of_flags(((const norm_problem *)problem)->flags,
                             all | NORM_CENTERED | NORM_GIVEN | NORM_WEIGHTED);
}

const tn_family tn_norm_family = {.name = "norm",
                                  .solvers = solvers,
                                  .solver_count = sizeof solvers / sizeof *solvers,
                                  .self_check = tn_norm_self_check,
                                  .paths = paths};

const tn_family tn_norm_backward_family = {.name = "norm_backward",
                                           .solvers = backward_solvers,
                                           .solver_count =
                                               sizeof backward_solvers / sizeof *backward_solvers,
                                           .self_check = tn_norm_backward_self_check,
                                           .paths = paths};

/* An operand: where it is among the kernels', its name and role. */
typedef struct place {
    int number;
    const char *name;
    tn_role role;
} place;

static const place forward_places[NORM_FORWARD_OPERANDS] = {
    {NORM_X, "x", TN_INPUT_OR_SAME},
    {NORM_GAMMA, "gamma", TN_INPUT},
    {NORM_BETA, "beta", TN_INPUT},
    {NORM_Y, "y", TN_OUTPUT},
    {NORM_MEAN, "mean", TN_OWN_OUTPUT},
    {NORM_RSTD, "rstd", TN_OWN_OUTPUT},
    {NORM_RUNNING_MEAN, "running_mean", TN_OWN_OUTPUT},
    {NORM_RUNNING_VARIANCE, "running_variance", TN_OWN_OUTPUT}};

static const place inference_places[NORM_INFERENCE_OPERANDS] = {
    {NORM_X, "x", TN_INPUT_OR_SAME},   {NORM_GAMMA, "gamma", TN_INPUT},
    {NORM_BETA, "beta", TN_INPUT},     {NORM_MEAN, "mean", TN_INPUT},
    {NORM_RSTD, "variance", TN_INPUT}, {NORM_Y, "y", TN_OUTPUT}};

static const place backward_places[NORM_BACKWARD_OPERANDS] = {
    {NORM_X, "x", TN_INPUT_OR_SAME},        {NORM_DY, "dy", TN_INPUT_OR_SAME},
    {NORM_GAMMA, "gamma", TN_INPUT},        {NORM_MEAN, "mean", TN_INPUT},
    {NORM_RSTD, "rstd", TN_INPUT},          {NORM_DX, "dx", TN_OPTIONAL_OUTPUT},
    {NORM_DGAMMA, "dgamma", TN_OWN_OUTPUT}, {NORM_DBETA, "dbeta", TN_OWN_OUTPUT}};

static norm_views views_of(const place *places, uint32_t count, const tenon_tensor *const *operands,
                           bool backward, bool given)
{
    norm_views views = {.backward = backward, .given = given};
    for (uint32_t i = 0; i < count; i++) {
        views.name[places[i].number] = places[i].name;
        views.view[places[i].number] = operands[i];
        views.operand[places[i].number] = (uint8_t)i;
    }
    if (backward && given)
        views.name[NORM_RSTD] = "variance";
    return views;
}

norm_views tn_norm_forward_views(const tenon_tensor *const *operands)
{
    return views_of(forward_places, NORM_FORWARD_OPERANDS, operands, false, false);
}

norm_views tn_norm_inference_views(const tenon_tensor *const *operands)
{
    return views_of(inference_places, NORM_INFERENCE_OPERANDS, operands, false, true);
}

norm_views tn_norm_backward_views(const tenon_tensor *const *operands, bool given)
{
    return views_of(backward_places, NORM_BACKWARD_OPERANDS, operands, true, given);
}

static tn_call call_of(const char *operation, const tenon_norm_params *params, const place *places,
                       uint32_t count, const norm_views *views)
{
    tn_call call = {.operation = operation, .operand_count = count};
    for (uint32_t i = 0; i < count; i++) {
        const int number = places[i].number;
        call.operands[i] = (tn_argument){views->name[number], views->view[number], places[i].role};
    }
    call.scalars[NORM_SCALAR_EPSILON] = params->epsilon;
    call.scalars[NORM_SCALAR_MOMENTUM] = params->momentum;
    return call;
}

static tn_call view_call(const char *operation, const tenon_norm_params *params,
                         const norm_views *views)
{
    if (views->backward)
        return call_of(operation, params, backward_places, NORM_BACKWARD_OPERANDS, views);
    if (views->given)
        return call_of(operation, params, inference_places, NORM_INFERENCE_OPERANDS, views);
    return call_of(operation, params, forward_places, NORM_FORWARD_OPERANDS, views);
}

static const tn_family *family_of(const norm_views *views)
{
    return views->backward ? &tn_norm_backward_family : &tn_norm_family;
}

static tenon_status prepare(tenon_context *context, const tenon_norm_params *params,
                            const norm_views *views, const tn_call *call, norm_problem *problem,
                            bool *empty)
{
    const char *operation = call->operation;
    TN_TRY(tn_tensor_check(operation, "x", views->view[NORM_X]));
    if (views->backward)
        TN_TRY(tn_tensor_check(operation, "dy", views->view[NORM_DY]));
    TN_TRY(tn_call_check_views(call));
    TN_TRY(tn_norm_check(operation, context, params, views));
    *empty = tn_tensor_empty(views->view[NORM_X]);
    if (*empty)
        *problem = (norm_problem){.head = {.size = sizeof *problem, .forced = -1}};
    else
        tn_norm_canonicalise(params, views, problem);
    return tn_solver_force(operation, family_of(views), params->solver, &problem->head);
}

static tenon_status run(tenon_stream *stream, const char *operation,
                        const tenon_norm_params *params, const norm_views *views,
                        const tenon_sync *sync)
{
    norm_problem problem;
    bool empty = false;
    params = params != NULL ? params : &defaults;
    const tn_call call = view_call(operation, params, views);
    TN_TRY(tn_stream_check(operation, stream));
    TN_TRY(prepare(stream->context, params, views, &call, &problem, &empty));
    return tn_call_run(stream, family_of(views), empty ? NULL : &problem.head, &call, sync);
}

static tenon_status plan_call(tenon_context *context, const char *operation,
                              const tenon_norm_params *params, const norm_views *views,
                              tenon_plan **plan)
{
    norm_problem problem;
    bool empty = false;
    params = params != NULL ? params : &defaults;
    const tn_call call = view_call(operation, params, views);
    TN_TRY(tn_plan_check(operation, context, plan));
    TN_TRY(prepare(context, params, views, &call, &problem, &empty));
    return tn_call_plan(context, family_of(views), empty ? NULL : &problem.head, &call, plan);
}

TENON_API tenon_status tenon_norm_forward(tenon_stream *stream, const tenon_norm_params *params,
                                          const tenon_tensor *x, const tenon_tensor *gamma,
                                          const tenon_tensor *beta, const tenon_tensor *y,
                                          const tenon_tensor *mean, const tenon_tensor *rstd,
                                          const tenon_tensor *running_mean,
                                          const tenon_tensor *running_variance,
                                          const tenon_sync *sync)
{
    const tenon_tensor *const operands[] = {x,    gamma, beta,         y,
                                            mean, rstd,  running_mean, running_variance};
    const norm_views views = tn_norm_forward_views(operands);
    return run(stream, "tenon_norm_forward", params, &views, sync);
}

TENON_API tenon_status tenon_norm_forward_plan(
    tenon_context *context, const tenon_norm_params *params, const tenon_tensor *x,
    const tenon_tensor *gamma, const tenon_tensor *beta, const tenon_tensor *y,
    const tenon_tensor *mean, const tenon_tensor *rstd, const tenon_tensor *running_mean,
    const tenon_tensor *running_variance, tenon_plan **plan)
{
    const tenon_tensor *const operands[] = {x,    gamma, beta,         y,
                                            mean, rstd,  running_mean, running_variance};
    const norm_views views = tn_norm_forward_views(operands);
    return plan_call(context, "tenon_norm_forward_plan", params, &views, plan);
}

TENON_API tenon_status tenon_norm_backward(tenon_stream *stream, const tenon_norm_params *params,
                                           const tenon_tensor *x, const tenon_tensor *dy,
                                           const tenon_tensor *gamma, const tenon_tensor *mean,
                                           const tenon_tensor *rstd, const tenon_tensor *dx,
                                           const tenon_tensor *dgamma, const tenon_tensor *dbeta,
                                           const tenon_sync *sync)
{
    const tenon_tensor *const operands[] = {x, dy, gamma, mean, rstd, dx, dgamma, dbeta};
    const norm_views views = tn_norm_backward_views(operands, false);
    return run(stream, "tenon_norm_backward", params, &views, sync);
}

TENON_API tenon_status tenon_norm_backward_plan(tenon_context *context,
                                                const tenon_norm_params *params,
                                                const tenon_tensor *x, const tenon_tensor *dy,
                                                const tenon_tensor *gamma, const tenon_tensor *mean,
                                                const tenon_tensor *rstd, const tenon_tensor *dx,
                                                const tenon_tensor *dgamma,
                                                const tenon_tensor *dbeta, tenon_plan **plan)
{
    const tenon_tensor *const operands[] = {x, dy, gamma, mean, rstd, dx, dgamma, dbeta};
    const norm_views views = tn_norm_backward_views(operands, false);
    return plan_call(context, "tenon_norm_backward_plan", params, &views, plan);
}

TENON_API tenon_status tenon_norm_inference(tenon_stream *stream, const tenon_norm_params *params,
                                            const tenon_tensor *x, const tenon_tensor *gamma,
                                            const tenon_tensor *beta, const tenon_tensor *mean,
                                            const tenon_tensor *variance, const tenon_tensor *y,
                                            const tenon_sync *sync)
{
    const tenon_tensor *const operands[] = {x, gamma, beta, mean, variance, y};
    const norm_views views = tn_norm_inference_views(operands);
    return run(stream, "tenon_norm_inference", params, &views, sync);
}

TENON_API tenon_status tenon_norm_inference_plan(tenon_context *context,
                                                 const tenon_norm_params *params,
                                                 const tenon_tensor *x, const tenon_tensor *gamma,
                                                 const tenon_tensor *beta, const tenon_tensor *mean,
                                                 const tenon_tensor *variance,
                                                 const tenon_tensor *y, tenon_plan **plan)
{
    const tenon_tensor *const operands[] = {x, gamma, beta, mean, variance, y};
    const norm_views views = tn_norm_inference_views(operands);
    return plan_call(context, "tenon_norm_inference_plan", params, &views, plan);
}

TENON_API tenon_status tenon_norm_inference_backward(
    tenon_stream *stream, const tenon_norm_params *params, const tenon_tensor *x,
    const tenon_tensor *dy, const tenon_tensor *gamma, const tenon_tensor *mean,
    const tenon_tensor *variance, const tenon_tensor *dx, const tenon_tensor *dgamma,
    const tenon_tensor *dbeta, const tenon_sync *sync)
{
    const tenon_tensor *const operands[] = {x, dy, gamma, mean, variance, dx, dgamma, dbeta};
    const norm_views views = tn_norm_backward_views(operands, true);
    return run(stream, "tenon_norm_inference_backward", params, &views, sync);
}

TENON_API tenon_status tenon_norm_inference_backward_plan(
    tenon_context *context, const tenon_norm_params *params, const tenon_tensor *x,
    const tenon_tensor *dy, const tenon_tensor *gamma, const tenon_tensor *mean,
    const tenon_tensor *variance, const tenon_tensor *dx, const tenon_tensor *dgamma,
    const tenon_tensor *dbeta, tenon_plan **plan)
{
    const tenon_tensor *const operands[] = {x, dy, gamma, mean, variance, dx, dgamma, dbeta};
    const norm_views views = tn_norm_backward_views(operands, true);
    return plan_call(context, "tenon_norm_inference_backward_plan", params, &views, plan);
}
