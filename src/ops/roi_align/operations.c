/* Description (dispatch/operation.h) of tenon_roi_align. */
#include "dispatch/operation.h"
#include "ops/registry.h"
#include "ops/roi_align/internal.h"

static const char *const modes[] = {"average", "max", NULL};

static const tn_field fields[] = {
    TN_FLAGS_FIELD(tenon_roi_align_params),
    TN_FIELD_WORDS("mode", TN_FIELD_U32, tenon_roi_align_params, mode, modes),
    TN_FIELD("sampling_ratio", TN_FIELD_U32, tenon_roi_align_params, sampling_ratio),
    TN_FIELD_FIXED("spatial_scale", TN_FIELD_F64, tenon_roi_align_params, spatial_scale)};

static const tenon_roi_align_params roi_defaults = TENON_ROI_ALIGN_PARAMS_INIT;

TENON_API void tenon_roi_align_params_default(tenon_roi_align_params *params, uint32_t size)
{
    tn_params_give(params, size, &roi_defaults, sizeof roi_defaults);
}

TENON_API tenon_status tenon_roi_align(tenon_stream *stream, const tenon_roi_align_params *params,
                                       const tenon_tensor *x, const tenon_tensor *rois,
                                       const tenon_tensor *indices, const tenon_tensor *y,
                                       const tenon_sync *sync)
{
    return TN_RUN(tn_operation_roi_align, x, rois, indices, y);
}

TENON_API tenon_status tenon_roi_align_plan(tenon_context *context,
                                            const tenon_roi_align_params *params,
                                            const tenon_tensor *x, const tenon_tensor *rois,
                                            const tenon_tensor *indices, const tenon_tensor *y,
                                            tenon_plan **plan)
{
    return TN_PLAN(tn_operation_roi_align, x, rois, indices, y);
}

TENON_API tenon_status tenon_roi_align_backward(tenon_stream *stream,
                                                const tenon_roi_align_params *params,
                                                const tenon_tensor *x, const tenon_tensor *dy,
                                                const tenon_tensor *rois,
                                                const tenon_tensor *indices, const tenon_tensor *dx,
                                                const tenon_sync *sync)
{
    return TN_RUN(tn_operation_roi_align_backward, x, dy, rois, indices, dx);
}

TENON_API tenon_status tenon_roi_align_backward_plan(tenon_context *context,
                                                     const tenon_roi_align_params *params,
                                                     const tenon_tensor *x, const tenon_tensor *dy,
                                                     const tenon_tensor *rois,
                                                     const tenon_tensor *indices,
                                                     const tenon_tensor *dx, tenon_plan **plan)
{
    return TN_PLAN(tn_operation_roi_align_backward, x, dy, rois, indices, dx);
}

static const char *const backward_examples[] = {
    "roi_align_backward dy=T:3x3x2x4 rois=T:3x4 indices=i32:3 dx=T:2x3x9x11",
    "roi_align_backward dy=T:5x19x3x3/171,1,57,19 rois=T:5x4 indices=i32:5 "
    "dx=T:2x19x9x11/1881,1,209,19 flags=1 sampling_ratio=2 spatial_scale=0.5",
    "roi_align_backward x=T:2x3x9x11 dy=T:3x3x2x4 rois=T:3x4 indices=i32:3 dx=T:2x3x9x11 mode=max",
    "roi_align_backward x=T:2x9x9x11/891,1,99,9 dy=T:5x9x3x3 rois=T:5x4 indices=i32:5 "
    "dx=T:2x9x9x11 mode=max flags=1 sampling_ratio=2",
    NULL,
};

static const char *const examples[] = {
    "roi_align x=T:2x3x9x11 rois=T:3x4 indices=i32:3 y=T:3x3x2x4",
    "roi_align x=T:2x19x9x11/1881,1,209,19 rois=T:5x4 indices=i32:5 y=T:5x19x3x3/171,1,57,19 "
    "mode=max "
    "flags=1 sampling_ratio=2 spatial_scale=0.5",
    NULL,
};

const tn_operation tn_operation_roi_align = {
    TN_NAMES("tenon_roi_align"),
    .family = &tn_roi_align_family,
    .operands = {{.name = "x", .image = true},
                 {.name = "rois"},
                 {.name = "indices"},
                 {.name = "y", .image = true, .role = TN_OUTPUT}},
    .operand_count = ROI_OPERANDS,
    TN_FIELDS(fields),
    TN_PARAMS(roi_defaults, TENON_ROI_ALIGN_PARAMS_INIT),
    .flags = TENON_ROI_ALIGN_UNSHIFTED,
    TN_PROBLEM(roi_problem),
    .prepare = tn_roi_align_prepare,
    .reference = tn_roi_align_reference,
    .fill_valid = tn_roi_align_fill_valid,
    .examples = examples,
};

const tn_operation tn_operation_roi_align_backward = {
    TN_NAMES("tenon_roi_align_backward"),
    .family = &tn_roi_align_backward_family,
    .operands = {{.name = "x", .image = true, .optional = true},
                 {.name = "dy", .image = true},
                 {.name = "rois"},
                 {.name = "indices"},
                 {.name = "dx", .image = true, .role = TN_OUTPUT}},
    .operand_count = ROI_BACKWARD_OPERANDS,
    TN_FIELDS(fields),
    TN_PARAMS(roi_defaults, TENON_ROI_ALIGN_PARAMS_INIT),
    .flags = TENON_ROI_ALIGN_UNSHIFTED,
    TN_PROBLEM(roi_backward_problem),
    .prepare = tn_roi_align_backward_prepare,
    .reference = tn_roi_align_backward_reference,
    .fill_valid = tn_roi_align_backward_fill_valid,
    .examples = backward_examples,
};
