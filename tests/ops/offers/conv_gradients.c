#include "offer.h"

/* Three operands and tenon_conv_backward_params. */
#define DEFINE_CALLS(name)                                                                         \
    static tenon_status run_##name(tenon_stream *stream, const void *params,                       \
                                   const tenon_tensor *const *v, const tenon_sync *sync)           \
    {                                                                                              \
        return tenon_conv_##name(stream, params, v[0], v[1], v[2], sync);                          \
    }                                                                                              \
    static tenon_status plan_##name(tenon_context *context, const void *params,                    \
                                    const tenon_tensor *const *v, tenon_plan **plan)               \
    {                                                                                              \
        return tenon_conv_##name##_plan(context, params, v[0], v[1], v[2], plan);                  \
    }

DEFINE_CALLS(backward_data)
DEFINE_CALLS(backward_filter)
DEFINE_CALLS(transpose_backward_data)
DEFINE_CALLS(transpose_backward_filter)

static tenon_status run_transpose(tenon_stream *stream, const void *params,
                                  const tenon_tensor *const *v, const tenon_sync *sync)
{
    return tenon_conv_transpose_forward(stream, params, v[0], v[1], v[2], v[3], v[4], sync);
}

static tenon_status plan_transpose(tenon_context *context, const void *params,
                                   const tenon_tensor *const *v, tenon_plan **plan)
{
    return tenon_conv_transpose_forward_plan(context, params, v[0], v[1], v[2], v[3], v[4], plan);
}

static tenon_status run_col2im(tenon_stream *stream, const void *params,
                               const tenon_tensor *const *v, const tenon_sync *sync)
{
    return tenon_col2im(stream, params, v[0], v[1], sync);
}

static tenon_status plan_col2im(tenon_context *context, const void *params,
                                const tenon_tensor *const *v, tenon_plan **plan)
{
    return tenon_col2im_plan(context, params, v[0], v[1], plan);
}

static void default_backward(void *params)
{
    *(tenon_conv_backward_params *)params = tenon_conv_backward_params_default();
}

static void default_transpose(void *params)
{
    *(tenon_conv_transpose_params *)params = tenon_conv_transpose_params_default();
    ((tenon_conv_transpose_params *)params)->epilogue.beta = 1;
}

static void default_col2im(void *params)
{
    *(tenon_im2col_params *)params = tenon_im2col_params_default();
    ((tenon_im2col_params *)params)->filter[0] = 2;
}

#define BACKWARD .params_size = sizeof(tenon_conv_backward_params), .defaults = default_backward

const operation offer_conv_backward_data = {
    .name = "tenon_conv_backward_data",
    .plan_name = "tenon_conv_backward_data_plan",
    .operands = {{.name = "dy", .rank = 4, .shape = {2, 4, 4, 4}},
                 {.name = "w", .rank = 4, .shape = {4, 3, 2, 3}},
                 {.name = "dx", .rank = 4, .shape = {2, 3, 5, 6}}},
    .count = 3,
    .run = run_backward_data,
    .plan = plan_backward_data,
    BACKWARD,
};

const operation offer_conv_backward_filter = {
    .name = "tenon_conv_backward_filter",
    .plan_name = "tenon_conv_backward_filter_plan",
    .operands = {{.name = "x", .rank = 4, .shape = {2, 3, 5, 6}},
                 {.name = "dy", .rank = 4, .shape = {2, 4, 4, 4}},
                 {.name = "dw", .rank = 4, .shape = {4, 3, 2, 3}}},
    .count = 3,
    .run = run_backward_filter,
    .plan = plan_backward_filter,
    BACKWARD,
};

const operation offer_conv_transpose = {
    .name = "tenon_conv_transpose_forward",
    .plan_name = "tenon_conv_transpose_forward_plan",
    .operands = {{.name = "x", .rank = 4, .shape = {2, 4, 4, 4}},
                 {.name = "w", .rank = 4, .shape = {4, 3, 2, 3}},
                 {.name = "c", .rank = 4, .shape = {2, 3, 5, 6}},
                 {.name = "bias", .rank = 1, .shape = {3}, .optional = true},
                 {.name = "y", .rank = 4, .shape = {2, 3, 5, 6}}},
    .count = 5,
    .run = run_transpose,
    .plan = plan_transpose,
    .params_size = sizeof(tenon_conv_transpose_params),
    .defaults = default_transpose,
};

const operation offer_conv_transpose_backward_data = {
    .name = "tenon_conv_transpose_backward_data",
    .plan_name = "tenon_conv_transpose_backward_data_plan",
    .operands = {{.name = "dy", .rank = 4, .shape = {2, 3, 5, 6}},
                 {.name = "w", .rank = 4, .shape = {4, 3, 2, 3}},
                 {.name = "dx", .rank = 4, .shape = {2, 4, 4, 4}}},
    .count = 3,
    .run = run_transpose_backward_data,
    .plan = plan_transpose_backward_data,
    BACKWARD,
};

const operation offer_conv_transpose_backward_filter = {
    .name = "tenon_conv_transpose_backward_filter",
    .plan_name = "tenon_conv_transpose_backward_filter_plan",
    .operands = {{.name = "x", .rank = 4, .shape = {2, 4, 4, 4}},
                 {.name = "dy", .rank = 4, .shape = {2, 3, 5, 6}},
                 {.name = "dw", .rank = 4, .shape = {4, 3, 2, 3}}},
    .count = 3,
    .run = run_transpose_backward_filter,
    .plan = plan_transpose_backward_filter,
    BACKWARD,
};

const operation offer_col2im = {
    .name = "tenon_col2im",
    .plan_name = "tenon_col2im_plan",
    .operands = {{.name = "col", .rank = 3, .shape = {2, 6, 24}},
                 {.name = "x", .rank = 4, .shape = {2, 3, 5, 6}}},
    .count = 2,
    .run = run_col2im,
    .plan = plan_col2im,
    .params_size = sizeof(tenon_im2col_params),
    .defaults = default_col2im,
};
