/* The solver segment_reduce_backward_weights/products. */
#include "base/checked.h"
#include "ops/common/lanes.h"
#include "ops/segment/launch.h"

#include <stddef.h>

/* Least multiply-adds per work-item of a CPU, and those that take as long as finding a position (a
 * guess). */
#define CPU_WORK 8192
#define POSITION 32

static const char *configure(tenon_context *context, const tn_problem *problem, tn_choice *choice)
{
    const segment_problem *p = (const segment_problem *)problem;
    const int64_t columns = tn_segment_columns(p);
    const double elements = (double)p->positions * (double)columns;
    segment_layout *l = TN_LAYOUT(segment_layout, choice);
    if (columns > 0)
        tn_segment_lay_out(context, p, p->positions, 1, l);
    else
        *l = (segment_layout){.lanes = 1};
    l->each = context->device.is_cpu ? tn_ceil_div(CPU_WORK, POSITION + columns) : 1;
    l->items = tn_ceil_div(p->positions, l->each);
    tn_segment_counts_plan(p, 0, l);
    choice->workspace = (uint64_t)l->counted;
    const tn_work work = {.launches = l->counted > 0 ? 3 : 1,
                          .items = (double)l->items,
                          .rate = tn_sum_rate(p->dtype),
                          .scalar = POSITION * (double)p->positions,
                          .vector_elements = l->lanes > 1 ? 2 * elements : 0,
                          .single_elements = l->lanes > 1 ? 0 : 2 * elements,
                          .bytes = 2 * elements * (double)tenon_dtype_size((tenon_dtype)p->dtype)};
    tn_choice_add(context, choice, &work);
    tn_segment_options(context, p->dtype, p->index_type, p->segment_type, true, choice);
    return NULL;
}

static tenon_status launch(const char *caller, tn_recording *recording, const tn_problem *problem,
                           const tn_choice *choice)
{
    static const struct {
        uint16_t operand, place, flags; /* 0: always present */
    } views[] = {
        {SEGMENT_WEIGHTS_X, SEGMENT_X, 0},
        {SEGMENT_WEIGHTS_INDICES, SEGMENT_INDICES, SEGMENT_HAS_INDICES},
        {SEGMENT_DWEIGHTS, SEGMENT_WEIGHTS, 0},
        {SEGMENT_WEIGHTS_SEGMENTS, SEGMENT_SEGMENTS, SEGMENT_HAS_IDS | SEGMENT_HAS_OFFSETS},
        {SEGMENT_WEIGHTS_DY, SEGMENT_Y, 0}};
    const segment_problem *p = (const segment_problem *)problem;
    const segment_layout *l = TN_LAYOUT(const segment_layout, choice);
    const uint32_t types[SEGMENT_OPERANDS] = {p->dtype, p->index_type, p->dtype, p->segment_type,
                                              p->dtype};
    tn_patch patches[SEGMENT_OPERANDS + 1];
    segment_args args = tn_segment_args_of(p, l);
    tn_launch launch = {.source = "segment/weights",
                        .kernel = "segment_weights",
                        .options = choice->options,
                        .dimensions = 1,
                        .operands = {SEGMENT_WEIGHTS_X, SEGMENT_WEIGHTS_X, SEGMENT_WEIGHTS_X,
                                     SEGMENT_WEIGHTS_X, SEGMENT_WEIGHTS_DY, SEGMENT_DWEIGHTS,
                                     SEGMENT_WEIGHTS_X},
                        .operand_count = 7,
                        TN_ARGS(args),
                        .patches = patches};
    for (size_t i = 0; i < sizeof views / sizeof *views; i++) {
        if (views[i].flags != 0 && (p->flags & views[i].flags) == 0)
            continue; /* an absent list is not read */
        if (views[i].flags != 0)
            launch.operands[views[i].place] = views[i].operand;
        patches[launch.patch_count++] = (tn_patch){
            TN_PATCH_OFFSET, views[i].operand,
            (uint16_t)(offsetof(segment_args, offset) + views[i].place * sizeof(tenon_i64)),
            (uint32_t)tenon_dtype_size((tenon_dtype)types[views[i].place])};
    }
    if (l->counted > 0) {
        launch.operands[6] = TN_WORKSPACE;
        patches[launch.patch_count++] = (tn_patch){
            TN_PATCH_OFFSET, TN_WORKSPACE, offsetof(segment_args, counts_at), sizeof(uint32_t)};
    }
    TN_TRY(tn_segment_counts_record(caller, recording, p, choice, l, SEGMENT_WEIGHTS_INDICES,
                                    SEGMENT_WEIGHTS_SEGMENTS));
    launch.local[0] = recording->context->device.is_cpu ? 1 : GPU_GROUP;
    launch.global[0] = (size_t)tn_round_up(l->items, (int64_t)launch.local[0]);
    return tn_record(caller, recording, &launch);
}

const tn_solver tn_segment_weights_products = {
    .name = "products",
    .serves = "everything; a work-item computes the scalar products of some positions",
    .needs = "workspace of a u32 for each segment, for means with indices, if there may be as much",
    .configure = configure,
    .launch = launch};
