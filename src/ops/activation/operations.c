/* What tests and tools know of the operations of this family: see dispatch/operation.h. */
#include "ops/activation/internal.h"
#include "check/case.h"
#include "dispatch/operation.h"
#include "ops/registry.h"

static const tn_field fields[] = {TN_FLAGS_FIELD(tenon_activation_params),
                                  TN_ACTIVATION_FIELDS(tenon_activation_params, activation)};

TN_OPERATION_DEFAULTS(activation, tenon_activation_params)
TN_OPERATION_CALLS(forward, tenon_activation_forward, v[0], v[1])
TN_OPERATION_CALLS(backward, tenon_activation_backward, v[0], v[1], v[2])

static bool forward_reference(const void *params, const tenon_tensor *const *v,
                              tn_bounded *expected)
{
    return tn_activation_forward_reference(params, v[0], v[1], expected);
}

static bool backward_reference(const void *params, const tenon_tensor *const *v,
                               tn_bounded *expected)
{
    return tn_activation_backward_reference(params, v[0], v[1], v[2], expected);
}

/* Where the functions fall off, an error of exp() shows that is none around zero. */
static void settle_x(const void *params, const tenon_tensor *const *v, uint64_t *seed)
{
    (void)params;
    tn_case_tails(v[0], seed);
}

static const char *const forward_examples[] = {
    "activation x=T:4x5 y=T:4x5 activation=relu",
    "activation x=T:33000+3 y=T:33000+1 activation=gelu",
    "activation x=T:37x229/1,40 y=T:37x229/240,1 activation=tanh",
    "activation x=T:3x5x7/80,11,1 y=@x activation=leaky_relu activation.alpha=0.1",
    "activation x=T:3x1x7/7,0,1 y=T:3x1x7 activation=mish",
    "activation x=T:0x5 y=T:0x5",
    NULL,
};

static const char *const backward_examples[] = {
    "activation_backward x=T:4x5 dy=T:4x5 dx=T:4x5 activation=relu",
    "activation_backward x=T:33000+3 dy=T:33000+1 dx=T:33000 activation=gelu_tanh",
    "activation_backward x=T:37x229/1,40 dy=T:37x229 dx=T:37x229/240,1 activation=silu",
    "activation_backward x=T:3x5x7 dy=T:3x5x7 dx=@dy activation=elu activation.alpha=0.5",
    NULL,
};

const tn_operation tn_operation_activation = {
    .name = "tenon_activation_forward",
    .family = &tn_activation_family,
    .operands = {{.name = "x"}, {.name = "y"}},
    .operand_count = 2,
    .output_count = 1,
    .fields = fields,
    .field_count = TN_FIELD_COUNT(fields),
    .params_size = sizeof(tenon_activation_params),
    .defaults = default_activation,
    .run = run_forward,
    .plan = plan_forward,
    .reference = forward_reference,
    .settle = settle_x,
    .examples = forward_examples,
};

const tn_operation tn_operation_activation_backward = {
    .name = "tenon_activation_backward",
    .family = &tn_activation_backward_family,
    .operands = {{.name = "x"}, {.name = "dy"}, {.name = "dx"}},
    .operand_count = 3,
    .output_count = 1,
    .fields = fields,
    .field_count = TN_FIELD_COUNT(fields),
    .params_size = sizeof(tenon_activation_params),
    .defaults = default_activation,
    .run = run_backward,
    .plan = plan_backward,
    .reference = backward_reference,
    .settle = settle_x,
    .examples = backward_examples,
};
