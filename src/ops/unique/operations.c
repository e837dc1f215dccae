/* Description (dispatch/operation.h) of tenon_unique. */
#include "dispatch/operation.h"
#include "ops/common/output_shape.h"
#include "ops/registry.h"
#include "ops/unique/internal.h"

static const tn_field fields[] = {TN_FLAGS_FIELD(tenon_unique_params)};

static const tenon_unique_params unique_defaults = TENON_UNIQUE_PARAMS_INIT;

TENON_API void tenon_unique_params_default(tenon_unique_params *params, uint32_t size)
{
    tn_params_give(params, size, &unique_defaults, sizeof unique_defaults);
}

TENON_API tenon_status tenon_unique(tenon_stream *stream, const tenon_unique_params *params,
                                    const tenon_tensor *x, const tenon_tensor *y,
                                    const tenon_tensor *first, const tenon_tensor *inverse,
                                    const tenon_tensor *counts, const tenon_tensor *count,
                                    const tenon_sync *sync)
{
    return TN_RUN(tn_operation_unique, x, y, first, inverse, counts, count);
}

TENON_API tenon_status tenon_unique_plan(tenon_context *context, const tenon_unique_params *params,
                                         const tenon_tensor *x, const tenon_tensor *y,
                                         const tenon_tensor *first, const tenon_tensor *inverse,
                                         const tenon_tensor *counts, const tenon_tensor *count,
                                         tenon_plan **plan)
{
    return TN_PLAN(tn_operation_unique, x, y, first, inverse, counts, count);
}

static const char *const examples[] = {
    "unique x=T:3x7 y=T:20 first=i32:20 inverse=i32:3x7 counts=i32:20 count=i32:",
    "unique x=T:70001 y=T:9000 counts=i32:9000 count=i32:",
    "unique x=i32:300x70 y=i32:21000 inverse=i32:300x70 count=i32:1 flags=1",
    "unique x=i64:70x300/301,1 first=i32:21000 inverse=i32:70x300 count=i32:",
    NULL,
};

const tn_operation tn_operation_unique = {
    TN_NAMES("tenon_unique"),
    .family = &tn_unique_family,
    .operands = {{.name = "x"},
                 {.name = "y", .optional = true, .role = TN_OPTIONAL_OUTPUT},
                 {.name = "first", .optional = true, .role = TN_OPTIONAL_OUTPUT},
                 {.name = "inverse",
                  .optional = true,
                  .role = TN_OPTIONAL_OUTPUT,
                  .shape = tn_shape_of_first_i32},
                 {.name = "counts", .optional = true, .role = TN_OPTIONAL_OUTPUT},
                 {.name = "count", .role = TN_OUTPUT, .shape = tn_shape_one_i32}},
    .operand_count = UNIQUE_OPERANDS,
    .flags = TENON_UNIQUE_CONSECUTIVE,
    TN_FIELDS(fields),
    TN_PARAMS(unique_defaults, TENON_UNIQUE_PARAMS_INIT),
    TN_PROBLEM(unique_problem),
    .prepare = tn_unique_prepare,
    .reference = tn_unique_reference,
    .fill_valid = tn_unique_fill_valid,
    .is_measurable = true,
    .examples = examples,
    .converts = true,
};
