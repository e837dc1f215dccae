/* What tests and tools know of the operations of this family: see dispatch/operation.h. */
#include "dispatch/operation.h"
#include "ops/reduce/internal.h"
#include "ops/registry.h"

static const tn_field fields[] = {
    TN_FLAGS_FIELD(tenon_reduce_params),
    TN_FIELD_WORDS("kind", TN_FIELD_U32, tenon_reduce_params, kind, tn_reduce_words),
    TN_FIELD("axis_count", TN_FIELD_U32, tenon_reduce_params, axis_count),
    TN_FIELD_ARRAY("axes", TN_FIELD_I32, tenon_reduce_params, axes),
    TN_FIELD("correction", TN_FIELD_U32, tenon_reduce_params, correction)};

TN_OPERATION_DEFAULTS(reduce, tenon_reduce_params)
TN_OPERATION_CALLS(reduce, tenon_reduce, v[0], v[1])
TN_OPERATION_CALLS(moments, tenon_moments, v[0], v[1], v[2])

static bool reduce_reference(const void *params, const tenon_tensor *const *v, tn_bounded *expected)
{
    return tn_reduce_reference(params, v[REDUCE_X], v[REDUCE_Y], expected, NULL);
}

static bool moments_reference(const void *params, const tenon_tensor *const *v,
                              tn_bounded *expected)
{
    return tn_reduce_reference(params, v[REDUCE_X], v[MOMENTS_VARIANCE],
                               expected + tenon_tensor_elements(v[MOMENTS_MEAN]), expected);
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
    NULL,
};

static const char *const moments_examples[] = {
    "reduce tenon_moments x=T:3x4x5 mean=T:3x1x5 variance=T:3x1x5 axis_count=1 axes=1 "
    "kind=variance",
    "reduce tenon_moments x=T:13x1000 mean=S:13 variance=S:13 axis_count=1 axes=-1 kind=variance",
    "reduce tenon_moments x=T:3001x41 mean=T:41 variance=T:41 axis_count=1 kind=variance",
    NULL,
};

const tn_operation tn_operation_reduce = {
    .name = "tenon_reduce",
    .family = &tn_reduce_family,
    .operands = {{.name = "x"}, {.name = "y"}},
    .operand_count = 2,
    .output_count = 1,
    .fields = fields,
    .field_count = TN_FIELD_COUNT(fields),
    .params_size = sizeof(tenon_reduce_params),
    .defaults = default_reduce,
    .run = run_reduce,
    .plan = plan_reduce,
    .reference = reduce_reference,
    .examples = reduce_examples,
};

const tn_operation tn_operation_moments = {
    .name = "tenon_moments",
    .family = &tn_reduce_family,
    .operands = {{.name = "x"}, {.name = "mean"}, {.name = "variance"}},
    .operand_count = 3,
    .output_count = 2,
    .fields = fields,
    .field_count = TN_FIELD_COUNT(fields),
    .params_size = sizeof(tenon_reduce_params),
    .defaults = default_reduce,
    .run = run_moments,
    .plan = plan_moments,
    .reference = moments_reference,
    .examples = moments_examples,
};
