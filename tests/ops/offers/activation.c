#include "offer.h"

static tenon_status run_activation(tenon_stream *stream, const void *params,
                                   const tenon_tensor *const *v, const tenon_sync *sync)
{
    return tenon_activation_forward(stream, params, v[0], v[1], sync);
}

static tenon_status plan_activation(tenon_context *context, const void *params,
                                    const tenon_tensor *const *v, tenon_plan **plan)
{
    return tenon_activation_forward_plan(context, params, v[0], v[1], plan);
}

static tenon_status run_backward(tenon_stream *stream, const void *params,
                                 const tenon_tensor *const *v, const tenon_sync *sync)
{
    return tenon_activation_backward(stream, params, v[0], v[1], v[2], sync);
}

static tenon_status plan_backward(tenon_context *context, const void *params,
                                  const tenon_tensor *const *v, tenon_plan **plan)
{
    return tenon_activation_backward_plan(context, params, v[0], v[1], v[2], plan);
}

static void default_activation(void *params)
{
    *(tenon_activation_params *)params = tenon_activation_params_default();
}

const operation offer_activation = {
    .name = "tenon_activation_forward",
    .plan_name = "tenon_activation_forward_plan",
    .operands = {{.name = "x", .rank = 2, .shape = {4, 5}},
                 {.name = "y", .rank = 2, .shape = {4, 5}}},
    .count = 2,
    .run = run_activation,
    .plan = plan_activation,
    .params_size = sizeof(tenon_activation_params),
    .defaults = default_activation,
};

const operation offer_activation_backward = {
    .name = "tenon_activation_backward",
    .plan_name = "tenon_activation_backward_plan",
    .operands = {{.name = "x", .rank = 2, .shape = {4, 5}},
                 {.name = "dy", .rank = 2, .shape = {4, 5}},
                 {.name = "dx", .rank = 2, .shape = {4, 5}}},
    .count = 3,
    .run = run_backward,
    .plan = plan_backward,
    .params_size = sizeof(tenon_activation_params),
    .defaults = default_activation,
};
