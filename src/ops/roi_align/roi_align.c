/* Argument validation of tenon_roi_align, its family, and the solver roi_align/items. */
#include "base/shape.h"
#include "ops/roi_align/internal.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

/* The largest height and width. */
#define MOST_SIZE (INT64_C(1) << 28)

static const tn_solver *const solvers[] = {&tn_roi_align_tables, &tn_roi_align_items};

uint64_t tn_roi_paths(const tn_problem *problem)
{
    const roi_problem *p = (const roi_problem *)problem;
    return tn_paths_of_flags(p->flags | (p->samples != 0 ? 4U : 0U), 7);
}

const tn_family tn_roi_align_family = {.name = "roi_align",
                                       TN_SOLVERS(solvers),
                                       .awkward = tn_roi_align_awkward,
                                       .paths = tn_roi_paths};

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

static tenon_status roi_check_types(const tn_call *call, const roi_views *v)
{
    TN_TRY(tn_float_check(call->caller, v->x_name, call->context, v->x->dtype));
    TN_TRY(tn_same_dtype_check(call->caller, "rois", v->rois, v->x_name, v->x->dtype));
    TN_TRY(tn_same_dtype_check(call->caller, v->y_name, v->y, v->x_name, v->x->dtype));
    if (v->indices->dtype != TENON_DTYPE_I32)
        return tn_fail(TENON_ERROR_UNSUPPORTED, "%s: indices: type is %s, must be i32",
                       call->caller, tenon_dtype_string(v->indices->dtype));
    return TENON_OK;
}

static tenon_status roi_check_sizes(const char *caller, const roi_views *v)
{
    for (uint32_t d = 2; d < 4 && !tn_tensor_empty(v->y); d++)
        if (v->x->shape[d] < 1 || v->x->shape[d] > MOST_SIZE)
            return tn_fail(
                v->x->shape[d] < 1 ? TENON_ERROR_INVALID_ARGUMENT : TENON_ERROR_UNSUPPORTED,
                "%s: %s: size of dimension %u is %" PRId64 ", must be from 1 to %" PRId64, caller,
                v->x_name, d, v->x->shape[d], MOST_SIZE);
    for (uint32_t d = 2; d < 4; d++)
        if (v->y->shape[d] > MOST_SIZE)
            return tn_fail(TENON_ERROR_UNSUPPORTED,
                           "%s: %s: size of dimension %u is %" PRId64 ", must be at most %" PRId64,
                           caller, v->y_name, d, v->y->shape[d], MOST_SIZE);
    return TENON_OK;
}

static tenon_status roi_check_shapes(const char *caller, const roi_views *v)
{
    if (v->x->rank != 4)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s: rank is %u, must be 4: N, C, H and W",
                       caller, v->x_name, v->x->rank);
    if (v->indices->rank != 1)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: indices: rank is %u, must be 1: the regions", caller, v->indices->rank);
    const int64_t regions = v->indices->shape[0], corners[] = {regions, 4};
    TN_TRY(tn_shape_check(caller, "rois", v->rois, 2, corners));
    const int64_t shape[] = {regions, v->x->shape[1], v->y->rank == 4 ? v->y->shape[2] : 1,
                             v->y->rank == 4 ? v->y->shape[3] : 1};
    TN_TRY(tn_shape_check(caller, v->y_name, v->y, 4, shape));
    return roi_check_sizes(caller, v);
}

tenon_status tn_roi_take(const tn_call *call, const tenon_roi_align_params *params,
                         const roi_views *v, roi_problem *p)
{
    TN_TRY(roi_check_params(call->caller, params));
    TN_TRY(roi_check_types(call, v));
    TN_TRY(roi_check_shapes(call->caller, v));
    p->dtype = v->x->dtype;
    p->flags = (params->mode == TENON_ROI_ALIGN_MAX ? ROI_MAX : 0) |
               ((params->flags & TENON_ROI_ALIGN_UNSHIFTED) != 0 ? ROI_UNSHIFTED : 0);
    p->samples = params->sampling_ratio;
    p->scale = params->spatial_scale;
    p->images = v->x->shape[0];
    p->channels = v->x->shape[1];
    p->regions = v->indices->shape[0];
    for (int d = 0; d < 4; d++) {
        p->x[d] = v->x->shape[d] == 1 ? 0 : v->x->stride[d];
        p->y[d] = v->y->shape[d] == 1 ? 0 : v->y->stride[d];
    }
    for (int d = 0; d < 2; d++) {
        p->size[d] = v->x->shape[2 + d];
        p->bins[d] = v->y->shape[2 + d];
        p->rois[d] = v->rois->stride[d];
    }
    p->indices = v->indices->stride[0];
    return TENON_OK;
}

tenon_status tn_roi_align_prepare(const void *params, tn_call *call, tn_problem *problem,
                                  bool *empty)
{
    const tn_argument *o = call->operands;
    const roi_views views = {
        "x", "y", o[ROI_X].view, o[ROI_ROIS].view, o[ROI_INDICES].view, o[ROI_Y].view};
    tn_problem_begin(problem, sizeof(roi_problem));
    TN_TRY(tn_roi_take(call, params, &views, (roi_problem *)problem));
    *empty = tn_tensor_empty(views.y);
    return TENON_OK;
}

roi_args tn_roi_arguments(const roi_problem *p)
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

void tn_roi_fill_patches(const roi_problem *p, tn_patch patches[ROI_OPERANDS])
{
    const uint32_t size = (uint32_t)tenon_dtype_size((tenon_dtype)p->dtype);
    const tn_patch all[ROI_OPERANDS] = {
        {TN_PATCH_OFFSET, ROI_X, offsetof(roi_args, x_offset), size},
        {TN_PATCH_OFFSET, ROI_ROIS, offsetof(roi_args, roi_offset), size},
        {TN_PATCH_OFFSET, ROI_INDICES, offsetof(roi_args, index_offset), sizeof(int32_t)},
        {TN_PATCH_OFFSET, ROI_Y, offsetof(roi_args, y_offset), size}};
    memcpy(patches, all, sizeof all);
}

/* Multiply-adds that take as long as a result without samples, and as a sample (guesses). */
#define RESULT 64.0
#define SAMPLE 32.0

/* Returns the multiply-adds of a result; bins by the size of a region are taken for four samples.
 */
static double work_of_result(const roi_problem *p)
{
    return RESULT + SAMPLE * (p->samples > 0 ? (double)(p->samples * p->samples) : 4);
}

static const char *roi_configure(tenon_context *context, const tn_problem *problem,
                                 tn_choice *choice)
{
    const roi_problem *p = (const roi_problem *)problem;
    const double results =
        (double)p->regions * (double)p->channels * (double)(p->bins[0] * p->bins[1]);
    const tn_work work = {.launches = 1, .items = results, .scalar = results * work_of_result(p)};
    tn_choice_add(context, choice, &work);
    tn_choice_options(context, choice, "-DTENON_DTYPE=%u%s", p->dtype, tn_gpu_option(context));
    return NULL;
}

static tenon_status roi_launch(const char *caller, tn_recording *recording,
                               const tn_problem *problem, const tn_choice *choice)
{
    const roi_problem *p = (const roi_problem *)problem;
    roi_args args = tn_roi_arguments(p);
    tn_patch patches[ROI_OPERANDS];
    tn_launch launch = {.source = "roi_align/items",
                        .kernel = "roi_align",
                        .options = choice->options,
                        .operands = {ROI_X, ROI_ROIS, ROI_INDICES, ROI_Y},
                        .operand_count = ROI_OPERANDS,
                        TN_ARGS(args),
                        TN_PATCHES(patches)};
    tn_roi_fill_patches(p, patches);
    args.each = tn_image_share(recording->context, args.count, work_of_result(p), &launch);
    return tn_record(caller, recording, &launch);
}

const tn_solver tn_roi_align_items = {.name = "items",
                                      .serves = "everything; a work-item computes some results",
                                      .configure = roi_configure,
                                      .launch = roi_launch};
