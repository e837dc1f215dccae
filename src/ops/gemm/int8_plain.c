/* gemm_int8/plain: one work-item for each element. Serves everything, on any device. */
#include "base/checked.h"
#include "ops/gemm/int8.h"

static const char *refuses(tenon_context *context, const tn_problem *problem)
{
    (void)context;
    if (problem->forced >= 0 || tn_gemm_work((const gemm_problem *)problem) <= GEMM_PLAIN_LIMIT)
        return NULL;
    return "more than 2^20 multiply-adds";
}

static double estimate(tenon_context *context, const tn_problem *problem, const int32_t *values)
{
    return tn_gemm_plain.estimate(context, problem, values);
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
    const int8_problem *p = (const int8_problem *)problem;
    char text[TN_OPTIONS_SIZE];
    tn_launch launch = {.source = "gemm/int8_plain", .options = text, .kernel = "gemm_int8_plain"};
    options(recording->context, problem, values, text);
    launch.local[0] = 16;
    launch.local[1] = 4;
    launch.global[0] = (size_t)tn_round_up(p->gemm.n, 16);
    launch.global[1] = (size_t)tn_round_up(p->gemm.m, 4);
    return tn_gemm_int8_record_launch(operation, recording, p, 0, &launch);
}

const tn_solver tn_gemm_int8_plain = {.name = "plain",
                                      .refuses = refuses,
                                      .estimate = estimate,
                                      .options = options,
                                      .record = record};
