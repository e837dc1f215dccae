/* What tests and tools know of the operations of this family: see dispatch/operation.h. */
#include "check/case.h"
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

TN_OPERATION_DEFAULTS(cross_entropy, tenon_cross_entropy_params)
TN_OPERATION_DEFAULTS(mse, tenon_mse_params)
TN_OPERATION_CALLS(cross_entropy, tenon_cross_entropy_forward, v[0], v[1], v[2])
TN_OPERATION_CALLS(cross_entropy_backward, tenon_cross_entropy_backward, v[0], v[1], v[2], v[3])
TN_OPERATION_CALLS(mse, tenon_mse_forward, v[0], v[1], v[2])
TN_OPERATION_CALLS(mse_backward, tenon_mse_backward, v[0], v[1], v[2], v[3])

static bool cross_entropy_reference(const void *params, const tenon_tensor *const *v,
                                    tn_bounded *expected)
{
    return tn_cross_entropy_forward_reference(params, v[0], v[1], expected);
}

static bool cross_entropy_backward_reference(const void *params, const tenon_tensor *const *v,
                                             tn_bounded *expected)
{
    return tn_cross_entropy_backward_reference(params, v[0], v[1], v[2], expected);
}

static bool mse_reference(const void *params, const tenon_tensor *const *v, tn_bounded *expected)
{
    return tn_mse_forward_reference(params, v[0], v[1], v[2], expected);
}

static bool mse_backward_reference(const void *params, const tenon_tensor *const *v,
                                   tn_bounded *expected)
{
    return tn_mse_backward_reference(params, v[0], v[1], v[2], expected);
}

static void settle_labels(const void *params, const tenon_tensor *const *v, uint64_t *seed)
{
    const int32_t axis = ((const tenon_cross_entropy_params *)params)->axis;
    const int32_t rank = (int32_t)v[0]->rank;
    tn_case_integers(v[1], 0, v[0]->shape[axis < 0 ? axis + rank : axis] - 1, seed);
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

const tn_operation tn_operation_cross_entropy = {
    .name = "tenon_cross_entropy_forward",
    .family = &tn_cross_entropy_family,
    .operands = {{.name = "logits"}, {.name = "labels"}, {.name = "loss"}},
    .operand_count = 3,
    .output_count = 1,
    .fields = fields,
    .field_count = TN_FIELD_COUNT(fields),
    .params_size = sizeof(tenon_cross_entropy_params),
    .defaults = default_cross_entropy,
    .run = run_cross_entropy,
    .plan = plan_cross_entropy,
    .reference = cross_entropy_reference,
    .settle = settle_labels,
    .examples = cross_entropy_examples,
};

const tn_operation tn_operation_cross_entropy_backward = {
    .name = "tenon_cross_entropy_backward",
    .family = &tn_cross_entropy_backward_family,
    .operands = {{.name = "logits"},
                 {.name = "labels"},
                 {.name = "dloss", .optional = true},
                 {.name = "dlogits"}},
    .operand_count = 4,
    .output_count = 1,
    .fields = fields,
    .field_count = TN_FIELD_COUNT(fields),
    .params_size = sizeof(tenon_cross_entropy_params),
    .defaults = default_cross_entropy,
    .run = run_cross_entropy_backward,
    .plan = plan_cross_entropy_backward,
    .reference = cross_entropy_backward_reference,
    .settle = settle_labels,
    .examples = cross_entropy_backward_examples,
};

const tn_operation tn_operation_mse = {
    .name = "tenon_mse_forward",
    .family = &tn_mse_family,
    .operands = {{.name = "x"}, {.name = "t"}, {.name = "loss"}},
    .operand_count = 3,
    .output_count = 1,
    .fields = mse_fields,
    .field_count = TN_FIELD_COUNT(mse_fields),
    .params_size = sizeof(tenon_mse_params),
    .defaults = default_mse,
    .run = run_mse,
    .plan = plan_mse,
    .reference = mse_reference,
    .examples = mse_examples,
};

const tn_operation tn_operation_mse_backward = {
    .name = "tenon_mse_backward",
    .family = &tn_mse_backward_family,
    .operands = {{.name = "x"}, {.name = "t"}, {.name = "dloss", .optional = true}, {.name = "dx"}},
    .operand_count = 4,
    .output_count = 1,
    .fields = mse_fields,
    .field_count = TN_FIELD_COUNT(mse_fields),
    .params_size = sizeof(tenon_mse_params),
    .defaults = default_mse,
    .run = run_mse_backward,
    .plan = plan_mse_backward,
    .reference = mse_backward_reference,
    .examples = mse_backward_examples,
};
