/* tenon_square_sum: the public entry, and the family. */
#include "base/shape.h"
#include "ops/optimizer/internal.h"
#include "ops/registry.h"
#include "ops/common/epilogue.h"

TENON_API tenon_square_sum_params tenon_square_sum_params_default(void)
{
    return (tenon_square_sum_params)TENON_SQUARE_SUM_PARAMS_INIT;
}

void tn_square_sum_canonicalise(const void *params, const tenon_tensor *const *views,
                                tn_lines_problem *problem)
{
    tn_lines_canonicalise(views, SQUARE_SUM_OPERANDS, SQUARE_SUM_X, problem);
    problem->flags = ((const tenon_square_sum_params *)params)->flags;
}

/* Replacing and adding are one build. */
static tenon_status self_check(tenon_stream *stream, const tn_problem *problem,
                               const tn_choice *choice, bool *right, char why[256])
{
    const tenon_dtype dtype = (tenon_dtype)((const tn_lines_problem *)problem)->dtype;
    for (uint32_t flags = 0; flags <= TENON_SQUARE_SUM_ADD && *right; flags++) {
        tenon_square_sum_params params = TENON_SQUARE_SUM_PARAMS_INIT;
        params.flags = flags;
        const tn_lines_trial trial = {.of = &tn_operation_square_sum,
                                      .dtype = {dtype, tn_state_dtype(dtype)},
                                      .single = 1U << SQUARE_SUM_SUM,
                                      .params = &params,
                                      .canonicalise = tn_square_sum_canonicalise};
        TN_TRY(tn_lines_self_check(stream, choice, &trial, right, why));
    }
    return TENON_OK;
}

static const tn_solver *const solvers[] = {&tn_square_sum_lines, &tn_square_sum_single};

static uint64_t paths(const tn_problem *problem)
{
    return tn_paths_of_flags(((const tn_lines_problem *)problem)->flags, TENON_SQUARE_SUM_ADD);
}

const tn_family tn_square_sum_family = {.name = "square_sum",
                                        .solvers = solvers,
                                        .solver_count = sizeof solvers / sizeof *solvers,
                                        .self_check = self_check,
                                        .paths = paths};

tn_call tn_square_sum_call(const char *operation, const tenon_tensor *x, const tenon_tensor *sum)
{
    return (tn_call){.operation = operation,
                     .operands = {{"x", x, TN_INPUT}, {"sum", sum, TN_OUTPUT}},
                     .operand_count = SQUARE_SUM_OPERANDS};
}

tenon_status tn_square_sum_prepare(tenon_context *context, const tenon_square_sum_params *params,
                                   tn_call *call, tn_lines_problem *problem)
{
    const char *operation = call->operation;
    const tenon_tensor *views[] = {call->operands[SQUARE_SUM_X].view,
                                   call->operands[SQUARE_SUM_SUM].view};
    TN_TRY(tn_params_check(operation, params->struct_size, sizeof *params, params->flags,
                           TENON_SQUARE_SUM_ADD));
    TN_TRY(tn_tensor_check(operation, "x", views[SQUARE_SUM_X]));
    TN_TRY(tn_call_check_views(call));
    TN_TRY(tn_float_check(operation, "x", context, views[SQUARE_SUM_X]->dtype));
    TN_TRY(tn_sum_check(operation, views[SQUARE_SUM_SUM], views[SQUARE_SUM_X]->dtype));
    tn_square_sum_canonicalise(params, views, problem);
    return tn_solver_force(operation, &tn_square_sum_family, params->solver, &problem->head);
}

TENON_API tenon_status tenon_square_sum(tenon_stream *stream, const tenon_square_sum_params *params,
                                        const tenon_tensor *x, const tenon_tensor *sum,
                                        const tenon_sync *sync)
{
    static const tenon_square_sum_params defaults = TENON_SQUARE_SUM_PARAMS_INIT;
    tn_call call = tn_square_sum_call("tenon_square_sum", x, sum);
    tn_lines_problem problem;
    TN_TRY(tn_stream_check(call.operation, stream));
    TN_TRY(tn_square_sum_prepare(stream->context, params != NULL ? params : &defaults, &call,
                                 &problem));
    return tn_call_run(stream, &tn_square_sum_family, &problem.head, &call, sync);
}

TENON_API tenon_status tenon_square_sum_plan(tenon_context *context,
                                             const tenon_square_sum_params *params,
                                             const tenon_tensor *x, const tenon_tensor *sum,
                                             tenon_plan **plan)
{
    static const tenon_square_sum_params defaults = TENON_SQUARE_SUM_PARAMS_INIT;
    tn_call call = tn_square_sum_call("tenon_square_sum_plan", x, sum);
    tn_lines_problem problem;
    TN_TRY(tn_plan_check(call.operation, context, plan));
    TN_TRY(tn_square_sum_prepare(context, params != NULL ? params : &defaults, &call, &problem));
    return tn_call_plan(context, &tn_square_sum_family, &problem.head, &call, plan);
}
