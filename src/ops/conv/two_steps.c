/* conv_post/two_steps and conv_transpose_post/two_steps: a convolution by the solvers of conv, or a
 * transposed one by those of conv_transpose, and an element-wise chain for the terms after the
 * activation. */
#include "ops/conv/problem/gradient.h"

#include <string.h>

/* Orders of the dimensions N, C, D, H and W, the last of which is contiguous. */
static const int channels_first[CONV_RANK] = {0, 1, 2, 3, 4},
                 channels_last[CONV_RANK] = {0, 2, 3, 4, 1};

static conv_problem without_post(const conv_problem *p)
{
    conv_problem child = *p;
    tn_problem_begin(&child.head, sizeof child.head);
    child.head.size = sizeof child;
    child.head.workspace_limit = p->head.workspace_limit;
    child.flags &= ~(uint32_t)(TENON_POST_ANY | TENON_POST_IN_PLACE);
    child.post_scale = child.post_shift = 0;
    memset(child.residual, 0, sizeof child.residual);
    return child;
}

static void reorder(const int order[CONV_RANK], const int64_t from[CONV_RANK],
                    int64_t to[CONV_RANK])
{
    for (int d = 0; d < CONV_RANK; d++)
        to[d] = from[order[d]];
}

/* Returns the terms as views with the given order of dimensions, for an output of these sizes and
 * strides. */
static tn_post post_of(const conv_problem *p, const int order[CONV_RANK],
                       const int64_t size[CONV_RANK], const int64_t output[CONV_RANK])
{
    const int64_t strides[POST_TERMS][CONV_RANK] = {{[1] = p->post_scale}, {[1] = p->post_shift}};
    tn_post post = {.output = {.dtype = (tenon_dtype)p->dtype, .rank = CONV_RANK},
                    .is_in_place = (p->flags & TENON_POST_IN_PLACE) != 0};
    int64_t stride[CONV_RANK];
    reorder(order, size, post.output.shape);
    reorder(order, output, post.output.stride);
    for (int term = 0; term < POST_TERMS; term++) {
        reorder(order, term == POST_RESIDUAL ? p->residual : strides[term], stride);
        if ((p->flags & TENON_POST_SCALE << term) != 0)
            tn_post_set(&post, term, stride, p->operand[CONV_POST + term]);
    }
    return post;
}

/* Makes the strides of dense memory with the given order of dimensions; those of size 1 are 0. */
static void make_dense(const int order[CONV_RANK], const int64_t size[CONV_RANK],
                       int64_t stride[CONV_RANK])
{
    int64_t next = 1;
    for (int i = CONV_RANK - 1; i >= 0; i--) {
        stride[order[i]] = size[order[i]] == 1 ? 0 : next;
        next *= size[order[i]];
    }
}

tn_two_steps tn_conv_two_steps_of(const conv_problem *p, bool is_transposed,
                                  const tn_family *family, conv_problem *child)
{
    const int64_t *spatial = is_transposed ? p->window.size : p->window.out;
    const int64_t *output = is_transposed ? p->x : p->y;
    const int64_t size[CONV_RANK] = {p->n, p->groups * (is_transposed ? p->c : p->k), spatial[0],
                                     spatial[1], spatial[2]};
    const int *order = output[1] == 1 ? channels_last : channels_first;
    *child = without_post(p);
    tn_two_steps steps = {family, &child->head,
                          is_transposed ? "conv_transpose/direct" : "conv/direct",
                          post_of(p, order, size, output)};
    steps.post.output_operand = p->operand[is_transposed ? CONV_X : CONV_Y];
    if (steps.post.is_in_place)
        make_dense(order, size, is_transposed ? child->x : child->y);
    return steps;
}

static const char *conv_two_steps_configure(tenon_context *context, const tn_problem *problem,
                                            tn_choice *choice)
{
    conv_problem child;
    const tn_two_steps steps =
        tn_conv_two_steps_of((const conv_problem *)problem, false, &tn_conv_family, &child);
    return tn_two_steps_configure(context, problem, &steps, choice);
}

static tenon_status conv_two_steps_launch(const char *caller, tn_recording *recording,
                                          const tn_problem *problem, const tn_choice *choice)
{
    conv_problem child;
    const tn_two_steps steps =
        tn_conv_two_steps_of((const conv_problem *)problem, false, &tn_conv_family, &child);
    (void)choice;
    return tn_two_steps_launch(caller, recording, problem, &steps);
}

static const char *transpose_two_steps_configure(tenon_context *context, const tn_problem *problem,
                                                 tn_choice *choice)
{
    conv_problem child;
    const tn_two_steps steps = tn_conv_two_steps_of((const conv_problem *)problem, true,
                                                    &tn_conv_transpose_family, &child);
    return tn_two_steps_configure(context, problem, &steps, choice);
}

static tenon_status transpose_two_steps_launch(const char *caller, tn_recording *recording,
                                               const tn_problem *problem, const tn_choice *choice)
{
    conv_problem child;
    const tn_two_steps steps = tn_conv_two_steps_of((const conv_problem *)problem, true,
                                                    &tn_conv_transpose_family, &child);
    (void)choice;
    return tn_two_steps_launch(caller, recording, problem, &steps);
}

#define NEEDS "the workspace of that solver, and a copy of y if the residual is y"
const tn_solver tn_conv_two_steps = {
    .name = "two_steps",
    .serves = "everything: a convolution by a solver of conv, and an element-wise pass",
    .needs = NEEDS,
    .inexact = true, /* as conv/winograd4 is */
    .configure = conv_two_steps_configure,
    .launch = conv_two_steps_launch};

const tn_solver tn_conv_transpose_two_steps = {
    .name = "two_steps",
    .serves = "everything: a solver of conv_transpose, and an element-wise pass",
    .needs = NEEDS,
    .configure = transpose_two_steps_configure,
    .launch = transpose_two_steps_launch};
