/* Argument validation of tenon_roi_align_backward, its family, and the solver
 * roi_align_backward/items. */
#include "base/checked.h"
#include "base/shape.h"
#include "ops/roi_align/internal.h"

#include <stddef.h>
#include <string.h>

static const tn_solver *const solvers[] = {&tn_roi_align_backward_scatter,
                                           &tn_roi_align_backward_items};

const tn_family tn_roi_align_backward_family = {.name = "roi_align_backward",
                                                TN_SOLVERS(solvers),
                                                .awkward = tn_roi_align_backward_awkward,
                                                .paths = tn_roi_paths};

/* Only the gradient of maxima reads x. */
static tenon_status check_values(const tn_call *call, const tenon_roi_align_params *params,
                                 const tenon_tensor *x, const tenon_tensor *dx)
{
    if (x == NULL && params->mode == TENON_ROI_ALIGN_MAX)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: x is NULL, which is allowed only in the mode average", call->caller);
    if (x == NULL)
        return TENON_OK;
    TN_TRY(tn_same_dtype_check(call->caller, "x", x, "dx", dx->dtype));
    return tn_shape_check(call->caller, "x", x, 4, dx->shape);
}

tenon_status tn_roi_align_backward_prepare(const void *given, tn_call *call, tn_problem *problem,
                                           bool *empty)
{
    const tenon_roi_align_params *params = given;
    const tn_argument *o = call->operands;
    const tenon_tensor *x = o[ROI_BACKWARD_X].view;
    const roi_views views = {"dx",
                             "dy",
                             o[ROI_DX].view,
                             o[ROI_BACKWARD_ROIS].view,
                             o[ROI_BACKWARD_INDICES].view,
                             o[ROI_DY].view};
    roi_backward_problem *p = (roi_backward_problem *)problem;
    tn_problem_begin(problem, sizeof *p);
    TN_TRY(tn_roi_take(call, params, &views, &p->forward));
    TN_TRY(check_values(call, params, x, views.x));
    for (int d = 0; d < 4 && params->mode == TENON_ROI_ALIGN_MAX; d++)
        p->values[d] = x->shape[d] == 1 ? 0 : x->stride[d];
    *empty = tn_tensor_empty(views.x);
    return TENON_OK;
}

/* Multiply-adds that take as long as a region that does not contribute to a pixel, and as a sample
 * of a block of channels that does (guesses). */
#define REGION 40.0
#define SAMPLE 60.0

static const char *roi_backward_configure(tenon_context *context, const tn_problem *problem,
                                          tn_choice *choice)
{
    const roi_problem *p = (const roi_problem *)problem;
    const double regions = (double)p->regions, samples = p->samples > 0 ? (double)p->samples : 2,
                 blocks = (double)tn_ceil_div(p->channels, ROI_CHANNELS),
                 pixels = (double)p->images * (double)(p->size[0] * p->size[1]),
                 bins = (double)(p->bins[0] * p->bins[1]);
    const tn_work work = {.launches = 1,
                          .items = blocks * pixels,
                          .scalar = blocks * (REGION * pixels * regions +
                                              SAMPLE * samples * samples * regions * bins)};
    tn_choice_add(context, choice, &work);
    tn_choice_options(context, choice, "-DTENON_DTYPE=%u%s", p->dtype, tn_gpu_option(context));
    return NULL;
}

roi_backward_args tn_roi_backward_arguments(const roi_backward_problem *p)
{
    roi_backward_args args = {.forward = tn_roi_arguments(&p->forward),
                              .regions = p->forward.regions};
    memcpy(args.values_stride, p->values, sizeof args.values_stride);
    return args;
}

tenon_status tn_roi_backward_record(const char *caller, tn_recording *recording,
                                    const roi_backward_problem *p, const roi_backward_args *args,
                                    tn_launch *launch)
{
    const uint32_t size = (uint32_t)tenon_dtype_size((tenon_dtype)p->forward.dtype);
    const bool reads_x = (p->forward.flags & ROI_MAX) != 0;
    const uint8_t operands[] = {reads_x ? ROI_BACKWARD_X : ROI_DY, ROI_DY, ROI_BACKWARD_ROIS,
                                ROI_BACKWARD_INDICES, ROI_DX};
    const tn_patch patches[] = {
        {TN_PATCH_OFFSET, ROI_DX, offsetof(roi_backward_args, forward.x_offset), size},
        {TN_PATCH_OFFSET, ROI_BACKWARD_ROIS, offsetof(roi_backward_args, forward.roi_offset), size},
        {TN_PATCH_OFFSET, ROI_BACKWARD_INDICES, offsetof(roi_backward_args, forward.index_offset),
         sizeof(int32_t)},
        {TN_PATCH_OFFSET, ROI_DY, offsetof(roi_backward_args, forward.y_offset), size},
        {TN_PATCH_OFFSET, ROI_BACKWARD_X, offsetof(roi_backward_args, values_offset), size}};
    for (int i = 0; i < ROI_BACKWARD_OPERANDS; i++)
        launch->operands[i] = operands[i];
    launch->operand_count = ROI_BACKWARD_OPERANDS;
    launch->args = args;
    launch->args_size = sizeof *args;
    launch->patches = patches;
    launch->patch_count = reads_x ? 5 : 4;
    return tn_record(caller, recording, launch);
}

static tenon_status roi_backward_launch(const char *caller, tn_recording *recording,
                                        const tn_problem *problem, const tn_choice *choice)
{
    const roi_backward_problem *all = (const roi_backward_problem *)problem;
    const roi_problem *p = &all->forward;
    roi_backward_args args = tn_roi_backward_arguments(all);
    tn_launch launch = {
        .source = "roi_align/backward", .kernel = "roi_align_backward", .options = choice->options};
    args.forward.count =
        p->images * tn_ceil_div(p->channels, ROI_CHANNELS) * p->size[0] * p->size[1];
    args.forward.side_by_side = p->x[1] == 1 && p->x[3] != 1;
    args.forward.each = tn_image_share(recording->context, args.forward.count,
                                       REGION * (double)p->regions + ROI_CHANNELS, &launch);
    return tn_roi_backward_record(caller, recording, all, &args, &launch);
}

const tn_solver tn_roi_align_backward_items = {
    .name = "items",
    .serves = "everything; a work-item computes some channels of a pixel",
    .configure = roi_backward_configure,
    .launch = roi_backward_launch};
