/* tenon_clip: the public entry, the family and its solver. */
#include "base/shape.h"
#include "ops/optimizer/internal.h"
#include "ops/registry.h"
#include "ops/common/epilogue.h"

#include <float.h>
#include <math.h>

#define CPU_CHUNK 8192
#define GPU_CHUNK 4

TENON_API tenon_clip_params tenon_clip_params_default(void)
{
    return (tenon_clip_params)TENON_CLIP_PARAMS_INIT;
}

void tn_clip_canonicalise(const void *params, const tenon_tensor *const *views,
                          tn_lines_problem *problem)
{
    tn_lines_canonicalise(views, CLIP_OPERANDS, CLIP_X, problem);
    problem->flags = ((const tenon_clip_params *)params)->flags;
}

static tenon_status record(const char *operation, tn_recording *recording,
                           const tn_problem *problem, const int32_t *values)
{
    char text[TN_OPTIONS_SIZE];
    const tn_lines_launch launch = {.source = "optimizer/clip",
                                    .kernel = "clip",
                                    .options = text,
                                    .cpu_chunk = CPU_CHUNK,
                                    .gpu_chunk = GPU_CHUNK,
                                    .numbers = CLIP_SCALARS};
    tn_lines_options(recording->context, problem, values, text);
    return tn_lines_record(operation, recording, (const tn_lines_problem *)problem, &launch);
}

static const tn_solver lines_solver = {.name = "lines",
                                       .refuses = tn_lines_refuses,
                                       .estimate = tn_lines_estimate,
                                       .options = tn_lines_options,
                                       .record = record};

/* The sum that the check makes up is in [-1, 1], and a negative one gives NaN: so one of the norms
 * that are tried clips, and one does not, or all is NaN. */
static tenon_status self_check(tenon_stream *stream, const tn_problem *problem,
                               const tn_choice *choice, bool *right, char why[256])
{
    const tenon_dtype dtype = (tenon_dtype)((const tn_lines_problem *)problem)->dtype;
    for (uint32_t i = 0; i < 3 && *right; i++) {
        tenon_clip_params params = TENON_CLIP_PARAMS_INIT;
        params.flags = i == 2 ? TENON_CLIP_SKIP_NONFINITE : 0;
        params.max_norm = i == 1 ? 2 : 0x1p-7;
        tn_lines_trial trial = {.of = &tn_operation_clip,
                                .dtype = {tn_state_dtype(dtype), dtype},
                                .single = 1U << CLIP_SUM,
                                .params = &params,
                                .canonicalise = tn_clip_canonicalise};
        trial.scalars[CLIP_MOST] = params.max_norm;
        trial.scalars[CLIP_EPSILON] = params.epsilon;
        TN_TRY(tn_lines_self_check(stream, choice, &trial, right, why));
    }
    return TENON_OK;
}

static const tn_solver *const solvers[] = {&lines_solver};

static uint64_t paths(const tn_problem *problem)
{
    return tn_paths_of_flags(((const tn_lines_problem *)problem)->flags, TENON_CLIP_SKIP_NONFINITE);
}

const tn_family tn_clip_family = {.name = "clip",
                                  .solvers = solvers,
                                  .solver_count = sizeof solvers / sizeof *solvers,
                                  .self_check = self_check,
                                  .paths = paths};

tn_call tn_clip_call(const char *operation, const tenon_tensor *sum, const tenon_tensor *x)
{
    return (tn_call){.operation = operation,
                     .operands = {{"sum", sum, TN_INPUT}, {"x", x, TN_OUTPUT}},
                     .operand_count = CLIP_OPERANDS};
}

static tenon_status check_params(const char *operation, const tenon_clip_params *params)
{
    TN_TRY(tn_params_check(operation, params->struct_size, sizeof *params, params->flags,
                           TENON_CLIP_SKIP_NONFINITE));
    TN_TRY(tn_number_check(operation, "max_norm", params->max_norm, DBL_MIN, (double)INFINITY));
    return tn_number_check(operation, "epsilon", params->epsilon, 0, (double)INFINITY);
}

tenon_status tn_clip_prepare(tenon_context *context, const tenon_clip_params *params, tn_call *call,
                             tn_lines_problem *problem, bool *empty)
{
    const char *operation = call->operation;
    const tenon_tensor *views[] = {call->operands[CLIP_SUM].view, call->operands[CLIP_X].view};
    TN_TRY(check_params(operation, params));
    TN_TRY(tn_tensor_check(operation, "sum", views[CLIP_SUM]));
    TN_TRY(tn_call_check_views(call));
    TN_TRY(tn_float_check(operation, "x", context, views[CLIP_X]->dtype));
    TN_TRY(tn_sum_check(operation, views[CLIP_SUM], views[CLIP_X]->dtype));
    *empty = tn_tensor_empty(views[CLIP_X]);
    tn_clip_canonicalise(params, views, problem);
    call->scalars[CLIP_MOST] = params->max_norm;
    call->scalars[CLIP_EPSILON] = params->epsilon;
    return tn_solver_force(operation, &tn_clip_family, params->solver, &problem->head);
}

TENON_API tenon_status tenon_clip(tenon_stream *stream, const tenon_clip_params *params,
                                  const tenon_tensor *sum, const tenon_tensor *x,
                                  const tenon_sync *sync)
{
    static const tenon_clip_params defaults = TENON_CLIP_PARAMS_INIT;
    tn_call call = tn_clip_call("tenon_clip", sum, x);
    tn_lines_problem problem;
    bool empty = false;
    TN_TRY(tn_stream_check(call.operation, stream));
    TN_TRY(tn_clip_prepare(stream->context, params != NULL ? params : &defaults, &call, &problem,
                           &empty));
    return tn_call_run(stream, &tn_clip_family, empty ? NULL : &problem.head, &call, sync);
}

TENON_API tenon_status tenon_clip_plan(tenon_context *context, const tenon_clip_params *params,
                                       const tenon_tensor *sum, const tenon_tensor *x,
                                       tenon_plan **plan)
{
    static const tenon_clip_params defaults = TENON_CLIP_PARAMS_INIT;
    tn_call call = tn_clip_call("tenon_clip_plan", sum, x);
    tn_lines_problem problem;
    bool empty = false;
    TN_TRY(tn_plan_check(call.operation, context, plan));
    TN_TRY(tn_clip_prepare(context, params != NULL ? params : &defaults, &call, &problem, &empty));
    return tn_call_plan(context, &tn_clip_family, empty ? NULL : &problem.head, &call, plan);
}
