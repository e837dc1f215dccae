/* Description (dispatch/operation.h) of tenon_histogram. */
#include "dispatch/operation.h"
#include "ops/histogram/internal.h"
#include "ops/registry.h"

static const tn_field fields[] = {
    TN_FLAGS_FIELD(tenon_histogram_params),
    TN_FIELD_FIXED("low", TN_FIELD_F64, tenon_histogram_params, low),
    TN_FIELD_FIXED("high", TN_FIELD_F64, tenon_histogram_params, high)};

static const tenon_histogram_params histogram_defaults = TENON_HISTOGRAM_PARAMS_INIT;

TENON_API void tenon_histogram_params_default(tenon_histogram_params *params, uint32_t size)
{
    tn_params_give(params, size, &histogram_defaults, sizeof histogram_defaults);
}

TENON_API tenon_status tenon_histogram(tenon_stream *stream, const tenon_histogram_params *params,
                                       const tenon_tensor *x, const tenon_tensor *edges,
                                       const tenon_tensor *weights, const tenon_tensor *y,
                                       const tenon_sync *sync)
{
    return TN_RUN(tn_operation_histogram, x, edges, weights, y);
}

TENON_API tenon_status tenon_histogram_plan(tenon_context *context,
                                            const tenon_histogram_params *params,
                                            const tenon_tensor *x, const tenon_tensor *edges,
                                            const tenon_tensor *weights, const tenon_tensor *y,
                                            tenon_plan **plan)
{
    return TN_PLAN(tn_operation_histogram, x, edges, weights, y);
}

static const char *const examples[] = {
    "histogram x=T:3x7 edges=T:6 weights=S:3x7 y=S:5",
    "histogram x=T:70003 y=i32:64 low=-0.5 high=0.75",
    "histogram x=i64:300x70 weights=f32:300x70 y=f32:1000 flags=1",
    "histogram x=u8:300x70/71,1 y=i64:256 flags=1",
    NULL,
};

const tn_operation tn_operation_histogram = {
    TN_NAMES("tenon_histogram"),
    .family = &tn_histogram_family,
    .operands = {{.name = "x"},
                 {.name = "edges", .optional = true},
                 {.name = "weights", .optional = true},
                 {.name = "y", .role = TN_OUTPUT}},
    .operand_count = HISTOGRAM_OPERANDS,
    .flags = TENON_HISTOGRAM_INDICES,
    TN_FIELDS(fields),
    TN_PARAMS(histogram_defaults, TENON_HISTOGRAM_PARAMS_INIT),
    TN_PROBLEM(histogram_problem),
    .prepare = tn_histogram_prepare,
    .reference = tn_histogram_reference,
    .fill_valid = tn_histogram_fill_valid,
    .is_measurable = true,
    .examples = examples,
    .converts = true,
};
