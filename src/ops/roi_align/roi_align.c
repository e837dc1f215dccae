/* Argument validation of tenon_roi_align, its family, and the solver roi_align/items. */
#include "base/shape.h"
#include "ops/roi_align/internal.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

/* The largest height and width. */
#define MOST_SIZE (INT64_C(1) << 28)

static const tn_solver *const solvers[] = {&tn_roi_align_items};

/* Bits for the mode and the flag, and for a given number of samples. */
static uint64_t roi_paths(const tn_problem *problem)
{
    const roi_problem *p = (const roi_problem *)problem;
    return tn_paths_of_flags(p->flags | (p->samples != 0 ? 4U : 0U), 7);
}

const tn_family tn_roi_align_family = {
    .name = "roi_align", TN_SOLVERS(solvers), .awkward = tn_roi_align_awkward, .paths = roi_paths};

static tenon_status roi_check_params(const char *caller, const tenon_roi_align_params *params)
{
    TN_TRY(
        tn_kind_check(caller, "mode", params->mode, TENON_ROI_ALIGN_MAX, "tenon_roi_align_mode"));
    if (params->sampling_ratio > ROI_MOST_SAMPLES)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: params: sampling_ratio is %u, must be at most %d", caller,
                       params->sampling_ratio, ROI_MOST_SAMPLES);
    return tn_number_check(caller, "spatial_scale", params->spatial_scale, -1e30, 1e30);
}

static tenon_status roi_check_types(const tn_call *call)
{
    const tenon_tensor *x = call->operands[ROI_X].view, *indices = call->operands[ROI_INDICES].view;
    TN_TRY(tn_float_check(call->caller, "x", call->context, x->dtype));
    TN_TRY(tn_same_dtype_check(call->caller, "rois", call->operands[ROI_ROIS].view, "x", x->dtype));
    TN_TRY(tn_same_dtype_check(call->caller, "y", call->operands[ROI_Y].view, "x", x->dtype));
    if (indices->dtype != TENON_DTYPE_I32)
        return tn_fail(TENON_ERROR_UNSUPPORTED, "%s: indices: type is %s, must be i32",
                       call->caller, tenon_dtype_string(indices->dtype));
    return TENON_OK;
}

static tenon_status roi_check_shapes(const tn_call *call)
{
    const char *caller = call->caller;
    const tenon_tensor *x = call->operands[ROI_X].view, *rois = call->operands[ROI_ROIS].view,
                       *indices = call->operands[ROI_INDICES].view, *y = call->operands[ROI_Y].view;
    const int64_t regions = indices->shape[0], corners[] = {regions, 4};
    if (x->rank != 4)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: x: rank is %u, must be 4: N, C, H and W",
                       caller, x->rank);
    if (indices->rank != 1)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: indices: rank is %u, must be 1: the regions", caller, indices->rank);
    TN_TRY(tn_shape_check(caller, "rois", rois, 2, corners));
    const int64_t shape[] = {regions, x->shape[1], y->rank == 4 ? y->shape[2] : 1,
                             y->rank == 4 ? y->shape[3] : 1};
    TN_TRY(tn_shape_check(caller, "y", y, 4, shape));
    for (uint32_t d = 2; d < 4 && !tn_tensor_empty(y); d++)
        if (x->shape[d] < 1 || x->shape[d] > MOST_SIZE)
            return tn_fail(x->shape[d] < 1 ? TENON_ERROR_INVALID_ARGUMENT : TENON_ERROR_UNSUPPORTED,
                           "%s: x: size of dimension %u is %" PRId64 ", must be from 1 to %" PRId64,
                           caller, d, x->shape[d], MOST_SIZE);
    for (uint32_t d = 2; d < 4; d++)
        if (y->shape[d] > MOST_SIZE)
            return tn_fail(TENON_ERROR_UNSUPPORTED,
                           "%s: y: size of dimension %u is %" PRId64 ", must be at most %" PRId64,
                           caller, d, y->shape[d], MOST_SIZE);
    return TENON_OK;
}

tenon_status tn_roi_align_prepare(const void *given, tn_call *call, tn_problem *problem,
                                  bool *empty)
{
    const tenon_roi_align_params *params = given;
    const tenon_tensor *x = call->operands[ROI_X].view, *rois = call->operands[ROI_ROIS].view,
                       *indices = call->operands[ROI_INDICES].view, *y = call->operands[ROI_Y].view;
    roi_problem *p = (roi_problem *)problem;
    TN_TRY(roi_check_params(call->caller, params));
    TN_TRY(roi_check_types(call));
    TN_TRY(roi_check_shapes(call));
    tn_problem_begin(&p->head, sizeof *p);
    p->dtype = x->dtype;
    p->flags = (params->mode == TENON_ROI_ALIGN_MAX ? ROI_MAX : 0) |
               ((params->flags & TENON_ROI_ALIGN_UNSHIFTED) != 0 ? ROI_UNSHIFTED : 0);
    p->samples = params->sampling_ratio;
    p->scale = params->spatial_scale;
    p->images = x->shape[0];
    p->channels = x->shape[1];
    p->regions = indices->shape[0];
    for (int d = 0; d < 4; d++) {
        p->x[d] = x->shape[d] == 1 ? 0 : x->stride[d];
        p->y[d] = y->shape[d] == 1 ? 0 : y->stride[d];
    }
    for (int d = 0; d < 2; d++) {
        p->size[d] = x->shape[2 + d];
        p->bins[d] = y->shape[2 + d];
        p->rois[d] = rois->stride[d];
    }
    p->indices = indices->stride[0];
    *empty = tn_tensor_empty(y);
    return TENON_OK;
}

/* Sets no time estimate, because there is no other solver. */
static const char *roi_configure(tenon_context *context, const tn_problem *problem,
                                 tn_choice *choice)
{
    tn_choice_options(context, choice, "-DTENON_DTYPE=%u%s", ((const roi_problem *)problem)->dtype,
                      tn_gpu_option(context));
    return NULL;
}

static roi_args roi_arguments_of(const roi_problem *p)
{
    const uint8_t kind = (uint8_t)tn_scalar_patch((tenon_dtype)p->dtype);
    roi_args args = {.index_stride = p->indices,
                     .images = p->images,
                     .channels = p->channels,
                     .count = p->regions * p->channels * p->bins[0] * p->bins[1],
                     .scale = tn_patch_scalar(kind, &p->scale),
                     .samples = (tenon_i32)p->samples,
                     .flags = (tenon_i32)p->flags,
                     .side_by_side = p->y[1] == 1 && p->y[3] != 1};
    memcpy(args.x_stride, p->x, sizeof args.x_stride);
    memcpy(args.y_stride, p->y, sizeof args.y_stride);
    memcpy(args.roi_stride, p->rois, sizeof args.roi_stride);
    for (int d = 0; d < 2; d++) {
        args.size[d] = (tenon_i32)p->size[d];
        args.bins[d] = (tenon_i32)p->bins[d];
    }
    return args;
}

/* Multiply-adds that take as long as a result without samples, and as a sample (guesses). */
#define RESULT 64.0
#define SAMPLE 32.0

static tenon_status roi_launch(const char *caller, tn_recording *recording,
                               const tn_problem *problem, const tn_choice *choice)
{
    const roi_problem *p = (const roi_problem *)problem;
    const uint32_t size = (uint32_t)tenon_dtype_size((tenon_dtype)p->dtype);
    const double samples = p->samples > 0 ? (double)(p->samples * p->samples) : 4;
    const tn_patch patches[] = {
        {TN_PATCH_OFFSET, ROI_X, offsetof(roi_args, x_offset), size},
        {TN_PATCH_OFFSET, ROI_ROIS, offsetof(roi_args, roi_offset), size},
        {TN_PATCH_OFFSET, ROI_INDICES, offsetof(roi_args, index_offset), sizeof(int32_t)},
        {TN_PATCH_OFFSET, ROI_Y, offsetof(roi_args, y_offset), size}};
    roi_args args = roi_arguments_of(p);
    tn_launch launch = {.source = "roi_align/items",
                        .kernel = "roi_align",
                        .options = choice->options,
                        .operands = {ROI_X, ROI_ROIS, ROI_INDICES, ROI_Y},
                        .operand_count = ROI_OPERANDS,
                        TN_ARGS(args),
                        TN_PATCHES(patches)};
    args.each = tn_image_share(recording->context, args.count, RESULT + SAMPLE * samples, &launch);
    return tn_record(caller, recording, &launch);
}

const tn_solver tn_roi_align_items = {.name = "items",
                                      .serves = "everything; a work-item computes some results",
                                      .configure = roi_configure,
                                      .launch = roi_launch};
