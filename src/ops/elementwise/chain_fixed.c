/* elementwise_chain/fixed: a build for each list of steps, whose values stay in registers from the
 * first to the last. */
#include "ops/common/lanes.h"
#include "ops/elementwise/internal.h"

#include <stdio.h>

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
                                  .awkward = "same_steps=1",
                                  .parameters = tn_stores_parameter,
                                  .parameter_count = 1,
                                  .refuses = refuses,
                                  .tune = tn_pointwise_tune,
                                  .constrains = tn_stores_constrains,
                                  .estimate = estimate,
                                  .options = options,
                                  .record = record};
