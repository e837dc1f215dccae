/* conv/winograd2 and conv/winograd4: Winograd's convolution with tiles of 2 x 2 and of 4 x 4
 * outputs. */
#include "ops/conv/winograd.h"

/* The functions of a solver, which know its tile. */
#define DEFINE_WINOGRAD(symbol, solver_name, size)                                                 \
    static const char *refuses_##symbol(tenon_context *context, const tn_problem *problem)         \
    {                                                                                              \
        const winograd w = {(const conv_problem *)problem, size};                                  \
        return tn_winograd_refuses(context, &w);                                                   \
    }                                                                                              \
    static void tune_##symbol(tenon_context *context, const tn_problem *problem, int32_t *values)  \
    {                                                                                              \
        const winograd w = {(const conv_problem *)problem, size};                                  \
        tn_winograd_tune(context, &w, values);                                                     \
    }                                                                                              \
    static const char *constrains_##symbol(tenon_context *context, const tn_problem *problem,      \
                                           const int32_t *values)                                  \
    {                                                                                              \
        const winograd w = {(const conv_problem *)problem, size};                                  \
        return tn_winograd_constrains(context, &w, values);                                        \
    }                                                                                              \
    static uint64_t workspace_##symbol(tenon_context *context, const tn_problem *problem,          \
                                       const int32_t *values)                                      \
    {                                                                                              \
        const winograd w = {(const conv_problem *)problem, size};                                  \
        return tn_winograd_workspace(context, &w, values);                                         \
    }                                                                                              \
    static double estimate_##symbol(tenon_context *context, const tn_problem *problem,             \
                                    const int32_t *values)                                         \
    {                                                                                              \
        const winograd w = {(const conv_problem *)problem, size};                                  \
        return tn_winograd_estimate(context, &w, values);                                          \
    }                                                                                              \
    static void options_##symbol(tenon_context *context, const tn_problem *problem,                \
                                 const int32_t *values, char text[TN_OPTIONS_SIZE])                \
    {                                                                                              \
        const winograd w = {(const conv_problem *)problem, size};                                  \
        tn_winograd_options(context, &w, values, text);                                            \
    }                                                                                              \
    static tenon_status record_##symbol(const char *operation, tn_recording *recording,            \
                                        const tn_problem *problem, const int32_t *values)          \
    {                                                                                              \
        const winograd w = {(const conv_problem *)problem, size};                                  \
        return tn_winograd_record(operation, recording, &w, values);                               \
    }                                                                                              \
    const tn_solver tn_conv_##symbol = {.name = solver_name,                                       \
                                        .inexact = (size) == 4,                                    \
                                        .parameters = tn_winograd_parameters,                      \
                                        .parameter_count = WINOGRAD_PARAMETERS,                    \
                                        .refuses = refuses_##symbol,                               \
                                        .tune = tune_##symbol,                                     \
                                        .constrains = constrains_##symbol,                         \
                                        .workspace = workspace_##symbol,                           \
                                        .estimate = estimate_##symbol,                             \
                                        .options = options_##symbol,                               \
                                        .record = record_##symbol}

DEFINE_WINOGRAD(winograd2, "winograd2", 2);
DEFINE_WINOGRAD(winograd4, "winograd4", 4);

int64_t tn_winograd_tile(const tn_solver *solver)
{
    return solver == NULL                             ? 0
           : tn_is_solver(solver, &tn_conv_winograd2) ? 2
           : tn_is_solver(solver, &tn_conv_winograd4) ? 4
                                                      : 0;
}
