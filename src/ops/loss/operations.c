/* Descriptions (dispatch/operation.h) of the losses and their gradients. */
#include "check/case.h"
#include "ops/common/output_shape.h"
#include "ops/loss/internal.h"
#include "ops/registry.h"

static const tn_field fields[] = {
    TN_FLAGS_FIELD(tenon_cross_entropy_params),
    TN_FIELD("axis", TN_FIELD_I32, tenon_cross_entropy_params, axis),
    TN_FIELD("ignore_label", TN_FIELD_I32, tenon_cross_entropy_params, ignore_label),
    TN_FIELD("scale", TN_FIELD_F64, tenon_cross_entropy_params, scale)};
static const tn_field mse_fields[] = {
    TN_FLAGS_FIELD(tenon_mse_params),
    TN_FIELD("axis_count", TN_FIELD_U32, tenon_mse_params, axis_count),
    TN_FIELD_ARRAY("axes", TN_FIELD_I32, tenon_mse_params, axes),
    TN_FIELD("scale", TN_FIELD_F64, tenon_mse_params, scale)};

static const tenon_cross_entropy_params cross_entropy_defaults = TENON_CROSS_ENTROPY_PARAMS_INIT;

TENON_API void tenon_cross_entropy_params_default(tenon_cross_entropy_params *params, uint32_t size)
{
    tn_params_give(params, size, &cross_entropy_defaults, sizeof cross_entropy_defaults);
}
static const tenon_mse_params mse_defaults = TENON_MSE_PARAMS_INIT;

TENON_API void tenon_mse_params_default(tenon_mse_params *params, uint32_t size)
{
    tn_params_give(params, size, &mse_defaults, sizeof mse_defaults);
}

TENON_API tenon_status tenon_cross_entropy_forward(tenon_stream *stream,
                                                   const tenon_cross_entropy_params *params,
                                                   const tenon_tensor *logits,
                                                   const tenon_tensor *labels,
                                                   const tenon_tensor *loss, const tenon_sync *sync)
{
    return TN_RUN(tn_operation_cross_entropy, logits, labels, loss);
}

TENON_API tenon_status tenon_cross_entropy_forward_plan(tenon_context *context,
                                                        const tenon_cross_entropy_params *params,
                                                        const tenon_tensor *logits,
                                                        const tenon_tensor *labels,
                                                        const tenon_tensor *loss, tenon_plan **plan)
{
    return TN_PLAN(tn_operation_cross_entropy, logits, labels, loss);
}

TENON_API tenon_status tenon_cross_entropy_backward(
    tenon_stream *stream, const tenon_cross_entropy_params *params, const tenon_tensor *logits,
    const tenon_tensor *labels, const tenon_tensor *dloss, const tenon_tensor *dlogits,
    const tenon_sync *sync)
{
    return TN_RUN(tn_operation_cross_entropy_backward, logits, labels, dloss, dlogits);
}

TENON_API tenon_status tenon_cross_entropy_backward_plan(
    tenon_context *context, const tenon_cross_entropy_params *params, const tenon_tensor *logits,
    const tenon_tensor *labels, const tenon_tensor *dloss, const tenon_tensor *dlogits,
    tenon_plan **plan)
{
    return TN_PLAN(tn_operation_cross_entropy_backward, logits, labels, dloss, dlogits);
}

TENON_API tenon_status tenon_mse_forward(tenon_stream *stream, const tenon_mse_params *params,
                                         const tenon_tensor *x, const tenon_tensor *t,
                                         const tenon_tensor *loss, const tenon_sync *sync)
{
    return TN_RUN(tn_operation_mse, x, t, loss);
}

TENON_API tenon_status tenon_mse_forward_plan(tenon_context *context,
                                              const tenon_mse_params *params, const tenon_tensor *x,
                                              const tenon_tensor *t, const tenon_tensor *loss,
                                              tenon_plan **plan)
{
    return TN_PLAN(tn_operation_mse, x, t, loss);
}

TENON_API tenon_status tenon_mse_backward(tenon_stream *stream, const tenon_mse_params *params,
                                          const tenon_tensor *x, const tenon_tensor *t,
                                          const tenon_tensor *dloss, const tenon_tensor *dx,
                                          const tenon_sync *sync)
{
    return TN_RUN(tn_operation_mse_backward, x, t, dloss, dx);
}

TENON_API tenon_status tenon_mse_backward_plan(tenon_context *context,
                                               const tenon_mse_params *params,
                                               const tenon_tensor *x, const tenon_tensor *t,
                                               const tenon_tensor *dloss, const tenon_tensor *dx,
                                               tenon_plan **plan)
{
    return TN_PLAN(tn_operation_mse_backward, x, t, dloss, dx);
}

/* Fills labels with classes and, occasionally, an invalid one. */
static void fill_valid_labels(const void *params, const tenon_tensor *const *v, uint64_t *seed)
{
    const int32_t axis = ((const tenon_cross_entropy_params *)params)->axis;
    const int32_t rank = (int32_t)v[0]->rank;
    tn_case_integers(v[1], -1, v[0]->shape[axis < 0 ? axis + rank : axis] - 1, seed);
}

static const char *const cross_entropy_examples[] = {
    "cross_entropy logits=T:4x2x5 labels=i32:2x5 loss=T:2x5 axis=0",
    "cross_entropy logits=T:37x1000+3 labels=i32:37 loss=T:37 flags=1 ignore_label=7",
    "cross_entropy logits=T:3x19x41 labels=i32:3x41 loss=T:3x41 axis=1",
    "cross_entropy logits=T:2x70000 labels=i32:2 loss=T:2",
    NULL,
};

static const char *const cross_entropy_backward_examples[] = {
    "cross_entropy_backward logits=T:4x2x5 labels=i32:2x5 dloss=T:2x5 dlogits=T:4x2x5 axis=0",
    "cross_entropy_backward logits=T:37x1000+3 labels=i32:37 dlogits=@logits scale=0.125",
    "cross_entropy_backward logits=T:3x19x41 labels=i32:3x41 dloss=T:3x41 dlogits=T:3x19x41 axis=1",
    "cross_entropy_backward logits=T:2x70000 labels=i32:2 dlogits=T:2x70000",
    NULL,
};

static const char *const mse_examples[] = {
    "mse x=T:4x5 t=T:4x5 loss=S:",
    "mse x=T:37x1000+3 t=T:37x1000 loss=S:37 axis_count=1 axes=-1 flags=1",
    "mse x=T:300x41 t=T:300x41 loss=S:41 axis_count=1 axes=0 scale=0.5",
    "mse x=T:3x70001 t=T:3x70001 loss=S:",
    NULL,
};

static const char *const mse_backward_examples[] = {
    "mse_backward x=T:4x5 t=T:4x5 dloss=T: dx=T:4x5",
    "mse_backward x=T:37x1000+3 t=T:37x1000 dloss=T:37 dx=@x axis_count=1 axes=-1 flags=1",
    "mse_backward x=T:37x41 t=T:37x41/1,40 dx=T:37x41 scale=0.5",
    NULL,
};

static bool cross_entropy_shape(const void *given, const tenon_tensor *const *views,
                                tenon_tensor *output)
{
    const tenon_cross_entropy_params *params = given;
    const tenon_tensor *x = views[0];
    uint32_t axis;
    if (!tn_shape_axis(params->axis, x->rank, &axis))
        return false;
    tn_shape_set(output, x->dtype, axis, x->shape);
    for (uint32_t d = axis + 1; d < x->rank; d++)
        output->shape[output->rank++] = x->shape[d];
    return true;
}

static bool mse_shape(const void *given, const tenon_tensor *const *views, tenon_tensor *output)
{
    const tenon_mse_params *params = given;
    return tn_reduced_shape(params->axis_count, params->axes, views[0], output);
}

const tn_operation tn_operation_cross_entropy = {
    TN_NAMES("tenon_cross_entropy_forward"),
    .family = &tn_cross_entropy_family,
    .operands = {{.name = "logits"},
                 {.name = "labels"},
                 {.name = "loss", .role = TN_OUTPUT, .shape = cross_entropy_shape}},
    .operand_count = CROSS_ENTROPY_OPERANDS,
    TN_FIELDS(fields),
    TN_PARAMS(cross_entropy_defaults, TENON_CROSS_ENTROPY_PARAMS_INIT),
    .flags = TENON_CROSS_ENTROPY_IGNORE,
    TN_PROBLEM(tn_rows_problem),
    .prepare = tn_cross_entropy_prepare,
    .reference = tn_cross_entropy_forward_reference,
    .fill_valid = fill_valid_labels,
    .examples = cross_entropy_examples,
};

const tn_operation tn_operation_cross_entropy_backward = {
    TN_NAMES("tenon_cross_entropy_backward"),
    .family = &tn_cross_entropy_backward_family,
    .operands = {{.name = "logits", .role = TN_INPUT_OR_SAME},
                 {.name = "labels"},
                 {.name = "dloss", .optional = true},
                 {.name = "dlogits", .role = TN_OUTPUT, .shape = tn_shape_of_first}},
    .operand_count = CROSS_ENTROPY_BACKWARD_OPERANDS,
    TN_FIELDS(fields),
    TN_PARAMS(cross_entropy_defaults, TENON_CROSS_ENTROPY_PARAMS_INIT),
    .flags = TENON_CROSS_ENTROPY_IGNORE,
    TN_PROBLEM(tn_rows_problem),
    .prepare = tn_cross_entropy_prepare,
    .reference = tn_cross_entropy_backward_reference,
    .fill_valid = fill_valid_labels,
    .examples = cross_entropy_backward_examples,
};

const tn_operation tn_operation_mse = {
    TN_NAMES("tenon_mse_forward"),
    .family = &tn_mse_family,
    .operands = {{.name = "x"},
                 {.name = "t"},
                 {.name = "loss", .role = TN_OUTPUT, .shape = mse_shape}},
    .operand_count = MSE_OPERANDS,
    TN_FIELDS(mse_fields),
    TN_PARAMS(mse_defaults, TENON_MSE_PARAMS_INIT),
    .flags = TENON_MSE_MEAN,
    TN_PROBLEM(tn_reduction_problem),
    .prepare = tn_mse_prepare,
    .reference = tn_mse_forward_reference,
    .examples = mse_examples,
};

const tn_operation tn_operation_mse_backward = {
    TN_NAMES("tenon_mse_backward"),
    .family = &tn_mse_backward_family,
    .operands = {{.name = "x", .role = TN_INPUT_OR_SAME},
                 {.name = "t", .role = TN_INPUT_OR_SAME},
                 {.name = "dloss", .optional = true},
                 {.name = "dx", .role = TN_OUTPUT, .shape = tn_shape_of_first}},
    .operand_count = MSE_BACKWARD_OPERANDS,
    TN_FIELDS(mse_fields),
    TN_PARAMS(mse_defaults, TENON_MSE_PARAMS_INIT),
    .flags = TENON_MSE_MEAN,
    TN_PROBLEM(tn_rows_problem),
    .prepare = tn_mse_backward_prepare,
    .reference = tn_mse_backward_reference,
    .examples = mse_backward_examples,
};
