/* conv/implicit_tiled: gemm/tiled with its blocks of b gathered from the image. */
#include "ops/conv/implicit.h"
#include "ops/gemm/tiled.h"

/* What finding a tap's element adds to the time of the product; a guess until it is measured. */
#define GATHER_FACTOR 1.25
/* An entry of the kernel's tables of pixels and taps. */
#define PLACE_BYTES 24

static const char *refuses(tenon_context *context, const tn_problem *problem)
{
    const conv_problem *p = (const conv_problem *)problem;
    const char *why = tn_conv_implicit_refuses(p);
    if (why != NULL)
        return why;
    return context->device.is_cpu && problem->forced < 0 ? "made for GPUs" : NULL;
}

static void tune(tenon_context *context, const tn_problem *problem, int32_t *values)
{
    const gemm_problem g = tn_conv_implicit_product((const conv_problem *)problem);
    tn_gemm_tiled_tune(context, &g.head, values);
}

static const char *constrains(tenon_context *context, const tn_problem *problem,
                              const int32_t *values)
{
    const gemm_problem g = tn_conv_implicit_product((const conv_problem *)problem);
    uint64_t nb = (uint64_t)values[TILED_NB], kb = (uint64_t)values[TILED_KB];
    uint64_t blocks = tn_gemm_tiled_local(&g, values);
    const char *why = tn_gemm_tiled_constrains(context, &g.head, values);
    if (why == NULL && blocks + (nb + 2 * kb) * PLACE_BYTES > context->device.info.local_memory)
        why = "the blocks and the tables of places do not fit the local memory";
    return why;
}

static double estimate(tenon_context *context, const tn_problem *problem, const int32_t *values)
{
    const gemm_problem g = tn_conv_implicit_product((const conv_problem *)problem);
    return GATHER_FACTOR * tn_gemm_tiled_estimate(context, &g.head, values);
}

static void options(tenon_context *context, const tn_problem *problem, const int32_t *values,
                    char text[TN_OPTIONS_SIZE])
{
    const gemm_problem g = tn_conv_implicit_product((const conv_problem *)problem);
    tn_gemm_tiled_options(context, &g.head, values, text);
}

static tenon_status record(const char *operation, tn_recording *recording,
                           const tn_problem *problem, const int32_t *values)
{
    const conv_problem *p = (const conv_problem *)problem;
    const gemm_problem g = tn_conv_implicit_product(p);
    char text[TN_OPTIONS_SIZE];
    options(recording->context, problem, values, text);
    tn_launch launch = {
        .source = "conv/implicit_tiled", .options = text, .kernel = "conv_implicit_tiled"};
    tn_gemm_tiled_sizes(&g, values, &launch);
    return tn_conv_implicit_record(operation, recording, p, 0, &launch);
}

const tn_solver tn_conv_implicit_tiled = {.name = "implicit_tiled",
                                          .parameters = tn_gemm_tiled_parameters,
                                          .parameter_count = TILED_PARAMETERS,
                                          .refuses = refuses,
                                          .tune = tune,
                                          .constrains = constrains,
                                          .estimate = estimate,
                                          .options = options,
                                          .record = record};
