#include "runtime/context/statistics.h"

#include "base/sized.h"
#include "runtime/context/context.h"
#include "runtime/opencl/gate.h"
#include "runtime/memory/heap.h"

#include <tenon/statistics.h>

static tn_statistics *of(tenon_context *context)
{
    return &(context->owner != NULL ? context->owner : context)->statistics;
}

void tn_count_only(tenon_context *context, tn_statistic which, int64_t amount)
{
    atomic_fetch_add_explicit(&of(context)->count[which], (uint64_t)amount, memory_order_relaxed);
}

double tn_count(tenon_context *context, tn_statistic which, uint64_t began)
{
    const uint64_t took = tn_now() - began;
    tn_count_only(context, which, 1);
    atomic_fetch_add_explicit(&of(context)->nanoseconds[which], took, memory_order_relaxed);
    return 1e-6 * (double)took;
}

TENON_API tenon_status tenon_context_statistics(const tenon_context *context, tenon_statistics *out)
{
    static const char caller[] = "tenon_context_statistics";
    if (context == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: context is NULL", caller);
    TN_TRY(tn_sized_check(caller, "out", out));
    const tn_statistics *s = &context->statistics;
    uint64_t pool_bytes = 0, pool_served = 0;
    if (context->memory.heap != NULL && !tn_gate_is_shut())
        tn_heap_count(context->memory.heap, &pool_bytes, &pool_served);
    const tenon_statistics made = {
        .programs_built = atomic_load(&s->count[TN_PROGRAMS_BUILT]),
        .programs_loaded = atomic_load(&s->count[TN_PROGRAMS_LOADED]),
        .programs_kept = atomic_load(&s->count[TN_PROGRAMS_KEPT]),
        .trials = atomic_load(&s->count[TN_TRIALS_MADE]),
        .trials_recalled = atomic_load(&s->count[TN_TRIALS_RECALLED]),
        .checks = atomic_load(&s->count[TN_CHECKS_MADE]),
        .checks_wrong = atomic_load(&s->count[TN_CHECKS_WRONG]),
        .checks_recalled = atomic_load(&s->count[TN_CHECKS_RECALLED]),
        .plans = atomic_load(&s->count[TN_PLANS_MADE]),
        .plans_found = atomic_load(&s->count[TN_PLANS_FOUND]),
        .workspace_bytes = atomic_load(&s->count[TN_WORKSPACE_BYTES]),
        .build_seconds = 1e-9 * (double)atomic_load(&s->nanoseconds[TN_PROGRAMS_BUILT]),
        .load_seconds = 1e-9 * (double)atomic_load(&s->nanoseconds[TN_PROGRAMS_LOADED]),
        .keep_seconds = 1e-9 * (double)atomic_load(&s->nanoseconds[TN_PROGRAMS_KEPT]),
        .trial_seconds = 1e-9 * (double)atomic_load(&s->nanoseconds[TN_TRIALS_MADE]),
        .check_seconds = 1e-9 * (double)atomic_load(&s->nanoseconds[TN_CHECKS_MADE]),
        .plan_seconds = 1e-9 * (double)atomic_load(&s->nanoseconds[TN_PLANS_MADE]),
        .pool_bytes = pool_bytes,
        .pool_served = pool_served,
        .memory_peak = tn_usage_peak(context->memory.usage),
    };
    tn_sized_fill(out, &made, sizeof made);
    return TENON_OK;
}
