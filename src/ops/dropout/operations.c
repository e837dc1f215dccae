/* Description (dispatch/operation.h) of tenon_dropout. */
#include "dispatch/operation.h"
#include "ops/common/output_shape.h"
#include "ops/dropout/internal.h"
#include "ops/registry.h"

static const tn_field fields[] = {
    TN_FLAGS_FIELD(tenon_dropout_params),
    TN_FIELD("seed", TN_FIELD_U64, tenon_dropout_params, seed),
    TN_FIELD("sequence", TN_FIELD_U64, tenon_dropout_params, sequence),
    TN_FIELD("probability", TN_FIELD_F64, tenon_dropout_params, probability)};

static const tenon_dropout_params dropout_defaults = TENON_DROPOUT_PARAMS_INIT;

TENON_API void tenon_dropout_params_default(tenon_dropout_params *params, uint32_t size)
{
    tn_params_give(params, size, &dropout_defaults, sizeof dropout_defaults);
}

TENON_API tenon_status tenon_dropout(tenon_stream *stream, const tenon_dropout_params *params,
                                     const tenon_tensor *x, const tenon_tensor *y,
                                     const tenon_sync *sync)
{
    return TN_RUN(tn_operation_dropout, x, y);
}

TENON_API tenon_status tenon_dropout_plan(tenon_context *context,
                                          const tenon_dropout_params *params, const tenon_tensor *x,
                                          const tenon_tensor *y, tenon_plan **plan)
{
    return TN_PLAN(tn_operation_dropout, x, y);
}

static const char *const examples[] = {
    "dropout x=T:4x5 y=T:4x5 probability=0.5",
    "dropout x=T:33003+1 y=T:33003 probability=0.3 seed=81985529216486895 sequence=5",
    "dropout x=T:37x229/1,40 y=@x probability=0.1",
    NULL,
};

const tn_operation tn_operation_dropout = {
    TN_NAMES("tenon_dropout"),
    .family = &tn_dropout_family,
    .operands = {{.name = "x", .role = TN_INPUT_OR_SAME},
                 {.name = "y", .role = TN_OUTPUT, .shape = tn_shape_of_first}},
    .operand_count = DROPOUT_OPERANDS,
    TN_FIELDS(fields),
    TN_PARAMS(dropout_defaults, TENON_DROPOUT_PARAMS_INIT),
    TN_PROBLEM(tn_lines_problem),
    .prepare = tn_dropout_prepare,
    .reference = tn_dropout_reference,
    .examples = examples,
};
