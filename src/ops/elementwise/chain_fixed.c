/* elementwise_chain/fixed: a build for each list of steps, whose values stay in registers from the
 * first to the last. */
#include "ops/common/lanes.h"
#include "check/case.h"
#include "ops/elementwise/internal.h"
#include "ops/registry.h"

#include <stdio.h>
#include <stdlib.h>

/* A build is worth its compilation from about this many elements on. */
#define LEAST_ELEMENTS (1 << 15)

static int64_t elements_of(const tn_pointwise_problem *p)
{
    int64_t count = 1;
    for (uint32_t d = 0; d < p->rank; d++)
        count *= p->shape[d];
    return count;
}

static int64_t inner_stride(const elementwise_chain_problem *p, int operand)
{
    return p->views.stride[operand][p->views.rank - 1];
}

static const char *refuses(tenon_context *context, const tn_problem *problem)
{
    const elementwise_chain_problem *p = (const elementwise_chain_problem *)problem;
    if (!context->device.is_cpu)
        return "a GPU's chains wait for memory, not for their steps";
    if (p->step_count == 0 || p->step_count > CHAIN_FIXED_STEPS)
        return "only chains of 1 to 3 steps are built";
    if (problem->forced < 0 && elements_of(&p->views) < LEAST_ELEMENTS)
        return "few elements are not worth a build";
    for (int i = 0; i < CHAIN_Y; i++)
        if (inner_stride(p, i) != 0 && inner_stride(p, i) != 1)
            return "an input is neither contiguous nor repeated";
    return inner_stride(p, CHAIN_Y) == 1 ? NULL : "y is not contiguous";
}

static double estimate(tenon_context *context, const tn_problem *problem, const int32_t *values)
{
    (void)context;
    (void)values;
    return 5000 + 0.1 * (double)elements_of((const tn_pointwise_problem *)problem);
}

/* Of an operand of a step: 1 where it is read along the row. */
static int is_along(const elementwise_chain_problem *p, tenon_i32 source)
{
    return source > 0 && inner_stride(p, source - 1) == 1;
}

static void options(tenon_context *context, const tn_problem *problem, const int32_t *values,
                    char text[TN_OPTIONS_SIZE])
{
    const elementwise_chain_problem *p = (const elementwise_chain_problem *)problem;
    char steps[CHAIN_FIXED_STEPS * 24] = "";
    for (uint32_t n = 0, used = 0; n < p->step_count; n++) {
        const chain_step_args *s = &p->steps[n];
        used += (uint32_t)snprintf(
            steps + used, sizeof steps - used, " -DCHAIN_STEP%u=%d", n,
            CHAIN_CODE(s->op, is_along(p, s->operand), is_along(p, s->addend), s->activation));
    }
    tn_build_options(context, text,
                     "-DTENON_DTYPE=%u -DTENON_VW=%u -DTENON_ACT_BUILD=%u -DCHAIN_COUNT=%u "
                     "-DCHAIN_START=%d%s%s",
                     p->views.to, tn_lanes(context, p->views.to), p->views.kind,
                     (unsigned)p->step_count, (int)inner_stride(p, CHAIN_X0), steps,
                     tn_stores_option(values));
}

static tenon_status record(const char *operation, tn_recording *recording,
                           const tn_problem *problem, const int32_t *values)
{
    char text[TN_OPTIONS_SIZE];
    options(recording->context, problem, values, text);
    return tn_chain_record(operation, recording, (const elementwise_chain_problem *)problem,
                           "elementwise/chain_fixed", "chain_fixed", text);
}

const tn_solver tn_chain_fixed = {.name = "fixed",
                                  .parameters = tn_stores_parameter,
                                  .parameter_count = 1,
                                  .refuses = refuses,
                                  .tune = tn_pointwise_tune,
                                  .constrains = tn_stores_constrains,
                                  .estimate = estimate,
                                  .options = options,
                                  .record = record};

/* Rows with tails and gaps; inputs repeat along them as the problem's do. */
static tenon_tensor check_view(const elementwise_chain_problem *like, int operand)
{
    tenon_tensor view = {.dtype = like->views.to, .rank = 2, .shape = {37, 229}};
    view.stride[1] = inner_stride(like, operand);
    view.stride[0] = view.stride[1] != 0 ? 229 + operand + 1 : 1;
    view.offset = (uint64_t)(operand + 1) * tenon_dtype_size((tenon_dtype)view.dtype);
    return view;
}

static void fill_params(const elementwise_chain_problem *like,
                        tenon_elementwise_chain_params *params)
{
    params->step_count = (uint32_t)like->step_count;
    for (uint32_t n = 0; n < params->step_count; n++) {
        const chain_step_args *s = &like->steps[n];
        params->steps[n] = (tenon_chain_step){.op = (uint32_t)s->op,
                                              .operand = (uint32_t)s->operand,
                                              .addend = (uint32_t)s->addend,
                                              .activation = (uint32_t)s->activation,
                                              .alpha = 0.75,
                                              .beta = 1.25};
    }
}

static tenon_status compare(tenon_stream *stream, const elementwise_chain_problem *like,
                            const tn_choice *choice, tn_twin *twins, bool *right, char why[256])
{
    static const char operation[] = "elementwise_chain self-check";
    tenon_elementwise_chain_params params = TENON_ELEMENTWISE_CHAIN_PARAMS_INIT;
    const tenon_tensor *views[CHAIN_OPERANDS];
    tn_argument arguments[CHAIN_OPERANDS];
    elementwise_chain_problem problem;
    double scalars[TN_MAX_SCALARS] = {0};
    for (int i = 0; i < CHAIN_OPERANDS; i++) {
        views[i] = &twins[i].host;
        arguments[i] = (tn_argument){"view", views[i], i == CHAIN_Y ? TN_OUTPUT : TN_INPUT};
    }
    fill_params(like, &params);
    TN_TRY(tn_pointwise_canonicalise(operation, arguments, CHAIN_OPERANDS, 1, sizeof problem,
                                     &problem.views));
    tn_elementwise_chain_fill(&params, &problem, scalars);
    tn_bounded *expected = malloc((size_t)tenon_tensor_elements(views[CHAIN_Y]) * sizeof *expected);
    tenon_status status =
        expected != NULL && tn_elementwise_chain_reference(&params, views, views[CHAIN_Y], expected)
            ? tn_twins_check(stream, operation, choice, &problem.views.head, scalars, twins,
                             CHAIN_OPERANDS, 1, expected, right, why)
            : tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory", operation);
    if (status == TENON_OK && !*right)
        tn_twins_blame(stream, &tn_operation_elementwise_chain, &params, twins, CHAIN_OPERANDS,
                       choice);
    free(expected);
    return status;
}

tenon_status tn_chain_fixed_check(tenon_stream *stream, const tn_problem *problem,
                                  const tn_choice *choice, bool *right, char why[256])
{
    const elementwise_chain_problem *like = (const elementwise_chain_problem *)problem;
    tn_twin twins[CHAIN_OPERANDS] = {0};
    tenon_status status = TENON_OK;
    uint64_t seed = 1;
    for (int i = 0; i < CHAIN_OPERANDS && status == TENON_OK; i++) {
        const tenon_tensor view = check_view(like, i);
        status = tn_twin_create(stream, &view, &seed, &twins[i]);
    }
    if (status == TENON_OK)
        status = compare(stream, like, choice, twins, right, why);
    for (int i = 0; i < CHAIN_OPERANDS; i++)
        tn_twin_destroy(&twins[i]);
    return status;
}
