#include "offer.h"

static tenon_status run_pool(tenon_stream *stream, const void *params, const tenon_tensor *const *v,
                             const tenon_sync *sync)
{
    return tenon_pool_forward(stream, params, v[0], v[1], NULL, sync);
}

static tenon_status plan_pool(tenon_context *context, const void *params,
                              const tenon_tensor *const *v, tenon_plan **plan)
{
    return tenon_pool_forward_plan(context, params, v[0], v[1], NULL, plan);
}

static tenon_status run_pool_backward(tenon_stream *stream, const void *params,
                                      const tenon_tensor *const *v, const tenon_sync *sync)
{
    return tenon_pool_backward(stream, params, v[0], v[1], NULL, v[2], sync);
}

static tenon_status plan_pool_backward(tenon_context *context, const void *params,
                                       const tenon_tensor *const *v, tenon_plan **plan)
{
    return tenon_pool_backward_plan(context, params, v[0], v[1], NULL, v[2], plan);
}

static void default_pool(void *params)
{
    *(tenon_pool_params *)params = tenon_pool_params_default();
    ((tenon_pool_params *)params)->window[1] = 2;
}

const operation offer_pool = {
    .name = "tenon_pool_forward",
    .plan_name = "tenon_pool_forward_plan",
    .operands = {{.name = "x", .rank = 4, .shape = {2, 3, 5, 6}},
                 {.name = "y", .rank = 4, .shape = {2, 3, 5, 5}}},
    .count = 2,
    .left_out = 1,
    .run = run_pool,
    .plan = plan_pool,
    .params_size = sizeof(tenon_pool_params),
    .defaults = default_pool,
};

const operation offer_pool_backward = {
    .name = "tenon_pool_backward",
    .plan_name = "tenon_pool_backward_plan",
    .operands = {{.name = "x", .rank = 4, .shape = {2, 3, 5, 6}},
                 {.name = "dy", .rank = 4, .shape = {2, 3, 5, 5}},
                 {.name = "dx", .rank = 4, .shape = {2, 3, 5, 6}}},
    .count = 3,
    .left_out = 1,
    .run = run_pool_backward,
    .plan = plan_pool_backward,
    .params_size = sizeof(tenon_pool_params),
    .defaults = default_pool,
};
