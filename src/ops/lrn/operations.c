/* Descriptions (dispatch/operation.h) of tenon_lrn_forward and tenon_lrn_backward. */
#include "dispatch/operation.h"
#include "ops/common/output_shape.h"
#include "ops/lrn/internal.h"
#include "ops/registry.h"

static const tn_field fields[] = {TN_FIELD("size", TN_FIELD_I64, tenon_lrn_params, size),
                                  TN_FIELD("alpha", TN_FIELD_F64, tenon_lrn_params, alpha),
                                  TN_FIELD_FIXED("beta", TN_FIELD_F64, tenon_lrn_params, beta),
                                  TN_FIELD("k", TN_FIELD_F64, tenon_lrn_params, k)};

static const tenon_lrn_params lrn_defaults = TENON_LRN_PARAMS_INIT;

TENON_API void tenon_lrn_params_default(tenon_lrn_params *params, uint32_t size)
{
    tn_params_give(params, size, &lrn_defaults, sizeof lrn_defaults);
}

TENON_API tenon_status tenon_lrn_forward(tenon_stream *stream, const tenon_lrn_params *params,
                                         const tenon_tensor *x, const tenon_tensor *y,
                                         const tenon_sync *sync)
{
    return TN_RUN(tn_operation_lrn, x, y);
}

TENON_API tenon_status tenon_lrn_forward_plan(tenon_context *context,
                                              const tenon_lrn_params *params, const tenon_tensor *x,
                                              const tenon_tensor *y, tenon_plan **plan)
{
    return TN_PLAN(tn_operation_lrn, x, y);
}

TENON_API tenon_status tenon_lrn_backward(tenon_stream *stream, const tenon_lrn_params *params,
                                          const tenon_tensor *x, const tenon_tensor *dy,
                                          const tenon_tensor *dx, const tenon_sync *sync)
{
    return TN_RUN(tn_operation_lrn_backward, x, dy, dx);
}

TENON_API tenon_status tenon_lrn_backward_plan(tenon_context *context,
                                               const tenon_lrn_params *params,
                                               const tenon_tensor *x, const tenon_tensor *dy,
                                               const tenon_tensor *dx, tenon_plan **plan)
{
    return TN_PLAN(tn_operation_lrn_backward, x, dy, dx);
}

static const char *const examples[] = {
    "lrn x=T:2x7x3x5 y=T:2x7x3x5",
    "lrn x=T:2x19x17x5/1615,1,95,19 y=T:2x19x17x5/1615,1,95,19 size=4 beta=0.5 k=2",
    "lrn x=T:3x33/40,1+1 y=T:3x33 size=3 beta=0.6 alpha=0.5",
    NULL,
};

const tn_operation tn_operation_lrn = {
    TN_NAMES("tenon_lrn_forward"),
    .family = &tn_lrn_family,
    .operands = {{.name = "x"}, {.name = "y", .role = TN_OUTPUT, .shape = tn_shape_of_first}},
    .operand_count = LRN_OPERANDS,
    TN_FIELDS(fields),
    TN_PARAMS(lrn_defaults, TENON_LRN_PARAMS_INIT),
    TN_PROBLEM(lrn_problem),
    .prepare = tn_lrn_prepare,
    .reference = tn_lrn_reference,
    .examples = examples,
};

static const char *const backward_examples[] = {
    "lrn_backward x=T:2x7x3x5 dy=T:2x7x3x5 dx=T:2x7x3x5",
    "lrn_backward x=T:2x19x17x5/1615,1,95,19 dy=T:2x19x17x5/1615,1,95,19 "
    "dx=T:2x19x17x5/1615,1,95,19 size=4 beta=0.5 k=2",
    "lrn_backward x=T:3x33/40,1+1 dy=T:3x33 dx=T:3x33 size=3 beta=0.6 alpha=0.5",
    NULL,
};

const tn_operation tn_operation_lrn_backward = {
    TN_NAMES("tenon_lrn_backward"),
    .family = &tn_lrn_backward_family,
    .operands = {{.name = "x"},
                 {.name = "dy"},
                 {.name = "dx", .role = TN_OUTPUT, .shape = tn_shape_of_first}},
    .operand_count = LRN_BACKWARD_OPERANDS,
    TN_FIELDS(fields),
    TN_PARAMS(lrn_defaults, TENON_LRN_PARAMS_INIT),
    TN_PROBLEM(lrn_problem),
    .prepare = tn_lrn_backward_prepare,
    .reference = tn_lrn_backward_reference,
    .examples = backward_examples,
};
