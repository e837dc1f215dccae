/* gemm_packed/plain: one work-item per element. Serves panels of any width on any device; chosen if
 * no faster solver serves. */
#include "base/checked.h"
#include "ops/packed/internal.h"

/* Configures the solver. Batch-invariant calls must use the same solver at every M, so it gets a
 * very long time there and ranks last. */
static const char *packed_gemm_plain_configure(tenon_context *context, const tn_problem *problem,
                                               tn_choice *choice)
{
    const gemm_problem *p = &((const packed_problem *)problem)->gemm;
    tn_gemm_plain_configure(context, p, choice);
    choice->never_chosen = NULL; /* no other solver serves panels on GPUs or of another width */
    if (p->batch_invariant)
        choice->time = 1e18;
    return NULL;
}

static tenon_status packed_gemm_plain_launch(const char *caller, tn_recording *recording,
                                             const tn_problem *problem, const tn_choice *choice)
{
    const packed_problem *p = (const packed_problem *)problem;
    tn_launch plain =
        tn_gemm_plain_launch(&p->gemm, choice->options, "packed/gemm_plain", "packed_gemm_plain");
    return tn_gemm_packed_record(caller, recording, p, 0, 0, &plain);
}

const tn_solver tn_gemm_packed_plain = {
    .name = "plain",
    .serves = "panels, on any device; chosen if no other solver supports the call",
    .configure = packed_gemm_plain_configure,
    .launch = packed_gemm_plain_launch};
