#include "offer.h"

static tenon_status run_gather(tenon_stream *stream, const void *params,
                               const tenon_tensor *const *v, const tenon_sync *sync)
{
    return tenon_gather_forward(stream, params, v[0], v[1], v[2], sync);
}

static tenon_status plan_gather(tenon_context *context, const void *params,
                                const tenon_tensor *const *v, tenon_plan **plan)
{
    return tenon_gather_forward_plan(context, params, v[0], v[1], v[2], plan);
}

static tenon_status run_gather_backward(tenon_stream *stream, const void *params,
                                        const tenon_tensor *const *v, const tenon_sync *sync)
{
    return tenon_gather_backward(stream, params, v[0], v[1], v[2], sync);
}

static tenon_status plan_gather_backward(tenon_context *context, const void *params,
                                         const tenon_tensor *const *v, tenon_plan **plan)
{
    return tenon_gather_backward_plan(context, params, v[0], v[1], v[2], plan);
}

static void default_gather(void *params)
{
    *(tenon_gather_params *)params = tenon_gather_params_default();
}

const operation offer_gather = {
    .name = "tenon_gather_forward",
    .plan_name = "tenon_gather_forward_plan",
    .operands = {{.name = "x", .rank = 2, .shape = {4, 5}},
                 {.name = "indices", .dtype = TENON_DTYPE_I32, .rank = 1, .shape = {7}},
                 {.name = "y", .rank = 2, .shape = {7, 5}}},
    .count = 3,
    .converts = true,
    .run = run_gather,
    .plan = plan_gather,
    .params_size = sizeof(tenon_gather_params),
    .defaults = default_gather,
};

const operation offer_gather_backward = {
    .name = "tenon_gather_backward",
    .plan_name = "tenon_gather_backward_plan",
    .operands = {{.name = "dy", .rank = 2, .shape = {7, 5}},
                 {.name = "indices", .dtype = TENON_DTYPE_I32, .rank = 1, .shape = {7}},
                 {.name = "dx", .rank = 2, .shape = {4, 5}}},
    .count = 3,
    .run = run_gather_backward,
    .plan = plan_gather_backward,
    .params_size = sizeof(tenon_gather_params),
    .defaults = default_gather,
};
