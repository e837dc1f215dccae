/* Descriptions of the transposed convolution and of the gradients; see dispatch/operation.h. */
#include "ops/conv/problem/gradient.h"
#include "dispatch/operation.h"
#include "ops/registry.h"

static const tn_field fields[] = {
    TN_FLAGS_FIELD(tenon_conv_backward_params),
    TN_FIELD("groups", TN_FIELD_I64, tenon_conv_backward_params, groups),
    TN_GEOMETRY_FIELDS(tenon_conv_backward_params, geometry),
    TN_FIELD("beta", TN_FIELD_F64, tenon_conv_backward_params, beta)};
static const tn_field transpose_fields[] = {
    TN_FLAGS_FIELD(tenon_conv_transpose_params),
    TN_FIELD("groups", TN_FIELD_I64, tenon_conv_transpose_params, groups),
    TN_GEOMETRY_FIELDS(tenon_conv_transpose_params, geometry),
    TN_FIELD_ARRAY("output_padding", TN_FIELD_I64, tenon_conv_transpose_params, output_padding),
    TN_EPILOGUE_FIELDS(tenon_conv_transpose_params, epilogue)};

static const tenon_conv_backward_params conv_backward_defaults = TENON_CONV_BACKWARD_PARAMS_INIT;

TENON_API void tenon_conv_backward_params_default(tenon_conv_backward_params *params, uint32_t size)
{
    tn_params_give(params, size, &conv_backward_defaults, sizeof conv_backward_defaults);
}
static const tenon_conv_transpose_params conv_transpose_defaults = TENON_CONV_TRANSPOSE_PARAMS_INIT;

TENON_API void tenon_conv_transpose_params_default(tenon_conv_transpose_params *params,
                                                   uint32_t size)
{
    tn_params_give_with(params, size, &conv_transpose_defaults, sizeof conv_transpose_defaults,
                        offsetof(tenon_conv_transpose_params, epilogue));
}

TENON_API tenon_status tenon_conv_backward_data(tenon_stream *stream,
                                                const tenon_conv_backward_params *params,
                                                const tenon_tensor *dy, const tenon_tensor *w,
                                                const tenon_tensor *dx, const tenon_sync *sync)
{
    return TN_RUN(tn_operation_conv_backward_data, dy, w, dx);
}

TENON_API tenon_status tenon_conv_backward_data_plan(tenon_context *context,
                                                     const tenon_conv_backward_params *params,
                                                     const tenon_tensor *dy, const tenon_tensor *w,
                                                     const tenon_tensor *dx, tenon_plan **plan)
{
    return TN_PLAN(tn_operation_conv_backward_data, dy, w, dx);
}

TENON_API tenon_status tenon_conv_backward_filter(tenon_stream *stream,
                                                  const tenon_conv_backward_params *params,
                                                  const tenon_tensor *x, const tenon_tensor *dy,
                                                  const tenon_tensor *dw, const tenon_sync *sync)
{
    return TN_RUN(tn_operation_conv_backward_filter, x, dy, dw);
}

TENON_API tenon_status tenon_conv_backward_filter_plan(tenon_context *context,
                                                       const tenon_conv_backward_params *params,
                                                       const tenon_tensor *x,
                                                       const tenon_tensor *dy,
                                                       const tenon_tensor *dw, tenon_plan **plan)
{
    return TN_PLAN(tn_operation_conv_backward_filter, x, dy, dw);
}

TENON_API tenon_status tenon_conv_backward_bias(tenon_stream *stream,
                                                const tenon_conv_backward_params *params,
                                                const tenon_tensor *dy, const tenon_tensor *db,
                                                const tenon_sync *sync)
{
    return TN_RUN(tn_operation_conv_backward_bias, dy, db);
}

TENON_API tenon_status tenon_conv_backward_bias_plan(tenon_context *context,
                                                     const tenon_conv_backward_params *params,
                                                     const tenon_tensor *dy, const tenon_tensor *db,
                                                     tenon_plan **plan)
{
    return TN_PLAN(tn_operation_conv_backward_bias, dy, db);
}

TENON_API tenon_status tenon_conv_transpose_forward(tenon_stream *stream,
                                                    const tenon_conv_transpose_params *params,
                                                    const tenon_tensor *x, const tenon_tensor *w,
                                                    const tenon_tensor *c, const tenon_tensor *bias,
                                                    const tenon_tensor *y, const tenon_sync *sync)
{
    return TN_RUN(tn_operation_conv_transpose, x, w, c, bias, y);
}

TENON_API tenon_status tenon_conv_transpose_forward_plan(
    tenon_context *context, const tenon_conv_transpose_params *params, const tenon_tensor *x,
    const tenon_tensor *w, const tenon_tensor *c, const tenon_tensor *bias, const tenon_tensor *y,
    tenon_plan **plan)
{
    return TN_PLAN(tn_operation_conv_transpose, x, w, c, bias, y);
}

TENON_API tenon_status tenon_conv_transpose_backward_data(
    tenon_stream *stream, const tenon_conv_backward_params *params, const tenon_tensor *dy,
    const tenon_tensor *w, const tenon_tensor *dx, const tenon_sync *sync)
{
    return TN_RUN(tn_operation_conv_transpose_backward_data, dy, w, dx);
}

TENON_API tenon_status tenon_conv_transpose_backward_data_plan(
    tenon_context *context, const tenon_conv_backward_params *params, const tenon_tensor *dy,
    const tenon_tensor *w, const tenon_tensor *dx, tenon_plan **plan)
{
    return TN_PLAN(tn_operation_conv_transpose_backward_data, dy, w, dx);
}

TENON_API tenon_status tenon_conv_transpose_backward_filter(
    tenon_stream *stream, const tenon_conv_backward_params *params, const tenon_tensor *x,
    const tenon_tensor *dy, const tenon_tensor *dw, const tenon_sync *sync)
{
    return TN_RUN(tn_operation_conv_transpose_backward_filter, x, dy, dw);
}

TENON_API tenon_status tenon_conv_transpose_backward_filter_plan(
    tenon_context *context, const tenon_conv_backward_params *params, const tenon_tensor *x,
    const tenon_tensor *dy, const tenon_tensor *dw, tenon_plan **plan)
{
    return TN_PLAN(tn_operation_conv_transpose_backward_filter, x, dy, dw);
}

static const char *const data_examples[] = {
    "conv_backward_data dy=T:2x4x4x4 w=T:4x3x2x3 dx=T:2x3x5x6",
    "conv_backward_data dy=T:2x37x23x21+3 w=T:37x19x3x3 dx=T:2x19x23x21 pad_begin=1,1 pad_end=1,1 "
    "beta=0.5",
    "conv_backward_data dy=T:1x33x17x15/8415,1,495,33 w=T:33x64x1x1 dx=T:1x64x17x15/16320,1,960,64",
    "conv_backward_data dy=T:2x17x20x21 w=T:17x3x7x7 dx=T:2x3x41x43 stride=2,2 pad_begin=2,2 "
    "pad_end=3,3",
    "conv_backward_data dy=T:2x12x19x17 w=T:12x1x3x3 dx=T:2x12x19x17 groups=12 pad_begin=1,1 "
    "pad_end=1,1",
    "conv_backward_data dy=T:2x24x17x15 w=T:24x6x3x2 dx=T:2x18x19x17 groups=3 dilation=1,2",
    "conv_backward_data dy=T:2x9x34 w=T:9x5x4 dx=T:2x5x70 stride=2 pad_end=1",
    NULL,
};

static const char *const filter_examples[] = {
    "conv_backward_filter x=T:2x3x5x6 dy=T:2x4x4x4 dw=T:4x3x2x3",
    "conv_backward_filter x=T:2x19x23x21+3 dy=T:2x37x23x21 dw=T:37x19x3x3 pad_begin=1,1 "
    "pad_end=1,1 beta=0.5",
    "conv_backward_filter x=T:1x64x17x15/16320,1,960,64 dy=T:1x33x17x15/8415,1,495,33 "
    "dw=T:33x64x1x1",
    "conv_backward_filter x=T:2x3x41x43 dy=T:2x17x20x21 dw=T:17x3x7x7 stride=2,2 pad_begin=2,2 "
    "pad_end=3,3",
    "conv_backward_filter x=T:2x12x19x17 dy=T:2x12x19x17 dw=T:12x1x3x3 groups=12 pad_begin=1,1 "
    "pad_end=1,1",
    "conv_backward_filter x=T:2x18x19x17 dy=T:2x24x17x15 dw=T:24x6x3x2 groups=3 dilation=1,2",
    "conv_backward_filter x=T:2x5x70 dy=T:2x9x34 dw=T:9x5x4 stride=2 pad_end=1",
    NULL,
};

static const char *const bias_examples[] = {
    "conv_backward_bias dy=T:2x4x4x4 db=T:4",
    "conv_backward_bias dy=T:3x37x23x21+3 db=T:37 beta=0.5",
    "conv_backward_bias dy=T:2x33x57x55/103455,1,1815,33 db=T:33",
    NULL,
};

static const char *const transpose_examples[] = {
    "conv_transpose x=T:2x4x4x4 w=T:4x3x2x3 c=T:2x3x5x6 bias=T:3 y=T:2x3x5x6 beta=1",
    "conv_transpose x=T:2x37x23x21+3 w=T:37x19x3x3 bias=T:19 y=T:2x19x23x21 pad_begin=1,1 "
    "pad_end=1,1 activation=relu",
    "conv_transpose x=T:1x33x17x15/8415,1,495,33 w=T:33x64x1x1 y=T:1x64x17x15/16320,1,960,64",
    "conv_transpose x=T:2x17x20x21 w=T:17x5x4x4 bias=T:5 y=T:2x5x41x42 stride=2,2 pad_begin=1,1 "
    "pad_end=1,1 output_padding=1 activation=tanh",
    "conv_transpose x=T:2x12x19x17 w=T:12x1x3x3 c=@y y=T:2x12x19x17 groups=12 pad_begin=1,1 "
    "pad_end=1,1 beta=2",
    "conv_transpose x=T:2x9x34 w=T:9x5x4 y=T:2x5x70 stride=2",
    "conv_transpose x=T:2x9x34 w=T:9x5x4 bias=T:5 y=T:2x5x45 dilation=3 output_padding=2",
    NULL,
};

static const char *const transpose_data_examples[] = {
    "conv tenon_conv_transpose_backward_data dy=T:2x3x5x6 w=T:4x3x2x3 dx=T:2x4x4x4",
    "conv tenon_conv_transpose_backward_data dy=T:2x5x40x42 w=T:17x5x4x4 dx=T:2x17x20x21 "
    "stride=2,2 pad_begin=1,1 pad_end=1,1 beta=0.5",
    NULL,
};

static const char *const transpose_filter_examples[] = {
    "conv_backward_filter tenon_conv_transpose_backward_filter x=T:2x4x4x4 dy=T:2x3x5x6 "
    "dw=T:4x3x2x3",
    "conv_backward_filter tenon_conv_transpose_backward_filter x=T:2x17x20x21 dy=T:2x5x40x42 "
    "dw=T:17x5x4x4 stride=2,2 pad_begin=1,1 pad_end=1,1",
    NULL,
};

static const tn_alternative data_alternatives[] = {CONV_ALTERNATIVES(5, 2)};
static const tn_alternative filter_alternatives[] = {CONV_ALTERNATIVES(3, 4)};
static const tn_alternative transpose_alternatives[] = {
    CONV_ALTERNATIVES(CONV_IMAGES, 1 << CONV_W)};

/* Common part of the gradients with three operands. */
#define GRADIENT(first, second, result)                                                            \
    .operands = {{.name = first, .image = true},                                                   \
                 {.name = second, .image = true},                                                  \
                 {.name = result, .image = true, .read = true, .role = TN_OUTPUT}},                \
    .operand_count = 3, TN_FIELDS(fields),                                                         \
    TN_PARAMS(conv_backward_defaults, TENON_CONV_BACKWARD_PARAMS_INIT), TN_PROBLEM(conv_problem)

const tn_operation tn_operation_conv_backward_data = {
    TN_NAMES("tenon_conv_backward_data"),
    .family = &tn_conv_backward_data_family,
    GRADIENT("dy", "w", "dx"),
    .prepare = tn_conv_backward_data_prepare,
    .reference = tn_conv_backward_data_reference,
    .alternatives = data_alternatives,
    .examples = data_examples,
};

const tn_operation tn_operation_conv_backward_filter = {
    TN_NAMES("tenon_conv_backward_filter"),
    .family = &tn_conv_backward_filter_family,
    GRADIENT("x", "dy", "dw"),
    .prepare = tn_conv_backward_filter_prepare,
    .reference = tn_conv_backward_filter_reference,
    .alternatives = filter_alternatives,
    .examples = filter_examples,
};

const tn_operation tn_operation_conv_transpose_backward_data = {
    TN_NAMES("tenon_conv_transpose_backward_data"),
    .family = &tn_conv_family,
    GRADIENT("dy", "w", "dx"),
    .prepare = tn_conv_transpose_backward_data_prepare,
    .reference = tn_conv_transpose_backward_data_reference,
    .alternatives = data_alternatives,
    .examples = transpose_data_examples,
};

const tn_operation tn_operation_conv_transpose_backward_filter = {
    TN_NAMES("tenon_conv_transpose_backward_filter"),
    .family = &tn_conv_backward_filter_family,
    GRADIENT("x", "dy", "dw"),
    .prepare = tn_conv_transpose_backward_filter_prepare,
    .reference = tn_conv_transpose_backward_filter_reference,
    .alternatives = filter_alternatives,
    .examples = transpose_filter_examples,
};

const tn_operation tn_operation_conv_backward_bias = {
    TN_NAMES("tenon_conv_backward_bias"),
    .family = &tn_conv_backward_bias_family,
    .operands = {{.name = "dy", .image = true},
                 {.name = "db", .read = true, .role = TN_OUTPUT, .shape = tn_conv_bias_shape}},
    .operand_count = 2,
    TN_FIELDS(fields),
    TN_PARAMS(conv_backward_defaults, TENON_CONV_BACKWARD_PARAMS_INIT),
    TN_PROBLEM(conv_bias_problem),
    .prepare = tn_conv_backward_bias_prepare,
    .reference = tn_conv_backward_bias_reference,
    .examples = bias_examples,
};

static const char *const transpose_post_examples[] = {
    "conv_transpose_post x=T:2x4x4x4 w=T:4x3x2x3 c=T:2x3x5x6 bias=T:3 y=T:2x3x5x6 post_scale=T:3 "
    "post_shift=T:3 residual=T:2x3x5x6 beta=1",
    "conv_transpose_post x=T:2x17x20x21 w=T:17x5x4x4 y=T:2x5x40x42 post_scale=T:5 residual=@y "
    "stride=2,2 pad_begin=1,1 pad_end=1,1 activation=relu",
    NULL,
};

static const tn_operation *transpose_served_as(const void *given, const tenon_tensor **views)
{
    const tenon_conv_transpose_params *params = given;
    return params != NULL && tn_epilogue_post_views(&params->epilogue, views + CONV_POST)
               ? &tn_operation_conv_transpose_post
               : &tn_operation_conv_transpose;
}

/* The members that both descriptions share. */
#define TRANSPOSE_OPERATION                                                                        \
    TN_NAMES("tenon_conv_transpose_forward"), TN_FIELDS(transpose_fields),                         \
        TN_PARAMS(conv_transpose_defaults, TENON_CONV_TRANSPOSE_PARAMS_INIT),                      \
        .epilogue_at = offsetof(tenon_conv_transpose_params, epilogue), TN_PROBLEM(conv_problem),  \
        .prepare = tn_conv_transpose_prepare, .alternatives = transpose_alternatives

const tn_operation tn_operation_conv_transpose = {
    TRANSPOSE_OPERATION,
    .family = &tn_conv_transpose_family,
    .operands = {CONV_FIVE_OPERANDS(tn_conv_transpose_shape)},
    .operand_count = CONV_OPERANDS,
    .served_as = transpose_served_as,
    .reference = tn_conv_transpose_reference,
    .examples = transpose_examples,
};

const tn_operation tn_operation_conv_transpose_post = {
    TRANSPOSE_OPERATION,
    .family = &tn_conv_transpose_post_family,
    .operands = {CONV_FIVE_OPERANDS(tn_conv_transpose_shape), POST_OPERANDS},
    .operand_count = CONV_VIEWS,
    .reference = tn_conv_transpose_post_reference,
    .examples = transpose_post_examples,
};
