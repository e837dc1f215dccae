#include "ops/segment/launch.h"

#include "base/checked.h"

#include <stddef.h>
#include <string.h>

/* Least elements per work-item of a CPU, to be worth its launch. */
#define CPU_CHUNK 8192
/* Lanes of a chunk on a CPU: TENON_VW of the kernels. */
#define CPU_LANES 8

int64_t tn_segment_columns(const segment_problem *p)
{
    int64_t count = 1;
    for (uint64_t d = 0; d < p->rank; d++)
        count *= p->shape[d];
    return count;
}

void tn_segment_lay_out(const tenon_context *context, const segment_problem *p, int64_t count,
                        double work, segment_layout *l)
{
    const bool is_cpu = context->device.is_cpu;
    const uint64_t last = p->rank - 1;
    const int64_t width = p->shape[last];
    const bool is_dense =
        p->stride[SEGMENT_ROWS][last] == 1 && p->stride[SEGMENT_RESULTS][last] == 1;
    *l = (segment_layout){.lanes = is_cpu && is_dense ? CPU_LANES : 1};
    l->chunks = tn_segment_columns(p) / width * tn_ceil_div(width, l->lanes);
    l->each = 1;
    if (is_cpu && work * (double)l->lanes < CPU_CHUNK)
        l->each = (int64_t)(CPU_CHUNK / (work * (double)tn_min_i64(l->lanes, width) + 1)) + 1;
    l->items = tn_ceil_div(count, l->each) * l->chunks;
}

segment_args tn_segment_args_of(const segment_problem *p, const segment_layout *l)
{
    segment_args args = {.rank = (tenon_i64)p->rank,
                         .row_step = {p->row_step[0], p->row_step[1]},
                         .index_step = p->index_step,
                         .weight_step = p->weight_step,
                         .segment_step = p->segment_step,
                         .segments = p->segments,
                         .rows = p->rows,
                         .positions = p->positions,
                         .lanes = l->lanes,
                         .chunks = l->chunks,
                         .each = l->each,
                         .counts_at = l->counts / (int64_t)sizeof(uint32_t),
                         .kind = (tenon_i32)p->kind,
                         .flags = (tenon_i32)p->flags | (l->counted > 0 ? SEGMENT_COUNTED : 0)};
    memcpy(args.shape, p->shape, sizeof args.shape);
    memcpy(args.stride, p->stride, sizeof args.stride);
    return args;
}

void tn_segment_lists(const segment_problem *p, uint16_t from, uint32_t first, tn_launch *launch,
                      tn_patch *patches)
{
    const uint32_t present[] = {SEGMENT_HAS_INDICES, SEGMENT_HAS_WEIGHTS,
                                SEGMENT_HAS_OFFSETS | SEGMENT_HAS_IDS};
    const tenon_dtype types[] = {(tenon_dtype)p->index_type, (tenon_dtype)p->dtype,
                                 (tenon_dtype)p->segment_type};
    for (uint32_t i = 0; i < 3; i++) {
        const uint32_t v = SEGMENT_INDICES + i;
        const bool has = (p->flags & present[i]) != 0;
        launch->operands[first + i] = has ? (uint16_t)v : from;
        if (has)
            patches[launch->patch_count++] =
                (tn_patch){TN_PATCH_OFFSET, (uint16_t)v,
                           (uint16_t)(offsetof(segment_args, offset) + v * sizeof(tenon_i64)),
                           (uint32_t)tenon_dtype_size(types[i])};
    }
}

tenon_status tn_segment_record(const char *caller, tn_recording *recording,
                               const segment_problem *p, const tn_choice *choice,
                               segment_args *args, const segment_layout *l,
                               const segment_kernel *kernel)
{
    const uint32_t size = (uint32_t)tenon_dtype_size((tenon_dtype)p->dtype);
    const uint16_t from = kernel->from, to = kernel->to;
    const bool is_backward = kernel->is_backward;
    /* The kernels number offsets by rows and results, in either direction. */
    const uint32_t first = is_backward ? SEGMENT_Y : SEGMENT_X,
                   last = is_backward ? SEGMENT_X : SEGMENT_Y;
    const size_t offsets = offsetof(segment_args, offset);
    tn_patch patches[SEGMENT_OPERANDS + 1] = {
        {TN_PATCH_OFFSET, from, (uint16_t)(offsets + first * sizeof(tenon_i64)), size},
        {TN_PATCH_OFFSET, to, (uint16_t)(offsets + last * sizeof(tenon_i64)), size}};
    tn_launch launch = {.source = kernel->source,
                        .kernel = kernel->name,
                        .options = choice->options,
                        .dimensions = 1,
                        .operands = {from, from, from, from, to, from},
                        .operand_count = is_backward ? SEGMENT_OPERANDS + 1 : SEGMENT_OPERANDS,
                        .args = args,
                        .args_size = sizeof *args,
                        .patches = patches,
                        .patch_count = 2};
    tn_segment_lists(p, from, SEGMENT_INDICES, &launch, patches);
    if (l->counted > 0) {
        launch.operands[SEGMENT_OPERANDS] = TN_WORKSPACE;
        patches[launch.patch_count++] = (tn_patch){
            TN_PATCH_OFFSET, TN_WORKSPACE, offsetof(segment_args, counts_at), sizeof(uint32_t)};
    }
    launch.local[0] = recording->context->device.is_cpu ? 1 : GPU_GROUP;
    launch.global[0] = (size_t)tn_round_up(l->items, (int64_t)launch.local[0]);
    return tn_record(caller, recording, &launch);
}

tenon_status tn_segment_record_backward(const char *caller, tn_recording *recording,
                                        const segment_problem *p, const tn_choice *choice,
                                        const char *source, const char *name)
{
    const segment_layout *l = TN_LAYOUT(const segment_layout, choice);
    const segment_kernel kernel = {source, name, SEGMENT_DY, SEGMENT_DX, true};
    segment_args args = tn_segment_args_of(p, l);
    TN_TRY(tn_segment_counts_record(caller, recording, p, choice, l, SEGMENT_INDICES,
                                    SEGMENT_SEGMENTS));
    return tn_segment_record(caller, recording, p, choice, &args, l, &kernel);
}
