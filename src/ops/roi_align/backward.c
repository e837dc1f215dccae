/* Argument validation of tenon_roi_align_backward, its family, and the solver
 * roi_align_backward/items. */
#include "base/checked.h"
#include "base/shape.h"
#include "ops/roi_align/internal.h"
#include "roi_align/backward_args.h"

#include <stddef.h>
#include <string.h>

static const tn_solver *const solvers[] = {&tn_roi_align_backward_items};

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

/* Sets no time estimate, because there is no other solver. */
static const char *roi_backward_configure(tenon_context *context, const tn_problem *problem,
                                          tn_choice *choice)
{
    tn_choice_options(context, choice, "-DTENON_DTYPE=%u%s", ((const roi_problem *)problem)->dtype,
                      tn_gpu_option(context));
    return NULL;
}

/* Multiply-adds that take as long as a region that does not contribute (a guess). */
#define REGION 40.0

static tenon_status roi_backward_launch(const char *caller, tn_recording *recording,
                                        const tn_problem *problem, const tn_choice *choice)
{
    const roi_backward_problem *all = (const roi_backward_problem *)problem;
    const roi_problem *p = &all->forward;
    const uint32_t size = (uint32_t)tenon_dtype_size((tenon_dtype)p->dtype);
    const bool reads_x = (p->flags & ROI_MAX) != 0;
    const tn_patch patches[] = {
        {TN_PATCH_OFFSET, ROI_DX, offsetof(roi_backward_args, forward.x_offset), size},
        {TN_PATCH_OFFSET, ROI_BACKWARD_ROIS, offsetof(roi_backward_args, forward.roi_offset), size},
        {TN_PATCH_OFFSET, ROI_BACKWARD_INDICES, offsetof(roi_backward_args, forward.index_offset),
         sizeof(int32_t)},
        {TN_PATCH_OFFSET, ROI_DY, offsetof(roi_backward_args, forward.y_offset), size},
        {TN_PATCH_OFFSET, ROI_BACKWARD_X, offsetof(roi_backward_args, values_offset), size}};
    roi_backward_args args = {.forward = tn_roi_arguments(p), .regions = p->regions};
    tn_launch launch = {.source = "roi_align/backward",
                        .kernel = "roi_align_backward",
                        .options = choice->options,
                        .operands = {reads_x ? ROI_BACKWARD_X : ROI_DY, ROI_DY, ROI_BACKWARD_ROIS,
                                     ROI_BACKWARD_INDICES, ROI_DX},
                        .operand_count = ROI_BACKWARD_OPERANDS,
                        TN_ARGS(args),
                        .patches = patches,
                        .patch_count = reads_x ? 5 : 4};
    memcpy(args.values_stride, all->values, sizeof args.values_stride);
    args.forward.count =
        p->images * tn_ceil_div(p->channels, ROI_CHANNELS) * p->size[0] * p->size[1];
    args.forward.side_by_side = p->x[1] == 1 && p->x[3] != 1;
    args.forward.each = tn_image_share(recording->context, args.forward.count,
                                       REGION * (double)p->regions + ROI_CHANNELS, &launch);
    return tn_record(caller, recording, &launch);
}

const tn_solver tn_roi_align_backward_items = {
    .name = "items",
    .serves = "everything; a work-item computes some channels of a pixel",
    .configure = roi_backward_configure,
    .launch = roi_backward_launch};
