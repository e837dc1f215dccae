/* gemm_int8/tiled: blocks of words of four bytes in local memory. For GPUs; serves every layout. */
#include "ops/gemm/int8.h"
#include "ops/gemm/tiled.h"

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
                                      .parameter_count = TILED_PARAMETERS,
                                      .refuses = tn_gemm_tiled_refuses,
                                      .tune = tn_gemm_tiled_tune,
                                      .constrains = tn_gemm_tiled_constrains,
                                      .estimate = estimate,
                                      .options = options,
                                      .record = record};
