/* Descriptions (dispatch/operation.h) of tenon_compact and tenon_masked_put. */
#include "dispatch/operation.h"
#include "ops/common/output_shape.h"
#include "ops/compact/internal.h"
#include "ops/registry.h"

static const tn_field fields[] = {TN_FLAGS_FIELD(tenon_compact_params)};

static const tn_field put_fields[] = {TN_FLAGS_FIELD(tenon_masked_put_params)};

static const tenon_compact_params compact_defaults = TENON_COMPACT_PARAMS_INIT;

TENON_API void tenon_compact_params_default(tenon_compact_params *params, uint32_t size)
{
    tn_params_give(params, size, &compact_defaults, sizeof compact_defaults);
}

TENON_API tenon_status tenon_compact(tenon_stream *stream, const tenon_compact_params *params,
                                     const tenon_tensor *mask, const tenon_tensor *x,
                                     const tenon_tensor *y, const tenon_tensor *indices,
                                     const tenon_tensor *count, const tenon_sync *sync)
{
    return TN_RUN(tn_operation_compact, mask, x, y, indices, count);
}

TENON_API tenon_status tenon_compact_plan(tenon_context *context,
                                          const tenon_compact_params *params,
                                          const tenon_tensor *mask, const tenon_tensor *x,
                                          const tenon_tensor *y, const tenon_tensor *indices,
                                          const tenon_tensor *count, tenon_plan **plan)
{
    return TN_PLAN(tn_operation_compact, mask, x, y, indices, count);
}

static const tenon_masked_put_params masked_put_defaults = TENON_MASKED_PUT_PARAMS_INIT;

TENON_API void tenon_masked_put_params_default(tenon_masked_put_params *params, uint32_t size)
{
    tn_params_give(params, size, &masked_put_defaults, sizeof masked_put_defaults);
}

TENON_API tenon_status tenon_masked_put(tenon_stream *stream, const tenon_masked_put_params *params,
                                        const tenon_tensor *mask, const tenon_tensor *source,
                                        const tenon_tensor *y, const tenon_sync *sync)
{
    return TN_RUN(tn_operation_masked_put, mask, source, y);
}

TENON_API tenon_status tenon_masked_put_plan(tenon_context *context,
                                             const tenon_masked_put_params *params,
                                             const tenon_tensor *mask, const tenon_tensor *source,
                                             const tenon_tensor *y, tenon_plan **plan)
{
    return TN_PLAN(tn_operation_masked_put, mask, source, y);
}

static const char *const examples[] = {
    "compact mask=T:3x7 x=T:3x7 y=T:20 indices=i32:20 count=i32:",
    "compact mask=T:300x70 indices=i32:9000x2 count=i32:1",
    "compact mask=u8:70003 x=T:70003 y=T:70003 count=i32:",
    NULL,
};

const tn_operation tn_operation_compact = {
    TN_NAMES("tenon_compact"),
    .family = &tn_compact_family,
    .operands = {{.name = "mask"},
                 {.name = "x", .optional = true},
                 {.name = "y", .optional = true, .role = TN_OPTIONAL_OUTPUT},
                 {.name = "indices", .optional = true, .role = TN_OPTIONAL_OUTPUT},
                 {.name = "count", .role = TN_OUTPUT, .shape = tn_shape_one_i32}},
    .operand_count = COMPACT_OPERANDS,
    TN_FIELDS(fields),
    TN_PARAMS(compact_defaults, TENON_COMPACT_PARAMS_INIT),
    TN_PROBLEM(compact_problem),
    .prepare = tn_compact_prepare,
    .reference = tn_compact_reference,
    .fill_valid = tn_compact_fill_valid,
    .is_measurable = true,
    .examples = examples,
    .converts = true,
};

static const char *const put_examples[] = {
    "masked_put mask=T:3x7 source=T:20 y=T:3x7",
    "masked_put mask=u8:300x70 source=T:9000 y=T:300x70",
    "masked_put mask=bool:70003 source=i64:70003 y=i64:70003",
    NULL,
};

const tn_operation tn_operation_masked_put = {
    TN_NAMES("tenon_masked_put"),
    .family = &tn_masked_put_family,
    .operands = {{.name = "mask"},
                 {.name = "source"},
                 {.name = "y", .role = TN_OUTPUT, .read = true}},
    .operand_count = PUT_OPERANDS,
    TN_FIELDS(put_fields),
    TN_PARAMS(masked_put_defaults, TENON_MASKED_PUT_PARAMS_INIT),
    TN_PROBLEM(compact_problem),
    .prepare = tn_masked_put_prepare,
    .reference = tn_masked_put_reference,
    .fill_valid = tn_compact_fill_valid,
    .is_measurable = true,
    .examples = put_examples,
    .converts = true,
};
