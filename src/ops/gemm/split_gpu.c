/* gemm/split_k and gemm/skinny_split: K cut into slices, on GPUs. */
#include "ops/gemm/split_k.h"
#include "ops/gemm/tiled.h"

#include <math.h>
#include <string.h>

/* gemm/split_k: the slices are gemm/tiled's. */

static const char *refuses_tiled(tenon_context *context, const tn_problem *problem)
{
    const char *why = tn_gemm_tiled.refuses(context, problem);
    return why != NULL ? why : tn_gemm_split_refuses((const gemm_problem *)problem);
}

/* One number of slices, with the tiles that suit it; its time. */
static double try_slices(tenon_context *context, const gemm_problem *p, int32_t *values)
{
    gemm_problem partial = tn_gemm_split_partial(p, values[TILED_SLICES]);
    tn_gemm_tiled.tune(context, &partial.head, values);
    return tn_gemm_split_estimate(context, p, &tn_gemm_tiled, values, values[TILED_SLICES]);
}

static void tune_tiled(tenon_context *context, const tn_problem *problem, int32_t *values)
{
    const gemm_problem *p = (const gemm_problem *)problem;
    int32_t best[TILED_SPLIT_PARAMETERS] = {0};
    double least = INFINITY;
    if (values[TILED_SLICES] != 0) {
        try_slices(context, p, values);
        return;
    }
    for (int32_t slices = 2; slices <= TN_GEMM_MOST_SLICES; slices *= 2) {
        int32_t tried[TILED_SPLIT_PARAMETERS];
        if (slices > 2 && p->k < slices * TN_GEMM_TUNED_SLICE)
            break;
        memcpy(tried, values, sizeof tried);
        tried[TILED_SLICES] = slices;
        double time = try_slices(context, p, tried);
        if (time < least) {
            least = time;
            memcpy(best, tried, sizeof best);
        }
    }
    memcpy(values, best, sizeof best);
}

static uint64_t workspace_tiled(tenon_context *context, const tn_problem *problem,
                                const int32_t *values)
{
    const gemm_problem *p = (const gemm_problem *)problem;
    (void)context;
    return tn_gemm_split_bytes(p, values[TILED_SLICES]);
}

static double estimate_tiled(tenon_context *context, const tn_problem *problem,
                             const int32_t *values)
{
    return tn_gemm_split_estimate(context, (const gemm_problem *)problem, &tn_gemm_tiled, values,
                                  values[TILED_SLICES]);
}

static void options_tiled(tenon_context *context, const tn_problem *problem, const int32_t *values,
                          char text[TN_OPTIONS_SIZE])
{
    tn_gemm_split_options(context, (const gemm_problem *)problem, &tn_gemm_tiled, values,
                          values[TILED_SLICES], text);
}

static tenon_status record_tiled(const char *operation, tn_recording *recording,
                                 const tn_problem *problem, const int32_t *values)
{
    return tn_gemm_split_record(operation, recording, (const gemm_problem *)problem, &tn_gemm_tiled,
                                values, values[TILED_SLICES]);
}

const tn_solver tn_gemm_split_k = {.name = "split_k",
                                   .awkward = "m=2*mb+1 n=2*nb+1 width=vw",
                                   .parameters = tn_gemm_tiled_parameters,
                                   .parameter_count = TILED_SPLIT_PARAMETERS,
                                   .refuses = refuses_tiled,
                                   .tune = tune_tiled,
                                   .constrains = tn_gemm_tiled_constrains,
                                   .workspace = workspace_tiled,
                                   .estimate = estimate_tiled,
                                   .options = options_tiled,
                                   .record = record_tiled};

/* gemm/skinny_split: the slices are gemm/skinny's. */

enum { SKINNY_SLICES = 2, SKINNY_SPLIT_PARAMETERS }; /* after those of gemm/skinny */
static const tn_parameter skinny_parameters[SKINNY_SPLIT_PARAMETERS] = {
    {"mr", 1, 8}, {"nr", 1, 8}, {"ks", 2, TN_GEMM_MOST_SLICES}};

static const char *refuses_skinny(tenon_context *context, const tn_problem *problem)
{
    const char *why = tn_gemm_skinny.refuses(context, problem);
    return why != NULL ? why : tn_gemm_split_refuses((const gemm_problem *)problem);
}

/* The number of slices that is fastest. */
static void tune_skinny(tenon_context *context, const tn_problem *problem, int32_t *values)
{
    const gemm_problem *p = (const gemm_problem *)problem;
    double least = INFINITY;
    tn_gemm_skinny.tune(context, problem, values);
    if (values[SKINNY_SLICES] != 0)
        return;
    for (int32_t slices = 2; slices <= TN_GEMM_MOST_SLICES; slices *= 2) {
        if (slices > 2 && p->k < slices * TN_GEMM_TUNED_SLICE)
            break;
        double time = tn_gemm_split_estimate(context, p, &tn_gemm_skinny, values, slices);
        if (time < least) {
            least = time;
            values[SKINNY_SLICES] = slices;
        }
    }
}

static const char *constrains_skinny(tenon_context *context, const tn_problem *problem,
                                     const int32_t *values)
{
    return tn_gemm_skinny.constrains(context, problem, values);
}

static uint64_t workspace_skinny(tenon_context *context, const tn_problem *problem,
                                 const int32_t *values)
{
    const gemm_problem *p = (const gemm_problem *)problem;
    (void)context;
    return tn_gemm_split_bytes(p, values[SKINNY_SLICES]);
}

static double estimate_skinny(tenon_context *context, const tn_problem *problem,
                              const int32_t *values)
{
    return tn_gemm_split_estimate(context, (const gemm_problem *)problem, &tn_gemm_skinny, values,
                                  values[SKINNY_SLICES]);
}

static void options_skinny(tenon_context *context, const tn_problem *problem, const int32_t *values,
                           char text[TN_OPTIONS_SIZE])
{
    tn_gemm_split_options(context, (const gemm_problem *)problem, &tn_gemm_skinny, values,
                          values[SKINNY_SLICES], text);
}

static tenon_status record_skinny(const char *operation, tn_recording *recording,
                                  const tn_problem *problem, const int32_t *values)
{
    return tn_gemm_split_record(operation, recording, (const gemm_problem *)problem,
                                &tn_gemm_skinny, values, values[SKINNY_SLICES]);
}

const tn_solver tn_gemm_skinny_split = {.name = "skinny_split",
                                        .awkward = "thin=13",
                                        .parameters = skinny_parameters,
                                        .parameter_count = SKINNY_SPLIT_PARAMETERS,
                                        .refuses = refuses_skinny,
                                        .tune = tune_skinny,
                                        .constrains = constrains_skinny,
                                        .workspace = workspace_skinny,
                                        .estimate = estimate_skinny,
                                        .options = options_skinny,
                                        .record = record_skinny};
