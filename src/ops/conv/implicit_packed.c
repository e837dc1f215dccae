/* conv/implicit_packed: gemm/cpu_packed with its blocks of b packed straight from the image. */
#include "base/checked.h"
#include "ops/conv/implicit.h"
#include "ops/gemm/cpu.h"

/* Nanoseconds of packing an element, by vectors and one by one, and of bringing one of y up to date
 * where its pixels are not contiguous; measured on x86-64. */
#define VECTOR_TIME  0.1
#define SINGLE_TIME  0.75
#define SCATTER_TIME 1.0
/* And of finding where a pixel lies, once for each work-group. */
#define PIXEL_TIME 6.0

static const char *refuses(tenon_context *context, const tn_problem *problem)
{
    const conv_problem *p = (const conv_problem *)problem;
    const char *why = tn_conv_implicit_refuses(p);
    if (why != NULL)
        return why;
    return context->device.is_cpu || problem->forced >= 0 ? NULL : "made for CPUs";
}

/* A pixel has three positions, the number of its element, of 64 bits, and what its vector has. */
static int64_t local_elements(const gemm_problem *g, const int32_t *values)
{
    int64_t columns = (int64_t)values[CPU_PANELS] * values[CPU_NR];
    return columns * (values[CPU_KC] + 8) + tn_gemm_cpu_packed_a(g, values) +
           tn_gemm_cpu_sums(g, values);
}

static void tune(tenon_context *context, const tn_problem *problem, int32_t *values)
{
    const gemm_problem g = tn_conv_implicit_product((const conv_problem *)problem);
    tn_gemm_cpu_tune(context, &g, 2, local_elements, values);
}

static const char *constrains(tenon_context *context, const tn_problem *problem,
                              const int32_t *values)
{
    const gemm_problem g = tn_conv_implicit_product((const conv_problem *)problem);
    return tn_gemm_cpu_constrains(context, &g, values, local_elements);
}

static double estimate(tenon_context *context, const tn_problem *problem, const int32_t *values)
{
    const conv_problem *p = (const conv_problem *)problem;
    const gemm_problem g = tn_conv_implicit_product(p);
    bool by_vectors = tn_conv_implicit_by_vectors(p, tn_gemm_lanes(context, p->dtype));
    double element = by_vectors ? VECTOR_TIME : SINGLE_TIME;
    double row_groups = (double)tn_ceil_div(g.m, tn_gemm_cpu_tile_rows(context, &g, values));
    double pack = (double)tn_round_up(g.n, values[CPU_NR]) * (double)tn_gemm_batch_count(&g) *
                  row_groups * ((double)g.k * element + PIXEL_TIME);
    double passes = (double)tn_ceil_div(g.k, values[CPU_KC]);
    double scatter = g.matrix[GEMM_D].col > 1
                         ? (double)g.m * (double)g.n * (double)tn_gemm_batch_count(&g) * passes
                         : 0;
    return CPU_LAUNCH_TIME + tn_gemm_cpu_tile_time(context, &g, values) +
           (pack + SCATTER_TIME * scatter) / context->device.info.compute_units;
}

static void options(tenon_context *context, const tn_problem *problem, const int32_t *values,
                    char text[TN_OPTIONS_SIZE])
{
    const gemm_problem g = tn_conv_implicit_product((const conv_problem *)problem);
    tn_gemm_cpu_options(context, &g.head, values, text);
}

static tenon_status record(const char *operation, tn_recording *recording,
                           const tn_problem *problem, const int32_t *values)
{
    const conv_problem *p = (const conv_problem *)problem;
    const gemm_problem g = tn_conv_implicit_product(p);
    char text[TN_OPTIONS_SIZE];
    int64_t rows = tn_gemm_cpu_tile_rows(recording->context, &g, values);
    int64_t columns = (int64_t)values[CPU_PANELS] * values[CPU_NR];
    options(recording->context, problem, values, text);
    tn_launch launch = {
        .source = "conv/implicit_packed",
        .options = text,
        .kernel = "conv_implicit_packed",
        .global = {(size_t)tn_ceil_div(g.n, columns), (size_t)tn_ceil_div(g.m, rows)},
        .local = {1, 1, 1},
    };
    return tn_conv_implicit_record(operation, recording, p, rows, &launch);
}

const tn_solver tn_conv_implicit_packed = {.name = "implicit_packed",
                                           .parameters = tn_gemm_cpu_parameters,
                                           .parameter_count = CPU_PARAMETERS,
                                           .refuses = refuses,
                                           .tune = tune,
                                           .constrains = constrains,
                                           .estimate = estimate,
                                           .options = options,
                                           .record = record};
