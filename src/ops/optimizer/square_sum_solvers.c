/* The solver square_sum/lines, whose work-items write partial sums to a workspace, which are added
 * up in a fixed order; and square_sum/single, a single work-item without a workspace. */
#include "base/checked.h"
#include "ops/common/lanes.h"
#include "ops/optimizer/internal.h"

#include <stddef.h>

#define CPU_CHUNK 8192

/* Maximum numbers of partial sums. More than MANY are first added up in groups of GROUP. */
#define CPU_ITEMS 256
#define GPU_ITEMS 32768
#define MANY      512
#define GROUP     192

/* The first launch, and the number of its partial sums. With one sum it is the only launch. */
typedef struct sum_layout {
    tn_lines_launch first;
    int64_t sums;
} sum_layout;

static const char *optimizer_square_sum_solvers_configure(tenon_context *context,
                                                          const tn_problem *problem,
                                                          tn_choice *choice)
{
    const tn_lines_problem *p = (const tn_lines_problem *)problem;
    const bool cpu = context->device.is_cpu;
    const bool single = tn_is_solver(choice->solver, &tn_square_sum_single);
    const double elements = (double)tn_lines_elements(p);
    sum_layout *l = TN_LAYOUT(sum_layout, choice);
    l->first = (tn_lines_launch){.source = "optimizer/square_sum",
                                 .kernel = "square_sum",
                                 .cpu_chunk = CPU_CHUNK,
                                 .most_items = single ? 1
                                               : cpu  ? CPU_ITEMS
                                                      : GPU_ITEMS};
    tn_lines_stream(context, p, 1, &l->first, choice->options);
    l->sums = tn_lines_items(context, p, &l->first);
    if (l->sums > 1)
        choice->workspace =
            (uint64_t)(l->sums + (l->sums > MANY ? tn_ceil_div(l->sums, GROUP) : 0)) *
            tn_acc_size(p->dtype);
    const tn_work work = {.launches = single ? 1 : 2,
                          .items = (double)l->sums,
                          .rate = tn_sum_rate(p->dtype),
                          .vector_elements = 2 * elements,
                          .bytes = elements * (double)tenon_dtype_size((tenon_dtype)p->dtype)};
    tn_choice_add(context, choice, &work);
    return NULL;
}

/* Records the addition of `count` sums, from element `from` of the workspace on, in groups of
 * `each`. The results follow in the workspace; a single one is written to the operand. */
static tenon_status record_add(const char *caller, tn_recording *recording,
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
                             .parts = 1,
                             .flags = last ? (tenon_i32)p->flags : 0};
    const tn_launch launch = {.source = "optimizer/square_sum",
                              .options = options,
                              .kernel = "square_sum_add",
                              .dimensions = 1,
                              .global = {(size_t)args.items},
                              .local = {1},
                              .operands = {TN_WORKSPACE, target},
                              .operand_count = 2,
                              TN_ARGS(args),
                              TN_PATCHES(patches)};
    return tn_record(caller, recording, &launch);
}

static tenon_status optimizer_square_sum_solvers_launch(const char *caller, tn_recording *recording,
                                                        const tn_problem *problem,
                                                        const tn_choice *choice)
{
    const tn_lines_problem *p = (const tn_lines_problem *)problem;
    const sum_layout *l = TN_LAYOUT(const sum_layout, choice);
    const char *options = choice->options;
    tn_lines_problem partial = *p;
    tn_lines_launch first = l->first;
    int64_t sums = l->sums, from = 0;
    if (sums == 1)
        return tn_lines_record(caller, recording, p, &first, options);
    first.replaced = 1 + SQUARE_SUM_SUM;
    partial.flags = 0;
    TN_TRY(tn_lines_record(caller, recording, &partial, &first, options));
    if (sums > MANY) {
        TN_TRY(record_add(caller, recording, p, options, from, sums, GROUP));
        from += sums;
        sums = tn_ceil_div(sums, GROUP);
    }
    return record_add(caller, recording, p, options, from, sums, sums);
}

const tn_solver tn_square_sum_lines = {.name = "lines",
                                       .serves = "everything",
                                       .needs = "workspace for partial sums",
                                       .configure = optimizer_square_sum_solvers_configure,
                                       .launch = optimizer_square_sum_solvers_launch};

const tn_solver tn_square_sum_single = {.name = "single",
                                        .serves = "everything, with a single work-item",
                                        .configure = optimizer_square_sum_solvers_configure,
                                        .launch = optimizer_square_sum_solvers_launch};
