/* Descriptions (dispatch/operation.h) of tenon_reduce and tenon_moments. */
#include "dispatch/operation.h"
#include "ops/common/output_shape.h"
#include "ops/reduce/internal.h"
#include "ops/registry.h"

static const tn_field fields[] = {
    TN_FLAGS_FIELD(tenon_reduce_params),
    TN_FIELD_WORDS("kind", TN_FIELD_U32, tenon_reduce_params, kind, tn_reduce_words),
    TN_FIELD("axis_count", TN_FIELD_U32, tenon_reduce_params, axis_count),
    TN_FIELD_ARRAY("axes", TN_FIELD_I32, tenon_reduce_params, axes),
    TN_FIELD("correction", TN_FIELD_U32, tenon_reduce_params, correction)};

static const tenon_reduce_params moments_defaults = {.struct_size = sizeof moments_defaults,
                                                     .kind = TENON_REDUCE_VARIANCE};
static const tenon_reduce_params reduce_defaults = TENON_REDUCE_PARAMS_INIT;

TENON_API void tenon_reduce_params_default(tenon_reduce_params *params, uint32_t size)
{
    tn_params_give(params, size, &reduce_defaults, sizeof reduce_defaults);
}

TENON_API tenon_status tenon_reduce(tenon_stream *stream, const tenon_reduce_params *params,
                                    const tenon_tensor *x, const tenon_tensor *y,
                                    const tenon_sync *sync)
{
    return TN_RUN(tn_operation_reduce, x, y);
}

TENON_API tenon_status tenon_reduce_plan(tenon_context *context, const tenon_reduce_params *params,
                                         const tenon_tensor *x, const tenon_tensor *y,
                                         tenon_plan **plan)
{
    return TN_PLAN(tn_operation_reduce, x, y);
}

TENON_API tenon_status tenon_moments(tenon_stream *stream, const tenon_reduce_params *params,
                                     const tenon_tensor *x, const tenon_tensor *mean,
                                     const tenon_tensor *variance, const tenon_sync *sync)
{
    return TN_RUN(tn_operation_moments, x, mean, variance);
}

TENON_API tenon_status tenon_moments_plan(tenon_context *context, const tenon_reduce_params *params,
                                          const tenon_tensor *x, const tenon_tensor *mean,
                                          const tenon_tensor *variance, tenon_plan **plan)
{
    return TN_PLAN(tn_operation_moments, x, mean, variance);
}

static const char *const reduce_examples[] = {
    "reduce x=T:3x4x5 y=T:3x5 axis_count=1 axes=1",
    "reduce x=T:33003+1 y=S: kind=sum",
    "reduce x=T:13x1000 y=T:13 axis_count=1 axes=-1 kind=mean",
    "reduce x=T:300x229/240,1 y=T:1x229 axis_count=1 kind=max",
    "reduce x=T:5x300x229 y=T:300 axis_count=2 axes=0,2 kind=sum_squares",
    "reduce x=T:40x3001 y=i32:40 axis_count=1 axes=1 kind=argmax",
    "reduce x=T:3001x7 y=i32:7 axis_count=1 axes=0 kind=argmin",
    "reduce x=T:5x70x41 y=T:5x70 axis_count=1 axes=2 kind=variance correction=1",
    "reduce x=T:2x70001 y=S:2 axis_count=1 axes=1 kind=norm",
    "reduce x=T:40x301 y=T:40 axis_count=1 axes=1 kind=product",
    "reduce x=T:301x40 y=S:40 axis_count=1 axes=0 kind=log_sum_exp",
    "reduce x=T:40x301 y=i32:40 axis_count=1 axes=1 kind=argmin_last",
    "reduce x=T:40x301 y=i32:40 axis_count=1 axes=1 kind=count",
    "reduce x=bool:301x40 y=bool:40 axis_count=1 axes=0 kind=any",
    NULL,
};

static const char *const moments_examples[] = {
    "reduce tenon_moments x=T:3x4x5 mean=T:3x1x5 variance=T:3x1x5 axis_count=1 axes=1",
    "reduce tenon_moments x=T:13x1000 mean=S:13 variance=S:13 axis_count=1 axes=-1",
    "reduce tenon_moments x=T:3001x41 mean=T:41 variance=T:41 axis_count=1",
    NULL,
};

static bool moments_shape(const void *given, const tenon_tensor *const *views, tenon_tensor *output)
{
    const tenon_reduce_params *params = given;
    return tn_reduced_shape(params->axis_count, params->axes, views[REDUCE_X], output);
}

static bool reduce_shape(const void *given, const tenon_tensor *const *views, tenon_tensor *output)
{
    const tenon_reduce_params *params = given;
    if (params->kind >= TN_REDUCE_KINDS || !moments_shape(params, views, output))
        return false;
    output->dtype = tn_reduce_result(params->kind, views[REDUCE_X]->dtype);
    return true;
}

const tn_operation tn_operation_reduce = {
    TN_NAMES("tenon_reduce"),
    .family = &tn_reduce_family,
    .operands = {{.name = "x"}, {.name = "y", .role = TN_OUTPUT, .shape = reduce_shape}},
    .operand_count = REDUCE_OPERANDS,
    TN_FIELDS(fields),
    TN_PARAMS(reduce_defaults, TENON_REDUCE_PARAMS_INIT),
    TN_PROBLEM(tn_reduction_problem),
    .prepare = tn_reduce_prepare,
    .reference = tn_reduce_reference,
    .fill_valid = tn_reduce_fill,
    .examples = reduce_examples,
};

const tn_operation tn_operation_moments = {
    TN_NAMES("tenon_moments"),
    .family = &tn_reduce_family,
    .operands = {{.name = "x"},
                 {.name = "mean", .role = TN_OUTPUT, .shape = moments_shape},
                 {.name = "variance", .role = TN_OUTPUT, .shape = moments_shape}},
    .operand_count = MOMENTS_OPERANDS,
    TN_FIELDS(fields),
    TN_OWN_PARAMS(moments_defaults),
    .initializer = "TENON_REDUCE_PARAMS_INIT",
    TN_PROBLEM(tn_reduction_problem),
    .prepare = tn_reduce_prepare,
    .reference = tn_moments_reference,
    .examples = moments_examples,
};
