/* What tests and tools know of the operations of this family: see ops/operation.h. */
#include "ops/operation.h"
#include "ops/pad/internal.h"

static const char *const modes[] = {"constant", "edge", "reflect", NULL};

static const tn_field fields[] = {
    TN_FLAGS_FIELD(tenon_pad_params),
    TN_FIELD_WORDS("mode", TN_FIELD_U32, tenon_pad_params, mode, modes),
    TN_FIELD("value", TN_FIELD_F64, tenon_pad_params, value),
    TN_FIELD_ARRAY("begin", TN_FIELD_I64, tenon_pad_params, begin),
    TN_FIELD_ARRAY("end", TN_FIELD_I64, tenon_pad_params, end)};

TN_OPERATION_DEFAULTS(pad, tenon_pad_params)
TN_OPERATION_CALLS(forward, tenon_pad_forward, v[0], v[1])

static bool reference(const void *params, const tenon_tensor *const *v, tn_bounded *expected)
{
    return tn_pad_reference(params, v[0], v[1], expected);
}

static const char *const examples[] = {
    "pad x=T:4x5 y=T:5x7 begin=1 end=0,2",
    "pad x=T:3x37x41+2 y=T:3x40x700 begin=0,1,300 end=0,2,359 value=-1.5",
    "pad x=T:7x19/1,9 y=T:20x30 begin=6,5 end=7,6 mode=edge",
    "pad x=T:9x70 y=T:20x130 begin=5,40 end=6,20 mode=reflect",
    "pad x=u8:9x70 y=u8:10x71 begin=1 end=0,1 value=7",
    "pad x=i32:9x70 y=i32:10x71 begin=1 end=0,1 value=7",
    NULL,
};

const tn_operation tn_operation_pad = {
    .name = "tenon_pad_forward",
    .family = &tn_pad_family,
    .operands = {{.name = "x"}, {.name = "y"}},
    .operand_count = 2,
    .output_count = 1,
    .fields = fields,
    .field_count = TN_FIELD_COUNT(fields),
    .params_size = sizeof(tenon_pad_params),
    .defaults = default_pad,
    .run = run_forward,
    .plan = plan_forward,
    .reference = reference,
    .examples = examples,
    .converts = true,
};
