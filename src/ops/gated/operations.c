/* Descriptions (dispatch/operation.h) of tenon_gated_forward and tenon_gated_backward. */
#include "check/case.h"
#include "ops/common/output_shape.h"
#include "ops/gated/internal.h"
#include "dispatch/operation.h"
#include "ops/registry.h"

static const tn_field fields[] = {TN_FLAGS_FIELD(tenon_gated_params),
                                  TN_ACTIVATION_FIELDS(tenon_gated_params, activation)};

static const tenon_gated_params gated_defaults = TENON_GATED_PARAMS_INIT;

TENON_API void tenon_gated_params_default(tenon_gated_params *params, uint32_t size)
{
    tn_params_give(params, size, &gated_defaults, sizeof gated_defaults);
}

TENON_API tenon_status tenon_gated_forward(tenon_stream *stream, const tenon_gated_params *params,
                                           const tenon_tensor *a, const tenon_tensor *b,
                                           const tenon_tensor *y, const tenon_sync *sync)
{
    return TN_RUN(tn_operation_gated, a, b, y);
}

TENON_API tenon_status tenon_gated_forward_plan(tenon_context *context,
                                                const tenon_gated_params *params,
                                                const tenon_tensor *a, const tenon_tensor *b,
                                                const tenon_tensor *y, tenon_plan **plan)
{
    return TN_PLAN(tn_operation_gated, a, b, y);
}

TENON_API tenon_status tenon_gated_backward(tenon_stream *stream, const tenon_gated_params *params,
                                            const tenon_tensor *a, const tenon_tensor *b,
                                            const tenon_tensor *dy, const tenon_tensor *da,
                                            const tenon_tensor *db, const tenon_sync *sync)
{
    return TN_RUN(tn_operation_gated_backward, a, b, dy, da, db);
}

TENON_API tenon_status tenon_gated_backward_plan(tenon_context *context,
                                                 const tenon_gated_params *params,
                                                 const tenon_tensor *a, const tenon_tensor *b,
                                                 const tenon_tensor *dy, const tenon_tensor *da,
                                                 const tenon_tensor *db, tenon_plan **plan)
{
    return TN_PLAN(tn_operation_gated_backward, a, b, dy, da, db);
}

/* Some values of b are in the activation's tails. */
static void fill_valid_gate(const void *params, const tenon_tensor *const *v, uint64_t *seed)
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
    TN_NAMES("tenon_gated_forward"),
    .family = &tn_gated_family,
    .operands = {{.name = "a", .role = TN_INPUT_OR_SAME},
                 {.name = "b", .role = TN_INPUT_OR_SAME},
                 {.name = "y", .role = TN_OUTPUT, .shape = tn_shape_of_first}},
    .operand_count = GATED_OPERANDS,
    TN_FIELDS(fields),
    TN_PARAMS(gated_defaults, TENON_GATED_PARAMS_INIT),
    TN_PROBLEM(tn_pointwise_problem),
    .prepare = tn_gated_prepare,
    .reference = tn_gated_reference,
    .fill_valid = fill_valid_gate,
    .examples = forward_examples,
};

const tn_operation tn_operation_gated_backward = {
    TN_NAMES("tenon_gated_backward"),
    .family = &tn_gated_backward_family,
    .operands = {{.name = "a", .role = TN_INPUT_OR_SAME},
                 {.name = "b", .role = TN_INPUT_OR_SAME},
                 {.name = "dy", .role = TN_INPUT_OR_SAME},
                 {.name = "da", .role = TN_OUTPUT, .shape = tn_shape_of_first},
                 {.name = "db", .role = TN_OUTPUT, .shape = tn_shape_of_second}},
    .operand_count = GATED_BACKWARD_OPERANDS,
    TN_FIELDS(fields),
    TN_PARAMS(gated_defaults, TENON_GATED_PARAMS_INIT),
    TN_PROBLEM(tn_pointwise_problem),
    .prepare = tn_gated_prepare,
    .reference = tn_gated_backward_reference,
    .fill_valid = fill_valid_gate,
    .examples = backward_examples,
};
