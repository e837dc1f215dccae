/* The self-checks: every kind of function, on every kind of layout. */
#include "ops/elementwise/internal.h"

static void fill_binary(const void *params, tn_pointwise_problem *problem)
{
    problem->kind = ((const tenon_elementwise_params *)params)->kind;
}

static bool binary(const void *params, const tenon_tensor *const *views, tn_bounded *expected)
{
    return tn_elementwise_reference(params, views[ELEMENTWISE_A], views[ELEMENTWISE_B],
                                    views[ELEMENTWISE_D], expected);
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
    const tn_pointwise_check check = {.operation = "elementwise self-check",
                                      .params = &params,
                                      .scalars = scalars,
                                      .operands = ELEMENTWISE_OPERANDS,
                                      .outputs = 1,
                                      .problem_size = sizeof(tn_pointwise_problem),
                                      .fill = fill_binary,
                                      .reference = binary};
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

static bool copy(const void *params, const tenon_tensor *const *views, tn_bounded *expected)
{
    (void)params;
    return tn_copy_reference(views[COPY_X], views[COPY_Y], expected);
}

tenon_status tn_copy_self_check(tenon_stream *stream, const tn_problem *problem,
                                const tn_choice *choice, bool *right, char why[256])
{
    const double scalars[TN_MAX_SCALARS] = {0};
    const tn_pointwise_check check = {.operation = "copy self-check",
                                      .scalars = scalars,
                                      .operands = COPY_OPERANDS,
                                      .outputs = 1,
                                      .problem_size = sizeof(tn_pointwise_problem),
                                      .fill = fill_copy,
                                      .reference = copy};
    uint64_t seed = 1;
    if (choice->solver != &tn_copy_rows)
        return tn_copy_transpose_check(stream, problem, choice, right, why);
    for (int layout = 0; layout < TN_POINTWISE_LAYOUTS && *right; layout++)
        TN_TRY(tn_pointwise_self_check(stream, problem, choice, &check, layout, &seed, right, why));
    return TENON_OK;
}
