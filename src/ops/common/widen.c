/* Copies of factors in f32, in the workspace of a compound solver. */
#include "ops/common/widen.h"

#include "base/checked.h"
#include "base/shape.h"
#include "ops/elementwise/internal.h"
#include "ops/registry.h"

#include <math.h>

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

tn_widened tn_widen(const tenon_tensor *from, uint16_t operand, uint64_t *bytes)
{
    tn_widened copy = {.from = *from, .operand = operand, .at = *bytes};
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
    *bytes += (uint64_t)tn_round_up(elements * (int64_t)sizeof(float), TN_WORKSPACE_ALIGNMENT);
    return copy;
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

double tn_widen_time(tenon_context *context, const tn_widened *copy, uint64_t limit, uint64_t used)
{
    tn_pointwise_problem problem;
    if (copy_problem("configure", context, copy, tn_frame_room(limit, used), &problem) != TENON_OK)
        return INFINITY;
    return tn_problem_time(context, &tn_copy_family, &problem.head);
}

tenon_status tn_widen_record(const char *caller, tn_recording *recording, const tn_widened *copy,
                             uint64_t limit, uint64_t used)
{
    tn_pointwise_problem problem;
    tn_frame frame = tn_frame_after(used);
    TN_TRY(copy_problem(caller, recording->context, copy, tn_frame_room(limit, used), &problem));
    tn_frame_operand(&frame, COPY_X, copy->operand, 0);
    tn_frame_operand(&frame, COPY_Y, TN_WORKSPACE, (int64_t)copy->at);
    return tn_child_record(caller, recording, &frame, &tn_copy_family, &problem.head);
}
