/* The solver roi_align/tables, for CPUs: work-items compute many channels of a region from the
 * places of its samples, which they find once. */
#include "base/checked.h"
#include "ops/common/lanes.h"
#include "ops/roi_align/internal.h"

/* Work-items per compute unit, enough to balance the load at the end. */
#define ITEMS_PER_UNIT 8

int64_t tn_roi_channels(const tenon_context *context, const roi_problem *p, int64_t blocks_of)
{
    const int64_t wanted = ITEMS_PER_UNIT * (int64_t)context->device.info.compute_units;
    const int64_t blocks = tn_ceil_div(wanted, tn_max_i64(blocks_of, 1));
    return tn_round_up(tn_ceil_div(p->channels, blocks), (int64_t)tn_lanes(context, p->dtype));
}

static tn_work roi_align_tables_work_of(const tenon_context *context, const roi_problem *p)
{
    const double along = p->samples > 0 ? (double)p->samples : 2, regions = (double)p->regions;
    const double blocks =
        (double)tn_ceil_div(p->channels, tn_max_i64(tn_roi_channels(context, p, p->regions), 1));
    const double results = regions * (double)p->channels * (double)(p->bins[0] * p->bins[1]);
    return (tn_work){.launches = 1,
                     .scalar =
                         ROI_PLACE * regions * blocks * along * (double)(p->bins[0] + p->bins[1]) +
                         ROI_SAMPLE * results * along * along};
}

static const char *roi_align_tables_configure(tenon_context *context, const tn_problem *problem,
                                              tn_choice *choice)
{
    const roi_problem *p = (const roi_problem *)problem;
    if (!context->device.is_cpu)
        return "the device is not a CPU";
    const tn_work work = roi_align_tables_work_of(context, p);
    tn_choice_add(context, choice, &work);
    tn_choice_options(context, choice, "-DTENON_DTYPE=%u -DTENON_VW=%u", p->dtype,
                      tn_lanes(context, p->dtype));
    return NULL;
}

static tenon_status roi_align_tables_launch(const char *caller, tn_recording *recording,
                                            const tn_problem *problem, const tn_choice *choice)
{
    const roi_problem *p = (const roi_problem *)problem;
    roi_args args = tn_roi_arguments(p);
    tn_patch patches[ROI_OPERANDS];
    args.each = tn_roi_channels(recording->context, p, p->regions);
    args.side_by_side = p->x[1] == 1 && p->y[1] == 1;
    const tn_launch made = {
        .source = "roi_align/tables",
        .kernel = "roi_align_tables",
        .options = choice->options,
        .operands = {ROI_X, ROI_ROIS, ROI_INDICES, ROI_Y},
        .operand_count = ROI_OPERANDS,
        .dimensions = 2,
        .global = {(size_t)tn_ceil_div(p->channels, args.each), (size_t)p->regions},
        .local = {1, 1},
        TN_ARGS(args),
        TN_PATCHES(patches)};
    tn_roi_fill_patches(p, patches);
    return tn_record(caller, recording, &made);
}

const tn_solver tn_roi_align_tables = {
    .name = "tables",
    .serves = "everything, on CPUs; a work-item computes many channels of a region",
    .awkward = "channels=37",
    .configure = roi_align_tables_configure,
    .launch = roi_align_tables_launch};
