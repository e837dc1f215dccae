/*
 * gemm/split_k, gemm/skinny_split and gemm/cpu_split_k: where d is too small to keep the device at
 * work, K is cut into slices. Each is a product of its own, an entry of one more dimension of the
 * batch, which the kernel of another solver leaves in the workspace; a second kernel adds them up
 * in the order of K.
 */
#include "base/checked.h"
#include "ops/common/gpu.h"
#include "ops/gemm/cpu.h"
#include "ops/gemm/split_k.h"
#include "ops/gemm/tiled.h"

#include <stdio.h>
#include <string.h>

/* Work-groups to aim at for each core. */
#define GROUPS_PER_CORE 4
#define LEAST_GROUPS    8
/* A slice that tuning makes is worth its launch and its sums; one that is asked for must be no
 * shorter than the error bound counts on. */
#define LEAST_SLICE   32
#define SLICE_UNIT    16
#define ADDED_PER_NS  2.0     /* sums that a compute unit adds up */
#define ADD_ROWS_WORK 16384.0 /* sums for each work-item of the second kernel, on a CPU */
#define ADD_LAUNCH    3000.0  /* nanoseconds that a second launch takes */

static int64_t slice_length(const gemm_problem *p, int32_t slices)
{
    int64_t length = tn_round_up(tn_ceil_div(p->k, slices), SLICE_UNIT);
    return tn_max_i64(length, LEAST_SLICE);
}

static int64_t slice_count(const gemm_problem *p, int32_t slices)
{
    return tn_ceil_div(p->k, slice_length(p, slices));
}

const char *tn_gemm_split_refuses(const gemm_problem *p)
{
    if (p->batch_invariant)
        return "where K is cut follows M and the batch";
    if ((p->flags & GEMM_SKIP_AB) != 0 || p->k < 2 * LEAST_SLICE)
        return "k is too short to cut";
    return p->batch_rank == GEMM_MAX_BATCH ? "the batch has no dimension left for the slices"
                                           : NULL;
}

gemm_problem tn_gemm_split_partial(const gemm_problem *p, int32_t slices)
{
    gemm_problem partial = *p;
    int64_t length = slice_length(p, slices), count = slice_count(p, slices);
    int64_t step = p->m * p->n;
    partial.head.workspace_limit = 0;
    partial.flags = GEMM_PARTIAL;
    partial.activation = TENON_ACTIVATION_IDENTITY;
    partial.k = length;
    partial.k_last = p->k - (count - 1) * length;
    partial.sums = 1U << GEMM_D;
    partial.matrix[GEMM_C] = partial.matrix[GEMM_BIAS] = (gemm_matrix){.operand = TN_WORKSPACE};
    partial.matrix[GEMM_D] = (gemm_matrix){.row = p->n, .col = 1, .operand = TN_WORKSPACE};
    partial.batch[p->batch_rank] = count;
    partial.batch_rank++;
    partial.matrix[GEMM_A].batch[p->batch_rank] = length * p->matrix[GEMM_A].col;
    partial.matrix[GEMM_B].batch[p->batch_rank] = length * p->matrix[GEMM_B].row;
    for (uint64_t i = partial.batch_rank; i-- > 0; step *= partial.batch[i])
        partial.matrix[GEMM_D].batch[i] = step;
    return partial;
}

static int64_t sum_count(const gemm_problem *p, int32_t slices)
{
    return p->m * p->n * slice_count(p, slices) * tn_gemm_batch_count(p);
}

int32_t tn_gemm_split_tune(const gemm_problem *p, int64_t groups, int64_t wanted)
{
    int32_t slices = 2;
    while (slices < TN_GEMM_MOST_SLICES && groups * slices < wanted &&
           p->k >= 2 * slices * TN_GEMM_TUNED_SLICE)
        slices *= 2; /* powers of two alone: each number is one more variant to check */
    return slices;
}

static int64_t wanted_groups(tenon_context *context)
{
    return tn_max_i64(LEAST_GROUPS, GROUPS_PER_CORE * tn_gpu_cores(context));
}

uint64_t tn_gemm_split_bytes(const gemm_problem *p, int32_t slices)
{
    return (uint64_t)sum_count(p, slices) * tn_acc_size(p->dtype);
}

/* On a GPU the sums go to memory and back. */
double tn_gemm_split_sum_time(tenon_context *context, const gemm_problem *p, int32_t slices)
{
    const double sums = (double)sum_count(p, slices);
    if (!context->device.is_cpu)
        return ADD_LAUNCH + 2 * sums * (double)tn_acc_size(p->dtype) / tn_gpu_bytes(context);
    return ADD_LAUNCH + sums / ADDED_PER_NS / context->device.info.compute_units;
}

static int64_t add_rows(const gemm_problem *p, int64_t slices)
{
    double rows = ADD_ROWS_WORK / (double)p->n / (double)slices;
    return rows < 1 ? 1 : (int64_t)rows;
}

tenon_status tn_gemm_split_record_sum(const char *operation, tn_recording *recording,
                                      const gemm_problem *p, int32_t slices, bool rows)
{
    char text[TN_OPTIONS_SIZE];
    gemm_arguments arguments;
    gemm_problem add = *p;
    int64_t count = slice_count(p, slices), step = p->m * p->n * count;
    tn_launch launch = {.source = "gemm/split_k",
                        .options = text,
                        .kernel = rows ? "gemm_add_slices_rows" : "gemm_add_slices"};
    add.sums = 1U << GEMM_A;
    add.matrix[GEMM_A] = (gemm_matrix){.operand = TN_WORKSPACE};
    for (uint64_t i = p->batch_rank; i-- > 0; step *= p->batch[i])
        add.matrix[GEMM_A].batch[i] = step;
    add.matrix[GEMM_B] = add.matrix[GEMM_A]; /* not read, but needs memory that is there */
    tn_build_options(recording->context, text, GEMM_OPTIONS_FORMAT " -DTENON_VW=%d",
                     GEMM_OPTIONS_VALUES(p), (int)tn_gemm_lanes(recording->context, p->dtype));
    tn_gemm_arguments(&add, &arguments);
    arguments.args.k_splits = count;
    arguments.args.tile_rows = (tenon_i32)tn_min_i64(add_rows(p, count), INT32_MAX);
    launch.local[0] = rows ? 1 : 16;
    launch.local[1] = rows ? 1 : 4;
    launch.global[0] = rows ? 1 : (size_t)tn_round_up(p->n, 16);
    launch.global[1] =
        rows ? (size_t)tn_ceil_div(p->m, arguments.args.tile_rows) : (size_t)tn_round_up(p->m, 4);
    return tn_gemm_record_launch(operation, recording, &add, &arguments, &launch);
}

tenon_status tn_gemm_split_record(const char *operation, tn_recording *recording,
                                  const gemm_problem *p, const tn_solver *inner,
                                  const int32_t *values, int32_t slices)
{
    gemm_problem partial = tn_gemm_split_partial(p, slices);
    TN_TRY(inner->record(operation, recording, &partial.head, values));
    return tn_gemm_split_record_sum(operation, recording, p, slices,
                                    inner != &tn_gemm_tiled && inner != &tn_gemm_skinny);
}

/* What tells variants apart: what the slices' kernel is built with, and what the second is. */
void tn_gemm_split_options(tenon_context *context, const gemm_problem *p, const tn_solver *inner,
                           const int32_t *values, int32_t slices, char text[TN_OPTIONS_SIZE])
{
    gemm_problem partial = tn_gemm_split_partial(p, slices);
    inner->options(context, &partial.head, values, text);
    size_t used = strlen(text);
    snprintf(text + used, TN_OPTIONS_SIZE - used, " " GEMM_OPTIONS_FORMAT, GEMM_OPTIONS_VALUES(p));
}

double tn_gemm_split_estimate(tenon_context *context, const gemm_problem *p, const tn_solver *inner,
                              const int32_t *values, int32_t slices)
{
    gemm_problem partial = tn_gemm_split_partial(p, slices);
    return inner->estimate(context, &partial.head, values) +
           tn_gemm_split_sum_time(context, p, slices);
}

/* gemm/cpu_split_k: the slices are gemm/cpu_packed's or gemm/cpu_direct's. */

enum { READS_B = 1, PACKS_B = 2 };

static const tn_solver *cpu_solver(const int32_t *values)
{
    return values[CPU_PACKS] == READS_B ? &tn_gemm_cpu_direct : &tn_gemm_cpu_packed;
}

static const char *refuses_cpu(tenon_context *context, const tn_problem *problem)
{
    const gemm_problem *p = (const gemm_problem *)problem;
    const char *why = tn_gemm_refuses_cpu(context, p);
    return why != NULL ? why : tn_gemm_split_refuses(p);
}

static const char *constrains_cpu(tenon_context *context, const tn_problem *problem,
                                  const int32_t *values)
{
    const tn_solver *inner = cpu_solver(values);
    gemm_problem partial = tn_gemm_split_partial((const gemm_problem *)problem, values[CPU_SLICES]);
    const char *why = inner->refuses(context, &partial.head);
    return why != NULL ? why : inner->constrains(context, &partial.head, values);
}

static double estimate_cpu(tenon_context *context, const tn_problem *problem, const int32_t *values)
{
    return tn_gemm_split_estimate(context, (const gemm_problem *)problem, cpu_solver(values),
                                  values, values[CPU_SLICES]);
}

/* One of the two ways to read b, with the parameters that suit it. */
static void tune_way(tenon_context *context, const gemm_problem *p, int32_t way, int32_t *values)
{
    bool free_slices = values[CPU_SLICES] == 0;
    values[CPU_PACKS] = way;
    if (free_slices)
        values[CPU_SLICES] = 2;
    gemm_problem partial = tn_gemm_split_partial(p, values[CPU_SLICES]);
    cpu_solver(values)->tune(context, &partial.head, values);
    if (free_slices)
        values[CPU_SLICES] =
            tn_gemm_split_tune(p, tn_gemm_cpu_column_groups(p, values) * tn_gemm_batch_count(p),
                               wanted_groups(context));
}

static void tune_cpu(tenon_context *context, const tn_problem *problem, int32_t *values)
{
    const gemm_problem *p = (const gemm_problem *)problem;
    int32_t reads[TN_MAX_PARAMETERS];
    bool free_way = values[CPU_PACKS] == 0;
    memcpy(reads, values, sizeof reads);
    tune_way(context, p, free_way ? PACKS_B : values[CPU_PACKS], values);
    if (!free_way)
        return;
    tune_way(context, p, READS_B, reads);
    if (constrains_cpu(context, problem, reads) == NULL &&
        estimate_cpu(context, problem, reads) < estimate_cpu(context, problem, values))
        memcpy(values, reads, sizeof reads);
}

static uint64_t workspace_cpu(tenon_context *context, const tn_problem *problem,
                              const int32_t *values)
{
    const gemm_problem *p = (const gemm_problem *)problem;
    (void)context;
    return tn_gemm_split_bytes(p, values[CPU_SLICES]);
}

static void options_cpu(tenon_context *context, const tn_problem *problem, const int32_t *values,
                        char text[TN_OPTIONS_SIZE])
{
    tn_gemm_split_options(context, (const gemm_problem *)problem, cpu_solver(values), values,
                          values[CPU_SLICES], text);
}

static tenon_status record_cpu(const char *operation, tn_recording *recording,
                               const tn_problem *problem, const int32_t *values)
{
    return tn_gemm_split_record(operation, recording, (const gemm_problem *)problem,
                                cpu_solver(values), values, values[CPU_SLICES]);
}

const tn_solver tn_gemm_cpu_split_k = {.name = "cpu_split_k",
                                       .parameters = tn_gemm_cpu_parameters,
                                       .parameter_count = CPU_SPLIT_PARAMETERS,
                                       .refuses = refuses_cpu,
                                       .tune = tune_cpu,
                                       .constrains = constrains_cpu,
                                       .workspace = workspace_cpu,
                                       .estimate = estimate_cpu,
                                       .options = options_cpu,
                                       .record = record_cpu};
