/* conv_backward_filter/implicit_tiled: dy times what the taps meet of x, over the pixels of all
 * images; with a workspace in slices, whose sums are added in order. */
#include "ops/conv/tiled.h"

static int64_t slices_of(const conv_problem *p, const int32_t *values)
{
    return tn_conv_slices(p, values[CONV_TILED_SLICES]);
}

static const char *refuses(tenon_context *context, const tn_problem *problem)
{
    return tn_conv_tiled_refuses(context, problem, CONV_GRADIENT_OF_FILTER);
}

static void tune(tenon_context *context, const tn_problem *problem, int32_t *values)
{
    tn_conv_tiled_tune(context, (const conv_problem *)problem, CONV_GRADIENT_OF_FILTER, values);
}

static const char *constrains(tenon_context *context, const tn_problem *problem,
                              const int32_t *values)
{
    return tn_conv_tiled_constrains(context, (const conv_problem *)problem, CONV_GRADIENT_OF_FILTER,
                                    values);
}

static uint64_t workspace(tenon_context *context, const tn_problem *problem, const int32_t *values)
{
    const conv_problem *p = (const conv_problem *)problem;
    (void)context;
    return tn_conv_slices_size(p, slices_of(p, values));
}

static double estimate(tenon_context *context, const tn_problem *problem, const int32_t *values)
{
    const conv_problem *p = (const conv_problem *)problem;
    return tn_conv_tiled_estimate(context, p, CONV_GRADIENT_OF_FILTER, slices_of(p, values),
                                  values);
}

static void options(tenon_context *context, const tn_problem *problem, const int32_t *values,
                    char text[TN_OPTIONS_SIZE])
{
    const conv_problem *p = (const conv_problem *)problem;
    tn_conv_tiled_options(context, p, CONV_GRADIENT_OF_FILTER, slices_of(p, values), values, text);
}

static tenon_status record(const char *operation, tn_recording *recording,
                           const tn_problem *problem, const int32_t *values)
{
    const conv_problem *p = (const conv_problem *)problem;
    return tn_conv_tiled_record(operation, recording, p, CONV_GRADIENT_OF_FILTER,
                                slices_of(p, values), values);
}

const tn_solver tn_conv_backward_filter_implicit_tiled = {.name = "implicit_tiled",
                                                          .awkward = TN_CONV_TILED_FILTER_AWKWARD,
                                                          .parameters = tn_conv_tiled_parameters,
                                                          .parameter_count =
                                                              CONV_TILED_SPLIT_PARAMETERS,
                                                          .refuses = refuses,
                                                          .tune = tune,
                                                          .constrains = constrains,
                                                          .workspace = workspace,
                                                          .estimate = estimate,
                                                          .options = options,
                                                          .record = record};
