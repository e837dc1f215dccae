#include "dispatch/alternatives.h"

#include "base/checked.h"
#include "dispatch/operation.h"

#include <math.h>
#include <stdio.h>

/* Alternatives must halve the estimate. One that changes more operands than an earlier one must
 * save a tenth of its time. */
static const double worth_changing = 0.5, worth_more = 0.9;

/* Returns the dimension that is at `place` in memory, from the outermost one. */
static uint32_t dimension_at(uint32_t place, uint32_t rank, tn_memory_order order)
{
    switch (order) {
    case TN_ORDER_CHANNELS_LAST:
        return place == 0 ? 0 : place + 1 == rank ? 1 : place + 1;
    case TN_ORDER_TRANSPOSED:
        return place + 2 < rank ? place : 2 * rank - 3 - place;
    default:
        return place;
    }
}

/* Makes a view dense in the given order. Dimensions with a stride of 0 keep it. Returns false if
 * the strides overflow. */
static bool lay_out(tenon_tensor *view, tn_memory_order order)
{
    int64_t step = 1;
    if (view->rank < (order == TN_ORDER_CHANNELS_LAST ? 3u : 2u))
        return true;
    for (uint32_t place = view->rank; place-- > 0;) {
        const uint32_t d = dimension_at(place, view->rank, order);
        if (view->stride[d] == 0)
            continue;
        view->stride[d] = step;
        if (!tn_mul_i64(step, view->shape[d], &step))
            return false;
    }
    return true;
}

/* Returns the estimated nanoseconds of the call in an alternative layout; infinite if the call is
 * not valid in it. */
static double time_of(const tn_request *r, const tn_alternative *a)
{
    tn_call call = *r->call;
    tenon_tensor views[TN_MAX_OPERANDS];
    tn_any_problem problem;
    bool empty = false;
    if (a->served_by != NULL)
        call.operation = a->served_by;
    for (uint32_t i = 0; i < call.operand_count; i++)
        if ((a->operands >> i & 1) != 0 && call.operands[i].view != NULL) {
            views[i] = *call.operands[i].view;
            call.operands[i].view = &views[i];
            if (!lay_out(&views[i], a->order))
                return (double)INFINITY;
        }
    if (tn_operation_try(call.params, &call, &problem.head, &empty) != TENON_OK || empty)
        return (double)INFINITY;
    problem.head.workspace_limit = r->problem->workspace_limit;
    return tn_problem_time(r->context, call.operation->family, &problem.head);
}

bool tn_layout_advice(const tn_request *r, char text[TN_ADVICE_SIZE])
{
    tn_kept_message kept;
    const tn_alternative *best = NULL;
    if (r->call == NULL || r->problem == NULL || r->problem->forced >= 0 ||
        r->call->operation->alternatives == NULL || !tn_message_keep(&kept))
        return false;
    const double own = tn_problem_time(r->context, r->family, r->problem);
    double limit = own < TN_NO_ESTIMATE ? worth_changing * own : 0, least = 0;
    for (const tn_alternative *a = r->call->operation->alternatives; a->condition != NULL; a++) {
        const double time = time_of(r, a);
        if (time > limit)
            continue;
        best = a;
        least = time;
        limit = worth_more * time;
    }
    tn_message_restore(&kept);
    if (best != NULL)
        snprintf(text, TN_ADVICE_SIZE,
                 "the same call would take about %.0f %% of the time (%.3g of %.3g ms) if %s",
                 100 * least / own, least / 1e6, own / 1e6, best->condition);
    return best != NULL;
}

void tn_layout_advice_log(const tn_request *r)
{
    char text[TN_ADVICE_SIZE];
    if (r->context->reports.is_verbose && tn_layout_advice(r, text))
        tn_log_send(&r->context->reports.log, TENON_LOG_INFO, "%s: %s", r->caller, text);
}
