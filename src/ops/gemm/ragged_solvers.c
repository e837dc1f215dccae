/* gemm_ragged/plain, gemm_ragged/tiled and gemm_ragged/cpu: the GEMM solvers of the same kind,
 * applied to the rows of each group. */
#include "base/checked.h"
#include "ops/gemm/cpu.h"
#include "ops/gemm/ragged.h"
#include "ops/gemm/tiled.h"

#include "gemm/ragged_args.h"

#include <stddef.h>
#include <string.h>

/* Moves per packed element of b; see gemm/cpu_packed. */
#define PACK_MOVES 4

static const gemm_problem *product_of(const tn_problem *problem)
{
    return &((const ragged_problem *)problem)->gemm;
}

/* Returns all rows as one product, for GEMM's selection of tiles. */
static gemm_problem whole(const tn_problem *problem)
{
    gemm_problem p = *product_of(problem);
    p.head.size = sizeof p;
    p.batch_rank = 0;
    return p;
}

/* Returns the maximum number of non-empty groups. */
static int64_t group_count(const gemm_problem *p)
{
    return tn_min_i64(p->batch[0], p->m);
}

/* Completes and records a launch whose kernel, options and sizes are set. */
static tenon_status record_launch(const char *caller, tn_recording *recording,
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
    for (int i = 0; i < 4; i++) /* d replaces operands that are not read, which may be absent */
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
    return tn_record(caller, recording, launch);
}

/* gemm_ragged/plain */

static const char *configure_plain(tenon_context *context, const tn_problem *problem,
                                   tn_choice *choice)
{
    const gemm_problem p = whole(problem);
    tn_gemm_plain_configure(context, &p, choice);
    return NULL;
}

static tenon_status launch_plain(const char *caller, tn_recording *recording,
                                 const tn_problem *problem, const tn_choice *choice)
{
    tn_launch plain = tn_gemm_plain_launch(product_of(problem), choice->options,
                                           "gemm/ragged_plain", "gemm_ragged_plain");
    return record_launch(caller, recording, problem, 0, &plain);
}

const tn_solver tn_ragged_plain = {.name = "plain",
                                   .serves = "everything; chosen up to 2²⁰ multiply-adds",
                                   .configure = configure_plain,
                                   .launch = launch_plain};

/* gemm_ragged/tiled */

/* Returns the maximum number of blocks of rows: all but the last of each group are whole. */
static int64_t row_blocks(const gemm_problem *p, int64_t mb)
{
    return p->m / mb + group_count(p);
}

static const char *configure_tiled(tenon_context *context, const tn_problem *problem,
                                   tn_choice *choice)
{
    gemm_problem p = whole(problem);
    const char *why = tn_gemm_tiled.configure(context, &p.head, choice);
    if (why != NULL || choice->misfit != NULL)
        return why;
    const int32_t mb = choice->values[TILED_MB];
    p.m = row_blocks(product_of(problem), mb) * mb;
    const tn_work work = tn_gemm_tiled_work(&p, choice->values);
    tn_choice_reset_time(choice);
    tn_choice_add(context, choice, &work);
    return NULL;
}

static tenon_status launch_tiled(const char *caller, tn_recording *recording,
                                 const tn_problem *problem, const tn_choice *choice)
{
    const gemm_problem *p = product_of(problem);
    tn_launch launch = {
        .source = "gemm/ragged_tiled", .options = choice->options, .kernel = "gemm_ragged_tiled"};
    tn_gemm_tiled_sizes(p, choice->values, &launch);
    launch.global[1] = (size_t)row_blocks(p, choice->values[TILED_MB]) * launch.local[1];
    return record_launch(caller, recording, problem, 0, &launch);
}

const tn_solver tn_ragged_tiled = {.name = "tiled",
                                   .serves = "everything, on GPUs",
                                   .awkward = "m=167 width=vw",
                                   TN_PARAMETERS(tn_gemm_tiled_parameters, TILED_PARAMETERS),
                                   .configure = configure_tiled,
                                   .launch = launch_tiled};

/* gemm_ragged/cpu */

static const char *configure_cpu(tenon_context *context, const tn_problem *problem,
                                 tn_choice *choice)
{
    const gemm_problem p = whole(problem);
    const char *why = tn_gemm_cpu_packed.configure(context, &p.head, choice);
    if (why != NULL || choice->misfit != NULL)
        return why;
    double row_groups =
        (double)tn_ceil_div(p.m, tn_gemm_cpu_tile_rows(context, &p, choice->values));
    double packed =
        (double)p.k * (double)p.n * ((double)group_count(product_of(problem)) + row_groups - 1);
    tn_work work = tn_gemm_cpu_work(context, &p, choice->values,
                                    tn_gemm_cpu_columns(context, &p, choice->values));
    work.vector_elements += PACK_MOVES * packed;
    tn_choice_reset_time(choice);
    tn_choice_add(context, choice, &work);
    return NULL;
}

static tenon_status launch_cpu(const char *caller, tn_recording *recording,
                               const tn_problem *problem, const tn_choice *choice)
{
    const gemm_problem p = whole(problem);
    const int64_t rows = tn_gemm_cpu_tile_rows(recording->context, &p, choice->values);
    tn_launch launch = tn_gemm_cpu_launch(&p, choice, rows, "gemm/ragged_cpu", "gemm_ragged_cpu");
    return record_launch(caller, recording, problem, rows, &launch);
}

const tn_solver tn_ragged_cpu = {.name = "cpu",
                                 .serves = "any layout, on CPUs",
                                 TN_PARAMETERS(tn_gemm_cpu_parameters, CPU_PARAMETERS),
                                 .configure = configure_cpu,
                                 .launch = launch_cpu};
