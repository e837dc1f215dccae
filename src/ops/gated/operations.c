/* What tests and tools know of the operations of this family: see dispatch/operation.h. */
#include "check/case.h"
#include "ops/gated/internal.h"
#include "dispatch/operation.h"
#include "ops/registry.h"

static const tn_field fields[] = {TN_FLAGS_FIELD(tenon_gated_params),
                                  TN_ACTIVATION_FIELDS(tenon_gated_params, activation)};

TN_OPERATION_DEFAULTS(gated, tenon_gated_params)
TN_OPERATION_CALLS(forward, tenon_gated_forward, v[0], v[1], v[2])
TN_OPERATION_CALLS(backward, tenon_gated_backward, v[0], v[1], v[2], v[3], v[4])

static bool forward_reference(const void *params, const tenon_tensor *const *v,
                              tn_bounded *expected)
{
    return tn_gated_forward_reference(params, v[0], v[1], expected);
}

static bool backward_reference(const void *params, const tenon_tensor *const *v,
                               tn_bounded *expected)
{
    return tn_gated_backward_reference(params, v[0], v[1], v[2], expected);
}

/* Activations have tails. */
static void settle_gate(const void *params, const tenon_tensor *const *v, uint64_t *seed)
{
    (void)params;
    tn_case_tails(v[1], seed);
}

static const char *const forward_examples[] = {
    "gated a=T:4x5 b=T:4x5 y=T:4x5",
    "gated a=T:37x450/901,1 b=T:37x450/901,1+450 y=T:37x450 activation=silu",
    "gated a=T:3x5x7/80,11,1 b=T:3x5x7 y=@a activation=gelu",
    NULL,
};

static const char *const backward_examples[] = {
    "gated_backward a=T:4x5 b=T:4x5 dy=T:4x5 da=T:4x5 db=T:4x5",
    "gated_backward a=T:37x450/901,1 b=T:37x450/901,1+450 dy=T:37x450 da=T:37x450 db=T:37x450 "
    "activation=gelu_tanh",
    "gated_backward a=T:3x5x7/80,11,1 b=T:3x5x7 dy=T:3x5x7 da=@a db=@b activation=relu",
    NULL,
};

const tn_operation tn_operation_gated = {
    .name = "tenon_gated_forward",
    .family = &tn_gated_family,
    .operands = {{.name = "a"}, {.name = "b"}, {.name = "y"}},
    .operand_count = 3,
    .output_count = 1,
    .fields = fields,
    .field_count = TN_FIELD_COUNT(fields),
    .params_size = sizeof(tenon_gated_params),
    .defaults = default_gated,
    .run = run_forward,
    .plan = plan_forward,
    .reference = forward_reference,
    .settle = settle_gate,
    .examples = forward_examples,
};

const tn_operation tn_operation_gated_backward = {
    .name = "tenon_gated_backward",
    .family = &tn_gated_backward_family,
    .operands = {{.name = "a"}, {.name = "b"}, {.name = "dy"}, {.name = "da"}, {.name = "db"}},
    .operand_count = 5,
    .output_count = 2,
    .fields = fields,
    .field_count = TN_FIELD_COUNT(fields),
    .params_size = sizeof(tenon_gated_params),
    .defaults = default_gated,
    .run = run_backward,
    .plan = plan_backward,
    .reference = backward_reference,
    .settle = settle_gate,
    .examples = backward_examples,
};
