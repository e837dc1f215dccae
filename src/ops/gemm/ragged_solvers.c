/* The solvers of the ragged product, each GEMM's of the same kind on the rows of the groups. */
#include "base/checked.h"
#include "ops/gemm/cpu.h"
#include "ops/gemm/ragged.h"
#include "ops/gemm/tiled.h"

#include "gemm/ragged_args.h"

#include <stddef.h>
#include <string.h>

/* Above so many multiply-adds the plain kernel is never chosen. */
#define PLAIN_LIMIT (1 << 20)
/* Nanoseconds for packing an element of b; see gemm/cpu_packed. */
#define PACK_TIME 0.35

static const gemm_problem *product_of(const tn_problem *problem)
{
    return &((const ragged_problem *)problem)->gemm;
}

/* All rows as one product, for GEMM's choice of tiles. */
static gemm_problem whole(const tn_problem *problem)
{
    gemm_problem p = *product_of(problem);
    p.head.size = sizeof p;
    p.batch_rank = 0;
    return p;
}

/* Groups that have rows, at most. */
static int64_t group_count(const gemm_problem *p)
{
    return tn_min_i64(p->batch[0], p->m);
}

/* Completes a launch that has its kernel, options and sizes. */
static tenon_status record_launch(const char *operation, tn_recording *recording,
                                  const tn_problem *problem, int64_t tile_rows, tn_launch *launch)
{
    const ragged_problem *p = (const ragged_problem *)problem;
    static const uint8_t read[] = {RAGGED_A, RAGGED_B, RAGGED_C, RAGGED_BIAS};
    gemm_arguments arguments;
    tn_patch patches[GEMM_OPERANDS + TN_EPILOGUE_SCALARS + 1];
    tn_gemm_arguments(&p->gemm, &arguments);
    ragged_args args = {
        .gemm = arguments.args, .offsets_step = p->offsets_step, .groups = p->gemm.batch[0]};
    args.gemm.tile_rows = (tenon_i32)tn_min_i64(tile_rows, INT32_MAX);
    uint32_t count = arguments.patch_count;
    memcpy(patches, arguments.patches, count * sizeof *patches);
    patches[count] = (tn_patch){TN_PATCH_OFFSET, RAGGED_OFFSETS,
                                offsetof(ragged_args, offsets_offset), sizeof(int32_t)};
    launch->dimensions = 2;
    launch->operand_count = RAGGED_OPERANDS;
    for (int i = 0; i < 4; i++) /* an operand that is not read may be absent: d stands in */
        launch->operands[i] = RAGGED_D;
    for (uint32_t i = 0; i < count; i++)
        for (int x = 0; x < 4; x++)
            if (patches[i].kind == TN_PATCH_OFFSET && patches[i].source == read[x])
                launch->operands[x] = read[x];
    launch->operands[4] = RAGGED_D;
    launch->operands[5] = RAGGED_OFFSETS;
    launch->args = &args;
    launch->args_size = sizeof args;
    launch->patches = patches;
    launch->patch_count = count + 1;
    return tn_record(operation, recording, launch);
}

/* gemm_ragged/plain */

static const char *refuses_plain(tenon_context *context, const tn_problem *problem)
{
    const gemm_problem p = whole(problem);
    (void)context;
    return problem->forced < 0 && tn_gemm_work(&p) > PLAIN_LIMIT ? "more than 2^20 multiply-adds"
                                                                 : NULL;
}

static double estimate_plain(tenon_context *context, const tn_problem *problem,
                             const int32_t *values)
{
    const gemm_problem p = whole(problem);
    return tn_gemm_plain.estimate(context, &p.head, values);
}

static void options_plain(tenon_context *context, const tn_problem *problem, const int32_t *values,
                          char text[TN_OPTIONS_SIZE])
{
    tn_gemm_plain.options(context, &product_of(problem)->head, values, text);
}

static tenon_status record_plain(const char *operation, tn_recording *recording,
                                 const tn_problem *problem, const int32_t *values)
{
    const gemm_problem *p = product_of(problem);
    char text[TN_OPTIONS_SIZE];
    options_plain(recording->context, problem, values, text);
    tn_launch launch = {.source = "gemm/ragged_plain",
                        .options = text,
                        .kernel = "gemm_ragged_plain",
                        .global = {(size_t)tn_round_up(p->n, 16), (size_t)tn_round_up(p->m, 4)},
                        .local = {16, 4}};
    return record_launch(operation, recording, problem, 0, &launch);
}

const tn_solver tn_ragged_plain = {.name = "plain",
                                   .refuses = refuses_plain,
                                   .estimate = estimate_plain,
                                   .options = options_plain,
                                   .record = record_plain};

/* gemm_ragged/tiled */

static const char *refuses_tiled(tenon_context *context, const tn_problem *problem)
{
    return tn_gemm_tiled.refuses(context, problem);
}

static void tune_tiled(tenon_context *context, const tn_problem *problem, int32_t *values)
{
    const gemm_problem p = whole(problem);
    tn_gemm_tiled.tune(context, &p.head, values);
}

static const char *constrains_tiled(tenon_context *context, const tn_problem *problem,
                                    const int32_t *values)
{
    return tn_gemm_tiled.constrains(context, &product_of(problem)->head, values);
}

/* Blocks of rows that there can be: all but the last of each group are whole. */
static int64_t row_blocks(const gemm_problem *p, int64_t mb)
{
    return p->m / mb + group_count(p);
}

static double estimate_tiled(tenon_context *context, const tn_problem *problem,
                             const int32_t *values)
{
    gemm_problem p = whole(problem);
    p.m = row_blocks(product_of(problem), values[TILED_MB]) * values[TILED_MB];
    return tn_gemm_tiled.estimate(context, &p.head, values);
}

static void options_tiled(tenon_context *context, const tn_problem *problem, const int32_t *values,
                          char text[TN_OPTIONS_SIZE])
{
    tn_gemm_tiled.options(context, &product_of(problem)->head, values, text);
}

static tenon_status record_tiled(const char *operation, tn_recording *recording,
                                 const tn_problem *problem, const int32_t *values)
{
    const gemm_problem *p = product_of(problem);
    char text[TN_OPTIONS_SIZE];
    tn_launch launch = {
        .source = "gemm/ragged_tiled", .options = text, .kernel = "gemm_ragged_tiled"};
    options_tiled(recording->context, problem, values, text);
    launch.local[0] = (size_t)(values[TILED_NB] / values[TILED_NR]);
    launch.local[1] = (size_t)(values[TILED_MB] / values[TILED_MR]);
    launch.global[0] = (size_t)tn_ceil_div(p->n, values[TILED_NB]) * launch.local[0];
    launch.global[1] = (size_t)row_blocks(p, values[TILED_MB]) * launch.local[1];
    return record_launch(operation, recording, problem, 0, &launch);
}

const tn_solver tn_ragged_tiled = {.name = "tiled",
                                   .awkward = "m=167 width=vw",
                                   .parameters = tn_gemm_tiled_parameters,
                                   .parameter_count = TILED_PARAMETERS,
                                   .refuses = refuses_tiled,
                                   .tune = tune_tiled,
                                   .constrains = constrains_tiled,
                                   .estimate = estimate_tiled,
                                   .options = options_tiled,
                                   .record = record_tiled};

/* gemm_ragged/cpu */

static const char *refuses_cpu(tenon_context *context, const tn_problem *problem)
{
    return tn_gemm_refuses_cpu(context, product_of(problem));
}

static void tune_cpu(tenon_context *context, const tn_problem *problem, int32_t *values)
{
    const gemm_problem p = whole(problem);
    tn_gemm_cpu_packed.tune(context, &p.head, values);
}

static const char *constrains_cpu(tenon_context *context, const tn_problem *problem,
                                  const int32_t *values)
{
    return tn_gemm_cpu_packed.constrains(context, &product_of(problem)->head, values);
}

static double estimate_cpu(tenon_context *context, const tn_problem *problem, const int32_t *values)
{
    const gemm_problem p = whole(problem);
    double row_groups = (double)tn_ceil_div(p.m, tn_gemm_cpu_tile_rows(context, &p, values));
    double packed =
        (double)p.k * (double)p.n * ((double)group_count(product_of(problem)) + row_groups - 1);
    return CPU_LAUNCH_TIME + tn_gemm_cpu_tile_time(context, &p, values) +
           packed * PACK_TIME / context->device.info.compute_units;
}

static void options_cpu(tenon_context *context, const tn_problem *problem, const int32_t *values,
                        char text[TN_OPTIONS_SIZE])
{
    tn_gemm_cpu_options(context, &product_of(problem)->head, values, text);
}

static tenon_status record_cpu(const char *operation, tn_recording *recording,
                               const tn_problem *problem, const int32_t *values)
{
    const gemm_problem p = whole(problem);
    char text[TN_OPTIONS_SIZE];
    int64_t rows = tn_gemm_cpu_tile_rows(recording->context, &p, values);
    options_cpu(recording->context, problem, values, text);
    tn_launch launch = {
        .source = "gemm/ragged_cpu",
        .options = text,
        .kernel = "gemm_ragged_cpu",
        .global = {(size_t)tn_gemm_cpu_column_groups(&p, values), (size_t)tn_ceil_div(p.m, rows)},
        .local = {1, 1}};
    return record_launch(operation, recording, problem, rows, &launch);
}

const tn_solver tn_ragged_cpu = {.name = "cpu",
                                 .parameters = tn_gemm_cpu_parameters,
                                 .parameter_count = CPU_PARAMETERS,
                                 .refuses = refuses_cpu,
                                 .tune = tune_cpu,
                                 .constrains = constrains_cpu,
                                 .estimate = estimate_cpu,
                                 .options = options_cpu,
                                 .record = record_cpu};
