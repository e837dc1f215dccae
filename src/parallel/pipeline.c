/* The order of the steps of a pipeline. */
#include "base/status.h"

#include <tenon/parallel.h>

/* The steps that have been written. A stage makes its forward passes, and its backward passes, in
 * the order of the micro-batches. */
typedef struct tn_pipeline {
    uint32_t stages, micro_batches;
    uint32_t forward[TENON_GROUP_MAX_MEMBERS], backward[TENON_GROUP_MAX_MEMBERS];
} tn_pipeline;

/* Returns whether the next step of a stage is a forward pass. Before the first backward pass there
 * is a forward pass for each later stage, and one more if there are so many micro-batches. */
static bool is_forward_next(const tn_pipeline *p, uint32_t stage)
{
    const uint64_t ahead = (uint64_t)p->backward[stage] + p->stages - stage;
    return p->forward[stage] < p->micro_batches && p->forward[stage] < ahead;
}

/* Returns whether the steps are written on which the next step of a stage depends. */
static bool is_possible(const tn_pipeline *p, uint32_t stage, bool is_forward)
{
    if (is_forward)
        return stage == 0 || p->forward[stage - 1] > p->forward[stage];
    const uint32_t i = p->backward[stage];
    return p->forward[stage] > i && (stage + 1 == p->stages || p->backward[stage + 1] > i);
}

TENON_API tenon_status tenon_one_forward_one_backward(uint32_t stages, uint32_t micro_batches,
                                                      uint64_t count, tenon_pipeline_step *steps)
{
    static const char caller[] = "tenon_one_forward_one_backward";
    const uint64_t expected = UINT64_C(2) * stages * micro_batches;
    tn_pipeline p = {.stages = stages, .micro_batches = micro_batches};
    if (stages == 0 || stages > TENON_GROUP_MAX_MEMBERS)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: stages is %u, must be 1 to %d", caller,
                       (unsigned)stages, TENON_GROUP_MAX_MEMBERS);
    if (count != expected)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: count is %llu, but there are %llu steps",
                       caller, (unsigned long long)count, (unsigned long long)expected);
    if (steps == NULL && count > 0)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: steps is NULL", caller);
    for (uint64_t written = 0; written < count;)
        for (uint32_t s = 0; s < stages; s++) {
            const bool is_forward = is_forward_next(&p, s);
            if (p.backward[s] == micro_batches || !is_possible(&p, s, is_forward))
                continue;
            uint32_t *done = is_forward ? &p.forward[s] : &p.backward[s];
            steps[written++] = (tenon_pipeline_step){s, is_forward, (*done)++};
        }
    return TENON_OK;
}
