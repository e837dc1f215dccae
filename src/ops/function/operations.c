/* Description (dispatch/operation.h) of tenon_function. */
#include "dispatch/operation.h"
#include "ops/common/output_shape.h"
#include "ops/function/internal.h"
#include "ops/registry.h"

static const tn_field fields[] = {
    TN_FLAGS_FIELD(tenon_function_params),
    TN_FIELD_WORDS("kind", TN_FIELD_U32, tenon_function_params, kind, tn_function_words)};

static const tenon_function_params function_defaults = TENON_FUNCTION_PARAMS_INIT;

TENON_API void tenon_function_params_default(tenon_function_params *params, uint32_t size)
{
    tn_params_give(params, size, &function_defaults, sizeof function_defaults);
}

TENON_API tenon_status tenon_function(tenon_stream *stream, const tenon_function_params *params,
                                      const tenon_tensor *x, const tenon_tensor *y,
                                      const tenon_sync *sync)
{
    return TN_RUN(tn_operation_function, x, y);
}

TENON_API tenon_status tenon_function_plan(tenon_context *context,
                                           const tenon_function_params *params,
                                           const tenon_tensor *x, const tenon_tensor *y,
                                           tenon_plan **plan)
{
    return TN_PLAN(tn_operation_function, x, y);
}

static const char *const examples[] = {
    "function x=T:4x5 y=T:4x5 kind=sqrt",
    "function x=T:33003+1 y=T:33003 kind=log",
    "function x=T:37x229/1,40 y=T:37x229/240,1 kind=sin",
    "function x=T:3x5x70/400,75,1 y=@x kind=round",
    "function x=i64:37x229/1,40 y=i64:37x229 kind=abs",
    NULL,
};

const tn_operation tn_operation_function = {
    TN_NAMES("tenon_function"),
    .family = &tn_function_family,
    .operands = {{.name = "x", .role = TN_INPUT_OR_SAME},
                 {.name = "y", .role = TN_OUTPUT, .shape = tn_shape_of_first}},
    .operand_count = FUNCTION_OPERANDS,
    TN_FIELDS(fields),
    TN_PARAMS(function_defaults, TENON_FUNCTION_PARAMS_INIT),
    TN_PROBLEM(tn_pointwise_problem),
    .prepare = tn_function_prepare,
    .reference = tn_function_forward_reference,
    .fill_valid = tn_function_fill,
    .examples = examples,
};
