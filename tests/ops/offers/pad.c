#include "offer.h"

static tenon_status run_pad(tenon_stream *stream, const void *params, const tenon_tensor *const *v,
                            const tenon_sync *sync)
{
    return tenon_pad_forward(stream, params, v[0], v[1], sync);
}

static tenon_status plan_pad(tenon_context *context, const void *params,
                             const tenon_tensor *const *v, tenon_plan **plan)
{
    return tenon_pad_forward_plan(context, params, v[0], v[1], plan);
}

static void default_pad(void *params)
{
    tenon_pad_params *p = params;
    *p = tenon_pad_params_default();
    p->begin[0] = 1;
    p->end[1] = 2;
}

const operation offer_pad = {
    .name = "tenon_pad_forward",
    .plan_name = "tenon_pad_forward_plan",
    .operands = {{.name = "x", .rank = 2, .shape = {4, 5}},
                 {.name = "y", .rank = 2, .shape = {5, 7}}},
    .count = 2,
    .converts = true,
    .run = run_pad,
    .plan = plan_pad,
    .params_size = sizeof(tenon_pad_params),
    .defaults = default_pad,
};
