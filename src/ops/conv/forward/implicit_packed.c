/* conv/implicit_packed: gemm/cpu_packed, with its blocks of b packed directly from the image. */
#include "base/checked.h"
#include "ops/conv/implicit/implicit.h"
#include "ops/conv/implicit/tiled.h"
#include "ops/gemm/cpu.h"

/* Returns the local memory. Each pixel has three positions, a 64-bit element number, and the data
 * of its vector. */
static int64_t local_elements(const gemm_problem *g, const int32_t *values)
{
    int64_t columns = (int64_t)values[CPU_PANELS] * values[CPU_NR];
    return columns * (values[CPU_KC] + 8) + tn_gemm_cpu_packed_a(g, values) +
           tn_gemm_cpu_sums(g, values);
}

/* Adds the time of the product, of packing by vectors or elements, of locating each pixel once per
 * work-group, and of scattered sums once per block of K. */
static void conv_implicit_packed_add_time(tenon_context *context, const conv_problem *p,
                                          const gemm_problem *g, tn_choice *choice)
{
    const int32_t *values = choice->values;
    const bool by_vectors = tn_conv_implicit_by_vectors(p, tn_gemm_lanes(context, p->dtype));
    const double batch = (double)tn_gemm_batch_count(g);
    const double row_groups = (double)tn_ceil_div(g->m, tn_gemm_cpu_tile_rows(context, g, values));
    const double pixels = (double)tn_round_up(g->n, values[CPU_NR]) * batch * row_groups;
    const double packed = pixels * (double)g->k;
    tn_work work = tn_gemm_cpu_work(context, g, values, tn_gemm_cpu_columns(context, g, values));
    work.rows += pixels;
    work.bytes = tn_conv_bytes(p); /* the columns are packed on demand */
    work.vector_elements += by_vectors ? 1.2 * packed : 0;
    work.single_elements += by_vectors ? 0 : packed;
    if (g->matrix[GEMM_D].col > 1)
        work.single_elements +=
            (double)g->m * (double)g->n * batch * (double)tn_ceil_div(g->k, values[CPU_KC]);
    tn_choice_add(context, choice, &work);
}

/* The layout of the choice is the product. */
static const char *conv_implicit_packed_configure(tenon_context *context, const tn_problem *problem,
                                                  tn_choice *choice)
{
    const conv_problem *p = (const conv_problem *)problem;
    gemm_problem *g = TN_LAYOUT(gemm_problem, choice);
    const char *why = tn_conv_implicit_refuses(p);
    if (why != NULL)
        return why;
    *g = tn_conv_implicit_product(p);
    choice->never_chosen = context->device.is_cpu ? NULL : "made for CPUs";
    tn_gemm_cpu_tune(context, g, 2, local_elements, choice->values);
    choice->misfit = tn_gemm_cpu_constrains(context, g, choice->values, local_elements);
    if (choice->misfit != NULL)
        return NULL;
    conv_implicit_packed_add_time(context, p, g, choice);
    if (!choice->is_estimate)
        tn_gemm_cpu_options(context, &g->head, choice->values, choice->options);
    return NULL;
}

static tenon_status conv_implicit_packed_launch(const char *caller, tn_recording *recording,
                                                const tn_problem *problem, const tn_choice *choice)
{
    const conv_problem *p = (const conv_problem *)problem;
    const gemm_problem *g = TN_LAYOUT(const gemm_problem, choice);
    const int32_t *values = choice->values;
    int64_t rows = tn_gemm_cpu_tile_rows(recording->context, g, values);
    int64_t columns = (int64_t)values[CPU_PANELS] * values[CPU_NR];
    tn_launch launch = {
        .source = "conv/forward/implicit_packed",
        .options = choice->options,
        .kernel = "conv_implicit_packed",
        .global = {(size_t)tn_ceil_div(g->n, columns), (size_t)tn_ceil_div(g->m, rows)},
        .local = {1, 1, 1},
    };
    return tn_conv_implicit_record(caller, recording, p, g, rows, &launch);
}

const tn_solver tn_conv_implicit_packed = {
    .name = "implicit_packed",
    .serves = "filters whose taps, and outputs whose pixels, have a single stride, on CPUs",
    TN_PARAMETERS(tn_gemm_cpu_parameters, CPU_PARAMETERS),
    .configure = conv_implicit_packed_configure,
    .launch = conv_implicit_packed_launch};
