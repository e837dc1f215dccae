/* Descriptions (dispatch/operation.h) of tenon_bernoulli, tenon_categorical and tenon_permutation.
 */
#include "dispatch/operation.h"
#include "ops/common/output_shape.h"
#include "ops/random/internal.h"
#include "ops/registry.h"

#define FIELDS(name)                                                                               \
    static const tn_field name##_fields[] = {                                                      \
        TN_FLAGS_FIELD(tenon_##name##_params),                                                     \
        TN_FIELD("seed", TN_FIELD_U64, tenon_##name##_params, seed),                               \
        TN_FIELD("sequence", TN_FIELD_U64, tenon_##name##_params, sequence)}
FIELDS(bernoulli);
FIELDS(categorical);
FIELDS(permutation);

static const tenon_bernoulli_params bernoulli_defaults = TENON_BERNOULLI_PARAMS_INIT;

TENON_API void tenon_bernoulli_params_default(tenon_bernoulli_params *params, uint32_t size)
{
    tn_params_give(params, size, &bernoulli_defaults, sizeof bernoulli_defaults);
}

TENON_API tenon_status tenon_bernoulli(tenon_stream *stream, const tenon_bernoulli_params *params,
                                       const tenon_tensor *p, const tenon_tensor *y,
                                       const tenon_sync *sync)
{
    return TN_RUN(tn_operation_bernoulli, p, y);
}

TENON_API tenon_status tenon_bernoulli_plan(tenon_context *context,
                                            const tenon_bernoulli_params *params,
                                            const tenon_tensor *p, const tenon_tensor *y,
                                            tenon_plan **plan)
{
    return TN_PLAN(tn_operation_bernoulli, p, y);
}

static const tenon_categorical_params categorical_defaults = TENON_CATEGORICAL_PARAMS_INIT;

TENON_API void tenon_categorical_params_default(tenon_categorical_params *params, uint32_t size)
{
    tn_params_give(params, size, &categorical_defaults, sizeof categorical_defaults);
}

TENON_API tenon_status tenon_categorical(tenon_stream *stream,
                                         const tenon_categorical_params *params,
                                         const tenon_tensor *x, const tenon_tensor *y,
                                         const tenon_sync *sync)
{
    return TN_RUN(tn_operation_categorical, x, y);
}

TENON_API tenon_status tenon_categorical_plan(tenon_context *context,
                                              const tenon_categorical_params *params,
                                              const tenon_tensor *x, const tenon_tensor *y,
                                              tenon_plan **plan)
{
    return TN_PLAN(tn_operation_categorical, x, y);
}

static const tenon_permutation_params permutation_defaults = TENON_PERMUTATION_PARAMS_INIT;

TENON_API void tenon_permutation_params_default(tenon_permutation_params *params, uint32_t size)
{
    tn_params_give(params, size, &permutation_defaults, sizeof permutation_defaults);
}

TENON_API tenon_status tenon_permutation(tenon_stream *stream,
                                         const tenon_permutation_params *params,
                                         const tenon_tensor *y, const tenon_sync *sync)
{
    return TN_RUN(tn_operation_permutation, y);
}

TENON_API tenon_status tenon_permutation_plan(tenon_context *context,
                                              const tenon_permutation_params *params,
                                              const tenon_tensor *y, tenon_plan **plan)
{
    return TN_PLAN(tn_operation_permutation, y);
}

static const char *const bernoulli_examples[] = {
    "bernoulli p=T:4x5 y=T:4x5",
    "bernoulli p=T:33003+1 y=u8:33003 seed=81985529216486895 sequence=5",
    "bernoulli p=T:37x229/1,40 y=i32:37x229",
    NULL,
};

static const char *const categorical_examples[] = {
    "categorical x=T:4x5 y=i32:4",
    "categorical x=T:7x11x229/3000,230,1 y=i32:7x11 flags=1 seed=7",
    "categorical x=T:300x17/1,310 y=i64:300 sequence=3",
    NULL,
};

static const char *const permutation_examples[] = {
    "permutation y=i32:20",
    "permutation y=i64:3000/2+1 seed=81985529216486895",
    NULL,
};

const tn_operation tn_operation_bernoulli = {
    TN_NAMES("tenon_bernoulli"),
    .family = &tn_bernoulli_family,
    .operands = {{.name = "p"}, {.name = "y", .role = TN_OUTPUT, .shape = tn_shape_of_first}},
    .operand_count = DRAW_OPERANDS,
    TN_FIELDS(bernoulli_fields),
    TN_PARAMS(bernoulli_defaults, TENON_BERNOULLI_PARAMS_INIT),
    TN_PROBLEM(tn_lines_problem),
    .prepare = tn_bernoulli_prepare,
    .reference = tn_bernoulli_reference,
    .examples = bernoulli_examples,
};

static bool categorical_shape(const void *params, const tenon_tensor *const *views,
                              tenon_tensor *output)
{
    (void)params;
    return views[0]->rank > 0 &&
           tn_shape_set(output, TENON_DTYPE_I32, views[0]->rank - 1, views[0]->shape);
}

const tn_operation tn_operation_categorical = {
    TN_NAMES("tenon_categorical"),
    .family = &tn_categorical_family,
    .operands = {{.name = "x"}, {.name = "y", .role = TN_OUTPUT, .shape = categorical_shape}},
    .operand_count = DRAW_OPERANDS,
    TN_FIELDS(categorical_fields),
    TN_PARAMS(categorical_defaults, TENON_CATEGORICAL_PARAMS_INIT),
    .flags = TENON_CATEGORICAL_LOGITS,
    TN_PROBLEM(tn_lines_problem),
    .prepare = tn_categorical_prepare,
    .reference = tn_categorical_reference,
    .examples = categorical_examples,
};

const tn_operation tn_operation_permutation = {
    TN_NAMES("tenon_permutation"),
    .family = &tn_permutation_family,
    .operands = {{.name = "y", .role = TN_OUTPUT}},
    .operand_count = RANDOM_OPERANDS,
    TN_FIELDS(permutation_fields),
    TN_PARAMS(permutation_defaults, TENON_PERMUTATION_PARAMS_INIT),
    TN_PROBLEM(tn_lines_problem),
    .prepare = tn_permutation_prepare,
    .reference = tn_permutation_reference,
    .examples = permutation_examples,
};
