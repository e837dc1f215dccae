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

/* Returns why the solver cannot serve a chain without functions, or NULL. */
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

static int along_of_stride(int64_t stride)
{
    return stride == 0 ? CHAIN_SAME : stride == 1 ? CHAIN_CONTIGUOUS : CHAIN_STRIDED;
}

/* Returns how an operand of a step varies along the row. */
static int along_of(const elementwise_chain_problem *p, tenon_i32 source)
{
    return source > 0 ? along_of_stride(inner_stride(p, source - 1)) : CHAIN_SAME;
}

static uint64_t functions_of(const elementwise_chain_problem *p)
{
    uint64_t mask = 0;
    for (uint32_t n = 0; n < p->step_count; n++)
        if (p->steps[n].op >= CHAIN_UNARY)
            mask |= TN_FUNCTION_BIT(p->steps[n].op - CHAIN_UNARY);
        else if (p->steps[n].op >= CHAIN_BINARY)
            mask |= TN_FUNCTION2_BIT(p->steps[n].op - CHAIN_BINARY + TENON_ELEMENTWISE_POW);
    return mask;
}

/* Writes the options that fix the steps. */
static void write_steps(const elementwise_chain_problem *p, uint64_t functions, char *text,
                        size_t size)
{
    char mask[TN_FUNCTION_OPTIONS];
    int used = snprintf(
        text, size, "%s -DTENON_ACT_BUILD=%u -DCHAIN_COUNT=%u -DCHAIN_START=%d -DCHAIN_END=%d",
        functions != 0 ? tn_function_mask_option(functions, mask) : "", p->views.kind,
        (unsigned)p->step_count, along_of_stride(inner_stride(p, CHAIN_X0)),
        along_of_stride(inner_stride(p, CHAIN_Y)));
    for (uint32_t n = 0; n < p->step_count; n++) {
        const chain_step_args *s = &p->steps[n];
        used += snprintf(
            text + used, size - (size_t)used, " -DCHAIN_STEP%u=%d", n,
            CHAIN_CODE(s->op, along_of(p, s->operand), along_of(p, s->addend), s->activation));
    }
}

static const char *elementwise_chain_fixed_configure(tenon_context *context,
                                                     const tn_problem *problem, tn_choice *choice)
{
    const elementwise_chain_problem *p = (const elementwise_chain_problem *)problem;
    const uint64_t functions = functions_of(p);
    char more[CHAIN_STEPS * 24 + 160];
    const char *why = functions == 0 ? elementwise_chain_fixed_refuses(context, p) : NULL;
    if (why != NULL)
        return why;
    write_steps(p, functions, more, sizeof more);
    tn_pointwise_configure(context, &p->views, more, choice);
    if (functions == 0 && tn_pointwise_elements(&p->views) < LEAST_ELEMENTS)
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
        "chains with functions; also one to three other steps on at least 2¹⁵ elements, contiguous "
        "along the last dimension (inputs may be broadcast), on CPUs; one build per list of steps",
    .awkward = "same_steps=1",
    TN_PARAMETERS(tn_stores_parameter, 1),
    .configure = elementwise_chain_fixed_configure,
    .launch = elementwise_chain_fixed_launch};
