/* What tests and tools know of the operations of this family: see dispatch/operation.h. */
#include "dispatch/operation.h"
#include "ops/softmax/internal.h"
#include "ops/registry.h"

static const tn_field fields[] = {TN_FLAGS_FIELD(tenon_softmax_params),
                                  TN_FIELD("axis", TN_FIELD_I32, tenon_softmax_params, axis)};

TN_OPERATION_DEFAULTS(softmax, tenon_softmax_params)
TN_OPERATION_CALLS(forward, tenon_softmax_forward, v[0], v[1])
TN_OPERATION_CALLS(backward, tenon_softmax_backward, v[0], v[1], v[2])

static bool forward_reference(const void *params, const tenon_tensor *const *v,
                              tn_bounded *expected)
{
    return tn_softmax_forward_reference(params, v[0], v[1], expected);
}

static bool backward_reference(const void *params, const tenon_tensor *const *v,
                               tn_bounded *expected)
{
    return tn_softmax_backward_reference(params, v[0], v[1], v[2], expected);
}

static const char *const forward_examples[] = {
    "softmax x=T:4x5 y=T:4x5",
    "softmax x=T:13x1000+3 y=T:13x1000",
    "softmax x=T:3x37x19 y=@x axis=1 flags=1",
    "softmax x=T:2x70000 y=T:2x70000",
    "softmax x=T:37x41/1,40 y=T:37x41/50,1 axis=0",
    NULL,
};

static const char *const backward_examples[] = {
    "softmax_backward y=T:4x5 dy=T:4x5 dx=T:4x5",
    "softmax_backward y=T:13x1000+3 dy=T:13x1000 dx=T:13x1000 flags=1",
    "softmax_backward y=T:3x37x19 dy=T:3x37x19 dx=@dy axis=1",
    "softmax_backward y=T:2x70000 dy=T:2x70000 dx=T:2x70000",
    NULL,
};

const tn_operation tn_operation_softmax = {
    .name = "tenon_softmax_forward",
    .family = &tn_softmax_family,
    .operands = {{.name = "x"}, {.name = "y"}},
    .operand_count = 2,
    .output_count = 1,
    .fields = fields,
    .field_count = TN_FIELD_COUNT(fields),
    .params_size = sizeof(tenon_softmax_params),
    .defaults = default_softmax,
    .run = run_forward,
    .plan = plan_forward,
    .reference = forward_reference,
    .examples = forward_examples,
};

const tn_operation tn_operation_softmax_backward = {
    .name = "tenon_softmax_backward",
    .family = &tn_softmax_backward_family,
    .operands = {{.name = "y"}, {.name = "dy"}, {.name = "dx"}},
    .operand_count = 3,
    .output_count = 1,
    .fields = fields,
    .field_count = TN_FIELD_COUNT(fields),
    .params_size = sizeof(tenon_softmax_params),
    .defaults = default_softmax,
    .run = run_backward,
    .plan = plan_backward,
    .reference = backward_reference,
    .examples = backward_examples,
};
