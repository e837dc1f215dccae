#include "offer.h"

static tenon_status run_gated(tenon_stream *stream, const void *params,
                              const tenon_tensor *const *v, const tenon_sync *sync)
{
    return tenon_gated_forward(stream, params, v[0], v[1], v[2], sync);
}

static tenon_status plan_gated(tenon_context *context, const void *params,
                               const tenon_tensor *const *v, tenon_plan **plan)
{
    return tenon_gated_forward_plan(context, params, v[0], v[1], v[2], plan);
}

static tenon_status run_backward(tenon_stream *stream, const void *params,
                                 const tenon_tensor *const *v, const tenon_sync *sync)
{
    return tenon_gated_backward(stream, params, v[0], v[1], v[2], v[3], v[4], sync);
}

static tenon_status plan_backward(tenon_context *context, const void *params,
                                  const tenon_tensor *const *v, tenon_plan **plan)
{
    return tenon_gated_backward_plan(context, params, v[0], v[1], v[2], v[3], v[4], plan);
}

static void default_gated(void *params)
{
    *(tenon_gated_params *)params = tenon_gated_params_default();
}

const operation offer_gated = {
    .name = "tenon_gated_forward",
    .plan_name = "tenon_gated_forward_plan",
    .operands = {{.name = "a", .rank = 2, .shape = {4, 5}},
                 {.name = "b", .rank = 2, .shape = {4, 5}},
                 {.name = "y", .rank = 2, .shape = {4, 5}}},
    .count = 3,
    .run = run_gated,
    .plan = plan_gated,
    .params_size = sizeof(tenon_gated_params),
    .defaults = default_gated,
};

const operation offer_gated_backward = {
    .name = "tenon_gated_backward",
    .plan_name = "tenon_gated_backward_plan",
    .operands = {{.name = "a", .rank = 2, .shape = {4, 5}},
                 {.name = "b", .rank = 2, .shape = {4, 5}},
                 {.name = "dy", .rank = 2, .shape = {4, 5}},
                 {.name = "da", .rank = 2, .shape = {4, 5}},
                 {.name = "db", .rank = 2, .shape = {4, 5}}},
    .count = 5,
    .outputs = 2,
    .run = run_backward,
    .plan = plan_backward,
    .params_size = sizeof(tenon_gated_params),
    .defaults = default_gated,
};
