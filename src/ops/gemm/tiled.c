/* gemm/tiled: blocks in local memory, sums in registers. For GPUs; serves every layout. */
#include "base/checked.h"
#include "ops/gemm/tiled.h"

const tn_parameter tn_gemm_tiled_parameters[TILED_SPLIT_PARAMETERS] = {
    [TILED_MB] = {"mb", 8, 256},   /* rows of a work-group's block */
    [TILED_NB] = {"nb", 8, 256},   /* its columns */
    [TILED_KB] = {"kb", 4, 64},    /* steps of K in local memory */
    [TILED_MR] = {"mr", 1, 16},    /* rows of a work-item */
    [TILED_NR] = {"nr", 1, 16},    /* its columns */
    [TILED_SLICES] = {"ks", 2, 64} /* slices of K, at most */
};

/* What a compute unit does in a nanosecond; a guess until it is measured on each kind of device. */
#define MULTIPLY_ADDS_PER_NS 40.0
#define LAUNCH_TIME          5000.0

const char *tn_gemm_tiled_refuses(tenon_context *context, const tn_problem *problem)
{
    return context->device.is_cpu && problem->forced < 0 ? "made for GPUs" : NULL;
}

int64_t tn_gemm_tiled_groups(const gemm_problem *p, int64_t mb, int64_t nb)
{
    return tn_ceil_div(p->m, mb) * tn_ceil_div(p->n, nb) * tn_gemm_batch_count(p);
}

/* Large blocks read less; small ones keep every compute unit at work on a small problem. */
void tn_gemm_tiled_tune(tenon_context *context, const tn_problem *problem, int32_t *values)
{
    const gemm_problem *p = (const gemm_problem *)problem;
    bool large = tn_gemm_tiled_groups(p, 64, 64) >= 2 * (int64_t)context->device.info.compute_units;
    const int32_t defaults[TILED_PARAMETERS] = {
        [TILED_MB] = large ? 64 : 32, [TILED_NB] = large ? 64 : 32, [TILED_KB] = 16,
        [TILED_MR] = large ? 4 : 2,   [TILED_NR] = large ? 4 : 2,
    };
    for (int i = 0; i < TILED_PARAMETERS; i++)
        if (values[i] == 0)
            values[i] = defaults[i];
}

const char *tn_gemm_tiled_constrains(tenon_context *context, const tn_problem *problem,
                                     const int32_t *values)
{
    const gemm_problem *p = (const gemm_problem *)problem;
    if (values[TILED_MB] % values[TILED_MR] != 0 || values[TILED_NB] % values[TILED_NR] != 0)
        return "mr must divide mb, and nr must divide nb";
    uint64_t items = (uint64_t)(values[TILED_MB] / values[TILED_MR]) *
                     (uint64_t)(values[TILED_NB] / values[TILED_NR]);
    if (items > context->device.info.max_work_group)
        return "the work-group is larger than the device allows";
    uint64_t local = (uint64_t)(values[TILED_MB] + values[TILED_NB] + 2) *
                     (uint64_t)values[TILED_KB] * tn_acc_size(p->dtype);
    return local > context->device.info.local_memory ? "the blocks do not fit the local memory"
                                                     : NULL;
}

/* Work-groups run in waves of one for each compute unit, whole or not. */
double tn_gemm_tiled_estimate(tenon_context *context, const tn_problem *problem,
                              const int32_t *values)
{
    const gemm_problem *p = (const gemm_problem *)problem;
    double units = context->device.info.compute_units;
    double waves = (double)tn_gemm_tiled_groups(p, values[TILED_MB], values[TILED_NB]) / units;
    double block = (double)values[TILED_MB] * (double)values[TILED_NB] / MULTIPLY_ADDS_PER_NS;
    return LAUNCH_TIME + (waves > 1 ? waves : 1) * block * (double)p->k;
}

void tn_gemm_tiled_options(tenon_context *context, const tn_problem *problem, const int32_t *values,
                           char text[TN_OPTIONS_SIZE])
{
    const gemm_problem *p = (const gemm_problem *)problem;
    tn_build_options(context, text,
                     GEMM_OPTIONS_FORMAT " -DTENON_MB=%d -DTENON_NB=%d -DTENON_KB=%d -DTENON_MR=%d"
                                         " -DTENON_NR=%d",
                     GEMM_OPTIONS_VALUES(p), values[TILED_MB], values[TILED_NB], values[TILED_KB],
                     values[TILED_MR], values[TILED_NR]);
}

void tn_gemm_tiled_sizes(const gemm_problem *p, const int32_t *values, tn_launch *launch)
{
    launch->local[0] = (size_t)(values[TILED_NB] / values[TILED_NR]);
    launch->local[1] = (size_t)(values[TILED_MB] / values[TILED_MR]);
    launch->global[0] = (size_t)tn_ceil_div(p->n, values[TILED_NB]) * launch->local[0];
    launch->global[1] = (size_t)tn_ceil_div(p->m, values[TILED_MB]) * launch->local[1];
}

static tenon_status record(const char *operation, tn_recording *recording,
                           const tn_problem *problem, const int32_t *values)
{
    const gemm_problem *p = (const gemm_problem *)problem;
    char text[TN_OPTIONS_SIZE];
    gemm_arguments arguments;
    tn_launch launch = {.source = "gemm/tiled", .options = text, .kernel = "gemm_tiled"};
    tn_gemm_tiled_options(recording->context, problem, values, text);
    tn_gemm_arguments(p, &arguments);
    tn_gemm_tiled_sizes(p, values, &launch);
    return tn_gemm_record_launch(operation, recording, p, &arguments, &launch);
}

const tn_solver tn_gemm_tiled = {.name = "tiled",
                                 .parameters = tn_gemm_tiled_parameters,
                                 .parameter_count = TILED_PARAMETERS,
                                 .refuses = tn_gemm_tiled_refuses,
                                 .tune = tn_gemm_tiled_tune,
                                 .constrains = tn_gemm_tiled_constrains,
                                 .estimate = tn_gemm_tiled_estimate,
                                 .options = tn_gemm_tiled_options,
                                 .record = record};
