/* What tests and tools know of the operations of this family: see dispatch/operation.h. */
#include "ops/dropout/internal.h"
#include "dispatch/operation.h"
#include "ops/registry.h"

static const tn_field fields[] = {
    TN_FLAGS_FIELD(tenon_dropout_params),
    TN_FIELD("seed", TN_FIELD_U64, tenon_dropout_params, seed),
    TN_FIELD("sequence", TN_FIELD_U64, tenon_dropout_params, sequence),
    TN_FIELD("probability", TN_FIELD_F64, tenon_dropout_params, probability)};

TN_OPERATION_DEFAULTS(dropout, tenon_dropout_params)
TN_OPERATION_CALLS(dropout, tenon_dropout, v[0], v[1])

static const char *const examples[] = {
    "dropout x=T:4x5 y=T:4x5 probability=0.5",
    "dropout x=T:33003+1 y=T:33003 probability=0.3 seed=81985529216486895 sequence=5",
    "dropout x=T:37x229/1,40 y=@x probability=0.1",
    NULL,
};

const tn_operation tn_operation_dropout = {
    .name = "tenon_dropout",
    .family = &tn_dropout_family,
    .operands = {{.name = "x"}, {.name = "y"}},
    .operand_count = 2,
    .output_count = 1,
    .fields = fields,
    .field_count = TN_FIELD_COUNT(fields),
    .params_size = sizeof(tenon_dropout_params),
    .defaults = default_dropout,
    .run = run_dropout,
    .plan = plan_dropout,
    .reference = tn_dropout_reference,
    .examples = examples,
};
