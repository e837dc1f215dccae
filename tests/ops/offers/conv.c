#include "offer.h"

static tenon_status run_conv(tenon_stream *stream, const void *params, const tenon_tensor *const *v,
                             const tenon_sync *sync)
{
    return tenon_conv_forward(stream, params, v[0], v[1], v[2], v[3], v[4], sync);
}

static tenon_status plan_conv(tenon_context *context, const void *params,
                              const tenon_tensor *const *v, tenon_plan **plan)
{
    return tenon_conv_forward_plan(context, params, v[0], v[1], v[2], v[3], v[4], plan);
}

static tenon_status run_im2col(tenon_stream *stream, const void *params,
                               const tenon_tensor *const *v, const tenon_sync *sync)
{
    return tenon_im2col(stream, params, v[0], v[1], sync);
}

static tenon_status plan_im2col(tenon_context *context, const void *params,
                                const tenon_tensor *const *v, tenon_plan **plan)
{
    return tenon_im2col_plan(context, params, v[0], v[1], plan);
}

static void default_conv(void *params)
{
    *(tenon_conv_params *)params = tenon_conv_params_default();
    ((tenon_conv_params *)params)->epilogue.beta = 1;
}

static void default_im2col(void *params)
{
    *(tenon_im2col_params *)params = tenon_im2col_params_default();
    ((tenon_im2col_params *)params)->filter[0] = 2;
}

const operation offer_conv = {
    .name = "tenon_conv_forward",
    .plan_name = "tenon_conv_forward_plan",
    .operands = {{.name = "x", .rank = 4, .shape = {2, 3, 5, 6}},
                 {.name = "w", .rank = 4, .shape = {4, 3, 2, 3}},
                 {.name = "c", .rank = 4, .shape = {2, 4, 4, 4}},
                 {.name = "bias", .rank = 1, .shape = {4}, .optional = true},
                 {.name = "y", .rank = 4, .shape = {2, 4, 4, 4}}},
    .count = 5,
    .run = run_conv,
    .plan = plan_conv,
    .params_size = sizeof(tenon_conv_params),
    .defaults = default_conv,
};

const operation offer_im2col = {
    .name = "tenon_im2col",
    .plan_name = "tenon_im2col_plan",
    .operands = {{.name = "x", .rank = 4, .shape = {2, 3, 5, 6}},
                 {.name = "col", .rank = 3, .shape = {2, 6, 24}}},
    .count = 2,
    .run = run_im2col,
    .plan = plan_im2col,
    .params_size = sizeof(tenon_im2col_params),
    .defaults = default_im2col,
};
