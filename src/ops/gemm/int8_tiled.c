/* gemm_int8/tiled: blocks of words of four bytes in local memory. For GPUs; serves every layout. */
#include "ops/gemm/int8.h"
#include "ops/gemm/tiled.h"

enum { INT8_TILED_PARAMETERS = TILED_VW };

static void tune(tenon_context *context, const tn_problem *problem, int32_t *values)
{
    const gemm_problem *p = (const gemm_problem *)problem;
    bool large = tn_gemm_tiled_groups(p, 64, 64) >= 2 * (int64_t)context->device.info.compute_units;
    const int32_t defaults[INT8_TILED_PARAMETERS] = {
        [TILED_MB] = large ? 64 : 32, [TILED_NB] = large ? 64 : 32, [TILED_KB] = 16,
        [TILED_MR] = large ? 4 : 2,   [TILED_NR] = large ? 4 : 2,
    };
    for (int i = 0; i < INT8_TILED_PARAMETERS; i++)
        if (values[i] == 0)
            values[i] = defaults[i];
}

/* A word takes the place of an element of the accumulator's type. */
static const char *constrains(tenon_context *context, const tn_problem *problem,
                              const int32_t *values)
{
    int32_t tile[TN_MAX_PARAMETERS] = {[TILED_VW] = 1, [TILED_LB] = 1};
    for (int i = 0; i < INT8_TILED_PARAMETERS; i++)
        tile[i] = values[i];
    return tn_gemm_tiled_constrains(context, problem, tile);
}

/* Four multiply-adds are one operation where the device has it. */
static double estimate(tenon_context *context, const tn_problem *problem, const int32_t *values)
{
    double time = tn_gemm_tiled_estimate(context, problem, values);
    return tn_context_has(context, TENON_CAPABILITY_INT8_DOT) ? time / 2 : time;
}

static void options(tenon_context *context, const tn_problem *problem, const int32_t *values,
                    char text[TN_OPTIONS_SIZE])
{
    tn_build_options_with(context, TENON_CAPABILITY_INT8_DOT, text,
                          GEMM_OPTIONS_FORMAT
                          " -DTENON_MB=%d -DTENON_NB=%d -DTENON_KB=%d -DTENON_MR=%d -DTENON_NR=%d",
                          GEMM_OPTIONS_VALUES((const gemm_problem *)problem), values[TILED_MB],
                          values[TILED_NB], values[TILED_KB], values[TILED_MR], values[TILED_NR]);
}

static tenon_status record(const char *operation, tn_recording *recording,
                           const tn_problem *problem, const int32_t *values)
{
    const int8_problem *p = (const int8_problem *)problem;
    char text[TN_OPTIONS_SIZE];
    tn_launch launch = {.source = "gemm/int8_tiled", .options = text, .kernel = "gemm_int8_tiled"};
    options(recording->context, problem, values, text);
    tn_gemm_tiled_sizes(&p->gemm, values, &launch);
    return tn_gemm_int8_record_launch(operation, recording, p, 0, &launch);
}

const tn_solver tn_gemm_int8_tiled = {.name = "tiled",
                                      .parameters = tn_gemm_tiled_parameters,
                                      .parameter_count = INT8_TILED_PARAMETERS,
                                      .refuses = tn_gemm_tiled_refuses,
                                      .tune = tune,
                                      .constrains = constrains,
                                      .estimate = estimate,
                                      .options = options,
                                      .record = record};
