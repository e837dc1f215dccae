/* gemm/plain: one work-item for each element. Serves everything, on any device. */
#include "base/checked.h"
#include "ops/gemm/internal.h"

static const char *refuses(tenon_context *context, const tn_problem *problem)
{
    const gemm_problem *p = (const gemm_problem *)problem;
    if (problem->forced >= 0)
        return NULL;
    if (p->batch_invariant && context->device.is_cpu)
        return "on a CPU gemm/cpu_packed serves every M, so that it is the one whose bits do not "
               "depend on M";
    return tn_gemm_work(p) > GEMM_PLAIN_LIMIT ? "more than 2^20 multiply-adds" : NULL;
}

/* A work-item that walks along K takes about a nanosecond a step on a core. A GPU's compute unit
 * has some 64 of them at once, each several times as slow: they wait for memory. */
static double estimate(tenon_context *context, const tn_problem *problem, const int32_t *values)
{
    const gemm_problem *p = (const gemm_problem *)problem;
    bool cpu = context->device.is_cpu;
    double lanes = context->device.info.compute_units * (cpu ? 1.0 : 64.0);
    double items = (double)p->m * (double)p->n * (double)tn_gemm_batch_count(p);
    double waves = items / lanes < 1 ? 1 : items / lanes;
    (void)values;
    return 5000 + waves * ((double)p->k * (cpu ? 1.0 : 4.0) + 8.0);
}

static void options(tenon_context *context, const tn_problem *problem, const int32_t *values,
                    char text[TN_OPTIONS_SIZE])
{
    (void)values;
    tn_build_options(context, text, GEMM_OPTIONS_FORMAT,
                     GEMM_OPTIONS_VALUES((const gemm_problem *)problem));
}

static tenon_status record(const char *operation, tn_recording *recording,
                           const tn_problem *problem, const int32_t *values)
{
    const gemm_problem *p = (const gemm_problem *)problem;
    char text[TN_OPTIONS_SIZE];
    gemm_arguments arguments;
    tn_launch launch = {.source = "gemm/plain", .options = text, .kernel = "gemm_plain"};
    options(recording->context, problem, values, text);
    tn_gemm_arguments(p, &arguments);
    launch.local[0] = 16;
    launch.local[1] = 4;
    launch.global[0] = (size_t)tn_round_up(p->n, 16);
    launch.global[1] = (size_t)tn_round_up(p->m, 4);
    return tn_gemm_record_launch(operation, recording, p, &arguments, &launch);
}

const tn_solver tn_gemm_plain = {.name = "plain",
                                 .refuses = refuses,
                                 .estimate = estimate,
                                 .options = options,
                                 .record = record};
