/* Descriptions (dispatch/operation.h) of tenon_activation_forward and tenon_activation_backward. */
#include "ops/activation/internal.h"
#include "check/case.h"
#include "dispatch/operation.h"
#include "ops/common/output_shape.h"
#include "ops/registry.h"

static const tn_field fields[] = {TN_FLAGS_FIELD(tenon_activation_params),
                                  TN_ACTIVATION_FIELDS(tenon_activation_params, activation)};

static const tenon_activation_params activation_defaults = TENON_ACTIVATION_PARAMS_INIT;

TENON_API void tenon_activation_params_default(tenon_activation_params *params, uint32_t size)
{
    tn_params_give(params, size, &activation_defaults, sizeof activation_defaults);
}

TENON_API tenon_status tenon_activation_forward(tenon_stream *stream,
                                                const tenon_activation_params *params,
                                                const tenon_tensor *x, const tenon_tensor *y,
                                                const tenon_sync *sync)
{
    return TN_RUN(tn_operation_activation, x, y);
}

TENON_API tenon_status tenon_activation_forward_plan(tenon_context *context,
                                                     const tenon_activation_params *params,
                                                     const tenon_tensor *x, const tenon_tensor *y,
                                                     tenon_plan **plan)
{
    return TN_PLAN(tn_operation_activation, x, y);
}

TENON_API tenon_status tenon_activation_backward(tenon_stream *stream,
                                                 const tenon_activation_params *params,
                                                 const tenon_tensor *x, const tenon_tensor *dy,
                                                 const tenon_tensor *dx, const tenon_sync *sync)
{
    return TN_RUN(tn_operation_activation_backward, x, dy, dx);
}

TENON_API tenon_status tenon_activation_backward_plan(tenon_context *context,
                                                      const tenon_activation_params *params,
                                                      const tenon_tensor *x, const tenon_tensor *dy,
                                                      const tenon_tensor *dx, tenon_plan **plan)
{
    return TN_PLAN(tn_operation_activation_backward, x, dy, dx);
}

/* Includes values in the tails, where errors of exp() are visible that vanish around zero. */
static void fill_valid_x(const void *params, const tenon_tensor *const *v, uint64_t *seed)
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
    TN_NAMES("tenon_activation_forward"),
    .family = &tn_activation_family,
    .operands = {{.name = "x", .role = TN_INPUT_OR_SAME},
                 {.name = "y", .role = TN_OUTPUT, .shape = tn_shape_of_first}},
    .operand_count = ACTIVATION_OPERANDS,
    TN_FIELDS(fields),
    TN_PARAMS(activation_defaults, TENON_ACTIVATION_PARAMS_INIT),
    TN_PROBLEM(tn_pointwise_problem),
    .prepare = tn_activation_prepare,
    .reference = tn_activation_forward_reference,
    .fill_valid = fill_valid_x,
    .examples = forward_examples,
};

const tn_operation tn_operation_activation_backward = {
    TN_NAMES("tenon_activation_backward"),
    .family = &tn_activation_backward_family,
    .operands = {{.name = "x", .role = TN_INPUT_OR_SAME},
                 {.name = "dy", .role = TN_INPUT_OR_SAME},
                 {.name = "dx", .role = TN_OUTPUT, .shape = tn_shape_of_first}},
    .operand_count = ACTIVATION_VIEWS,
    TN_FIELDS(fields),
    TN_PARAMS(activation_defaults, TENON_ACTIVATION_PARAMS_INIT),
    TN_PROBLEM(tn_pointwise_problem),
    .prepare = tn_activation_prepare,
    .reference = tn_activation_backward_reference,
    .fill_valid = fill_valid_x,
    .examples = backward_examples,
};
