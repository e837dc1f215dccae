/* tenon_dropout: its description, which dispatch/operation.h explains. */
#include "dispatch/operation.h"
#include "ops/dropout/internal.h"
#include "ops/registry.h"

static const tn_field fields[] = {
    TN_FLAGS_FIELD(tenon_dropout_params),
    TN_FIELD("seed", TN_FIELD_U64, tenon_dropout_params, seed),
    TN_FIELD("sequence", TN_FIELD_U64, tenon_dropout_params, sequence),
    TN_FIELD("probability", TN_FIELD_F64, tenon_dropout_params, probability)};

TN_DEFAULTS(dropout, tenon_dropout_params, TENON_DROPOUT_PARAMS_INIT)
TN_ENTRIES(tenon_dropout, tn_operation_dropout, tenon_dropout_params, x, y)

static const char *const examples[] = {
    "dropout x=T:4x5 y=T:4x5 probability=0.5",
    "dropout x=T:33003+1 y=T:33003 probability=0.3 seed=81985529216486895 sequence=5",
    "dropout x=T:37x229/1,40 y=@x probability=0.1",
    NULL,
};

const tn_operation tn_operation_dropout = {
    TN_CALLS(tenon_dropout),
    .family = &tn_dropout_family,
    .operands = {{.name = "x", .role = TN_INPUT_OR_SAME}, {.name = "y", .role = TN_OUTPUT}},
    .operand_count = DROPOUT_OPERANDS,
    .output_count = 1,
    TN_FIELDS(fields),
    TN_PARAMS(dropout),
    TN_PROBLEM(tn_lines_problem),
    .prepare = tn_dropout_prepare,
    .reference = tn_dropout_reference,
    .examples = examples,
};
