/* The self-checks: every kind of function, on every kind of layout. */
#include "ops/elementwise/internal.h"
#include "ops/registry.h"

static void fill_binary(const void *params, tn_pointwise_problem *problem)
{
    problem->kind = ((const tenon_elementwise_params *)params)->kind;
}

/* All kinds are in one build, and only builds are told apart when it is asked what was checked. */
tenon_status tn_elementwise_self_check(tenon_stream *stream, const tn_problem *problem,
                                       const tn_choice *choice, bool *right, char why[256])
{
    tenon_elementwise_params params = TENON_ELEMENTWISE_PARAMS_INIT;
    params.alpha = 0.75;
    params.beta = -1.5;
    const double scalars[TN_MAX_SCALARS] = {
        [TN_SCALAR_ALPHA] = params.alpha, [TN_SCALAR_BETA] = params.beta};
    const tn_pointwise_check check = {.of = &tn_operation_elementwise,
                                      .params = &params,
                                      .scalars = scalars,
                                      .problem_size = sizeof(tn_pointwise_problem),
                                      .fill = fill_binary};
    uint64_t seed = 1;
    for (uint32_t i = 0; i < 2 * (TENON_ELEMENTWISE_SCALE_ADD + 1) && *right; i++) {
        params.kind = i / 2;
        TN_TRY(tn_pointwise_self_check(stream, problem, choice, &check,
                                       (int)i % TN_POINTWISE_LAYOUTS, &seed, right, why));
    }
    return TENON_OK;
}

static void fill_copy(const void *params, tn_pointwise_problem *problem)
{
    (void)params;
    (void)problem;
}

tenon_status tn_copy_self_check(tenon_stream *stream, const tn_problem *problem,
                                const tn_choice *choice, bool *right, char why[256])
{
    const double scalars[TN_MAX_SCALARS] = {0};
    const tn_pointwise_check check = {.of = &tn_operation_copy,
                                      .scalars = scalars,
                                      .problem_size = sizeof(tn_pointwise_problem),
                                      .fill = fill_copy};
    uint64_t seed = 1;
    if (!tn_is_solver(choice->solver, &tn_copy_rows))
        return tn_copy_transpose_check(stream, problem, choice, right, why);
    for (int layout = 0; layout < TN_POINTWISE_LAYOUTS && *right; layout++)
        TN_TRY(tn_pointwise_self_check(stream, problem, choice, &check, layout, &seed, right, why));
    return TENON_OK;
}
