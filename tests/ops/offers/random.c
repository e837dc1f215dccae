#include "offer.h"

static tenon_status run(tenon_stream *stream, const void *params, const tenon_tensor *const *v,
                        const tenon_sync *sync)
{
    return tenon_random(stream, params, v[0], sync);
}

static tenon_status plan(tenon_context *context, const void *params, const tenon_tensor *const *v,
                         tenon_plan **made)
{
    return tenon_random_plan(context, params, v[0], made);
}

static void defaults(void *params)
{
    *(tenon_random_params *)params = tenon_random_params_default();
}

const operation offer_random = {
    .name = "tenon_random",
    .plan_name = "tenon_random_plan",
    .operands = {{.name = "y", .rank = 2, .shape = {4, 5}}},
    .count = 1,
    .run = run,
    .plan = plan,
    .params_size = sizeof(tenon_random_params),
    .defaults = defaults,
};
