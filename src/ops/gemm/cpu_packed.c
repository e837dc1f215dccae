/* gemm/cpu_packed: explicit vectors, blocks of b packed in local memory. Serves every layout. */
#include "base/checked.h"
#include "ops/gemm/cpu.h"

static const char *refuses(tenon_context *context, const tn_problem *problem)
{
    return tn_gemm_refuses_cpu(context, (const gemm_problem *)problem);
}

static int64_t local_elements(const gemm_problem *p, const int32_t *values)
{
    return (int64_t)values[CPU_PANELS] * values[CPU_NR] * values[CPU_KC] +
           tn_gemm_cpu_packed_a(p, values) + tn_gemm_cpu_sums(p, values);
}

static void tune(tenon_context *context, const tn_problem *problem, int32_t *values)
{
    const gemm_problem *p = (const gemm_problem *)problem;
    /* Where a is packed too, wider groups pack it less often; where b is turned, which takes
     * longest, narrow ones are cut by fewer rows, and each of those packs b again. */
    bool turns = tn_gemm_layout(p, GEMM_B) == GEMM_UNIT_ROW;
    int32_t panels = tn_gemm_layout(p, GEMM_A) != GEMM_UNIT_COL ? 4 : turns ? 1 : 2;
    tn_gemm_cpu_tune(context, p, panels, local_elements, values);
}

static const char *constrains(tenon_context *context, const tn_problem *problem,
                              const int32_t *values)
{
    return tn_gemm_cpu_constrains(context, (const gemm_problem *)problem, values, local_elements);
}

static double estimate(tenon_context *context, const tn_problem *problem, const int32_t *values)
{
    const gemm_problem *p = (const gemm_problem *)problem;
    gemm_layout b = tn_gemm_layout(p, GEMM_B);
    double per_element = b == GEMM_UNIT_COL ? 0.2 : b == GEMM_UNIT_ROW ? 0.35 : 1.0;
    double row_groups = (double)tn_ceil_div(p->m, tn_gemm_cpu_tile_rows(context, p, values));
    double pack = (double)p->k * (double)tn_round_up(p->n, values[CPU_NR]) *
                  (double)tn_gemm_batch_count(p) * row_groups * per_element;
    return CPU_LAUNCH_TIME + tn_gemm_cpu_tile_time(context, p, values) +
           pack / context->device.info.compute_units;
}

static tenon_status record(const char *operation, tn_recording *recording,
                           const tn_problem *problem, const int32_t *values)
{
    return tn_gemm_cpu_record(operation, recording, (const gemm_problem *)problem, values,
                              "gemm/cpu_packed", "gemm_cpu_packed");
}

const tn_solver tn_gemm_cpu_packed = {.name = "cpu_packed",
                                      .parameters = tn_gemm_cpu_parameters,
                                      .parameter_count = CPU_PARAMETERS,
                                      .refuses = refuses,
                                      .tune = tune,
                                      .constrains = constrains,
                                      .estimate = estimate,
                                      .options = tn_gemm_cpu_options,
                                      .record = record};
