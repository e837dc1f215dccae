#include "offer.h"

static tenon_status run_forward(tenon_stream *stream, const void *params,
                                const tenon_tensor *const *v, const tenon_sync *sync)
{
    return tenon_norm_forward(stream, params, v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], sync);
}

static tenon_status plan_forward(tenon_context *context, const void *params,
                                 const tenon_tensor *const *v, tenon_plan **plan)
{
    return tenon_norm_forward_plan(context, params, v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7],
                                   plan);
}

static tenon_status run_backward(tenon_stream *stream, const void *params,
                                 const tenon_tensor *const *v, const tenon_sync *sync)
{
    return tenon_norm_backward(stream, params, v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7],
                               sync);
}

static tenon_status plan_backward(tenon_context *context, const void *params,
                                  const tenon_tensor *const *v, tenon_plan **plan)
{
    return tenon_norm_backward_plan(context, params, v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7],
                                    plan);
}

static tenon_status run_inference(tenon_stream *stream, const void *params,
                                  const tenon_tensor *const *v, const tenon_sync *sync)
{
    return tenon_norm_inference(stream, params, v[0], v[1], v[2], v[3], v[4], v[5], sync);
}

static tenon_status plan_inference(tenon_context *context, const void *params,
                                   const tenon_tensor *const *v, tenon_plan **plan)
{
    return tenon_norm_inference_plan(context, params, v[0], v[1], v[2], v[3], v[4], v[5], plan);
}

static tenon_status run_inference_backward(tenon_stream *stream, const void *params,
                                           const tenon_tensor *const *v, const tenon_sync *sync)
{
    return tenon_norm_inference_backward(stream, params, v[0], v[1], v[2], v[3], v[4], v[5], v[6],
                                         v[7], sync);
}

static tenon_status plan_inference_backward(tenon_context *context, const void *params,
                                            const tenon_tensor *const *v, tenon_plan **plan)
{
    return tenon_norm_inference_backward_plan(context, params, v[0], v[1], v[2], v[3], v[4], v[5],
                                              v[6], v[7], plan);
}

static void default_batch(void *params)
{
    tenon_norm_params batch = tenon_norm_params_default();
    batch.kind = TENON_NORM_BATCH;
    *(tenon_norm_params *)params = batch;
}

const operation offer_norm = {
    .name = "tenon_norm_forward",
    .plan_name = "tenon_norm_forward_plan",
    .operands = {{.name = "x", .rank = 3, .shape = {4, 5, 3}},
                 {.name = "gamma", .optional = true, .rank = 1, .shape = {5}},
                 {.name = "beta", .optional = true, .rank = 1, .shape = {5}},
                 {.name = "y", .rank = 3, .shape = {4, 5, 3}},
                 {.name = "mean", .optional = true, .rank = 1, .shape = {5}},
                 {.name = "rstd", .optional = true, .rank = 1, .shape = {5}},
                 {.name = "running_mean", .optional = true, .rank = 1, .shape = {5}},
                 {.name = "running_variance", .optional = true, .rank = 1, .shape = {5}}},
    .count = 8,
    .outputs = 5,
    .run = run_forward,
    .plan = plan_forward,
    .params_size = sizeof(tenon_norm_params),
    .defaults = default_batch,
};

const operation offer_norm_backward = {
    .name = "tenon_norm_backward",
    .plan_name = "tenon_norm_backward_plan",
    .operands = {{.name = "x", .rank = 3, .shape = {4, 5, 3}},
                 {.name = "dy", .rank = 3, .shape = {4, 5, 3}},
                 {.name = "gamma", .optional = true, .rank = 1, .shape = {5}},
                 {.name = "mean", .rank = 1, .shape = {5}},
                 {.name = "rstd", .rank = 1, .shape = {5}},
                 {.name = "dx", .optional = true, .rank = 3, .shape = {4, 5, 3}},
                 {.name = "dgamma", .optional = true, .rank = 1, .shape = {5}},
                 {.name = "dbeta", .optional = true, .rank = 1, .shape = {5}}},
    .count = 8,
    .outputs = 3,
    .run = run_backward,
    .plan = plan_backward,
    .params_size = sizeof(tenon_norm_params),
    .defaults = default_batch,
};

const operation offer_norm_inference = {
    .name = "tenon_norm_inference",
    .plan_name = "tenon_norm_inference_plan",
    .operands = {{.name = "x", .rank = 3, .shape = {4, 5, 3}},
                 {.name = "gamma", .optional = true, .rank = 1, .shape = {5}},
                 {.name = "beta", .optional = true, .rank = 1, .shape = {5}},
                 {.name = "mean", .rank = 1, .shape = {5}},
                 {.name = "variance", .rank = 1, .shape = {5}},
                 {.name = "y", .rank = 3, .shape = {4, 5, 3}}},
    .count = 6,
    .run = run_inference,
    .plan = plan_inference,
    .params_size = sizeof(tenon_norm_params),
    .defaults = default_batch,
};

const operation offer_norm_inference_backward = {
    .name = "tenon_norm_inference_backward",
    .plan_name = "tenon_norm_inference_backward_plan",
    .operands = {{.name = "x", .rank = 3, .shape = {4, 5, 3}},
                 {.name = "dy", .rank = 3, .shape = {4, 5, 3}},
                 {.name = "gamma", .optional = true, .rank = 1, .shape = {5}},
                 {.name = "mean", .rank = 1, .shape = {5}},
                 {.name = "variance", .rank = 1, .shape = {5}},
                 {.name = "dx", .optional = true, .rank = 3, .shape = {4, 5, 3}},
                 {.name = "dgamma", .optional = true, .rank = 1, .shape = {5}},
                 {.name = "dbeta", .optional = true, .rank = 1, .shape = {5}}},
    .count = 8,
    .outputs = 3,
    .run = run_inference_backward,
    .plan = plan_inference_backward,
    .params_size = sizeof(tenon_norm_params),
    .defaults = default_batch,
};
