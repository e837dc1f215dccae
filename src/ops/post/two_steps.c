/* The solver two_steps, which applies the terms after the activation by an element-wise chain. */
#include "base/shape.h"
#include "common/post_args.h"
#include "dispatch/self_check.h"
#include "ops/elementwise/internal.h"
#include "ops/post/post.h"
#include "ops/registry.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *const tn_post_names[POST_TERMS] = {"post_scale", "post_shift", "residual"};

void tn_post_set(tn_post *post, int term, const int64_t *stride, uint16_t operand)
{
    post->term[term] = post->output;
    memcpy(post->term[term].stride, stride, post->output.rank * sizeof *stride);
    post->term_operand[term] = operand;
}

/* Returns the child's result: the output, or dense memory of its shape. */
static tenon_tensor result_of(const tn_two_steps *steps)
{
    const tenon_tensor *output = &steps->post.output;
    return steps->post.is_in_place ? tenon_tensor_view(output->dtype, output->rank, output->shape)
                                   : *output;
}

uint64_t tn_two_steps_bytes(const tn_two_steps *steps)
{
    const tenon_tensor result = result_of(steps);
    return steps->post.is_in_place ? tn_tensor_extent(&result).end : 0;
}

/* The chain's problem, and the scalars of its steps. */
typedef struct post_chain {
    elementwise_chain_problem problem;
    tn_call call;
} post_chain;

/* Makes the chain's problem, which may use the workspace after the child's result. */
static tenon_status make_chain(const char *caller, tenon_context *context, const tn_two_steps *s,
                               uint64_t limit, post_chain *chain)
{
    static const uint32_t operations[POST_TERMS] = {TENON_CHAIN_MULTIPLY, TENON_CHAIN_ADD,
                                                    TENON_CHAIN_ADD};
    const tenon_tensor result = result_of(s);
    tenon_elementwise_chain_params params = TENON_ELEMENTWISE_CHAIN_PARAMS_INIT;
    bool empty = false;
    chain->call = (tn_call){caller, &tn_operation_elementwise_chain, context, &params,
                            .operand_count = CHAIN_OPERANDS};
    chain->call.operands[CHAIN_X0].view = &result;
    chain->call.operands[CHAIN_Y].view = &s->post.output;
    for (int term = 0; term < POST_TERMS; term++) {
        if (s->post.term[term].dtype == TENON_DTYPE_INVALID)
            continue;
        chain->call.operands[CHAIN_X1 + term].view = &s->post.term[term];
        params.steps[params.step_count++] =
            (tenon_chain_step){.op = operations[term], .operand = TENON_CHAIN_X1 + (uint32_t)term};
    }
    TN_TRY(tn_elementwise_chain_prepare(&params, &chain->call, &chain->problem.views.head, &empty));
    chain->problem.views.head.workspace_limit = tn_frame_room(limit, tn_two_steps_bytes(s));
    return TENON_OK;
}

const char *tn_two_steps_configure(tenon_context *context, const tn_problem *problem,
                                   const tn_two_steps *steps, tn_choice *choice)
{
    post_chain chain;
    const uint64_t bytes = tn_two_steps_bytes(steps), limit = problem->workspace_limit;
    if (bytes > limit)
        return "the residual is d, and the workspace has no room for a copy of d";
    if (make_chain("configure", context, steps, limit, &chain) != TENON_OK)
        return "the element-wise chain does not support the terms after the activation";
    steps->child->workspace_limit = tn_frame_room(limit, bytes);
    choice->time =
        tn_problem_time(context, steps->family, steps->child) +
        tn_problem_time(context, &tn_elementwise_chain_family, &chain.problem.views.head);
    if (isinf(choice->time))
        return "no solver without terms after the activation can be selected";
    choice->workspace = bytes;
    snprintf(choice->options, sizeof choice->options, "type %s%s",
             tenon_dtype_string(steps->post.output.dtype), bytes > 0 ? " copy" : "");
    return NULL;
}

bool tn_post_tries_in_place(const tn_choice *choice, uint32_t flags)
{
    return (flags & TENON_POST_IN_PLACE) != 0 && strcmp(choice->solver->name, "two_steps") == 0;
}

/* Records the chain, whose first input is the child's result. */
static tenon_status record_chain(const char *caller, tn_recording *recording, uint64_t limit,
                                 const tn_two_steps *s)
{
    post_chain chain;
    TN_TRY(make_chain(caller, recording->context, s, limit, &chain));
    tn_frame frame = tn_frame_after(tn_two_steps_bytes(s));
    const uint16_t output = s->post.output_operand;
    tn_frame_operand(&frame, CHAIN_X0, s->post.is_in_place ? TN_WORKSPACE : output, 0);
    tn_frame_operand(&frame, CHAIN_Y, output, 0);
    for (uint32_t term = 0; term < POST_TERMS; term++)
        tn_frame_operand(
            &frame, CHAIN_X1 + term,
            s->post.term[term].dtype != TENON_DTYPE_INVALID ? s->post.term_operand[term] : output,
            0);
    tn_frame_constants(&frame, chain.call.scalars, TN_MAX_SCALARS);
    return tn_child_record(caller, recording, &frame, &tn_elementwise_chain_family,
                           &chain.problem.views.head);
}

tenon_status tn_two_steps_launch(const char *caller, tn_recording *recording,
                                 const tn_problem *problem, const tn_two_steps *steps)
{
    const uint64_t bytes = tn_two_steps_bytes(steps);
    tn_frame frame = tn_frame_after(bytes);
    if (steps->post.is_in_place)
        tn_frame_operand(&frame, steps->post.output_operand, TN_WORKSPACE, 0);
    steps->child->workspace_limit = tn_frame_room(problem->workspace_limit, bytes);
    if (tn_self_check_runs(recording->context))
        TN_TRY(tn_solver_force(caller, steps->family, steps->fastest, steps->child));
    TN_TRY(tn_child_record(caller, recording, &frame, steps->family, steps->child));
    return record_chain(caller, recording, problem->workspace_limit, steps);
}
