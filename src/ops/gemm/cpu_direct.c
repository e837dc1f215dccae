/* gemm/cpu_direct: the tiles of cpu_packed, with b read where it lies. For b contiguous along N. */
#include "base/checked.h"
#include "ops/gemm/cpu.h"

#include <string.h>

static const char *refuses(tenon_context *context, const tn_problem *problem)
{
    const gemm_problem *p = (const gemm_problem *)problem;
    const char *why = tn_gemm_refuses_cpu(context, p);
    if (why != NULL)
        return why;
    if (p->batch_invariant)
        return "gemm/cpu_packed serves every N, so that it is the one whose bits do not depend on "
               "the batch";
    if (p->matrix[GEMM_B].col != 1)
        return "b is not contiguous along N";
    /* The last panel is moved left to end with the matrix, so there must be one whole panel. */
    return p->n < 2 * tn_gemm_lanes(context, p->dtype) ? "n is less than a panel" : NULL;
}

static int64_t local_elements(const gemm_problem *p, const int32_t *values)
{
    return tn_gemm_cpu_packed_a(p, values) + tn_gemm_cpu_sums(p, values);
}

static void tune(tenon_context *context, const tn_problem *problem, int32_t *values)
{
    const gemm_problem *p = (const gemm_problem *)problem;
    int32_t panels = tn_gemm_layout(p, GEMM_A) == GEMM_UNIT_COL ? 2 : 8;
    int32_t narrow = (int32_t)(2 * tn_gemm_lanes(context, p->dtype)), given[CPU_PARAMETERS];
    memcpy(given, values, sizeof given);
    tn_gemm_cpu_tune(context, p, panels, local_elements, values);
    if (given[CPU_NR] != 0 || values[CPU_NR] <= p->n)
        return;
    given[CPU_NR] = narrow; /* no wider than the matrix */
    memcpy(values, given, sizeof given);
    tn_gemm_cpu_tune(context, p, panels, local_elements, values);
}

static const char *constrains(tenon_context *context, const tn_problem *problem,
                              const int32_t *values)
{
    const gemm_problem *p = (const gemm_problem *)problem;
    return values[CPU_NR] > p->n ? "n is less than nr"
                                 : tn_gemm_cpu_constrains(context, p, values, local_elements);
}

static double estimate(tenon_context *context, const tn_problem *problem, const int32_t *values)
{
    return CPU_LAUNCH_TIME + tn_gemm_cpu_tile_time(context, (const gemm_problem *)problem, values);
}

static tenon_status record(const char *operation, tn_recording *recording,
                           const tn_problem *problem, const int32_t *values)
{
    return tn_gemm_cpu_record(operation, recording, (const gemm_problem *)problem, values,
                              "gemm/cpu_direct", "gemm_cpu_direct");
}

const tn_solver tn_gemm_cpu_direct = {.name = "cpu_direct",
                                      .parameters = tn_gemm_cpu_parameters,
                                      .parameter_count = CPU_PARAMETERS,
                                      .refuses = refuses,
                                      .tune = tune,
                                      .constrains = constrains,
                                      .estimate = estimate,
                                      .options = tn_gemm_cpu_options,
                                      .record = record};
