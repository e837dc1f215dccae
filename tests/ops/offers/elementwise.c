#include "offer.h"

static tenon_status run_elementwise(tenon_stream *stream, const void *params,
                                    const tenon_tensor *const *v, const tenon_sync *sync)
{
    return tenon_elementwise(stream, params, v[0], v[1], v[2], sync);
}

static tenon_status plan_elementwise(tenon_context *context, const void *params,
                                     const tenon_tensor *const *v, tenon_plan **plan)
{
    return tenon_elementwise_plan(context, params, v[0], v[1], v[2], plan);
}

static void default_elementwise(void *params)
{
    *(tenon_elementwise_params *)params = tenon_elementwise_params_default();
}

static tenon_status run_chain(tenon_stream *stream, const void *params,
                              const tenon_tensor *const *v, const tenon_sync *sync)
{
    return tenon_elementwise_chain(stream, params, v[0], v[1], v[2], v[3], v[4], sync);
}

static tenon_status plan_chain(tenon_context *context, const void *params,
                               const tenon_tensor *const *v, tenon_plan **plan)
{
    return tenon_elementwise_chain_plan(context, params, v[0], v[1], v[2], v[3], v[4], plan);
}

static void default_chain(void *params)
{
    *(tenon_elementwise_chain_params *)params = tenon_elementwise_chain_params_default();
}

static tenon_status run_copy(tenon_stream *stream, const void *params, const tenon_tensor *const *v,
                             const tenon_sync *sync)
{
    return tenon_copy(stream, params, v[0], v[1], sync);
}

static tenon_status plan_copy(tenon_context *context, const void *params,
                              const tenon_tensor *const *v, tenon_plan **plan)
{
    return tenon_copy_plan(context, params, v[0], v[1], plan);
}

static void default_copy(void *params)
{
    *(tenon_copy_params *)params = tenon_copy_params_default();
}

const operation offer_elementwise = {
    .name = "tenon_elementwise",
    .plan_name = "tenon_elementwise_plan",
    .operands = {{.name = "a", .rank = 2, .shape = {4, 5}},
                 {.name = "b", .rank = 2, .shape = {4, 5}},
                 {.name = "d", .rank = 2, .shape = {4, 5}}},
    .count = 3,
    .run = run_elementwise,
    .plan = plan_elementwise,
    .params_size = sizeof(tenon_elementwise_params),
    .defaults = default_elementwise,
};

const operation offer_elementwise_chain = {
    .name = "tenon_elementwise_chain",
    .plan_name = "tenon_elementwise_chain_plan",
    .operands = {{.name = "x0", .rank = 2, .shape = {4, 5}},
                 {.name = "x1", .rank = 2, .shape = {4, 5}, .optional = true},
                 {.name = "x2", .rank = 2, .shape = {4, 5}, .optional = true},
                 {.name = "x3", .rank = 2, .shape = {4, 5}, .optional = true},
                 {.name = "y", .rank = 2, .shape = {4, 5}}},
    .count = 5,
    .run = run_chain,
    .plan = plan_chain,
    .params_size = sizeof(tenon_elementwise_chain_params),
    .defaults = default_chain,
};

const operation offer_copy = {
    .name = "tenon_copy",
    .plan_name = "tenon_copy_plan",
    .operands = {{.name = "x", .rank = 2, .shape = {4, 5}},
                 {.name = "y", .rank = 2, .shape = {4, 5}}},
    .count = 2,
    .converts = true,
    .run = run_copy,
    .plan = plan_copy,
    .params_size = sizeof(tenon_copy_params),
    .defaults = default_copy,
};
