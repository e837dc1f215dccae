#include "offer.h"

static tenon_status run_mse(tenon_stream *stream, const void *params, const tenon_tensor *const *v,
                            const tenon_sync *sync)
{
    return tenon_mse_forward(stream, params, v[0], v[1], v[2], sync);
}

static tenon_status plan_mse(tenon_context *context, const void *params,
                             const tenon_tensor *const *v, tenon_plan **plan)
{
    return tenon_mse_forward_plan(context, params, v[0], v[1], v[2], plan);
}

static tenon_status run_mse_backward(tenon_stream *stream, const void *params,
                                     const tenon_tensor *const *v, const tenon_sync *sync)
{
    return tenon_mse_backward(stream, params, v[0], v[1], v[2], v[3], sync);
}

static tenon_status plan_mse_backward(tenon_context *context, const void *params,
                                      const tenon_tensor *const *v, tenon_plan **plan)
{
    return tenon_mse_backward_plan(context, params, v[0], v[1], v[2], v[3], plan);
}

static void default_mse(void *params)
{
    tenon_mse_params *p = params;
    *p = tenon_mse_params_default();
    p->axis_count = 1;
    p->axes[0] = 1;
}

const operation offer_mse = {
    .name = "tenon_mse_forward",
    .plan_name = "tenon_mse_forward_plan",
    .operands = {{.name = "x", .rank = 3, .shape = {3, 4, 5}},
                 {.name = "t", .rank = 3, .shape = {3, 4, 5}},
                 {.name = "loss", .rank = 2, .shape = {3, 5}}},
    .count = 3,
    .run = run_mse,
    .plan = plan_mse,
    .params_size = sizeof(tenon_mse_params),
    .defaults = default_mse,
};

const operation offer_mse_backward = {
    .name = "tenon_mse_backward",
    .plan_name = "tenon_mse_backward_plan",
    .operands = {{.name = "x", .rank = 3, .shape = {3, 4, 5}},
                 {.name = "t", .rank = 3, .shape = {3, 4, 5}},
                 {.name = "dloss", .optional = true, .rank = 2, .shape = {3, 5}},
                 {.name = "dx", .rank = 3, .shape = {3, 4, 5}}},
    .count = 4,
    .run = run_mse_backward,
    .plan = plan_mse_backward,
    .params_size = sizeof(tenon_mse_params),
    .defaults = default_mse,
};
