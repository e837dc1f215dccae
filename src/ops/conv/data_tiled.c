/* conv_backward_data/implicit_tiled: a product for each residue of the strides, whose b is gathered
 * from dy. */
#include "ops/conv/tiled.h"

static const char *refuses(tenon_context *context, const tn_problem *problem)
{
    return tn_conv_tiled_refuses(context, problem, CONV_GRADIENT_OF_IMAGE);
}

static void tune(tenon_context *context, const tn_problem *problem, int32_t *values)
{
    tn_conv_tiled_tune(context, (const conv_problem *)problem, CONV_GRADIENT_OF_IMAGE, values);
}

static const char *constrains(tenon_context *context, const tn_problem *problem,
                              const int32_t *values)
{
    return tn_conv_tiled_constrains(context, (const conv_problem *)problem, CONV_GRADIENT_OF_IMAGE,
                                    values);
}

static double estimate(tenon_context *context, const tn_problem *problem, const int32_t *values)
{
    return tn_conv_tiled_estimate(context, (const conv_problem *)problem, CONV_GRADIENT_OF_IMAGE, 1,
                                  values);
}

static void options(tenon_context *context, const tn_problem *problem, const int32_t *values,
                    char text[TN_OPTIONS_SIZE])
{
    tn_conv_tiled_options(context, (const conv_problem *)problem, CONV_GRADIENT_OF_IMAGE, 1, values,
                          text);
}

static tenon_status record(const char *operation, tn_recording *recording,
                           const tn_problem *problem, const int32_t *values)
{
    return tn_conv_tiled_record(operation, recording, (const conv_problem *)problem,
                                CONV_GRADIENT_OF_IMAGE, 1, values);
}

const tn_solver tn_conv_backward_data_implicit_tiled = {.name = "implicit_tiled",
                                                        .awkward = TN_CONV_TILED_DATA_AWKWARD,
                                                        .parameters = tn_conv_tiled_parameters,
                                                        .parameter_count = CONV_TILED_PARAMETERS,
                                                        .refuses = refuses,
                                                        .tune = tune,
                                                        .constrains = constrains,
                                                        .estimate = estimate,
                                                        .options = options,
                                                        .record = record};
