#include "offer.h"

static tenon_status run_sgd(tenon_stream *stream, const void *params, const tenon_tensor *const *v,
                            const tenon_sync *sync)
{
    return tenon_sgd(stream, params, v[0], v[1], v[2], NULL, sync);
}

static tenon_status plan_sgd(tenon_context *context, const void *params,
                             const tenon_tensor *const *v, tenon_plan **plan)
{
    return tenon_sgd_plan(context, params, v[0], v[1], v[2], NULL, plan);
}

static void default_sgd(void *params)
{
    *(tenon_sgd_params *)params = tenon_sgd_params_default();
}

static tenon_status run_adam(tenon_stream *stream, const void *params, const tenon_tensor *const *v,
                             const tenon_sync *sync)
{
    return tenon_adam(stream, params, v[0], v[1], v[2], v[3], NULL, sync);
}

static tenon_status plan_adam(tenon_context *context, const void *params,
                              const tenon_tensor *const *v, tenon_plan **plan)
{
    return tenon_adam_plan(context, params, v[0], v[1], v[2], v[3], NULL, plan);
}

static void default_adam(void *params)
{
    *(tenon_adam_params *)params = tenon_adam_params_default();
}

const operation offer_sgd = {
    .name = "tenon_sgd",
    .plan_name = "tenon_sgd_plan",
    .operands = {{.name = "gradient", .rank = 2, .shape = {4, 5}},
                 {.name = "parameter", .rank = 2, .shape = {4, 5}},
                 {.name = "velocity", .optional = true, .rank = 2, .shape = {4, 5}}},
    .count = 3,
    .outputs = 2,
    .left_out = 1, /* the master, of 16-bit parameters alone */
    .run = run_sgd,
    .plan = plan_sgd,
    .params_size = sizeof(tenon_sgd_params),
    .defaults = default_sgd,
};

const operation offer_adam = {
    .name = "tenon_adam",
    .plan_name = "tenon_adam_plan",
    .operands = {{.name = "gradient", .rank = 2, .shape = {4, 5}},
                 {.name = "parameter", .rank = 2, .shape = {4, 5}},
                 {.name = "first", .rank = 2, .shape = {4, 5}},
                 {.name = "second", .rank = 2, .shape = {4, 5}}},
    .count = 4,
    .outputs = 3,
    .left_out = 1,
    .run = run_adam,
    .plan = plan_adam,
    .params_size = sizeof(tenon_adam_params),
    .defaults = default_adam,
};
