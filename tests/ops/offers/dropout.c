#include "offer.h"

static tenon_status run(tenon_stream *stream, const void *params, const tenon_tensor *const *v,
                        const tenon_sync *sync)
{
    return tenon_dropout(stream, params, v[0], v[1], sync);
}

static tenon_status plan(tenon_context *context, const void *params, const tenon_tensor *const *v,
                         tenon_plan **made)
{
    return tenon_dropout_plan(context, params, v[0], v[1], made);
}

static void defaults(void *params)
{
    *(tenon_dropout_params *)params = tenon_dropout_params_default();
}

const operation offer_dropout = {
    .name = "tenon_dropout",
    .plan_name = "tenon_dropout_plan",
    .operands = {{.name = "x", .rank = 2, .shape = {4, 5}},
                 {.name = "y", .rank = 2, .shape = {4, 5}}},
    .count = 2,
    .run = run,
    .plan = plan,
    .params_size = sizeof(tenon_dropout_params),
    .defaults = defaults,
};
