/* Copies of factors in f32, in the workspace of a compound solver. */
#include "ops/common/widen.h"

#include "base/checked.h"
#include "base/shape.h"
#include "ops/elementwise/internal.h"
#include "ops/registry.h"

#include <math.h>
#include <stdio.h>

static bool is_factor(const tenon_tensor *view)
{
    return view != NULL && (view->dtype == TENON_DTYPE_F32 || view->dtype == TENON_DTYPE_F16 ||
                            view->dtype == TENON_DTYPE_BF16);
}

bool tn_is_mixed(const tenon_tensor *a, const tenon_tensor *b, const tenon_tensor *result)
{
    return is_factor(a) && is_factor(b) && result != NULL && result->dtype == TENON_DTYPE_F32 &&
           (a->dtype != TENON_DTYPE_F32 || b->dtype != TENON_DTYPE_F32);
}

tenon_status tn_mixed_check(const char *caller, const tn_argument *a, const tn_argument *b,
                            const tn_argument *result)
{
    const tn_argument *wrong = !is_factor(a->view) ? a : !is_factor(b->view) ? b : result;
    if (wrong != result || result->view->dtype != TENON_DTYPE_F32)
        return tn_fail(TENON_ERROR_UNSUPPORTED, "%s: %s is %s, must be f32%s", caller, wrong->name,
                       tenon_dtype_string(wrong->view->dtype),
                       wrong == result ? "" : ", f16 or bf16");
    return TENON_OK;
}

/* Lists the dimensions from the innermost to the outermost. */
static void order_dimensions(const tenon_tensor *view, uint32_t order[TENON_MAX_RANK])
{
    for (uint32_t d = 0; d < view->rank; d++) {
        uint32_t at = d;
        for (; at > 0 && view->stride[order[at - 1]] >= view->stride[d]; at--)
            order[at] = order[at - 1];
        order[at] = d;
    }
}

tenon_tensor tn_widen(tn_widened_factors *factors, const tenon_tensor *from, uint16_t operand)
{
    tn_widened copy = {.from = *from, .operand = operand, .at = factors->bytes};
    uint32_t order[TENON_MAX_RANK] = {0};
    int64_t elements = 1;
    for (uint32_t d = 0; d < from->rank; d++)
        if (from->stride[d] == 0)
            copy.from.shape[d] = 1;
    copy.to = copy.from;
    copy.to.dtype = TENON_DTYPE_F32;
    order_dimensions(from, order);
    for (uint32_t i = 0; i < from->rank; i++) {
        const uint32_t d = order[i];
        copy.to.stride[d] = copy.to.shape[d] == 1 ? 0 : elements;
        elements *= copy.to.shape[d];
    }
    /* Views of the same elements may be larger than any memory. */
    elements = tn_min_i64(elements, INT64_MAX / 16);
    factors->bytes +=
        (uint64_t)tn_round_up(elements * (int64_t)sizeof(float), TN_WORKSPACE_ALIGNMENT);
    factors->copy[factors->count++] = copy;
    return copy.to;
}

static tenon_status copy_problem(const char *caller, tenon_context *context, const tn_widened *copy,
                                 uint64_t room, tn_pointwise_problem *problem)
{
    const tenon_copy_params params = TENON_COPY_PARAMS_INIT;
    bool empty = false;
    tn_call call = {caller, &tn_operation_copy, context, &params, .operand_count = COPY_OPERANDS};
    call.operands[COPY_X].view = &copy->from;
    call.operands[COPY_Y].view = &copy->to;
    TN_TRY(tn_copy_prepare(&params, &call, &problem->head, &empty));
    problem->head.workspace_limit = room;
    return TENON_OK;
}

double tn_widen_time(tenon_context *context, const tn_widened_factors *factors, uint64_t limit)
{
    const uint64_t room = tn_frame_room(limit, factors->bytes);
    tn_pointwise_problem problem;
    double time = 0;
    for (uint32_t i = 0; i < factors->count; i++) {
        if (tn_tensor_empty(&factors->copy[i].from))
            continue;
        if (copy_problem("configure", context, &factors->copy[i], room, &problem) != TENON_OK)
            return INFINITY;
        time += tn_problem_time(context, &tn_copy_family, &problem.head);
    }
    return time;
}

tenon_status tn_widen_record(const char *caller, tn_recording *recording,
                             const tn_widened_factors *factors, uint64_t limit, tn_frame *frame)
{
    const uint64_t room = tn_frame_room(limit, factors->bytes);
    tn_pointwise_problem problem;
    for (uint32_t i = 0; i < factors->count; i++) {
        const tn_widened *copy = &factors->copy[i];
        tn_frame inner = tn_frame_after(factors->bytes);
        tn_frame_operand(&inner, COPY_X, copy->operand, 0);
        tn_frame_operand(&inner, COPY_Y, TN_WORKSPACE, (int64_t)copy->at);
        tn_frame_operand(frame, copy->operand, TN_WORKSPACE, (int64_t)copy->at);
        if (tn_tensor_empty(&copy->from))
            continue;
        TN_TRY(copy_problem(caller, recording->context, copy, room, &problem));
        TN_TRY(tn_child_record(caller, recording, &inner, &tn_copy_family, &problem.head));
    }
    return TENON_OK;
}

const char *tn_mixed_choose(const uint32_t types[2], uint64_t bytes, tn_choice *choice)
{
    choice->workspace = bytes;
    snprintf(choice->options, sizeof choice->options, "types %s %s",
             tenon_dtype_string((tenon_dtype)types[0]), tenon_dtype_string((tenon_dtype)types[1]));
    return isinf(choice->time) ? "no solver of its children can be selected" : NULL;
}
