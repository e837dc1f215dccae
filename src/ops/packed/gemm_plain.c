/* gemm_packed/plain: one work-item for each element. Serves every layout of panels on any device,
 * where nothing faster can. */
#include "base/checked.h"
#include "ops/packed/internal.h"

static const char *refuses(tenon_context *context, const tn_problem *problem)
{
    (void)context;
    (void)problem;
    return NULL;
}

/* As gemm/plain's: a nanosecond a step on a core; a GPU's compute unit has some 64 work-items at
 * once. For bits that do not depend on M it stands back at every M. */
static double estimate(tenon_context *context, const tn_problem *problem, const int32_t *values)
{
    const gemm_problem *p = &((const packed_problem *)problem)->gemm;
    bool cpu = context->device.is_cpu;
    double lanes = context->device.info.compute_units * (cpu ? 1.0 : 64.0);
    double waves = (double)p->m * (double)p->n * (double)tn_gemm_batch_count(p) / lanes;
    (void)values;
    if (p->batch_invariant)
        return 1e18;
    return 5000 + (waves < 1 ? 1 : waves) * ((double)p->k * (cpu ? 1.0 : 4.0) + 8.0);
}

static void options(tenon_context *context, const tn_problem *problem, const int32_t *values,
                    char text[TN_OPTIONS_SIZE])
{
    const gemm_problem *p = &((const packed_problem *)problem)->gemm;
    (void)values;
    tn_build_options(context, text, GEMM_OPTIONS_FORMAT, GEMM_OPTIONS_VALUES(p));
}

static tenon_status record(const char *operation, tn_recording *recording,
                           const tn_problem *problem, const int32_t *values)
{
    const packed_problem *p = (const packed_problem *)problem;
    char text[TN_OPTIONS_SIZE];
    options(recording->context, problem, values, text);
    tn_launch launch = {
        .source = "packed/gemm_plain",
        .options = text,
        .kernel = "packed_gemm_plain",
        .global = {(size_t)tn_round_up(p->gemm.n, 16), (size_t)tn_round_up(p->gemm.m, 4)},
        .local = {16, 4}};
    return tn_gemm_packed_record(operation, recording, p, 0, 0, &launch);
}

const tn_solver tn_gemm_packed_plain = {.name = "plain",
                                        .refuses = refuses,
                                        .estimate = estimate,
                                        .options = options,
                                        .record = record};
