#include "offer.h"

static tenon_status run_prelu(tenon_stream *stream, const void *params,
                              const tenon_tensor *const *v, const tenon_sync *sync)
{
    return tenon_prelu_forward(stream, params, v[0], v[1], v[2], sync);
}

static tenon_status plan_prelu(tenon_context *context, const void *params,
                               const tenon_tensor *const *v, tenon_plan **plan)
{
    return tenon_prelu_forward_plan(context, params, v[0], v[1], v[2], plan);
}

static tenon_status run_backward(tenon_stream *stream, const void *params,
                                 const tenon_tensor *const *v, const tenon_sync *sync)
{
    return tenon_prelu_backward(stream, params, v[0], v[1], v[2], v[3], v[4], sync);
}

static tenon_status plan_backward(tenon_context *context, const void *params,
                                  const tenon_tensor *const *v, tenon_plan **plan)
{
    return tenon_prelu_backward_plan(context, params, v[0], v[1], v[2], v[3], v[4], plan);
}

static void default_prelu(void *params)
{
    *(tenon_prelu_params *)params = tenon_prelu_params_default();
}

const operation offer_prelu = {
    .name = "tenon_prelu_forward",
    .plan_name = "tenon_prelu_forward_plan",
    .operands = {{.name = "x", .rank = 3, .shape = {4, 2, 5}},
                 {.name = "slope", .rank = 2, .shape = {2, 5}},
                 {.name = "y", .rank = 3, .shape = {4, 2, 5}}},
    .count = 3,
    .run = run_prelu,
    .plan = plan_prelu,
    .params_size = sizeof(tenon_prelu_params),
    .defaults = default_prelu,
};

const operation offer_prelu_backward = {
    .name = "tenon_prelu_backward",
    .plan_name = "tenon_prelu_backward_plan",
    .operands = {{.name = "x", .rank = 3, .shape = {4, 2, 5}},
                 {.name = "slope", .rank = 2, .shape = {2, 5}},
                 {.name = "dy", .rank = 3, .shape = {4, 2, 5}},
                 {.name = "dx", .rank = 3, .shape = {4, 2, 5}},
                 {.name = "dslope", .rank = 2, .shape = {2, 5}}},
    .count = 5,
    .outputs = 2,
    .run = run_backward,
    .plan = plan_backward,
    .params_size = sizeof(tenon_prelu_params),
    .defaults = default_prelu,
};
