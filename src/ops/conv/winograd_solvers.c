/* conv/winograd2 and conv/winograd4: Winograd's convolution with tiles of 2 x 2 and of 4 x 4
 * outputs, for CPUs; conv/winograd2_gemm and conv/winograd4_gemm, the same for GPUs. */
#include "ops/conv/winograd.h"

/* More tiles than a set of registers, cut at both edges, and filters past a panel. */
#define AWKWARD                                                                                    \
    "channels=37 filters=67 d=1 h=11 w=33 t=1 r=3 s=3 stride_h=1 stride_w=1 dilation_h=1"

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
                                        .awkward = AWKWARD,                                        \
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

/* The same, without parameters. */
#define DEFINE_WINOGRAD_GEMM(symbol, solver_name, size)                                            \
    static const char *refuses_##symbol(tenon_context *context, const tn_problem *problem)         \
    {                                                                                              \
        const winograd w = {(const conv_problem *)problem, size};                                  \
        return tn_winograd_gemm_refuses(context, &w);                                              \
    }                                                                                              \
    static uint64_t workspace_##symbol(tenon_context *context, const tn_problem *problem,          \
                                       const int32_t *values)                                      \
    {                                                                                              \
        const winograd w = {(const conv_problem *)problem, size};                                  \
        (void)values;                                                                              \
        return tn_winograd_gemm_workspace(context, &w);                                            \
    }                                                                                              \
    static double estimate_##symbol(tenon_context *context, const tn_problem *problem,             \
                                    const int32_t *values)                                         \
    {                                                                                              \
        const winograd w = {(const conv_problem *)problem, size};                                  \
        (void)values;                                                                              \
        return tn_winograd_gemm_estimate(context, &w);                                             \
    }                                                                                              \
    static void options_##symbol(tenon_context *context, const tn_problem *problem,                \
                                 const int32_t *values, char text[TN_OPTIONS_SIZE])                \
    {                                                                                              \
        const winograd w = {(const conv_problem *)problem, size};                                  \
        (void)values;                                                                              \
        tn_winograd_gemm_options(context, &w, text);                                               \
    }                                                                                              \
    static tenon_status record_##symbol(const char *operation, tn_recording *recording,            \
                                        const tn_problem *problem, const int32_t *values)          \
    {                                                                                              \
        const winograd w = {(const conv_problem *)problem, size};                                  \
        (void)values;                                                                              \
        return tn_winograd_gemm_record(operation, recording, &w);                                  \
    }                                                                                              \
    const tn_solver tn_conv_##symbol = {.name = solver_name,                                       \
                                        .awkward = AWKWARD,                                        \
                                        .inexact = (size) == 4,                                    \
                                        .refuses = refuses_##symbol,                               \
                                        .workspace = workspace_##symbol,                           \
                                        .estimate = estimate_##symbol,                             \
                                        .options = options_##symbol,                               \
                                        .record = record_##symbol}

DEFINE_WINOGRAD_GEMM(winograd2_gemm, "winograd2_gemm", 2);
DEFINE_WINOGRAD_GEMM(winograd4_gemm, "winograd4_gemm", 4);

int64_t tn_winograd_tile(const tn_solver *solver)
{
    static const struct {
        const tn_solver *solver;
        int64_t tile;
    } all[] = {{&tn_conv_winograd2, 2},
               {&tn_conv_winograd4, 4},
               {&tn_conv_winograd2_gemm, 2},
               {&tn_conv_winograd4_gemm, 4}};
    for (size_t i = 0; solver != NULL && i < sizeof all / sizeof *all; i++)
        if (tn_is_solver(solver, all[i].solver))
            return all[i].tile;
    return 0;
}
