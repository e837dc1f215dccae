/* The solver roi_align_backward/scatter, for CPUs: work-items add the contributions of all regions
 * to some channels of an image of dx, and find the places of a region's samples once. */
#include "base/checked.h"
#include "ops/common/lanes.h"
#include "ops/roi_align/internal.h"

static bool by_channels(const roi_problem *p)
{
    return p->x[1] == 1 && p->y[1] == 1 && (p->flags & ROI_MAX) == 0;
}

static tn_work roi_scatter_work_of(const tenon_context *context, const roi_problem *p)
{
    const double along = p->samples > 0 ? (double)p->samples : 2, regions = (double)p->regions,
                 channels = (double)p->channels,
                 each = (double)tn_max_i64(tn_roi_channels(context, p, p->images), 1),
                 samples = regions * channels * (double)(p->bins[0] * p->bins[1]) * along * along,
                 places =
                     regions * (channels / each + 1) * along * (double)(p->bins[0] + p->bins[1]);
    tn_work work = {.launches = 1,
                    .rate = tn_sum_rate(p->dtype),
                    .scalar = ROI_PLACE * places + (by_channels(p) ? 0 : ROI_SAMPLE * samples),
                    .vector_elements =
                        (double)p->images * channels * (double)(p->size[0] * p->size[1]) +
                        (by_channels(p) ? ROI_SAMPLE * samples : 0)};
    return work;
}

static const char *roi_scatter_configure(tenon_context *context, const tn_problem *problem,
                                         tn_choice *choice)
{
    const roi_problem *p = (const roi_problem *)problem;
    if (!context->device.is_cpu)
        return "the device is not a CPU";
    if (p->dtype != TENON_DTYPE_F32 && p->dtype != TENON_DTYPE_F64)
        return "dx cannot hold the sums of this type";
    const tn_work work = roi_scatter_work_of(context, p);
    tn_choice_add(context, choice, &work);
    tn_choice_options(context, choice, "-DTENON_DTYPE=%u -DTENON_VW=%u", p->dtype,
                      tn_lanes(context, p->dtype));
    return NULL;
}

static tenon_status roi_scatter_launch(const char *caller, tn_recording *recording,
                                       const tn_problem *problem, const tn_choice *choice)
{
    const roi_backward_problem *all = (const roi_backward_problem *)problem;
    const roi_problem *p = &all->forward;
    roi_backward_args args = tn_roi_backward_arguments(all);
    args.forward.each = tn_roi_channels(recording->context, p, p->images);
    args.forward.side_by_side = by_channels(p);
    tn_launch launch = {
        .source = "roi_align/scatter",
        .kernel = "roi_align_scatter",
        .options = choice->options,
        .dimensions = 2,
        .global = {(size_t)tn_ceil_div(p->channels, args.forward.each), (size_t)p->images},
        .local = {1, 1}};
    return tn_roi_backward_record(caller, recording, all, &args, &launch);
}

const tn_solver tn_roi_align_backward_scatter = {
    .name = "scatter",
    .serves = "f32 and f64 on CPUs; a work-item adds all regions to many channels of an image",
    .awkward = "channels=37",
    .configure = roi_scatter_configure,
    .launch = roi_scatter_launch};
