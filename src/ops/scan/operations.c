/* Description (dispatch/operation.h) of tenon_scan. */
#include "dispatch/operation.h"
#include "ops/common/output_shape.h"
#include "ops/registry.h"
#include "ops/scan/internal.h"

static const tn_field fields[] = {
    TN_FLAGS_FIELD(tenon_scan_params),
    TN_FIELD_WORDS("kind", TN_FIELD_U32, tenon_scan_params, kind, tn_scan_words),
    TN_FIELD("axis", TN_FIELD_I32, tenon_scan_params, axis)};

static const tenon_scan_params scan_defaults = TENON_SCAN_PARAMS_INIT;

TENON_API void tenon_scan_params_default(tenon_scan_params *params, uint32_t size)
{
    tn_params_give(params, size, &scan_defaults, sizeof scan_defaults);
}

TENON_API tenon_status tenon_scan(tenon_stream *stream, const tenon_scan_params *params,
                                  const tenon_tensor *x, const tenon_tensor *y,
                                  const tenon_sync *sync)
{
    return TN_RUN(tn_operation_scan, x, y);
}

TENON_API tenon_status tenon_scan_plan(tenon_context *context, const tenon_scan_params *params,
                                       const tenon_tensor *x, const tenon_tensor *y,
                                       tenon_plan **plan)
{
    return TN_PLAN(tn_operation_scan, x, y);
}

static const char *const examples[] = {
    "scan x=T:3x7 y=T:3x7",
    "scan x=T:100003+1 y=T:100003",
    "scan x=T:37x70/80,1 y=T:37x70 axis=0 kind=max flags=3",
    "scan x=i32:3x100003 y=i32:3x100003 kind=min flags=2",
    "scan x=i32:5x70x9 y=i32:5x70x9 axis=1 flags=1",
    NULL,
};

const tn_operation tn_operation_scan = {
    TN_NAMES("tenon_scan"),
    .family = &tn_scan_family,
    .operands = {{.name = "x", .role = TN_INPUT_OR_SAME},
                 {.name = "y", .role = TN_OUTPUT, .shape = tn_shape_of_first}},
    .operand_count = SCAN_OPERANDS,
    .flags = TENON_SCAN_EXCLUSIVE | TENON_SCAN_REVERSE,
    TN_FIELDS(fields),
    TN_PARAMS(scan_defaults, TENON_SCAN_PARAMS_INIT),
    TN_PROBLEM(scan_problem),
    .prepare = tn_scan_prepare,
    .reference = tn_scan_reference,
    .fill_valid = tn_scan_fill_valid,
    .is_measurable = true,
    .examples = examples,
};
