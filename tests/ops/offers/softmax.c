#include "offer.h"

static tenon_status run_softmax(tenon_stream *stream, const void *params,
                                const tenon_tensor *const *v, const tenon_sync *sync)
{
    return tenon_softmax_forward(stream, params, v[0], v[1], sync);
}

static tenon_status plan_softmax(tenon_context *context, const void *params,
                                 const tenon_tensor *const *v, tenon_plan **plan)
{
    return tenon_softmax_forward_plan(context, params, v[0], v[1], plan);
}

static tenon_status run_softmax_backward(tenon_stream *stream, const void *params,
                                         const tenon_tensor *const *v, const tenon_sync *sync)
{
    return tenon_softmax_backward(stream, params, v[0], v[1], v[2], sync);
}

static tenon_status plan_softmax_backward(tenon_context *context, const void *params,
                                          const tenon_tensor *const *v, tenon_plan **plan)
{
    return tenon_softmax_backward_plan(context, params, v[0], v[1], v[2], plan);
}

static void default_softmax(void *params)
{
    *(tenon_softmax_params *)params = tenon_softmax_params_default();
}

const operation offer_softmax = {
    .name = "tenon_softmax_forward",
    .plan_name = "tenon_softmax_forward_plan",
    .operands = {{.name = "x", .rank = 2, .shape = {4, 5}},
                 {.name = "y", .rank = 2, .shape = {4, 5}}},
    .count = 2,
    .run = run_softmax,
    .plan = plan_softmax,
    .params_size = sizeof(tenon_softmax_params),
    .defaults = default_softmax,
};

const operation offer_softmax_backward = {
    .name = "tenon_softmax_backward",
    .plan_name = "tenon_softmax_backward_plan",
    .operands = {{.name = "y", .rank = 2, .shape = {4, 5}},
                 {.name = "dy", .rank = 2, .shape = {4, 5}},
                 {.name = "dx", .rank = 2, .shape = {4, 5}}},
    .count = 3,
    .run = run_softmax_backward,
    .plan = plan_softmax_backward,
    .params_size = sizeof(tenon_softmax_params),
    .defaults = default_softmax,
};
