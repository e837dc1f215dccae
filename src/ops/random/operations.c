/* Description (dispatch/operation.h) of tenon_random. */
#include "dispatch/operation.h"
#include "ops/random/internal.h"
#include "ops/registry.h"

static const char *const kinds[] = {"uniform", "normal", "bernoulli", NULL};

static uint32_t kind_of(const void *params)
{
    return ((const tenon_random_params *)params)->kind;
}

static bool is_uniform(const void *params, const void *value)
{
    (void)value;
    return kind_of(params) == TENON_RANDOM_UNIFORM;
}

static bool is_normal(const void *params, const void *value)
{
    (void)value;
    return kind_of(params) == TENON_RANDOM_NORMAL;
}

static bool is_bernoulli(const void *params, const void *value)
{
    (void)value;
    return kind_of(params) == TENON_RANDOM_BERNOULLI;
}

static const tn_field fields[] = {
    TN_FLAGS_FIELD(tenon_random_params),
    TN_FIELD_WORDS("kind", TN_FIELD_U32, tenon_random_params, kind, kinds),
    TN_FIELD("seed", TN_FIELD_U64, tenon_random_params, seed),
    TN_FIELD("sequence", TN_FIELD_U64, tenon_random_params, sequence),
    TN_FIELD_IF("low", TN_FIELD_F64, tenon_random_params, low, is_uniform),
    TN_FIELD_IF("high", TN_FIELD_F64, tenon_random_params, high, is_uniform),
    TN_FIELD_IF("mean", TN_FIELD_F64, tenon_random_params, mean, is_normal),
    TN_FIELD_IF("deviation", TN_FIELD_F64, tenon_random_params, deviation, is_normal),
    TN_FIELD_IF("probability", TN_FIELD_F64, tenon_random_params, probability, is_bernoulli)};

static const tenon_random_params random_defaults = TENON_RANDOM_PARAMS_INIT;

TENON_API void tenon_random_params_default(tenon_random_params *params, uint32_t size)
{
    tn_params_give(params, size, &random_defaults, sizeof random_defaults);
}

TENON_API tenon_status tenon_random(tenon_stream *stream, const tenon_random_params *params,
                                    const tenon_tensor *y, const tenon_sync *sync)
{
    return TN_RUN(tn_operation_random, y);
}

TENON_API tenon_status tenon_random_plan(tenon_context *context, const tenon_random_params *params,
                                         const tenon_tensor *y, tenon_plan **plan)
{
    return TN_PLAN(tn_operation_random, y);
}

static const char *const examples[] = {
    "random y=T:4x5",
    "random y=T:33003+1 low=-2 high=3 seed=81985529216486895 sequence=5",
    "random y=T:37x229/1,40 kind=normal mean=0.5 deviation=2 seed=7",
    "random y=T:3x5x70/400,75,1 kind=bernoulli probability=0.3",
    NULL,
};

const tn_operation tn_operation_random = {
    TN_NAMES("tenon_random"),
    .family = &tn_random_family,
    .operands = {{.name = "y", .role = TN_OUTPUT}},
    .operand_count = RANDOM_OPERANDS,
    TN_FIELDS(fields),
    TN_PARAMS(random_defaults, TENON_RANDOM_PARAMS_INIT),
    TN_PROBLEM(tn_lines_problem),
    .prepare = tn_random_prepare,
    .reference = tn_random_reference,
    .examples = examples,
};
