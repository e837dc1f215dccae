#include "offer.h"

static tenon_status run_reduce(tenon_stream *stream, const void *params,
                               const tenon_tensor *const *v, const tenon_sync *sync)
{
    return tenon_reduce(stream, params, v[0], v[1], sync);
}

static tenon_status plan_reduce(tenon_context *context, const void *params,
                                const tenon_tensor *const *v, tenon_plan **plan)
{
    return tenon_reduce_plan(context, params, v[0], v[1], plan);
}

static tenon_status run_moments(tenon_stream *stream, const void *params,
                                const tenon_tensor *const *v, const tenon_sync *sync)
{
    return tenon_moments(stream, params, v[0], v[1], v[2], sync);
}

static tenon_status plan_moments(tenon_context *context, const void *params,
                                 const tenon_tensor *const *v, tenon_plan **plan)
{
    return tenon_moments_plan(context, params, v[0], v[1], v[2], plan);
}

static void default_reduce(void *params)
{
    tenon_reduce_params *p = params;
    *p = tenon_reduce_params_default();
    p->axis_count = 1;
    p->axes[0] = 1;
}

static void default_moments(void *params)
{
    default_reduce(params);
    ((tenon_reduce_params *)params)->kind = TENON_REDUCE_VARIANCE;
}

const operation offer_reduce = {
    .name = "tenon_reduce",
    .plan_name = "tenon_reduce_plan",
    .operands = {{.name = "x", .rank = 3, .shape = {3, 4, 5}},
                 {.name = "y", .rank = 2, .shape = {3, 5}}},
    .count = 2,
    .run = run_reduce,
    .plan = plan_reduce,
    .params_size = sizeof(tenon_reduce_params),
    .defaults = default_reduce,
};

const operation offer_moments = {
    .name = "tenon_moments",
    .plan_name = "tenon_moments_plan",
    .operands = {{.name = "x", .rank = 3, .shape = {3, 4, 5}},
                 {.name = "mean", .rank = 3, .shape = {3, 1, 5}},
                 {.name = "variance", .rank = 3, .shape = {3, 1, 5}}},
    .count = 3,
    .outputs = 2,
    .run = run_moments,
    .plan = plan_moments,
    .params_size = sizeof(tenon_reduce_params),
    .defaults = default_moments,
};
