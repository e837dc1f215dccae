/* The solver lrn_backward/planes, for CPUs: goes through the channels of each position once. */
#include "base/checked.h"
#include "ops/common/lanes.h"
#include "ops/lrn/internal.h"

/* Channels whose terms are kept, as many as a sum may have, and positions per work-item. */
#define KEPT      32
#define POSITIONS 256

static const char *planes_configure(tenon_context *context, const tn_problem *problem,
                                    tn_choice *choice)
{
    const lrn_problem *p = (const lrn_problem *)problem;
    if (!context->device.is_cpu)
        return "the device is not a CPU";
    if (p->dimension + 1 == p->rank)
        return "the channels are the last dimension";
    if (p->size > KEPT)
        return "the sums have too many channels";
    tn_lrn_add_work(context, p, 1, choice);
    tn_choice_options(context, choice, "-DTENON_DTYPE=%u -DTENON_VW=%u -DTENON_LRN_KEPT=%d",
                      p->dtype, tn_lanes(context, p->dtype), KEPT);
    return NULL;
}

/* Sets the walk over all dimensions but that of the channels. */
static void set_walk(const lrn_problem *p, walk_args *walk)
{
    *walk = (walk_args){.rows = 1, .parts = 1, .unit = 1, .rows_each = 1};
    for (uint64_t d = 0; d < p->rank; d++) {
        if (d == p->dimension)
            continue;
        walk->shape[walk->rank] = p->shape[d];
        for (int v = 0; v < LRN_WALKS; v++)
            walk->stride[v][walk->rank] = walk->step[v] = p->stride[v][d];
        walk->rank++;
    }
    for (int32_t d = 0; d + 1 < walk->rank; d++)
        walk->rows *= walk->shape[d];
    walk->length = walk->shape[walk->rank - 1];
    walk->chunk = tn_max_i64(tn_min_i64(walk->length, POSITIONS), 1);
    walk->pieces = tn_ceil_div(walk->length, walk->chunk);
    walk->items = walk->rows * walk->pieces;
}

static tenon_status planes_launch(const char *caller, tn_recording *recording,
                                  const tn_problem *problem, const tn_choice *choice)
{
    const lrn_problem *p = (const lrn_problem *)problem;
    lrn_args args = tn_lrn_arguments(p);
    set_walk(p, &args.walk);
    tn_launch launch = {.source = "lrn/planes_backward",
                        .kernel = "lrn_planes_backward",
                        .options = choice->options,
                        .operands = {LRN_BACKWARD_X, LRN_BACKWARD_DY, LRN_BACKWARD_DX},
                        .operand_count = LRN_BACKWARD_OPERANDS,
                        .dimensions = 1,
                        .global = {(size_t)args.walk.items},
                        .local = {1},
                        TN_ARGS(args)};
    return tn_lrn_record(caller, recording, p,
                         (const uint8_t[]){LRN_BACKWARD_X, LRN_BACKWARD_DX, LRN_BACKWARD_DY},
                         &launch);
}

const tn_solver tn_lrn_backward_planes = {
    .name = "planes",
    .serves = "CPUs, channels that are not the last dimension, and sums of at most 32 channels",
    .configure = planes_configure,
    .launch = planes_launch};
