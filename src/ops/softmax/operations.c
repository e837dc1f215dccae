/* Descriptions (dispatch/operation.h) of tenon_softmax_forward and tenon_softmax_backward. */
#include "dispatch/operation.h"
#include "ops/common/output_shape.h"
#include "ops/softmax/internal.h"
#include "ops/registry.h"

static const tn_field fields[] = {TN_FLAGS_FIELD(tenon_softmax_params),
                                  TN_FIELD("axis", TN_FIELD_I32, tenon_softmax_params, axis)};

static const tenon_softmax_params softmax_defaults = TENON_SOFTMAX_PARAMS_INIT;

TENON_API void tenon_softmax_params_default(tenon_softmax_params *params, uint32_t size)
{
    tn_params_give(params, size, &softmax_defaults, sizeof softmax_defaults);
}

TENON_API tenon_status tenon_softmax_forward(tenon_stream *stream,
                                             const tenon_softmax_params *params,
                                             const tenon_tensor *x, const tenon_tensor *y,
                                             const tenon_sync *sync)
{
    return TN_RUN(tn_operation_softmax, x, y);
}

TENON_API tenon_status tenon_softmax_forward_plan(tenon_context *context,
                                                  const tenon_softmax_params *params,
                                                  const tenon_tensor *x, const tenon_tensor *y,
                                                  tenon_plan **plan)
{
    return TN_PLAN(tn_operation_softmax, x, y);
}

TENON_API tenon_status tenon_softmax_backward(tenon_stream *stream,
                                              const tenon_softmax_params *params,
                                              const tenon_tensor *y, const tenon_tensor *dy,
                                              const tenon_tensor *dx, const tenon_sync *sync)
{
    return TN_RUN(tn_operation_softmax_backward, y, dy, dx);
}

TENON_API tenon_status tenon_softmax_backward_plan(tenon_context *context,
                                                   const tenon_softmax_params *params,
                                                   const tenon_tensor *y, const tenon_tensor *dy,
                                                   const tenon_tensor *dx, tenon_plan **plan)
{
    return TN_PLAN(tn_operation_softmax_backward, y, dy, dx);
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
    TN_NAMES("tenon_softmax_forward"),
    .family = &tn_softmax_family,
    .operands = {{.name = "x", .role = TN_INPUT_OR_SAME},
                 {.name = "y", .role = TN_OUTPUT, .shape = tn_shape_of_first}},
    .operand_count = SOFTMAX_OPERANDS,
    TN_FIELDS(fields),
    TN_PARAMS(softmax_defaults, TENON_SOFTMAX_PARAMS_INIT),
    .flags = TENON_SOFTMAX_LOG,
    TN_PROBLEM(tn_rows_problem),
    .prepare = tn_softmax_prepare,
    .reference = tn_softmax_forward_reference,
    .examples = forward_examples,
};

const tn_operation tn_operation_softmax_backward = {
    TN_NAMES("tenon_softmax_backward"),
    .family = &tn_softmax_backward_family,
    .operands = {{.name = "y", .role = TN_INPUT_OR_SAME},
                 {.name = "dy", .role = TN_INPUT_OR_SAME},
                 {.name = "dx", .role = TN_OUTPUT, .shape = tn_shape_of_first}},
    .operand_count = SOFTMAX_BACKWARD_OPERANDS,
    TN_FIELDS(fields),
    TN_PARAMS(softmax_defaults, TENON_SOFTMAX_PARAMS_INIT),
    .flags = TENON_SOFTMAX_LOG,
    TN_PROBLEM(tn_rows_problem),
    .prepare = tn_softmax_prepare,
    .reference = tn_softmax_backward_reference,
    .examples = backward_examples,
};
