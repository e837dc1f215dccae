/* Description (dispatch/operation.h) of tenon_pad_forward. */
#include "base/checked.h"
#include "dispatch/operation.h"
#include "ops/common/output_shape.h"
#include "ops/pad/internal.h"
#include "ops/registry.h"

static const char *const modes[] = {"constant", "edge", "reflect", NULL};

static const tn_field fields[] = {
    TN_FLAGS_FIELD(tenon_pad_params),
    TN_FIELD_WORDS("mode", TN_FIELD_U32, tenon_pad_params, mode, modes),
    TN_FIELD("value", TN_FIELD_F64, tenon_pad_params, value),
    TN_FIELD_ARRAY("begin", TN_FIELD_I64, tenon_pad_params, begin),
    TN_FIELD_ARRAY("end", TN_FIELD_I64, tenon_pad_params, end)};

static const tenon_pad_params pad_defaults = TENON_PAD_PARAMS_INIT;

TENON_API void tenon_pad_params_default(tenon_pad_params *params, uint32_t size)
{
    tn_params_give(params, size, &pad_defaults, sizeof pad_defaults);
}

TENON_API tenon_status tenon_pad_forward(tenon_stream *stream, const tenon_pad_params *params,
                                         const tenon_tensor *x, const tenon_tensor *y,
                                         const tenon_sync *sync)
{
    return TN_RUN(tn_operation_pad, x, y);
}

TENON_API tenon_status tenon_pad_forward_plan(tenon_context *context,
                                              const tenon_pad_params *params, const tenon_tensor *x,
                                              const tenon_tensor *y, tenon_plan **plan)
{
    return TN_PLAN(tn_operation_pad, x, y);
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

static bool pad_shape(const void *given, const tenon_tensor *const *views, tenon_tensor *output)
{
    const tenon_pad_params *params = given;
    bool fits = tn_shape_of_first(params, views, output);
    for (uint32_t d = 0; fits && d < output->rank; d++)
        fits = tn_add_i64(output->shape[d], params->begin[d], &output->shape[d]) &&
               tn_add_i64(output->shape[d], params->end[d], &output->shape[d]);
    return fits;
}

const tn_operation tn_operation_pad = {
    TN_NAMES("tenon_pad_forward"),
    .family = &tn_pad_family,
    .operands = {{.name = "x"}, {.name = "y", .role = TN_OUTPUT, .shape = pad_shape}},
    .operand_count = PAD_OPERANDS,
    TN_FIELDS(fields),
    TN_PARAMS(pad_defaults, TENON_PAD_PARAMS_INIT),
    TN_PROBLEM(pad_problem),
    .prepare = tn_pad_prepare,
    .reference = tn_pad_reference,
    .examples = examples,
    .converts = true,
};
