/* The solver elementwise_chain/fixed: a build for each list of steps, which keeps values in
 * registers from the first step to the last. */
#include "ops/elementwise/internal.h"

#include <stdio.h>

/* Least number of elements that is worth compiling a build. */
#define LEAST_ELEMENTS (1 << 15)

static int64_t inner_stride(const elementwise_chain_problem *p, int operand)
{
    return p->views.stride[operand][p->views.rank - 1];
}

/* Returns why the solver cannot serve, or NULL. */
static const char *elementwise_chain_fixed_refuses(tenon_context *context,
                                                   const elementwise_chain_problem *p)
{
    if (!context->device.is_cpu)
        return "chains are memory-bound on GPUs";
    if (p->step_count == 0 || p->step_count > CHAIN_FIXED_STEPS)
        return "only chains of 1 to 3 steps are supported";
    for (int i = 0; i < CHAIN_Y; i++)
        if (inner_stride(p, i) != 0 && inner_stride(p, i) != 1)
            return "an input is neither contiguous nor broadcast along the last dimension";
    return inner_stride(p, CHAIN_Y) == 1 ? NULL : "y is not contiguous";
}

/* Returns 1 if an operand of a step varies along the row. */
static int is_along(const elementwise_chain_problem *p, tenon_i32 source)
{
    return source > 0 && inner_stride(p, source - 1) == 1;
}

static const char *elementwise_chain_fixed_configure(tenon_context *context,
                                                     const tn_problem *problem, tn_choice *choice)
{
    const elementwise_chain_problem *p = (const elementwise_chain_problem *)problem;
    char more[CHAIN_FIXED_STEPS * 24 + 80];
    const char *why = elementwise_chain_fixed_refuses(context, p);
    if (why != NULL)
        return why;
    int used =
        snprintf(more, sizeof more, " -DTENON_ACT_BUILD=%u -DCHAIN_COUNT=%u -DCHAIN_START=%d",
                 p->views.kind, (unsigned)p->step_count, (int)inner_stride(p, CHAIN_X0));
    for (uint32_t n = 0; n < p->step_count; n++) {
        const chain_step_args *s = &p->steps[n];
        used += snprintf(
            more + used, sizeof more - (size_t)used, " -DCHAIN_STEP%u=%d", n,
            CHAIN_CODE(s->op, is_along(p, s->operand), is_along(p, s->addend), s->activation));
    }
    tn_pointwise_configure(context, &p->views, more, choice);
    if (tn_pointwise_elements(&p->views) < LEAST_ELEMENTS)
        choice->never_chosen = "too few elements to be worth compiling";
    return NULL;
}

static tenon_status elementwise_chain_fixed_launch(const char *caller, tn_recording *recording,
                                                   const tn_problem *problem,
                                                   const tn_choice *choice)
{
    return tn_chain_record(caller, recording, (const elementwise_chain_problem *)problem,
                           "elementwise/chain_fixed", "chain_fixed", choice->options);
}

const tn_solver tn_chain_fixed = {
    .name = "fixed",
    .serves =
        "one to three steps on at least 2¹⁵ elements, contiguous along the last dimension (inputs "
        "may be broadcast), on CPUs; one build per list of steps",
    .awkward = "same_steps=1",
    TN_PARAMETERS(tn_stores_parameter, 1),
    .configure = elementwise_chain_fixed_configure,
    .launch = elementwise_chain_fixed_launch};
