/* The numbers of rows of segments, which the gradients of means need: counted by launches of their
 * own, because otherwise every work-item would count the rows of its positions' segments. */
#include "base/checked.h"
#include "ops/segment/launch.h"

#include <stddef.h>

/* Positions that are counted by the work-items that need them, and positions, or segments, of a
 * work-item. */
#define FEW         256
#define CPU_COUNTED 4096
#define GPU_COUNTED 16

void tn_segment_counts_plan(const segment_problem *p, int64_t at, segment_layout *l)
{
    const int64_t bytes =
        tn_round_up(p->segments * (int64_t)sizeof(uint32_t), TN_WORKSPACE_ALIGNMENT);
    l->counts = at;
    l->counted = p->kind == SEGMENT_MEAN && (p->flags & SEGMENT_HAS_INDICES) != 0 &&
                         p->segments > 0 && p->positions > FEW && p->positions <= INT32_MAX &&
                         (uint64_t)(at + bytes) <= p->head.workspace_limit
                     ? bytes
                     : 0;
}

static tenon_status record(const char *caller, tn_recording *recording, int64_t count,
                           tn_launch *launch)
{
    const segment_args *args = launch->args;
    launch->source = "segment/counts";
    launch->dimensions = 1;
    launch->local[0] = recording->context->device.is_cpu ? 1 : GPU_GROUP;
    launch->global[0] =
        (size_t)tn_round_up(tn_ceil_div(count, args->length), (int64_t)launch->local[0]);
    return tn_record(caller, recording, launch);
}

tenon_status tn_segment_counts_record(const char *caller, tn_recording *recording,
                                      const segment_problem *p, const tn_choice *choice,
                                      const segment_layout *l, uint16_t indices, uint16_t segments)
{
    const bool has_list = (p->flags & (SEGMENT_HAS_IDS | SEGMENT_HAS_OFFSETS)) != 0;
    segment_args args = tn_segment_args_of(p, l);
    tn_patch patches[] = {
        {TN_PATCH_OFFSET, TN_WORKSPACE, offsetof(segment_args, counts_at), sizeof(uint32_t)},
        {TN_PATCH_OFFSET, indices, offsetof(segment_args, offset[SEGMENT_INDICES]),
         (uint32_t)tenon_dtype_size((tenon_dtype)p->index_type)},
        {TN_PATCH_OFFSET, segments, offsetof(segment_args, offset[SEGMENT_SEGMENTS]),
         (uint32_t)tenon_dtype_size((tenon_dtype)p->segment_type)}};
    tn_launch clear = {.kernel = "segment_clear",
                       .options = choice->options,
                       .operands = {TN_WORKSPACE},
                       .operand_count = 1,
                       TN_ARGS(args),
                       .patches = patches,
                       .patch_count = 1};
    tn_launch counts = {.kernel = "segment_counts",
                        .options = choice->options,
                        .operands = {indices, has_list ? segments : indices, TN_WORKSPACE},
                        .operand_count = 3,
                        TN_ARGS(args),
                        .patches = patches,
                        .patch_count = has_list ? 3 : 2};
    if (l->counted == 0)
        return TENON_OK;
    args.length = recording->context->device.is_cpu ? CPU_COUNTED : GPU_COUNTED;
    TN_TRY(record(caller, recording, p->segments, &clear));
    return record(caller, recording, p->positions, &counts);
}
