/* Descriptions of convolution, im2col and col2im; see dispatch/operation.h. */
#include "ops/conv/int8/int8.h"
#include "ops/conv/mixed.h"
#include "ops/conv/problem/gradient.h"
#include "dispatch/operation.h"
#include "ops/registry.h"

static const tn_field fields[] = {TN_FLAGS_FIELD(tenon_conv_params),
                                  TN_FIELD("groups", TN_FIELD_I64, tenon_conv_params, groups),
                                  TN_GEOMETRY_FIELDS(tenon_conv_params, geometry),
                                  TN_EPILOGUE_FIELDS(tenon_conv_params, epilogue)};
static const tn_field columns_fields[] = {
    TN_FLAGS_FIELD(tenon_im2col_params),
    TN_FIELD_ARRAY("filter", TN_FIELD_I64, tenon_im2col_params, filter),
    TN_GEOMETRY_FIELDS(tenon_im2col_params, geometry)};

static const tenon_conv_params conv_defaults = TENON_CONV_PARAMS_INIT;

TENON_API void tenon_conv_params_default(tenon_conv_params *params, uint32_t size)
{
    tn_params_give_with(params, size, &conv_defaults, sizeof conv_defaults,
                        offsetof(tenon_conv_params, epilogue));
}
static const tenon_im2col_params im2col_defaults = TENON_IM2COL_PARAMS_INIT;

TENON_API void tenon_im2col_params_default(tenon_im2col_params *params, uint32_t size)
{
    tn_params_give(params, size, &im2col_defaults, sizeof im2col_defaults);
}

TENON_API tenon_status tenon_conv_forward(tenon_stream *stream, const tenon_conv_params *params,
                                          const tenon_tensor *x, const tenon_tensor *w,
                                          const tenon_tensor *c, const tenon_tensor *bias,
                                          const tenon_tensor *y, const tenon_sync *sync)
{
    return TN_RUN(tn_operation_conv, x, w, c, bias, y);
}

TENON_API tenon_status tenon_conv_forward_plan(tenon_context *context,
                                               const tenon_conv_params *params,
                                               const tenon_tensor *x, const tenon_tensor *w,
                                               const tenon_tensor *c, const tenon_tensor *bias,
                                               const tenon_tensor *y, tenon_plan **plan)
{
    return TN_PLAN(tn_operation_conv, x, w, c, bias, y);
}

TENON_API tenon_status tenon_im2col(tenon_stream *stream, const tenon_im2col_params *params,
                                    const tenon_tensor *x, const tenon_tensor *col,
                                    const tenon_sync *sync)
{
    return TN_RUN(tn_operation_im2col, x, col);
}

TENON_API tenon_status tenon_im2col_plan(tenon_context *context, const tenon_im2col_params *params,
                                         const tenon_tensor *x, const tenon_tensor *col,
                                         tenon_plan **plan)
{
    return TN_PLAN(tn_operation_im2col, x, col);
}

TENON_API tenon_status tenon_col2im(tenon_stream *stream, const tenon_im2col_params *params,
                                    const tenon_tensor *col, const tenon_tensor *x,
                                    const tenon_sync *sync)
{
    return TN_RUN(tn_operation_col2im, col, x);
}

TENON_API tenon_status tenon_col2im_plan(tenon_context *context, const tenon_im2col_params *params,
                                         const tenon_tensor *col, const tenon_tensor *x,
                                         tenon_plan **plan)
{
    return TN_PLAN(tn_operation_col2im, col, x);
}

static const char *const conv_examples[] = {
    "conv x=T:2x3x5x6 w=T:4x3x2x3 c=T:2x4x4x4 bias=T:4 y=T:2x4x4x4 beta=1",
    "conv x=T:2x19x23x21+3 w=T:37x19x3x3 bias=T:37 y=T:2x37x23x21 pad_begin=1,1 pad_end=1,1 "
    "activation=relu",
    "conv x=T:1x64x17x15/16320,1,960,64 w=T:33x64x1x1 y=T:1x33x17x15/8415,1,495,33 alpha=0.5",
    "conv x=T:2x3x41x43 w=T:17x3x7x7 y=T:2x17x20x21 stride=2,2 pad_begin=2,2 pad_end=3,3 "
    "activation=gelu",
    "conv x=T:2x12x19x17 w=T:12x1x3x3 bias=T:12 y=T:2x12x19x17 groups=12 pad_begin=1,1 pad_end=1,1 "
    "activation=clipped_relu activation.alpha=6",
    "conv x=T:2x18x19x17 w=T:24x6x3x2 c=@y y=T:2x24x17x15 groups=3 dilation=1,2 beta=0.5",
    "conv x=T:2x5x70 w=T:9x5x4 y=T:2x9x34 stride=2 pad_end=1",
    "conv x=T:1x3x9x8x7 w=T:5x3x3x2x3 y=T:1x5x9x8x5 pad_begin=1,1 pad_end=1 dilation=1,1",
    "conv x=T:0x3x5x6 w=T:4x3x2x3 y=T:0x4x4x4",
    NULL,
};

static const char *const im2col_examples[] = {
    "im2col x=T:2x3x5x6 col=T:2x6x24 filter=2",
    "im2col x=T:2x19x23x21+3 col=T:2x171x483 filter=3,3 pad_begin=1,1 pad_end=1,1",
    "im2col x=T:2x19x23x21/9177,1,399,19 col=T:2x171x110 filter=3,3 stride=2,2 pad_begin=1,1",
    "im2col x=T:2x5x70 col=T:2x20x67 filter=4",
    NULL,
};

static const char *const col2im_examples[] = {
    "col2im col=T:2x6x24 x=T:2x3x5x6 filter=2",
    "col2im col=T:2x171x483 x=T:2x19x23x21+3 filter=3,3 pad_begin=1,1 pad_end=1,1",
    "col2im col=T:2x171x110 x=T:2x19x23x21/9177,1,399,19 filter=3,3 stride=2,2 pad_begin=1,1",
    "col2im col=T:2x20x67 x=T:2x5x70 filter=4",
    NULL,
};

/* Returns the bit of x if its channels are its last dimension. Examines only x and w, since y may
 * be a guess. */
static uint32_t channels_last(const void *params, const tn_call *call)
{
    const tenon_tensor *x = call->operands[CONV_X].view, *w = call->operands[CONV_W].view;
    return (uint32_t)tn_conv_channels_last(x, w, ((const tenon_conv_params *)params)->groups)
           << CONV_X;
}

static const char *const post_examples[] = {
    "conv_post x=T:2x3x5x6 w=T:4x3x2x3 c=T:2x4x4x4 bias=T:4 y=T:2x4x4x4 post_scale=T:4 "
    "post_shift=T:4 residual=T:2x4x4x4 beta=1",
    "conv_post x=T:2x19x23x21+3 w=T:37x19x3x3 bias=T:37 y=T:2x37x23x21 "
    "post_scale=T:37 pad_begin=1,1 "
    "pad_end=1,1 activation=relu",
    "conv_post x=T:1x64x17x15/16320,1,960,64 w=T:33x64x1x1 y=T:1x33x17x15/8415,1,495,33 "
    "post_shift=T:33 residual=@y alpha=0.5 activation=gelu",
    "conv_post x=T:2x12x19x17 w=T:12x1x3x3 c=@y y=T:2x12x19x17 residual=T:2x12x19x17 groups=12 "
    "pad_begin=1,1 pad_end=1,1 beta=0.5",
    "conv_post x=T:0x3x5x6 w=T:4x3x2x3 y=T:0x4x4x4 post_shift=T:4",
    NULL,
};

static const tn_operation *served_as(const void *given, const tenon_tensor **views)
{
    const tenon_conv_params *params = given;
    if (tn_is_mixed(views[CONV_X], views[CONV_W], views[CONV_Y]))
        return &tn_operation_conv_mixed;
    if (tn_gemm_is_int8(views[CONV_X])) {
        if (params != NULL)
            tn_int8_take_vectors(&params->epilogue, views);
        return &tn_operation_conv_int8;
    }
    return params != NULL && tn_epilogue_post_views(&params->epilogue, views + CONV_POST)
               ? &tn_operation_conv_post
               : &tn_operation_conv;
}

static const tn_alternative alternatives[] = {CONV_ALTERNATIVES(CONV_IMAGES, 1 << CONV_W)};

/* The members that the four descriptions share. */
#define CONV_OPERATION                                                                             \
    TN_NAMES("tenon_conv_forward"), TN_FIELDS(fields),                                             \
        TN_PARAMS(conv_defaults, TENON_CONV_PARAMS_INIT),                                          \
        .flags = TENON_CONV_EXACT, .epilogue_at = offsetof(tenon_conv_params, epilogue),           \
        .channels_last = channels_last, .alternatives = alternatives

const tn_operation tn_operation_conv = {
    CONV_OPERATION,
    TN_PROBLEM(conv_problem),
    .prepare = tn_conv_prepare,
    .family = &tn_conv_family,
    .operands = {CONV_FIVE_OPERANDS(tn_conv_shape)},
    .operand_count = CONV_OPERANDS,
    .served_as = served_as,
    .reference = tn_conv_reference,
    .examples = conv_examples,
};

/* A convolution with terms after the activation, which the parameters point to and which are
 * operands after y. */
const tn_operation tn_operation_conv_post = {
    CONV_OPERATION,
    TN_PROBLEM(conv_problem),
    .prepare = tn_conv_prepare,
    .family = &tn_conv_post_family,
    .operands = {CONV_FIVE_OPERANDS(tn_conv_shape), POST_OPERANDS},
    .operand_count = CONV_VIEWS,
    .reference = tn_conv_post_reference,
    .examples = post_examples,
};

static const char *const int8_examples[] = {
    ("conv_int8 x=u8:2x3x5x6 w=i8:4x3x2x3 c=f32:2x4x4x4 bias=f32:4 y=u8:2x4x4x4 scale_of_x=f32: "
     "scale_of_w=f32:4 scale_of_y=f32:4 zero_point_of_x=u8: zero_point_of_w=i8:4 "
     "zero_point_of_y=u8:4 beta=1"),
    "conv_int8 x=u8:2x19x23x21+3 w=i8:37x19x3x3 bias=i32:37 y=i32:2x37x23x21 zero_point_of_x=u8: "
    "pad_begin=1,1 pad_end=1,1 activation=relu",
    "conv_int8 x=i8:1x64x17x15/16320,1,960,64 w=i8:33x64x1x1 scale_of_w=f32:33 "
    "y=f16:1x33x17x15/8415,1,495,33 alpha=0.01",
    "conv_int8 x=u8:2x3x41x43/5289,1,129,3 w=u8:17x3x7x7/147,1,21,3 zero_point_of_w=u8: "
    "y=f32:2x17x20x21/7140,1,357,17 stride=2,2 pad_begin=2,2 pad_end=3,3",
    "conv_int8 x=u8:2x12x19x17 w=i8:12x1x3x3 bias=i32:12 scale_of_x=f32: scale_of_w=f32:12 "
    "scale_of_y=f32: y=i8:2x12x19x17 groups=12 pad_begin=1,1 pad_end=1,1",
    "conv_int8 x=i8:2x18x19x17 w=i8:24x6x3x2 y=bf16:2x24x17x15 groups=3 dilation=1,2 alpha=0.01",
    "conv_int8 x=u8:2x5x70 w=i8:9x5x4 y=i32:2x9x34 stride=2 pad_end=1",
    "conv_int8 x=u8:1x3x9x8x7 w=i8:5x3x3x2x3 y=f32:1x5x9x8x5 pad_begin=1,1 pad_end=1 dilation=1,1",
    "conv_int8 x=u8:0x3x5x6 w=i8:4x3x2x3 y=i32:0x4x4x4",
    NULL,
};

/* A convolution of i8 and u8. Its scales and zero points, which the parameters of
 * tenon_conv_forward point to, are operands after y. */
const tn_operation tn_operation_conv_int8 = {
    CONV_OPERATION,
    TN_PROBLEM(conv_int8_problem),
    .prepare = tn_conv_int8_prepare,
    .family = &tn_conv_int8_family,
    .operands = {CONV_FIVE_OPERANDS(tn_conv_shape),
                 {.name = "scale of x", .optional = true},
                 {.name = "scale of w", .optional = true},
                 {.name = "scale of y", .optional = true},
                 {.name = "zero point of x", .optional = true},
                 {.name = "zero point of w", .optional = true},
                 {.name = "zero point of y", .optional = true}},
    .operand_count = INT8_OPERANDS,
    .reference = tn_conv_int8_reference,
    .fill_valid = tn_int8_fill_scales,
    .is_measurable = true,
    .examples = int8_examples,
};

static const char *const mixed_examples[] = {
    "conv_mixed x=f16:2x3x5x6 w=f16:4x3x2x3 c=f32:2x4x4x4 bias=f32:4 y=f32:2x4x4x4 beta=1",
    "conv_mixed x=f32:2x19x23x21+3 w=bf16:37x19x3x3 bias=f32:37 y=f32:2x37x23x21 pad_begin=1,1 "
    "pad_end=1,1 activation=relu",
    "conv_mixed x=f16:1x64x17x15/16320,1,960,64 w=f32:33x64x1x1 y=f32:1x33x17x15/8415,1,495,33 "
    "alpha=0.5",
    "conv_mixed x=bf16:2x12x19x17 w=f16:12x1x3x3 y=f32:2x12x19x17 groups=12 pad_begin=1,1 "
    "pad_end=1,1",
    "conv_mixed x=f16:0x3x5x6 w=f16:4x3x2x3 y=f32:0x4x4x4",
    NULL,
};

/* A convolution of f32, f16 and bf16 with a result of f32. */
const tn_operation tn_operation_conv_mixed = {
    CONV_OPERATION,
    TN_PROBLEM(conv_mixed_problem),
    .prepare = tn_conv_mixed_prepare,
    .family = &tn_conv_mixed_family,
    .operands = {CONV_FIVE_OPERANDS(tn_conv_shape)},
    .operand_count = CONV_OPERANDS,
    .reference = tn_conv_mixed_reference,
    .examples = mixed_examples,
};

const tn_operation tn_operation_im2col = {
    TN_NAMES("tenon_im2col"),
    .family = &tn_im2col_family,
    .operands = {{.name = "x", .image = true},
                 {.name = "col", .role = TN_OUTPUT, .shape = tn_im2col_shape}},
    .operand_count = 2,
    TN_FIELDS(columns_fields),
    TN_PARAMS(im2col_defaults, TENON_IM2COL_PARAMS_INIT),
    TN_PROBLEM(im2col_problem),
    .prepare = tn_im2col_prepare,
    .reference = tn_im2col_reference,
    .examples = im2col_examples,
};

const tn_operation tn_operation_col2im = {
    TN_NAMES("tenon_col2im"),
    .family = &tn_col2im_family,
    .operands = {{.name = "col"}, {.name = "x", .image = true, .role = TN_OUTPUT}},
    .operand_count = 2,
    TN_FIELDS(columns_fields),
    TN_PARAMS(im2col_defaults, TENON_IM2COL_PARAMS_INIT),
    TN_PROBLEM(col2im_problem),
    .prepare = tn_col2im_prepare,
    .reference = tn_col2im_reference,
    .examples = col2im_examples,
};
