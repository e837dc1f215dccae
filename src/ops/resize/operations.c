/* Descriptions (dispatch/operation.h) of tenon_resize_forward and tenon_resize_backward. */
#include "dispatch/operation.h"
#include "ops/common/output_shape.h"
#include "ops/registry.h"
#include "ops/resize/internal.h"

#include <math.h>

static const char *const modes[] = {"nearest", "linear", "cubic", NULL};
static const char *const coordinates[] = {
    "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
    "asymmetric", "tf_half_pixel",        "tf_crop_and_resize", NULL};
static const char *const roundings[] = {"prefer_floor", "prefer_ceil", "floor", "ceil", NULL};

static bool is_cubic(const void *params, const void *value)
{
    (void)value;
    return ((const tenon_resize_params *)params)->mode == TENON_RESIZE_CUBIC;
}

static bool is_cropped(const void *params, const void *value)
{
    (void)value;
    return ((const tenon_resize_params *)params)->coordinates == TENON_RESIZE_TF_CROP_AND_RESIZE;
}

#define COORDINATE_FIELD(member)                                                                   \
    {                                                                                              \
#member, TN_FIELD_F64, TENON_MAX_SPATIAL, offsetof(tenon_resize_params, member),           \
            sizeof(double), NULL, NULL, tn_field_is_fixed                                          \
    }

static const tn_field fields[] = {
    TN_FLAGS_FIELD(tenon_resize_params),
    TN_FIELD_WORDS("mode", TN_FIELD_U32, tenon_resize_params, mode, modes),
    TN_FIELD_WORDS("coordinates", TN_FIELD_U32, tenon_resize_params, coordinates, coordinates),
    TN_FIELD_WORDS("rounding", TN_FIELD_U32, tenon_resize_params, rounding, roundings),
    TN_FIELD_IF("cubic_a", TN_FIELD_F64, tenon_resize_params, cubic_a, is_cubic),
    TN_FIELD_IF("extrapolation", TN_FIELD_F64, tenon_resize_params, extrapolation, is_cropped),
    COORDINATE_FIELD(scales),
    COORDINATE_FIELD(region_begin),
    COORDINATE_FIELD(region_end)};

static const tenon_resize_params resize_defaults = TENON_RESIZE_PARAMS_INIT;

TENON_API void tenon_resize_params_default(tenon_resize_params *params, uint32_t size)
{
    tn_params_give(params, size, &resize_defaults, sizeof resize_defaults);
}

TENON_API tenon_status tenon_resize_forward(tenon_stream *stream, const tenon_resize_params *params,
                                            const tenon_tensor *x, const tenon_tensor *y,
                                            const tenon_sync *sync)
{
    return TN_RUN(tn_operation_resize, x, y);
}

TENON_API tenon_status tenon_resize_forward_plan(tenon_context *context,
                                                 const tenon_resize_params *params,
                                                 const tenon_tensor *x, const tenon_tensor *y,
                                                 tenon_plan **plan)
{
    return TN_PLAN(tn_operation_resize, x, y);
}

TENON_API tenon_status tenon_resize_backward(tenon_stream *stream,
                                             const tenon_resize_params *params,
                                             const tenon_tensor *dy, const tenon_tensor *dx,
                                             const tenon_sync *sync)
{
    return TN_RUN(tn_operation_resize_backward, dy, dx);
}

TENON_API tenon_status tenon_resize_backward_plan(tenon_context *context,
                                                  const tenon_resize_params *params,
                                                  const tenon_tensor *dy, const tenon_tensor *dx,
                                                  tenon_plan **plan)
{
    return TN_PLAN(tn_operation_resize_backward, dy, dx);
}

static const char *const examples[] = {
    "resize x=T:2x3x4x5 y=T:2x3x7x8",
    "resize x=T:2x3x19x21+3 y=T:2x3x40x33 mode=linear coordinates=align_corners",
    "resize x=T:2x19x17x19/6137,1,361,19 y=T:2x19x9x8/1368,1,152,19 mode=cubic flags=3",
    "resize x=T:2x3x70 y=T:2x3x31 mode=linear scales=0.45 coordinates=half_pixel_symmetric",
    "resize x=T:2x2x5x6x7 y=T:2x2x3x9x11 mode=linear flags=1",
    "resize x=T:1x2x5x6 y=T:1x2x9x11 coordinates=tf_crop_and_resize region_end=0.9,1.1",
    NULL,
};

static bool resize_shape(const void *given, const tenon_tensor *const *views, tenon_tensor *output)
{
    const tenon_resize_params *params = given;
    const tenon_tensor *x = views[0];
    if (x->rank < 3 || x->rank > 2 + TENON_MAX_SPATIAL ||
        !tn_shape_set(output, x->dtype, x->rank, x->shape))
        return false;
    for (uint32_t d = 2; d < x->rank; d++) {
        const double size = floor((double)x->shape[d] * params->scales[d - 2]);
        if (!(params->scales[d - 2] > 0 && size < (double)(INT64_C(1) << 53)))
            return false;
        output->shape[d] = (int64_t)size;
    }
    return true;
}

const tn_operation tn_operation_resize = {
    TN_NAMES("tenon_resize_forward"),
    .family = &tn_resize_family,
    .operands = {{.name = "x", .image = true},
                 {.name = "y", .image = true, .role = TN_OUTPUT, .shape = resize_shape}},
    .operand_count = RESIZE_OPERANDS,
    TN_FIELDS(fields),
    TN_PARAMS(resize_defaults, TENON_RESIZE_PARAMS_INIT),
    .flags = TENON_RESIZE_ANTIALIAS | TENON_RESIZE_EXCLUDE_OUTSIDE,
    TN_PROBLEM(resize_problem),
    .prepare = tn_resize_prepare,
    .reference = tn_resize_reference,
    .examples = examples,
};

static const char *const backward_examples[] = {
    "resize_backward dy=T:2x3x7x8 dx=T:2x3x4x5",
    "resize_backward dy=T:2x3x40x33+3 dx=T:2x3x19x21 mode=linear coordinates=align_corners",
    "resize_backward dy=T:2x19x9x8/1368,1,152,19 dx=T:2x19x17x19/6137,1,361,19 mode=cubic flags=3",
    NULL,
};

const tn_operation tn_operation_resize_backward = {
    TN_NAMES("tenon_resize_backward"),
    .family = &tn_resize_backward_family,
    .operands = {{.name = "dy", .image = true}, {.name = "dx", .image = true, .role = TN_OUTPUT}},
    .operand_count = RESIZE_BACKWARD_OPERANDS,
    TN_FIELDS(fields),
    TN_PARAMS(resize_defaults, TENON_RESIZE_PARAMS_INIT),
    .flags = TENON_RESIZE_ANTIALIAS | TENON_RESIZE_EXCLUDE_OUTSIDE,
    TN_PROBLEM(resize_problem),
    .prepare = tn_resize_backward_prepare,
    .reference = tn_resize_backward_reference,
    .examples = backward_examples,
};
