/* The solvers segment_reduce/rows and segment_reduce/blocks. */
#include "base/checked.h"
#include "ops/common/lanes.h"
#include "ops/common/values.h"
#include "ops/segment/launch.h"

#include <stddef.h>

/* The most positions of a block, multiples of SCAN_BLOCK. On a CPU the rows of a block, which one
 * chunk of columns after another reads, also stay in the L2 cache. */
#define CPU_BLOCK       16384
#define CPU_BLOCK_BYTES (INT64_C(1) << 18)
#define GPU_BLOCK       2048

/* Factor of the time without division, for long segments, which are unknown when a plan is made. */
#define IMBALANCE 1.1

/* Returns the average number of positions of a segment. */
static double average(const segment_problem *p)
{
    return (double)p->positions / (double)p->segments;
}

static void add_work(tenon_context *context, const segment_problem *p, double launches,
                     double items, double factor, tn_choice *choice)
{
    const double elements = factor * (double)p->positions * (double)tn_segment_columns(p);
    const segment_layout *l = TN_LAYOUT(segment_layout, choice);
    const tn_work work = {.launches = launches,
                          .items = items,
                          .rate = tn_sum_rate(p->dtype),
                          .vector_elements = l->lanes > 1 ? 3 * elements : 0,
                          .single_elements = l->lanes > 1 ? 0 : 4 * elements,
                          .bytes = elements * (double)tenon_dtype_size((tenon_dtype)p->dtype)};
    tn_choice_add(context, choice, &work);
    tn_segment_options(context, p->dtype, p->index_type, p->segment_type, true, choice);
}

static const char *configure(tenon_context *context, const tn_problem *problem, tn_choice *choice)
{
    const segment_problem *p = (const segment_problem *)problem;
    segment_layout *l = TN_LAYOUT(segment_layout, choice);
    tn_segment_lay_out(context, p, p->segments, average(p), l);
    add_work(context, p, 1, (double)l->items, IMBALANCE, choice);
    return NULL;
}

static int64_t block_length(const tenon_context *context, const segment_problem *p)
{
    const int64_t row = tn_segment_columns(p) * (int64_t)tenon_dtype_size((tenon_dtype)p->dtype),
                  fitting = CPU_BLOCK_BYTES / row / SCAN_BLOCK * SCAN_BLOCK;
    return context->device.is_cpu ? tn_max_i64(SCAN_BLOCK, tn_min_i64(fitting, CPU_BLOCK))
                                  : GPU_BLOCK;
}

static const char *configure_blocks(tenon_context *context, const tn_problem *problem,
                                    tn_choice *choice)
{
    const segment_problem *p = (const segment_problem *)problem;
    segment_layout *l = TN_LAYOUT(segment_layout, choice);
    const int64_t length = block_length(context, p);
    if (p->positions <= length)
        return "the positions are not more than a block";
    tn_segment_lay_out(context, p, p->segments, 1, l);
    l->length = length;
    l->windows = p->positions / length + 1;
    l->values = tn_round_up(2 * l->windows * l->chunks * l->lanes * tn_value_size(p->dtype),
                            TN_WORKSPACE_ALIGNMENT);
    choice->workspace = (uint64_t)l->values + (uint64_t)(2 * l->windows) * sizeof(int64_t);
    add_work(context, p, 2, (double)(l->windows * l->chunks), 1, choice);
    return NULL;
}

static tenon_status launch(const char *caller, tn_recording *recording, const tn_problem *problem,
                           const tn_choice *choice)
{
    const segment_problem *p = (const segment_problem *)problem;
    const segment_layout *l = TN_LAYOUT(const segment_layout, choice);
    const segment_kernel kernel = {"segment/reduce", "segment_reduce", SEGMENT_X, SEGMENT_Y, false};
    segment_args args = tn_segment_args_of(p, l);
    return tn_segment_record(caller, recording, p, choice, &args, l, &kernel);
}

const tn_solver tn_segment_rows = {
    .name = "rows",
    .serves = "everything; a work-item combines the rows of whole segments",
    .configure = configure,
    .launch = launch};

static tenon_status record_blocks(const char *caller, tn_recording *recording,
                                  const segment_problem *p, const segment_layout *l, int64_t items,
                                  tn_launch *launch)
{
    const uint32_t size = (uint32_t)tenon_dtype_size((tenon_dtype)p->dtype);
    const size_t offsets = offsetof(segment_args, offset);
    const bool reads_x = launch->operands[0] == SEGMENT_X;
    segment_args args = tn_segment_args_of(p, l);
    tn_patch patches[SEGMENT_OPERANDS + 2] = {
        {TN_PATCH_OFFSET, SEGMENT_Y, (uint16_t)(offsets + SEGMENT_Y * sizeof(tenon_i64)), size},
        {TN_PATCH_OFFSET, TN_WORKSPACE, offsetof(segment_args, values_at), tn_value_size(p->dtype)},
        {TN_PATCH_OFFSET, TN_WORKSPACE, offsetof(segment_args, counts_at), sizeof(int64_t)},
        {TN_PATCH_OFFSET, SEGMENT_X, (uint16_t)(offsets + SEGMENT_X * sizeof(tenon_i64)), size}};
    launch->patch_count = reads_x ? 4 : 3;
    tn_segment_lists(p, SEGMENT_Y, reads_x ? 1 : 0, launch, patches);
    args.length = l->length;
    args.counts_at = l->values / (int64_t)sizeof(int64_t);
    launch->source = "segment/reduce";
    launch->dimensions = 1;
    launch->local[0] = recording->context->device.is_cpu ? 1 : GPU_GROUP;
    launch->global[0] = (size_t)tn_round_up(items, (int64_t)launch->local[0]);
    launch->args = &args;
    launch->args_size = sizeof args;
    launch->patches = patches;
    return tn_record(caller, recording, launch);
}

static tenon_status launch_blocks(const char *caller, tn_recording *recording,
                                  const tn_problem *problem, const tn_choice *choice)
{
    const segment_problem *p = (const segment_problem *)problem;
    const segment_layout *l = TN_LAYOUT(const segment_layout, choice);
    tn_launch blocks = {.kernel = "segment_blocks",
                        .options = choice->options,
                        .operands = {SEGMENT_X, 0, 0, 0, SEGMENT_Y, TN_WORKSPACE, TN_WORKSPACE},
                        .operand_count = 7};
    tn_launch join = {.kernel = "segment_join",
                      .options = choice->options,
                      .operands = {SEGMENT_Y, 0, 0, SEGMENT_Y, TN_WORKSPACE, TN_WORKSPACE},
                      .operand_count = 6};
    TN_TRY(record_blocks(caller, recording, p, l, l->windows * l->chunks, &blocks));
    return record_blocks(caller, recording, p, l, l->items, &join);
}

const tn_solver tn_segment_blocks = {
    .name = "blocks",
    .serves =
        "more positions than a block; long segments are divided into blocks, whose results are "
        "combined in their order",
    .needs = "workspace for the results of the blocks",
    .awkward = "each=420 size=16421",
    .configure = configure_blocks,
    .launch = launch_blocks};
