/* gemm_packed_post/two_steps and conv_packed_post/two_steps: a product or a convolution with packed
 * weights, and an element-wise chain for the terms after the activation. */
#include "ops/packed/internal.h"

/* Makes the steps of a product; `child` is the child's problem, which they point to. */
static tn_two_steps product_steps(const tn_problem *problem, packed_problem *child)
{
    const packed_problem *p = (const packed_problem *)problem;
    *child = *p;
    child->gemm = tn_gemm_without_post(&p->gemm);
    child->gemm.head.size = sizeof *child;
    if ((p->gemm.flags & TENON_POST_IN_PLACE) != 0)
        tn_gemm_store_densely(&child->gemm);
    return (tn_two_steps){&tn_gemm_packed_family, &child->gemm.head, "gemm_packed/plain",
                          tn_gemm_post_of(&p->gemm)};
}

static const char *packed_two_steps_configure(tenon_context *context, const tn_problem *problem,
                                              tn_choice *choice)
{
    packed_problem child;
    const tn_two_steps steps = product_steps(problem, &child);
    return tn_two_steps_configure(context, problem, &steps, choice);
}

static tenon_status packed_two_steps_launch(const char *caller, tn_recording *recording,
                                            const tn_problem *problem, const tn_choice *choice)
{
    packed_problem child;
    const tn_two_steps steps = product_steps(problem, &child);
    (void)choice;
    return tn_two_steps_launch(caller, recording, problem, &steps);
}

const tn_solver tn_gemm_packed_two_steps = {
    .name = "two_steps",
    .serves = "everything: a product by a solver of gemm_packed, and an element-wise pass",
    .needs = "a copy of d if the residual is d",
    .configure = packed_two_steps_configure,
    .launch = packed_two_steps_launch};

/* Makes the steps of a convolution, likewise. */
static tn_two_steps conv_steps(const tn_problem *problem, filter_problem *child)
{
    const filter_problem *p = (const filter_problem *)problem;
    *child = *p;
    tn_two_steps steps =
        tn_conv_two_steps_of(&p->conv, false, &tn_conv_packed_family, &child->conv);
    steps.fastest = "conv_packed/dense";
    child->conv.head.size = sizeof *child;
    return steps;
}

static const char *filters_two_steps_configure(tenon_context *context, const tn_problem *problem,
                                               tn_choice *choice)
{
    filter_problem child;
    const tn_two_steps steps = conv_steps(problem, &child);
    return tn_two_steps_configure(context, problem, &steps, choice);
}

static tenon_status filters_two_steps_launch(const char *caller, tn_recording *recording,
                                             const tn_problem *problem, const tn_choice *choice)
{
    filter_problem child;
    const tn_two_steps steps = conv_steps(problem, &child);
    (void)choice;
    return tn_two_steps_launch(caller, recording, problem, &steps);
}

const tn_solver tn_conv_packed_two_steps = {
    .name = "two_steps",
    .serves = "everything: a convolution by a solver of conv_packed, and an element-wise pass",
    .needs = "the workspace of that solver, and a copy of y if the residual is y",
    .awkward = "w=9",
    .inexact = true, /* as conv/winograd4 is */
    .configure = filters_two_steps_configure,
    .launch = filters_two_steps_launch};
