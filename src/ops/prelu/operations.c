/* What tests and tools know of the operations of this family: see dispatch/operation.h. */
#include "dispatch/operation.h"
#include "ops/prelu/internal.h"
#include "ops/registry.h"

static const tn_field fields[] = {TN_FLAGS_FIELD(tenon_prelu_params)};

TN_OPERATION_DEFAULTS(prelu, tenon_prelu_params)
TN_OPERATION_CALLS(forward, tenon_prelu_forward, v[0], v[1], v[2])
TN_OPERATION_CALLS(backward, tenon_prelu_backward, v[0], v[1], v[2], v[3], v[4])

static bool forward_reference(const void *params, const tenon_tensor *const *v,
                              tn_bounded *expected)
{
    (void)params;
    return tn_prelu_forward_reference(v[0], v[1], expected);
}

static bool backward_reference(const void *params, const tenon_tensor *const *v,
                               tn_bounded *expected)
{
    (void)params;
    return tn_prelu_backward_reference(v[0], v[1], v[2], expected);
}

static const char *const forward_examples[] = {
    "prelu x=T:4x2x5 slope=T:2x5 y=T:4x2x5",
    "prelu x=T:3x5x8200+3 slope=T:5x1 y=T:3x5x8200",
    "prelu x=T:37x229/1,40 slope=T:229 y=@x",
    "prelu x=T:11x15x19/700,40,2 slope=T: y=T:11x15x19",
    NULL,
};

static const char *const backward_examples[] = {
    "prelu_backward x=T:4x2x5 slope=T:2x5 dy=T:4x2x5 dx=T:4x2x5 dslope=T:2x5",
    "prelu_backward x=T:3x5x16387 slope=T:1x5x1 dy=T:3x5x16387+3 dx=T:3x5x16387 dslope=T:1x5x1",
    "prelu_backward x=T:1031x67 slope=T:1x67 dy=T:1031x67 dx=T:1031x67 dslope=T:1x67",
    "prelu_backward x=T:5x3x7x9/300,90,12,1 slope=T:3x1x9 dy=T:5x3x7x9 dx=@dy dslope=T:3x1x9",
    NULL,
};

const tn_operation tn_operation_prelu = {
    .name = "tenon_prelu_forward",
    .family = &tn_prelu_family,
    .operands = {{.name = "x"}, {.name = "slope"}, {.name = "y"}},
    .operand_count = 3,
    .output_count = 1,
    .fields = fields,
    .field_count = TN_FIELD_COUNT(fields),
    .params_size = sizeof(tenon_prelu_params),
    .defaults = default_prelu,
    .run = run_forward,
    .plan = plan_forward,
    .reference = forward_reference,
    .examples = forward_examples,
};

const tn_operation tn_operation_prelu_backward = {
    .name = "tenon_prelu_backward",
    .family = &tn_prelu_backward_family,
    .operands =
        {{.name = "x"}, {.name = "slope"}, {.name = "dy"}, {.name = "dx"}, {.name = "dslope"}},
    .operand_count = 5,
    .output_count = 2,
    .fields = fields,
    .field_count = TN_FIELD_COUNT(fields),
    .params_size = sizeof(tenon_prelu_params),
    .defaults = default_prelu,
    .run = run_backward,
    .plan = plan_backward,
    .reference = backward_reference,
    .examples = backward_examples,
};
