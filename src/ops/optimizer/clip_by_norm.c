/* Implementation of tenon_clip_by_norm: a square_sum for each gradient, then a clip for each. */
#include "base/shape.h"
#include "dispatch/plan.h"
#include "ops/optimizer/internal.h"
#include "ops/registry.h"

static const char caller[] = "tenon_clip_by_norm";

/* One of the 2 · count calls. */
typedef struct part {
    tn_call call;
    tn_lines_problem problem;
    bool empty;
} part;

/* Adds skip and gradient_scale to a call of tenon_clip if the parameters name one of them. */
static void add_guard(const tenon_clip_params *params, tn_call *call)
{
    const tenon_tensor *views[GUARD_OPERANDS];
    if (!tn_guard_views(params->skip, params->gradient_scale, views))
        return;
    call->operation = &tn_operation_clip_guarded;
    call->operand_count = CLIP_OPERANDS + GUARD_OPERANDS;
    for (uint32_t i = CLIP_OPERANDS; i < call->operand_count; i++)
        call->operands[i] =
            (tn_argument){call->operation->operands[i].name, views[i - CLIP_OPERANDS], TN_INPUT};
}

static tenon_status make_part(tenon_context *context, const tenon_clip_params *params,
                              const tenon_tensor *gradients, uint32_t count,
                              const tenon_tensor *sum, uint64_t number, part *made)
{
    tenon_square_sum_params square = TENON_SQUARE_SUM_PARAMS_INIT;
    const bool sums = number < count;
    made->call = (tn_call){caller, sums ? &tn_operation_square_sum : &tn_operation_clip, context,
                           .operand_count = SQUARE_SUM_OPERANDS};
    if (sums) {
        square.flags = number > 0 ? TENON_SQUARE_SUM_ADD : 0;
        made->call.operands[SQUARE_SUM_X] =
            (tn_argument){"gradients", &gradients[number], TN_INPUT};
        made->call.operands[SQUARE_SUM_SUM] = (tn_argument){"sum", sum, TN_OUTPUT};
        return tn_operation_prepare(&square, &made->call, &made->problem.head, &made->empty);
    }
    made->call.operands[CLIP_SUM] = (tn_argument){"sum", sum, TN_INPUT};
    made->call.operands[CLIP_X] = (tn_argument){"gradients", &gradients[number - count], TN_OUTPUT};
    add_guard(params, &made->call);
    return tn_operation_prepare(params, &made->call, &made->problem.head, &made->empty);
}

static tenon_status check(tenon_stream *stream, const tenon_clip_params *params,
                          const tenon_tensor *gradients, uint32_t count, const tenon_tensor *sum,
                          const tenon_sync *sync)
{
    part p;
    TN_TRY(tn_sync_check(caller, sync));
    if (gradients == NULL && count > 0)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: gradients is NULL, but count is %u",
                       caller, count);
    TN_TRY(tn_tensor_check(caller, "sum", sum));
    for (uint64_t i = 0; i < 2 * (uint64_t)count; i++) {
        TN_TRY(make_part(stream->context, params, gradients, count, sum, i, &p));
        TN_TRY(tn_call_check_memory(&p.call, stream->context));
    }
    return TENON_OK;
}

/* Returns the error of part `number`. Earlier parts are enqueued already and cannot be undone. */
static tenon_status incomplete(tenon_status status, uint64_t number)
{
    if (number == 0 || status == TENON_OK)
        return status;
    return tn_fail_because(TENON_ERROR_INCOMPLETE, "%s: the outputs are undefined", caller);
}

TENON_API tenon_status tenon_clip_by_norm(tenon_stream *stream, const tenon_clip_params *params,
                                          const tenon_tensor *gradients, uint32_t count,
                                          const tenon_tensor *sum, const tenon_sync *sync)
{
    static const tenon_clip_params defaults = TENON_CLIP_PARAMS_INIT;
    tenon_clip_params room;
    const void *p;
    TN_TRY(tn_stream_check(caller, stream));
    TN_TRY(tn_params_take(caller, params, &defaults, sizeof defaults, "TENON_CLIP_PARAMS_INIT",
                          &room, &p));
    TN_TRY(check(stream, p, gradients, count, sum, sync));
    if (count == 0)
        return tenon_tensor_fill(stream, sum, 0, sync);
    for (uint64_t i = 0; i < 2 * (uint64_t)count; i++) {
        part next;
        tenon_sync own = {.wait_list = i == 0 ? tn_sync_wait_list(sync) : NULL,
                          .wait_count = i == 0 ? tn_sync_wait_count(sync) : 0,
                          .event = i + 1 == 2 * (uint64_t)count ? tn_sync_event(sync) : NULL};
        TN_TRY(incomplete(make_part(stream->context, p, gradients, count, sum, i, &next), i));
        TN_TRY(incomplete(tn_call_run(stream, next.call.operation->family,
                                      next.empty ? NULL : &next.problem.head, &next.call, &own),
                          i));
    }
    return TENON_OK;
}
