/* gemm/split_k, gemm/skinny_split and gemm/cpu_split_k: if d is too small to keep the device busy,
 * K is split into slices. Each slice is a separate product, an entry of an additional batch
 * dimension, which the kernel of another solver stores to the workspace. A second kernel adds the
 * slices in the order of K. */
#include "base/checked.h"
#include "ops/common/lanes.h"
#include "ops/gemm/cpu.h"
#include "ops/gemm/split_k.h"
#include "ops/gemm/tiled.h"

#include <stdio.h>
#include <string.h>

/* Target number of work-groups per core. */
#define GROUPS_PER_CORE 4
#define LEAST_GROUPS    8
/* Minimum length of a requested slice; the error bound relies on it. Slices made by tuning are
 * longer, which offsets the cost of the launch and the second pass (TN_GEMM_TUNED_SLICE). */
#define LEAST_SLICE   32
#define SLICE_UNIT    16
#define ADD_ROWS_WORK 16384.0 /* sums per work-item of the second kernel on a CPU */

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
        return "the call is batch-invariant, and the split of K depends on M and the batch";
    if ((p->flags & GEMM_SKIP_AB) != 0 || p->k < 2 * LEAST_SLICE)
        return "k is too short to split";
    return p->batch_rank == GEMM_MAX_BATCH
               ? "the batch has the maximum rank, so no dimension is left for the slices"
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
        slices *= 2; /* powers of two only: each number is one more variant to check */
    return slices;
}

static int64_t wanted_groups(tenon_context *context)
{
    return tn_max_i64(LEAST_GROUPS,
                      GROUPS_PER_CORE * (int64_t)tn_model_cores(&context->device.model));
}

uint64_t tn_gemm_split_bytes(const gemm_problem *p, int32_t slices)
{
    return (uint64_t)sum_count(p, slices) * tn_acc_size(p->dtype);
}

/* Returns the work of the second kernel. On a GPU the sums are stored to memory and loaded again.
 */
tn_work tn_gemm_split_sum_work(const tenon_context *context, const gemm_problem *p, int32_t slices)
{
    const double sums = (double)sum_count(p, slices);
    return (tn_work){.launches = 1,
                     .follows = true,
                     .rate = tn_sum_rate(p->dtype),
                     .vector_elements = 6 * sums,
                     .bytes =
                         context->device.is_cpu ? 0 : 2 * sums * (double)tn_acc_size(p->dtype)};
}

static int64_t add_rows(const gemm_problem *p, int64_t slices)
{
    double rows = ADD_ROWS_WORK / (double)p->n / (double)slices;
    return rows < 1 ? 1 : (int64_t)rows;
}

tenon_status tn_gemm_split_record_sum(const char *caller, tn_recording *recording,
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
    add.matrix[GEMM_B] = add.matrix[GEMM_A]; /* not read, but must be valid memory */
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
    return tn_gemm_record_launch(caller, recording, &add, &arguments, &launch);
}

void tn_gemm_split_add_options(const gemm_problem *p, char text[TN_OPTIONS_SIZE], uint64_t *length)
{
    *length = strlen(text);
    snprintf(text + *length, TN_OPTIONS_SIZE - *length, " " GEMM_OPTIONS_FORMAT,
             GEMM_OPTIONS_VALUES(p));
}

/* Data of a choice: the length of the part of its options that belongs to the kernel of the
 * slices. */
typedef struct split_layout {
    uint64_t options;
} split_layout;

/* Configures the slices with solver `inner`, and the kernel that adds them. The number of slices
 * is the parameter after those of `inner`. */
static const char *configure_slices(tenon_context *context, const gemm_problem *p,
                                    const tn_solver *inner, tn_choice *choice)
{
    const int32_t slices = choice->values[inner->parameter_count];
    const gemm_problem partial = tn_gemm_split_partial(p, slices);
    tn_choice_reset_time(choice);
    const char *why = inner->configure(context, &partial.head, choice);
    if (why != NULL || choice->misfit != NULL)
        return why;
    choice->workspace = tn_gemm_split_bytes(p, slices);
    const tn_work sum = tn_gemm_split_sum_work(context, p, slices);
    tn_choice_add(context, choice, &sum);
    if (!choice->is_estimate)
        tn_gemm_split_add_options(p, choice->options, &TN_LAYOUT(split_layout, choice)->options);
    return NULL;
}

static tenon_status launch_slices(const char *caller, tn_recording *recording,
                                  const gemm_problem *p, const tn_solver *inner,
                                  const tn_choice *choice)
{
    const int32_t slices = choice->values[inner->parameter_count];
    const gemm_problem partial = tn_gemm_split_partial(p, slices);
    tn_choice product = *choice;
    product.options[TN_LAYOUT(const split_layout, choice)->options] = '\0';
    TN_TRY(inner->launch(caller, recording, &partial.head, &product));
    return tn_gemm_split_record_sum(caller, recording, p, slices,
                                    tn_is_solver(choice->solver, &tn_gemm_cpu_split_k));
}

/* gemm/split_k and gemm/skinny_split, for GPUs: the slices are computed by gemm/tiled or
 * gemm/skinny. */

static const tn_solver *gpu_solver(const tn_choice *choice)
{
    return tn_is_solver(choice->solver, &tn_gemm_split_k) ? &tn_gemm_tiled : &tn_gemm_skinny;
}

/* Selects the fastest number of slices, with the best parameters for it. */
static const char *configure_gpu(tenon_context *context, const tn_problem *problem,
                                 tn_choice *choice)
{
    const gemm_problem *p = (const gemm_problem *)problem;
    const tn_solver *inner = gpu_solver(choice);
    int32_t *slices = &choice->values[inner->parameter_count];
    const bool is_free = *slices == 0;
    const tn_choice given = *choice;
    const char *why = tn_gemm_split_refuses(p);
    if (why != NULL)
        return why;
    if (is_free)
        *slices = 2;
    why = configure_slices(context, p, inner, choice);
    if (why != NULL || choice->misfit != NULL || !is_free)
        return why;
    for (int32_t more = 4;
         more <= TN_GEMM_MOST_SLICES && p->k >= (int64_t)more * TN_GEMM_TUNED_SLICE; more *= 2) {
        tn_choice tried = given;
        tried.values[inner->parameter_count] = more;
        why = configure_slices(context, p, inner, &tried);
        if (why == NULL && tried.misfit == NULL && tried.time < choice->time)
            *choice = tried;
    }
    return NULL;
}

static tenon_status launch_gpu(const char *caller, tn_recording *recording,
                               const tn_problem *problem, const tn_choice *choice)
{
    return launch_slices(caller, recording, (const gemm_problem *)problem, gpu_solver(choice),
                         choice);
}

const tn_solver tn_gemm_split_k = {.name = "split_k",
                                   .serves = "a small d and a long K, on GPUs",
                                   .needs = "workspace for the sums of the slices",
                                   .awkward = "m=2*mb+1 n=2*nb+1 width=vw",
                                   TN_PARAMETERS(tn_gemm_tiled_parameters, TILED_SPLIT_PARAMETERS),
                                   .configure = configure_gpu,
                                   .launch = launch_gpu};

/* The parameters of gemm/skinny, and the number of slices. */
static const tn_parameter skinny_parameters[] = {
    {"mr", 1, 8}, {"nr", 1, 8}, {"ks", 2, TN_GEMM_MOST_SLICES}};

const tn_solver tn_gemm_skinny_split = {
    .name = "skinny_split",
    .serves = "up to 16 rows or columns and a long K, the other factor contiguous "
              "in one dimension, on GPUs",
    .needs = "workspace for the sums of the slices",
    .awkward = "thin=13",
    TN_PARAMETERS(skinny_parameters, 3),
    .configure = configure_gpu,
    .launch = launch_gpu};

/* gemm/cpu_split_k: the slices are computed by gemm/cpu_packed or gemm/cpu_direct. */

enum { READS_B = 1, PACKS_B = 2 };

static const tn_solver *cpu_solver(const tn_choice *choice)
{
    return choice->values[CPU_PACKS] == READS_B ? &tn_gemm_cpu_direct : &tn_gemm_cpu_packed;
}

/* Configures one of the two methods to read b, with the best parameters for it. If the solver of a
 * method refuses the problem, the reason becomes the choice's misfit. */
static void configure_way(tenon_context *context, const gemm_problem *p, int32_t way,
                          tn_choice *choice)
{
    const bool is_free = choice->values[CPU_SLICES] == 0;
    choice->values[CPU_PACKS] = way;
    if (is_free)
        choice->values[CPU_SLICES] = 2;
    const char *why = configure_slices(context, p, cpu_solver(choice), choice);
    if (why == NULL && choice->misfit == NULL && is_free) {
        choice->values[CPU_SLICES] = tn_gemm_split_tune(
            p, tn_gemm_cpu_column_groups(p, choice->values) * tn_gemm_batch_count(p),
            wanted_groups(context));
        why = configure_slices(context, p, cpu_solver(choice), choice);
    }
    if (why != NULL)
        choice->misfit = why;
}

static const char *configure_cpu(tenon_context *context, const tn_problem *problem,
                                 tn_choice *choice)
{
    const gemm_problem *p = (const gemm_problem *)problem;
    const bool is_free = choice->values[CPU_PACKS] == 0;
    tn_choice reads = *choice;
    const char *why = tn_gemm_split_refuses(p);
    if (why != NULL)
        return why;
    configure_way(context, p, is_free ? PACKS_B : choice->values[CPU_PACKS], choice);
    if (!is_free)
        return NULL;
    configure_way(context, p, READS_B, &reads);
    if (reads.misfit == NULL && (choice->misfit != NULL || reads.time < choice->time))
        *choice = reads;
    return NULL;
}

static tenon_status launch_cpu(const char *caller, tn_recording *recording,
                               const tn_problem *problem, const tn_choice *choice)
{
    return launch_slices(caller, recording, (const gemm_problem *)problem, cpu_solver(choice),
                         choice);
}

const tn_solver tn_gemm_cpu_split_k = {.name = "cpu_split_k",
                                       .serves = "a small d and a long K, on CPUs",
                                       .needs = "workspace for the sums of the slices",
                                       TN_PARAMETERS(tn_gemm_cpu_parameters, CPU_SPLIT_PARAMETERS),
                                       .configure = configure_cpu,
                                       .launch = launch_cpu};
