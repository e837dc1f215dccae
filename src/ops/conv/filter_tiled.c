/* conv_backward_filter/implicit_tiled: dy times what the taps meet of x, over the pixels of all
 * images; with a workspace in slices, whose sums are added in order. */
#include "base/checked.h"
#include "ops/conv/gradient.h"
#include "ops/conv/tiled.h"

/* Steps of k that a slice has at least: enough to be worth writing its sums. */
#define LEAST_SLICE 256
/* Work-groups that keep a compute unit busy. */
#define GROUPS_PER_UNIT 2
/* Nanoseconds of a compute unit to write an element of a slice's sums and to add it up. */
#define SLICE_TIME 0.1

static uint64_t sums_size(const conv_problem *p)
{
    return (uint64_t)(p->groups * p->k * p->c * tn_window_taps(&p->window)) * tn_acc_size(p->dtype);
}

/* How many slices there are where `most` are asked for: as the pixels, and the workspace, allow. */
static int64_t slices_of(const conv_problem *p, int64_t most)
{
    int64_t pixels = p->n * tn_window_pixels(&p->window);
    uint64_t room = p->head.workspace_limit / sums_size(p);
    int64_t slices = tn_min_i64(tn_min_i64(most, pixels), room < 64 ? (int64_t)room : 64);
    return slices <= 1 ? 1 : tn_ceil_div(pixels, tn_ceil_div(pixels, slices));
}

static const char *refuses(tenon_context *context, const tn_problem *problem)
{
    return tn_conv_tiled_refuses(context, problem, CONV_GRADIENT_OF_FILTER);
}

static void tune(tenon_context *context, const tn_problem *problem, int32_t *values)
{
    const conv_problem *p = (const conv_problem *)problem;
    tn_conv_tiled_tune(context, p, CONV_GRADIENT_OF_FILTER, values);
    if (values[TILED_SLICES] != 0)
        return;
    const gemm_problem g = tn_conv_tiled_product(p, CONV_GRADIENT_OF_FILTER, 1);
    int64_t groups = tn_gemm_tiled_groups(&g, values[TILED_MB], values[TILED_NB]),
            wanted = tn_ceil_div(GROUPS_PER_UNIT * (int64_t)context->device.info.compute_units,
                                 tn_max_i64(groups, 1));
    int32_t slices = tn_gemm_tiled_parameters[TILED_SLICES].low;
    while (slices < wanted && slices < tn_gemm_tiled_parameters[TILED_SLICES].high &&
           g.k / (2 * slices) >= LEAST_SLICE)
        slices *= 2;
    values[TILED_SLICES] = slices;
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
    int64_t slices = slices_of(p, values[TILED_SLICES]);
    (void)context;
    return slices > 1 ? (uint64_t)slices * sums_size(p) : 0;
}

static double estimate(tenon_context *context, const tn_problem *problem, const int32_t *values)
{
    const conv_problem *p = (const conv_problem *)problem;
    int64_t slices = slices_of(p, values[TILED_SLICES]);
    double sums = slices > 1 ? (double)slices * (double)sums_size(p) : 0;
    return tn_conv_tiled_estimate(context, p, CONV_GRADIENT_OF_FILTER, slices, values) +
           sums * SLICE_TIME / context->device.info.compute_units;
}

static void options(tenon_context *context, const tn_problem *problem, const int32_t *values,
                    char text[TN_OPTIONS_SIZE])
{
    const conv_problem *p = (const conv_problem *)problem;
    tn_conv_tiled_options(context, p, CONV_GRADIENT_OF_FILTER, slices_of(p, values[TILED_SLICES]),
                          values, text);
}

static tenon_status record_sum(const char *operation, tn_recording *recording,
                               const conv_problem *p, int64_t slices)
{
    const int64_t *f = p->window.filter, *w = p->w;
    const conv_packing packing = {.dtype = p->dtype,
                                  .operand = p->operand[CONV_W],
                                  .adds = (p->flags & CONV_HAS_C) != 0,
                                  .shape = {p->groups * p->k, p->c, f[0], f[1], f[2]},
                                  .stride = {w[0], w[1], w[2], w[3], w[4]},
                                  .parts = slices};
    return tn_conv_record_unpack(operation, recording, &packing);
}

static tenon_status record(const char *operation, tn_recording *recording,
                           const tn_problem *problem, const int32_t *values)
{
    const conv_problem *p = (const conv_problem *)problem;
    int64_t slices = slices_of(p, values[TILED_SLICES]);
    TN_TRY(tn_conv_tiled_record(operation, recording, p, CONV_GRADIENT_OF_FILTER, slices, values));
    return slices > 1 ? record_sum(operation, recording, p, slices) : TENON_OK;
}

const tn_solver tn_conv_backward_filter_implicit_tiled = {.name = "implicit_tiled",
                                                          .parameters = tn_gemm_tiled_parameters,
                                                          .parameter_count = TILED_SPLIT_PARAMETERS,
                                                          .refuses = refuses,
                                                          .tune = tune,
                                                          .constrains = constrains,
                                                          .workspace = workspace,
                                                          .estimate = estimate,
                                                          .options = options,
                                                          .record = record};
