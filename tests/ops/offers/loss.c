#include "offer.h"

static tenon_status run_cross_entropy(tenon_stream *stream, const void *params,
                                      const tenon_tensor *const *v, const tenon_sync *sync)
{
    return tenon_cross_entropy_forward(stream, params, v[0], v[1], v[2], sync);
}

static tenon_status plan_cross_entropy(tenon_context *context, const void *params,
                                       const tenon_tensor *const *v, tenon_plan **plan)
{
    return tenon_cross_entropy_forward_plan(context, params, v[0], v[1], v[2], plan);
}

static tenon_status run_backward(tenon_stream *stream, const void *params,
                                 const tenon_tensor *const *v, const tenon_sync *sync)
{
    return tenon_cross_entropy_backward(stream, params, v[0], v[1], v[2], v[3], sync);
}

static tenon_status plan_backward(tenon_context *context, const void *params,
                                  const tenon_tensor *const *v, tenon_plan **plan)
{
    return tenon_cross_entropy_backward_plan(context, params, v[0], v[1], v[2], v[3], plan);
}

/* Classes along the first dimension: then each last one must match. */
static void default_cross_entropy(void *params)
{
    *(tenon_cross_entropy_params *)params = tenon_cross_entropy_params_default();
    ((tenon_cross_entropy_params *)params)->axis = 0;
}

const operation offer_cross_entropy = {
    .name = "tenon_cross_entropy_forward",
    .plan_name = "tenon_cross_entropy_forward_plan",
    .operands = {{.name = "logits", .rank = 3, .shape = {4, 2, 5}},
                 {.name = "labels", .dtype = TENON_DTYPE_I32, .rank = 2, .shape = {2, 5}},
                 {.name = "loss", .rank = 2, .shape = {2, 5}}},
    .count = 3,
    .run = run_cross_entropy,
    .plan = plan_cross_entropy,
    .params_size = sizeof(tenon_cross_entropy_params),
    .defaults = default_cross_entropy,
};

const operation offer_cross_entropy_backward = {
    .name = "tenon_cross_entropy_backward",
    .plan_name = "tenon_cross_entropy_backward_plan",
    .operands = {{.name = "logits", .rank = 3, .shape = {4, 2, 5}},
                 {.name = "labels", .dtype = TENON_DTYPE_I32, .rank = 2, .shape = {2, 5}},
                 {.name = "dloss", .rank = 2, .shape = {2, 5}, .optional = true},
                 {.name = "dlogits", .rank = 3, .shape = {4, 2, 5}}},
    .count = 4,
    .run = run_backward,
    .plan = plan_backward,
    .params_size = sizeof(tenon_cross_entropy_params),
    .defaults = default_cross_entropy,
};
