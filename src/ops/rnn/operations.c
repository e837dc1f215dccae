/* Descriptions (dispatch/operation.h) of recurrent layers and their gradients. */
#include "ops/common/output_shape.h"
#include "ops/registry.h"
#include "ops/rnn/internal.h"

static const char *const kinds[] = {"tanh", "relu", "lstm", "gru", NULL};
static const char *const directions[] = {"forward", "reverse", "bidirectional", NULL};
static const char *const orders[] = {"ifgo", "iofc", NULL};

static const tn_field fields[] = {
    TN_FLAGS_FIELD(tenon_rnn_params),
    TN_FIELD_WORDS("kind", TN_FIELD_U32, tenon_rnn_params, kind, kinds),
    TN_FIELD_WORDS("direction", TN_FIELD_U32, tenon_rnn_params, direction, directions),
    TN_FIELD_WORDS("order", TN_FIELD_U32, tenon_rnn_params, order, orders),
    TN_FIELD("clip", TN_FIELD_F64, tenon_rnn_params, clip)};

static const tenon_rnn_params rnn_defaults = TENON_RNN_PARAMS_INIT;

TENON_API void tenon_rnn_params_default(tenon_rnn_params *params, uint32_t size)
{
    tn_params_give(params, size, &rnn_defaults, sizeof rnn_defaults);
}

TENON_API tenon_status tenon_rnn_forward(
    tenon_stream *stream, const tenon_rnn_params *params, const tenon_tensor *x,
    const tenon_tensor *w, const tenon_tensor *r, const tenon_tensor *bias,
    const tenon_tensor *recurrent_bias, const tenon_tensor *peephole,
    const tenon_tensor *projection, const tenon_tensor *lengths, const tenon_tensor *h0,
    const tenon_tensor *c0, const tenon_tensor *y, const tenon_tensor *hn, const tenon_tensor *cn,
    const tenon_tensor *reserve, const tenon_sync *sync)
{
    return TN_RUN(tn_operation_rnn, x, w, r, bias, recurrent_bias, peephole, projection, lengths,
                  h0, c0, y, hn, cn, reserve);
}

TENON_API tenon_status tenon_rnn_forward_plan(
    tenon_context *context, const tenon_rnn_params *params, const tenon_tensor *x,
    const tenon_tensor *w, const tenon_tensor *r, const tenon_tensor *bias,
    const tenon_tensor *recurrent_bias, const tenon_tensor *peephole,
    const tenon_tensor *projection, const tenon_tensor *lengths, const tenon_tensor *h0,
    const tenon_tensor *c0, const tenon_tensor *y, const tenon_tensor *hn, const tenon_tensor *cn,
    const tenon_tensor *reserve, tenon_plan **plan)
{
    return TN_PLAN(tn_operation_rnn, x, w, r, bias, recurrent_bias, peephole, projection, lengths,
                   h0, c0, y, hn, cn, reserve);
}

TENON_API tenon_status tenon_rnn_backward_data(
    tenon_stream *stream, const tenon_rnn_params *params, const tenon_tensor *w,
    const tenon_tensor *r, const tenon_tensor *peephole, const tenon_tensor *projection,
    const tenon_tensor *lengths, const tenon_tensor *h0, const tenon_tensor *c0,
    const tenon_tensor *y, const tenon_tensor *reserve, const tenon_tensor *dy,
    const tenon_tensor *dhn, const tenon_tensor *dcn, const tenon_tensor *dx,
    const tenon_tensor *dh0, const tenon_tensor *dc0, const tenon_tensor *dgates,
    const tenon_sync *sync)
{
    return TN_RUN(tn_operation_rnn_backward_data, w, r, peephole, projection, lengths, h0, c0, y,
                  reserve, dy, dhn, dcn, dx, dh0, dc0, dgates);
}

TENON_API tenon_status tenon_rnn_backward_data_plan(
    tenon_context *context, const tenon_rnn_params *params, const tenon_tensor *w,
    const tenon_tensor *r, const tenon_tensor *peephole, const tenon_tensor *projection,
    const tenon_tensor *lengths, const tenon_tensor *h0, const tenon_tensor *c0,
    const tenon_tensor *y, const tenon_tensor *reserve, const tenon_tensor *dy,
    const tenon_tensor *dhn, const tenon_tensor *dcn, const tenon_tensor *dx,
    const tenon_tensor *dh0, const tenon_tensor *dc0, const tenon_tensor *dgates, tenon_plan **plan)
{
    return TN_PLAN(tn_operation_rnn_backward_data, w, r, peephole, projection, lengths, h0, c0, y,
                   reserve, dy, dhn, dcn, dx, dh0, dc0, dgates);
}

#define WEIGHTS_PARAMETERS                                                                         \
    const tenon_rnn_params *params, const tenon_tensor *x, const tenon_tensor *lengths,            \
        const tenon_tensor *h0, const tenon_tensor *c0, const tenon_tensor *y,                     \
        const tenon_tensor *reserve, const tenon_tensor *dgates, const tenon_tensor *dw,           \
        const tenon_tensor *dr, const tenon_tensor *dbias, const tenon_tensor *drecurrent_bias,    \
        const tenon_tensor *dpeephole, const tenon_tensor *dprojection

TENON_API tenon_status tenon_rnn_backward_weights(tenon_stream *stream, WEIGHTS_PARAMETERS,
                                                  const tenon_sync *sync)
{
    return TN_RUN(tn_operation_rnn_backward_weights, x, lengths, h0, c0, y, reserve, dgates, dw, dr,
                  dbias, drecurrent_bias, dpeephole, dprojection);
}

TENON_API tenon_status tenon_rnn_backward_weights_plan(tenon_context *context, WEIGHTS_PARAMETERS,
                                                       tenon_plan **plan)
{
    return TN_PLAN(tn_operation_rnn_backward_weights, x, lengths, h0, c0, y, reserve, dgates, dw,
                   dr, dbias, drecurrent_bias, dpeephole, dprojection);
}

static const char *const backward_weights_examples[] = {
    "rnn_backward_weights x=T:3x2x4 lengths=i32:2 h0=T:2x2x3 c0=T:2x2x5 y=T:3x2x2x3 "
    "reserve=S:2x3x2x25 dgates=S:2x3x2x23 dw=T:2x20x4 dr=T:2x20x3 dbias=T:2x20 "
    "drecurrent_bias=T:2x20 dpeephole=T:2x15 dprojection=T:2x3x5 direction=bidirectional "
    "order=iofc",
    "rnn_backward_weights x=T:7x5x9/9,63,1 y=T:7x1x5x33/33,1155,231,1 reserve=S:1x7x5x165 "
    "dgates=S:1x7x5x132 dw=T:1x132x9 dr=T:1x132x33 dbias=T:1x132",
    "rnn_backward_weights x=T:4x5x6 h0=T:1x5x17 y=T:4x1x5x17 reserve=S:1x4x5x51 "
    "dgates=S:1x4x5x51 dw=T:1x51x6 dr=T:1x51x17 drecurrent_bias=T:1x51 kind=gru direction=reverse",
    "rnn_backward_weights x=T:40x2x6 lengths=i32:2 y=T:40x2x2x17 reserve=S:2x40x2x68 "
    "dgates=S:2x40x2x68 dr=T:2x51x17 dbias=T:2x51 drecurrent_bias=T:2x51 kind=gru "
    "direction=bidirectional flags=1 order=iofc",
    "rnn_backward_weights x=T:4x9x6 y=T:4x1x9x40 reserve=S:1x4x9x40 dgates=S:1x4x9x40 "
    "dw=T:1x40x6 dr=T:1x40x40 dbias=T:1x40 kind=tanh",
    "rnn_backward_weights x=T:0x3x4 y=T:0x1x3x5 reserve=S:1x0x3x5 dgates=S:1x0x3x5 dw=T:1x5x4 "
    "dbias=T:1x5 kind=relu",
    NULL,
};

static const char *const backward_data_examples[] = {
    "rnn_backward_data w=T:2x20x4 r=T:2x20x3 peephole=T:2x15 projection=T:2x3x5 lengths=i32:2 "
    "h0=T:2x2x3 c0=T:2x2x5 y=T:3x2x2x3 reserve=S:2x3x2x25 dy=T:3x2x2x3 dhn=T:2x2x3 dcn=T:2x2x5 "
    "dx=T:3x2x4 dh0=T:2x2x3 dc0=T:2x2x5 dgates=S:2x3x2x23 direction=bidirectional order=iofc",
    "rnn_backward_data w=T:1x132x9 r=T:1x132x33 y=T:7x1x5x33/33,1155,231,1 reserve=S:1x7x5x165 "
    "dy=T:7x1x5x33/33,1155,231,1 dx=T:7x5x9/9,63,1 dgates=S:1x7x5x132",
    "rnn_backward_data w=T:1x51x6 r=T:1x51x17 h0=T:1x5x17 y=T:4x1x5x17 reserve=S:1x4x5x51 "
    "dy=T:4x1x5x17 dx=T:4x5x6 dgates=S:1x4x5x51 kind=gru direction=reverse",
    "rnn_backward_data w=T:2x51x6 r=T:2x51x17 lengths=i32:1 y=T:4x2x1x17 reserve=S:2x4x1x68 "
    "dhn=T:2x1x17 dx=T:4x1x6 dh0=T:2x1x17 dgates=S:2x4x1x68 kind=gru direction=bidirectional "
    "flags=1 order=iofc",
    "rnn_backward_data w=T:1x40x6 r=T:1x40x40 y=T:4x1x9x40 reserve=S:1x4x9x40 dy=T:4x1x9x40 "
    "dx=T:4x9x6 dgates=S:1x4x9x40 kind=tanh",
    "rnn_backward_data w=T:1x5x4 r=T:1x5x5 y=T:2x1x3x5 reserve=S:1x2x3x5 dy=T:2x1x3x5 "
    "dgates=S:1x2x3x5 kind=relu",
    NULL,
};

static const char *const examples[] = {
    "rnn x=T:3x2x4 w=T:2x20x4 r=T:2x20x3 bias=T:2x20 recurrent_bias=T:2x20 peephole=T:2x15 "
    "projection=T:2x3x5 lengths=i32:2 h0=T:2x2x3 c0=T:2x2x5 y=T:3x2x2x3 hn=T:2x2x3 cn=T:2x2x5 "
    "reserve=S:2x3x2x25 direction=bidirectional order=iofc clip=2",
    "rnn x=T:7x5x9/9,63,1 w=T:1x132x9 r=T:1x132x33 bias=T:1x132 y=T:7x1x5x33/33,1155,231,1 "
    "cn=T:1x5x33",
    "rnn x=T:4x5x6 w=T:1x51x6 r=T:1x51x17 recurrent_bias=T:1x51 h0=T:1x5x17 y=T:4x1x5x17 kind=gru "
    "direction=reverse",
    "rnn x=T:4x1x6 w=T:2x51x6 r=T:2x51x17 bias=T:2x51 recurrent_bias=T:2x51 y=T:4x2x1x17 "
    "hn=T:2x1x17 kind=gru direction=bidirectional flags=1 lengths=i32:1 order=iofc",
    "rnn x=T:4x9x6 w=T:1x40x6 r=T:1x40x40 bias=T:1x40 h0=T:1x9x40 y=T:4x1x9x40 kind=tanh",
    "rnn x=T:2x3x4 w=T:1x5x4 r=T:1x5x5 y=T:2x1x3x5 kind=relu",
    NULL,
};

/* Sets the shape of an output of a layer, or of its gradient, whose sizes have been derived. */
static bool shape_of(const tenon_rnn_params *params, rnn_shape which, const rnn_sizes *sizes,
                     bool projects, tenon_dtype dtype, tenon_tensor *output)
{
    int64_t shape[RNN_RANK];
    const uint32_t rank = tn_rnn_shape(which, tn_rnn_cell(params), sizes, projects, shape);
    return tn_shape_set(output, tn_rnn_dtype(which, dtype), rank, shape);
}

static bool layer_shape(const void *params, const tenon_tensor *const *views, rnn_shape which,
                        tenon_tensor *output)
{
    const tenon_tensor *x = views[RNN_X];
    if (x->rank != 3 || views[RNN_W]->rank != 3 || views[RNN_R]->rank != 3)
        return false;
    const rnn_sizes sizes = tn_rnn_sizes(params, views);
    return shape_of(params, which, &sizes, views[RNN_PROJECTION] != NULL, x->dtype, output);
}

static bool data_shape(const void *params, const tenon_tensor *const *views, rnn_shape which,
                       tenon_tensor *output)
{
    const tenon_tensor *y = views[RNN_DATA_Y];
    if (y->rank != 4 || views[RNN_DATA_W]->rank != 3 || views[RNN_DATA_R]->rank != 3)
        return false;
    const rnn_sizes sizes = tn_rnn_data_sizes(params, views);
    return shape_of(params, which, &sizes, views[RNN_DATA_PROJECTION] != NULL, y->dtype, output);
}

/* The size of y is that of the projection, or the hidden size. */
static bool weights_shape(const void *params, const tenon_tensor *const *views, rnn_shape which,
                          tenon_tensor *output)
{
    const tenon_tensor *x = views[RNN_WEIGHTS_X];
    if (x->rank != 3 || views[RNN_WEIGHTS_Y]->rank != 4 || views[RNN_WEIGHTS_RESERVE]->rank != 4)
        return false;
    const rnn_sizes sizes = tn_rnn_weights_sizes(params, views);
    return shape_of(params, which, &sizes, true, x->dtype, output);
}

#define SHAPE_RULE(name, of, which)                                                                \
    static bool name(const void *params, const tenon_tensor *const *views, tenon_tensor *output)   \
    {                                                                                              \
        return of(params, views, which, output);                                                   \
    }
SHAPE_RULE(y_shape, layer_shape, RNN_SHAPE_Y)
SHAPE_RULE(hn_shape, layer_shape, RNN_SHAPE_H0)
SHAPE_RULE(cn_shape, layer_shape, RNN_SHAPE_C0)
SHAPE_RULE(reserve_shape, layer_shape, RNN_SHAPE_RESERVE)
SHAPE_RULE(dx_shape, data_shape, RNN_SHAPE_X)
SHAPE_RULE(dh0_shape, data_shape, RNN_SHAPE_H0)
SHAPE_RULE(dc0_shape, data_shape, RNN_SHAPE_C0)
SHAPE_RULE(dgates_shape, data_shape, RNN_SHAPE_DGATES)
SHAPE_RULE(dw_shape, weights_shape, RNN_SHAPE_W)
SHAPE_RULE(dr_shape, weights_shape, RNN_SHAPE_R)
SHAPE_RULE(dbias_shape, weights_shape, RNN_SHAPE_BIAS)
SHAPE_RULE(dpeephole_shape, weights_shape, RNN_SHAPE_PEEPHOLE)
SHAPE_RULE(dprojection_shape, weights_shape, RNN_SHAPE_PROJECTION)

#define OPTIONAL(name)                                                                             \
    {                                                                                              \
        name, .optional = true                                                                     \
    }

#define OPTIONAL_OUTPUT(name, rule)                                                                \
    {                                                                                              \
        name, .optional = true, .role = TN_OPTIONAL_OUTPUT, .shape = (rule)                        \
    }

const tn_operation tn_operation_rnn = {
    TN_NAMES("tenon_rnn_forward"),
    .family = &tn_rnn_family,
    .operands = {{.name = "x"},
                 {.name = "w"},
                 {.name = "r"},
                 OPTIONAL("bias"),
                 OPTIONAL("recurrent_bias"),
                 OPTIONAL("peephole"),
                 OPTIONAL("projection"),
                 OPTIONAL("lengths"),
                 OPTIONAL("h0"),
                 OPTIONAL("c0"),
                 {.name = "y", .role = TN_OUTPUT, .shape = y_shape},
                 OPTIONAL_OUTPUT("hn", hn_shape),
                 OPTIONAL_OUTPUT("cn", cn_shape),
                 OPTIONAL_OUTPUT("reserve", reserve_shape)},
    .operand_count = RNN_OPERANDS,
    TN_FIELDS(fields),
    TN_PARAMS(rnn_defaults, TENON_RNN_PARAMS_INIT),
    .flags = TENON_RNN_RESET_AFTER,
    TN_PROBLEM(rnn_problem),
    .prepare = tn_rnn_prepare,
    .reference = tn_rnn_reference,
    .fill_valid = tn_rnn_fill_valid,
    .is_measurable = true,
    .examples = examples,
};

const tn_operation tn_operation_rnn_backward_data = {
    TN_NAMES("tenon_rnn_backward_data"),
    .family = &tn_rnn_backward_data_family,
    .operands = {{.name = "w"},
                 {.name = "r"},
                 OPTIONAL("peephole"),
                 OPTIONAL("projection"),
                 OPTIONAL("lengths"),
                 OPTIONAL("h0"),
                 OPTIONAL("c0"),
                 {.name = "y"},
                 {.name = "reserve"},
                 OPTIONAL("dy"),
                 OPTIONAL("dhn"),
                 OPTIONAL("dcn"),
                 OPTIONAL_OUTPUT("dx", dx_shape),
                 OPTIONAL_OUTPUT("dh0", dh0_shape),
                 OPTIONAL_OUTPUT("dc0", dc0_shape),
                 {.name = "dgates", .role = TN_OUTPUT, .shape = dgates_shape}},
    .operand_count = RNN_DATA_OPERANDS,
    TN_FIELDS(fields),
    TN_PARAMS(rnn_defaults, TENON_RNN_PARAMS_INIT),
    .flags = TENON_RNN_RESET_AFTER,
    TN_PROBLEM(rnn_problem),
    .prepare = tn_rnn_backward_data_prepare,
    .reference = tn_rnn_backward_data_reference,
    .fill_valid = tn_rnn_backward_data_fill_valid,
    .is_measurable = true,
    .examples = backward_data_examples,
};

const tn_operation tn_operation_rnn_backward_weights = {
    TN_NAMES("tenon_rnn_backward_weights"),
    .family = &tn_rnn_backward_weights_family,
    .operands = {{.name = "x"},
                 OPTIONAL("lengths"),
                 OPTIONAL("h0"),
                 OPTIONAL("c0"),
                 {.name = "y"},
                 {.name = "reserve"},
                 {.name = "dgates"},
                 OPTIONAL_OUTPUT("dw", dw_shape),
                 OPTIONAL_OUTPUT("dr", dr_shape),
                 OPTIONAL_OUTPUT("dbias", dbias_shape),
                 OPTIONAL_OUTPUT("drecurrent_bias", dbias_shape),
                 OPTIONAL_OUTPUT("dpeephole", dpeephole_shape),
                 OPTIONAL_OUTPUT("dprojection", dprojection_shape)},
    .operand_count = RNN_WEIGHTS_OPERANDS,
    TN_FIELDS(fields),
    TN_PARAMS(rnn_defaults, TENON_RNN_PARAMS_INIT),
    .flags = TENON_RNN_RESET_AFTER,
    TN_PROBLEM(rnn_problem),
    .prepare = tn_rnn_backward_weights_prepare,
    .reference = tn_rnn_backward_weights_reference,
    .fill_valid = tn_rnn_backward_weights_fill_valid,
    .is_measurable = true,
    .examples = backward_weights_examples,
};
