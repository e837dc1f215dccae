/* conv_packed/dense: a convolution with the dense filters that follow the panels, by the solver of
 * `conv` that is fastest for it. Serves everything. */
#include "dispatch/self_check.h"
#include "ops/packed/internal.h"

#include <stdio.h>

/* Returns the convolution with the dense filters. */
static conv_problem dense_of(const tn_problem *problem)
{
    conv_problem dense = ((const filter_problem *)problem)->conv;
    dense.head = (tn_problem){
        .size = sizeof dense, .workspace_limit = problem->workspace_limit, .forced = -1};
    return dense;
}

/* Returns the family of that convolution. */
static const tn_family *family_of(const conv_problem *dense)
{
    return (dense->flags & TENON_POST_ANY) != 0 ? &tn_conv_post_family : &tn_conv_family;
}

static const char *conv_packed_dense_configure(tenon_context *context, const tn_problem *problem,
                                               tn_choice *choice)
{
    const conv_problem dense = dense_of(problem);
    choice->time = tn_problem_time(context, family_of(&dense), &dense.head);
    snprintf(choice->options, sizeof choice->options, "type %s%s",
             tenon_dtype_string((tenon_dtype)dense.dtype),
             family_of(&dense) == &tn_conv_family ? "" : " post");
    return NULL;
}

/* In a self-check the convolution uses the kernel that builds fastest. The variants of `conv` are
 * checked when they are first used. */
static tenon_status conv_packed_dense_launch(const char *caller, tn_recording *recording,
                                             const tn_problem *problem, const tn_choice *choice)
{
    const filter_problem *p = (const filter_problem *)problem;
    const int64_t size = (int64_t)tenon_dtype_size((tenon_dtype)p->conv.dtype);
    conv_problem dense = dense_of(problem);
    const bool has_post = (dense.flags & TENON_POST_ANY) != 0;
    tn_frame frame = tn_frame_after(0);
    (void)choice;
    tn_frame_operand(&frame, CONV_W, p->conv.operand[CONV_W], p->dense_at * size);
    if (tn_self_check_runs(recording->context))
        TN_TRY(tn_solver_force(caller, family_of(&dense),
                               has_post ? "conv_post/direct" : "conv/direct", &dense.head));
    return tn_child_record(caller, recording, &frame, family_of(&dense), &dense.head);
}

const tn_solver tn_conv_packed_dense = {
    .name = "dense",
    .serves = "everything, with the dense filters, by a solver of conv",
    .needs = "the workspace of that solver",
    .awkward = "w=9",
    .inexact = true, /* as conv/winograd4 is */
    .configure = conv_packed_dense_configure,
    .launch = conv_packed_dense_launch};
