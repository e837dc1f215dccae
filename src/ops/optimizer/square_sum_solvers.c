/* square_sum/lines: many work-items leave partial sums in a workspace, which are added up in order.
 * square_sum/single: one work-item, which needs none. */
#include "base/checked.h"
#include "ops/optimizer/internal.h"

#include <stddef.h>

#define CPU_CHUNK 8192
#define GPU_CHUNK 4

/* Partial sums of the first launch. More than MANY are added up in groups of GROUP first. */
#define CPU_ITEMS 256
#define GPU_ITEMS 16384
#define MANY      512
#define GROUP     128

static tn_lines_launch first_launch(tenon_context *context, int64_t most_items)
{
    int64_t items = context->device.is_cpu ? CPU_ITEMS : GPU_ITEMS;
    return (tn_lines_launch){.source = "optimizer/square_sum",
                             .kernel = "square_sum",
                             .cpu_chunk = CPU_CHUNK,
                             .gpu_chunk = GPU_CHUNK,
                             .most_items = most_items > 0 ? most_items : items};
}

static int64_t partial_sums(tenon_context *context, const tn_problem *problem)
{
    const tn_lines_launch launch = first_launch(context, 0);
    return tn_lines_items(context, (const tn_lines_problem *)problem, &launch);
}

static uint64_t workspace_lines(tenon_context *context, const tn_problem *problem,
                                const int32_t *values)
{
    const tn_lines_problem *p = (const tn_lines_problem *)problem;
    int64_t sums = partial_sums(context, problem);
    (void)values;
    sums = sums == 1 ? 0 : sums + (sums > MANY ? tn_ceil_div(sums, GROUP) : 0);
    return (uint64_t)sums * tn_acc_size(p->dtype);
}

static double estimate_lines(tenon_context *context, const tn_problem *problem,
                             const int32_t *values)
{
    double elements = (double)tn_lines_elements((const tn_lines_problem *)problem);
    (void)values;
    return 8000 + 0.2 * elements / context->device.info.compute_units;
}

static double estimate_single(tenon_context *context, const tn_problem *problem,
                              const int32_t *values)
{
    const double cost = context->device.is_cpu ? 0.2 : 20;
    (void)values;
    return 5000 + cost * (double)tn_lines_elements((const tn_lines_problem *)problem);
}

/* Adds up `count` sums that begin `from` elements into the workspace, in groups of `each`, to where
 * `to` says: further on in the workspace, or in the operand. */
static tenon_status record_add(const char *operation, tn_recording *recording,
                               const tn_lines_problem *p, const char *options, int64_t from,
                               int64_t count, int64_t each)
{
    const bool last = each >= count;
    const uint8_t target = last ? SQUARE_SUM_SUM : TN_WORKSPACE;
    const uint32_t size = (uint32_t)tn_acc_size(p->dtype);
    const size_t offset = offsetof(lines_args, offset);
    const tn_patch patches[] = {
        {TN_PATCH_OFFSET, TN_WORKSPACE, (uint16_t)offset, size},
        {TN_PATCH_OFFSET, target, (uint16_t)(offset + sizeof(tenon_i64)), size}};
    const lines_args args = {.offset = {from, last ? 0 : from + count},
                             .count = count,
                             .each = each,
                             .items = tn_ceil_div(count, each),
                             .flags = last ? (tenon_i32)p->flags : 0};
    const tn_launch launch = {.source = "optimizer/square_sum",
                              .options = options,
                              .kernel = "square_sum_add",
                              .dimensions = 1,
                              .global = {(size_t)args.items},
                              .local = {1},
                              .operands = {TN_WORKSPACE, target},
                              .operand_count = 2,
                              .args = &args,
                              .args_size = sizeof args,
                              .patches = patches,
                              .patch_count = 2};
    return tn_record(operation, recording, &launch);
}

static tenon_status record(const char *operation, tn_recording *recording,
                           const tn_lines_problem *p, int64_t most_items)
{
    char text[TN_OPTIONS_SIZE];
    tn_lines_problem partial = *p;
    tn_lines_launch launch = first_launch(recording->context, most_items);
    int64_t sums = tn_lines_items(recording->context, p, &launch), from = 0;
    tn_lines_options(recording->context, &p->head, NULL, text);
    launch.options = text;
    if (sums == 1)
        return tn_lines_record(operation, recording, p, &launch);
    launch.replaced = 1 + SQUARE_SUM_SUM;
    partial.flags = 0;
    TN_TRY(tn_lines_record(operation, recording, &partial, &launch));
    if (sums > MANY) {
        TN_TRY(record_add(operation, recording, p, text, from, sums, GROUP));
        from += sums;
        sums = tn_ceil_div(sums, GROUP);
    }
    return record_add(operation, recording, p, text, from, sums, sums);
}

static tenon_status record_lines(const char *operation, tn_recording *recording,
                                 const tn_problem *problem, const int32_t *values)
{
    (void)values;
    return record(operation, recording, (const tn_lines_problem *)problem, 0);
}

static tenon_status record_single(const char *operation, tn_recording *recording,
                                  const tn_problem *problem, const int32_t *values)
{
    (void)values;
    return record(operation, recording, (const tn_lines_problem *)problem, 1);
}

const tn_solver tn_square_sum_lines = {.name = "lines",
                                       .refuses = tn_lines_refuses,
                                       .workspace = workspace_lines,
                                       .estimate = estimate_lines,
                                       .options = tn_lines_options,
                                       .record = record_lines};

const tn_solver tn_square_sum_single = {.name = "single",
                                        .refuses = tn_lines_refuses,
                                        .estimate = estimate_single,
                                        .options = tn_lines_options,
                                        .record = record_single};
