/* conv/implicit_matrix, conv_backward_data/implicit_matrix and
 * conv_backward_filter/implicit_matrix: the products of implicit_tiled on matrix units, of f16 and
 * bf16. The parameters are those of gemm/mma. */
#include "base/checked.h"
#include "ops/common/gpu.h"
#include "ops/conv/gradient.h"
#include "ops/conv/tiled.h"
#include "ops/gemm/matrix.h"
#include "runtime/arch.h"
#include "runtime/context.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const source_names[] = {"conv/implicit_matrix", "conv/data_matrix",
                                           "conv/filter_matrix"};

/* Elements of a vector of 16 bytes. */
#define VECTOR 8
/* Slices of the pixels have at least so many steps. */
#define LEAST_SLICE 512
/* As in conv/tiled.c: local memory of a column and of a step of k, of which there are two tables.
 */
#define COLUMN_BYTES 24
#define STEP_BYTES   56
#define PART_BYTES   256

static int unit_type(const conv_problem *p)
{
    return p->dtype == TENON_DTYPE_F16 ? MATRIX_F16 : MATRIX_BF16;
}

/* The first kind of unit that the device has; emulated, the two that differ most. */
static bool find_unit(tenon_context *context, const conv_problem *p, int32_t form,
                      matrix_unit *unit)
{
    const int type = unit_type(p);
    if (form == MATRIX_EMULATED || form == MATRIX_EMULATED_OTHER) {
        matrix_kind kind = form == MATRIX_EMULATED ? MATRIX_MMA : MATRIX_AMD_MFMA;
        return tn_matrix_unit(context, kind, form, type, unit);
    }
    for (int kind = MATRIX_MMA; kind <= MATRIX_XMX; kind++)
        if (tn_matrix_unit(context, (matrix_kind)kind, form, type, unit))
            return true;
    return false;
}

static matrix_unit unit_of(tenon_context *context, const conv_problem *p, const int32_t *values)
{
    matrix_unit unit;
    find_unit(context, p, values[MATRIX_FORM], &unit);
    return unit;
}

static const char *refuses(tenon_context *context, const conv_problem *p, conv_direction direction)
{
    matrix_unit unit;
    if (!tn_conv_is_converted(p->dtype))
        return "made for f16 and bf16";
    if (!find_unit(context, p, p->head.forced >= 0 ? p->head.forced_values[MATRIX_FORM] : 0, &unit))
        return "the device has no such matrix units";
    return tn_conv_tiled_refuses(context, &p->head, direction);
}

static int64_t slices_of(const conv_problem *p, conv_direction direction, const int32_t *values)
{
    return direction == CONV_GRADIENT_OF_FILTER ? tn_conv_slices(p, values[MATRIX_SLICES]) : 1;
}

/* Half the usual rows, by half the warps, where there are no more. */
static void halve_rows(const gemm_problem *g, int32_t *values)
{
    while (g->m <= values[MATRIX_MB] / 2 && values[MATRIX_WM] % 2 == 0) {
        values[MATRIX_MB] /= 2;
        values[MATRIX_WM] /= 2;
    }
}

/* Where K will be cut, the block is chosen for as many work-groups as there may be. */
static void tune(tenon_context *context, const conv_problem *p, conv_direction direction,
                 int32_t *values)
{
    const bool filter = direction == CONV_GRADIENT_OF_FILTER,
               is_free = values[MATRIX_MB] == 0 && values[MATRIX_WM] == 0;
    const int32_t most = filter ? tn_conv_tune_slices(context, p, 1, LEAST_SLICE) : 1;
    const gemm_problem g = tn_conv_tiled_product(p, direction, tn_conv_slices(p, most));
    const matrix_unit unit = unit_of(context, p, values);
    if (values[MATRIX_STAGES] == 0)
        values[MATRIX_STAGES] = 1;
    tn_matrix_tune(context, &g.head, &unit, values);
    if (is_free && !unit.emulated)
        halve_rows(&g, values);
    if (!filter || values[MATRIX_SLICES] != 0)
        return;
    const gemm_problem whole = tn_conv_tiled_product(p, direction, 1);
    const int64_t groups = tn_gemm_tiled_groups(&whole, values[MATRIX_MB], values[MATRIX_NB]);
    values[MATRIX_SLICES] = tn_conv_tune_slices(context, p, groups, LEAST_SLICE);
}

static const char *constrains(tenon_context *context, const conv_problem *p, const int32_t *values)
{
    const matrix_unit unit = unit_of(context, p, values);
    const char *why = tn_matrix_constrains(context, &unit, values);
    if (why != NULL)
        return why;
    if (values[MATRIX_STAGES] != 1)
        return "st above 1 is for gemm/mma";
    const int64_t warps = (int64_t)values[MATRIX_WM] * values[MATRIX_WN],
                  columns = values[MATRIX_NB], steps = values[MATRIX_KB];
    if (steps > warps * MATRIX_LANES(unit.number))
        return "kb is more than the work-group";
    const int64_t tables = columns * COLUMN_BYTES + steps * STEP_BYTES + PART_BYTES;
    return (uint64_t)(tn_matrix_local(&unit, values) + tables) > context->device.info.local_memory
               ? "the blocks and the tables do not fit the local memory"
               : NULL;
}

static uint64_t workspace(const conv_problem *p, conv_direction direction, const int32_t *values)
{
    return tn_conv_slices_size(p, slices_of(p, direction, values));
}

/* Instructions that find what a step of a block needs: an element at a time, or a vector where it
 * is read whole. */
static double finding(const conv_problem *p, conv_direction direction, const gemm_problem *g,
                      const int32_t *values)
{
    const double run = tn_conv_run(p, direction, values[MATRIX_KB], VECTOR),
                 a_run = tn_conv_reads_vectors_of_a(p, direction, g) ? VECTOR : 1;
    return CONV_FINDING * values[MATRIX_KB] * (values[MATRIX_MB] / a_run + values[MATRIX_NB] / run);
}

static double estimate(tenon_context *context, const conv_problem *p, conv_direction direction,
                       const int32_t *values)
{
    const matrix_unit unit = unit_of(context, p, values);
    const int64_t slices = slices_of(p, direction, values);
    const gemm_problem g = tn_conv_tiled_product(p, direction, slices);
    const double groups = (double)tn_gemm_tiled_groups(&g, values[MATRIX_MB], values[MATRIX_NB]);
    const double compute =
        tn_matrix_time(context, &unit, values, groups, tn_conv_depth(p, direction, &g),
                       finding(p, direction, &g, values));
    return TN_GPU_LAUNCH + fmax(compute, tn_conv_read_time(context, p)) +
           tn_conv_slices_time(context, p, slices);
}

/* How a and b lie is the kernel's business here, and makes no variants. */
static void options(tenon_context *context, const conv_problem *p, conv_direction direction,
                    const int32_t *values, char text[TN_OPTIONS_SIZE])
{
    const matrix_unit unit = unit_of(context, p, values);
    gemm_problem g = tn_conv_tiled_product(p, direction, slices_of(p, direction, values));
    g.matrix[GEMM_A].row = g.matrix[GEMM_A].col = 0;
    g.m = g.n = g.k = 0;
    tn_matrix_options(context, &g, &unit, values, text);
    const size_t used = strlen(text);
    snprintf(text + used, TN_OPTIONS_SIZE - used, " -DTENON_ALONG_K=%d -DTENON_RUN=%d",
             tn_conv_gathers_along_k(p, direction),
             tn_conv_run(p, direction, values[MATRIX_KB], VECTOR));
}

static tenon_status record(const char *operation, tn_recording *recording, const conv_problem *p,
                           conv_direction direction, const int32_t *values)
{
    const matrix_unit unit = unit_of(recording->context, p, values);
    const int64_t slices = slices_of(p, direction, values);
    const int32_t block[] = {values[MATRIX_MB], values[MATRIX_NB]};
    char text[TN_OPTIONS_SIZE];
    tn_launch launch = {
        .source = source_names[direction], .options = text, .kernel = "conv_matrix"};
    options(recording->context, p, direction, values, text);
    launch.local[0] =
        (size_t)values[MATRIX_WM] * (size_t)values[MATRIX_WN] * (size_t)MATRIX_LANES(unit.number);
    TN_TRY(tn_conv_tiled_launch(operation, recording, p, direction, slices, block, &launch));
    return tn_conv_record_slices(operation, recording, p, slices);
}

/* A solver's functions are not told which it is. */
#define CONV_MATRIX_SOLVER(solver, direction, count, cases)                                        \
    static const char *refuses_##solver(tenon_context *context, const tn_problem *problem)         \
    {                                                                                              \
        return refuses(context, (const conv_problem *)problem, direction);                         \
    }                                                                                              \
    static void tune_##solver(tenon_context *context, const tn_problem *problem, int32_t *values)  \
    {                                                                                              \
        tune(context, (const conv_problem *)problem, direction, values);                           \
    }                                                                                              \
    static const char *constrains_##solver(tenon_context *context, const tn_problem *problem,      \
                                           const int32_t *values)                                  \
    {                                                                                              \
        return constrains(context, (const conv_problem *)problem, values);                         \
    }                                                                                              \
    static uint64_t workspace_##solver(tenon_context *context, const tn_problem *problem,          \
                                       const int32_t *values)                                      \
    {                                                                                              \
        (void)context;                                                                             \
        return workspace((const conv_problem *)problem, direction, values);                        \
    }                                                                                              \
    static double estimate_##solver(tenon_context *context, const tn_problem *problem,             \
                                    const int32_t *values)                                         \
    {                                                                                              \
        return estimate(context, (const conv_problem *)problem, direction, values);                \
    }                                                                                              \
    static void options_##solver(tenon_context *context, const tn_problem *problem,                \
                                 const int32_t *values, char text[TN_OPTIONS_SIZE])                \
    {                                                                                              \
        options(context, (const conv_problem *)problem, direction, values, text);                  \
    }                                                                                              \
    static tenon_status record_##solver(const char *operation, tn_recording *recording,            \
                                        const tn_problem *problem, const int32_t *values)          \
    {                                                                                              \
        return record(operation, recording, (const conv_problem *)problem, direction, values);     \
    }                                                                                              \
    const tn_solver tn_##solver = {.name = "implicit_matrix",                                      \
                                   .awkward = cases,                                               \
                                   .parameters = tn_gemm_matrix_parameters,                        \
                                   .parameter_count = count,                                       \
                                   .refuses = refuses_##solver,                                    \
                                   .tune = tune_##solver,                                          \
                                   .constrains = constrains_##solver,                              \
                                   .workspace = workspace_##solver,                                \
                                   .estimate = estimate_##solver,                                  \
                                   .options = options_##solver,                                    \
                                   .record = record_##solver}

CONV_MATRIX_SOLVER(conv_implicit_matrix, CONV_RESULT, MATRIX_PARAMETERS, TN_CONV_TILED_AWKWARD);
CONV_MATRIX_SOLVER(conv_backward_data_implicit_matrix, CONV_GRADIENT_OF_IMAGE, MATRIX_PARAMETERS,
                   TN_CONV_TILED_DATA_AWKWARD);
CONV_MATRIX_SOLVER(conv_backward_filter_implicit_matrix, CONV_GRADIENT_OF_FILTER,
                   MATRIX_SPLIT_PARAMETERS, TN_CONV_TILED_FILTER_AWKWARD);
