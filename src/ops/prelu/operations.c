/* Descriptions (dispatch/operation.h) of tenon_prelu_forward and tenon_prelu_backward. */
#include "dispatch/operation.h"
#include "ops/common/output_shape.h"
#include "ops/prelu/internal.h"
#include "ops/registry.h"

static const tn_field fields[] = {TN_FLAGS_FIELD(tenon_prelu_params)};

static const tenon_prelu_params prelu_defaults = TENON_PRELU_PARAMS_INIT;

TENON_API void tenon_prelu_params_default(tenon_prelu_params *params, uint32_t size)
{
    tn_params_give(params, size, &prelu_defaults, sizeof prelu_defaults);
}

TENON_API tenon_status tenon_prelu_forward(tenon_stream *stream, const tenon_prelu_params *params,
                                           const tenon_tensor *x, const tenon_tensor *slope,
                                           const tenon_tensor *y, const tenon_sync *sync)
{
    return TN_RUN(tn_operation_prelu, x, slope, y);
}

TENON_API tenon_status tenon_prelu_forward_plan(tenon_context *context,
                                                const tenon_prelu_params *params,
                                                const tenon_tensor *x, const tenon_tensor *slope,
                                                const tenon_tensor *y, tenon_plan **plan)
{
    return TN_PLAN(tn_operation_prelu, x, slope, y);
}

TENON_API tenon_status tenon_prelu_backward(tenon_stream *stream, const tenon_prelu_params *params,
                                            const tenon_tensor *x, const tenon_tensor *slope,
                                            const tenon_tensor *dy, const tenon_tensor *dx,
                                            const tenon_tensor *dslope, const tenon_sync *sync)
{
    return TN_RUN(tn_operation_prelu_backward, x, slope, dy, dx, dslope);
}

TENON_API tenon_status tenon_prelu_backward_plan(tenon_context *context,
                                                 const tenon_prelu_params *params,
                                                 const tenon_tensor *x, const tenon_tensor *slope,
                                                 const tenon_tensor *dy, const tenon_tensor *dx,
                                                 const tenon_tensor *dslope, tenon_plan **plan)
{
    return TN_PLAN(tn_operation_prelu_backward, x, slope, dy, dx, dslope);
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
    TN_NAMES("tenon_prelu_forward"),
    .family = &tn_prelu_family,
    .operands = {{.name = "x", .role = TN_INPUT_OR_SAME},
                 {.name = "slope", .role = TN_INPUT_OR_SAME},
                 {.name = "y", .role = TN_OUTPUT, .shape = tn_shape_of_first}},
    .operand_count = PRELU_OPERANDS,
    TN_FIELDS(fields),
    TN_PARAMS(prelu_defaults, TENON_PRELU_PARAMS_INIT),
    TN_PROBLEM(tn_pointwise_problem),
    .prepare = tn_prelu_prepare,
    .reference = tn_prelu_reference,
    .examples = forward_examples,
};

const tn_operation tn_operation_prelu_backward = {
    TN_NAMES("tenon_prelu_backward"),
    .family = &tn_prelu_backward_family,
    .operands = {{.name = "x", .role = TN_INPUT_OR_SAME},
                 {.name = "slope", .role = TN_INPUT_OR_SAME},
                 {.name = "dy", .role = TN_INPUT_OR_SAME},
                 {.name = "dx", .role = TN_OUTPUT, .shape = tn_shape_of_first},
                 {.name = "dslope", .role = TN_OUTPUT, .shape = tn_shape_of_second}},
    .operand_count = PRELU_BACKWARD_OPERANDS,
    TN_FIELDS(fields),
    TN_PARAMS(prelu_defaults, TENON_PRELU_PARAMS_INIT),
    TN_PROBLEM(prelu_backward_problem),
    .prepare = tn_prelu_backward_prepare,
    .reference = tn_prelu_backward_reference,
    .examples = backward_examples,
};
