/* conv_int8/depthwise: convolutions of bytes whose groups have one channel, on CPUs, by exact sums
 * of floats. */
#include "base/checked.h"
#include "ops/common/lanes.h"
#include "ops/conv/depthwise/depthwise.h"
#include "ops/conv/int8/int8.h"
#include "ops/gemm/cpu.h"

#include <string.h>

/* Rows of a tile are a multiple of this, if there are as many. */
#define TILE_ROWS 4
/* Minimum multiply-adds per work-item for which its launch is worthwhile. */
#define LEAST_WORK 65536
/* Work-groups per compute unit, enough to balance the load at the end. */
#define GROUPS_PER_UNIT 8

/* Instructions for each vector of results, besides those for each tap: the epilogue. */
#define STORE_ELEMENTS 40

typedef struct layout {
    int64_t lanes;
    bool along_channels;
    int32_t taps, step;
    depthwise_tile tile;
} layout;

static int64_t filters_of(const conv_problem *p)
{
    return p->groups * p->k;
}

static const char *lay_out(tenon_context *context, const conv_problem *p, layout *l)
{
    const conv_window *v = &p->window;
    const char *why = tn_depthwise_refuses(p);
    if (why != NULL)
        return why;
    if (tn_window_taps(v) > DEPTHWISE_TAPS)
        return "the window is too large";
    *l = (layout){.lanes = tn_gemm_lanes(context, TENON_DTYPE_F32)};
    l->along_channels = p->k == 1 && p->x[1] == 1 && p->y[1] == 1 && p->groups > 1;
    l->step = l->along_channels ? tn_depthwise_stride(v) : 0;
    l->taps = l->step != 0 ? tn_depthwise_taps(v) : 0;
    const int64_t rows = tn_min_i64(TILE_ROWS, v->out[1]);
    if (!l->along_channels && !tn_depthwise_lay_out(v, 1, 1, tn_depthwise_room(TENON_DTYPE_F32),
                                                    rows, l->lanes, &l->tile))
        return "the window does not fit a tile";
    return NULL;
}

/* Returns the work: a tap takes about four instructions along channels, fewer if columns are
 * shared, and two along rows, whose elements are converted first. */
static tn_work conv_int8_depthwise_work_of(const conv_problem *p, const layout *l)
{
    const int64_t *out = p->window.out;
    const double lines = (double)p->n * (double)(out[0] * out[1]);
    const double vectors =
        l->along_channels ? lines * (double)out[2] * (double)tn_ceil_div(filters_of(p), l->lanes)
                          : lines * (double)filters_of(p) * (double)tn_ceil_div(out[2], l->lanes);
    const double taps = (double)tn_window_taps(&p->window);
    const double each = l->taps != 0 ? 2 : l->along_channels ? 4 : 2;
    return (tn_work){
        .launches = 1,
        .rate = tn_sum_rate(TENON_DTYPE_F32),
        .multiply_adds = vectors * (double)l->lanes * taps,
        .efficiency = 0.5,
        .vector_elements = vectors * ((double)l->lanes * taps * each / 4 + STORE_ELEMENTS),
        .single_elements = l->along_channels || p->y[4] == 1 ? 0 : 2 * vectors * (double)l->lanes,
        .rows = vectors / 2,
        .bytes = (double)p->n * tn_conv_image_elements(p) +
                 4 * lines * (double)out[2] * (double)filters_of(p)};
}

static const char *conv_int8_depthwise_configure(tenon_context *context, const tn_problem *problem,
                                                 tn_choice *choice)
{
    const conv_problem *p = &((const conv_int8_problem *)problem)->conv;
    layout *l = TN_LAYOUT(layout, choice);
    const char *why = lay_out(context, p, l);
    if (why != NULL)
        return why;
    choice->never_chosen = tn_gemm_made_for_cpus(context);
    const tn_work work = conv_int8_depthwise_work_of(p, l);
    tn_choice_add(context, choice, &work);
    if (!choice->is_estimate)
        tn_choice_options(context, choice,
                          "-DTENON_DTYPE=%u -DTENON_ACT_BUILD=%u -DTENON_VW=%d -DTENON_TAPS=%d "
                          "-DTENON_STEP=%d -DTENON_TILE=%d",
                          p->dtype, tn_activation_is_build(p->activation) ? p->activation : 0u,
                          (int)l->lanes, l->taps, l->step > 0 ? l->step : 1,
                          (int)tn_depthwise_room(TENON_DTYPE_F32));
    return NULL;
}

/* Makes filters the rows of a product, and the pixels of a row its columns. */
static void turn(const conv_int8_problem *p, int8_args *args)
{
    args->gemm.c_row = args->gemm.c_col;
    args->gemm.d_row = args->gemm.d_col;
    args->gemm.bias_row = args->gemm.bias_col;
    args->gemm.c_col = p->conv.res[4];
    args->gemm.d_col = p->conv.y[4];
    args->gemm.bias_col = 0;
    memcpy(args->row, p->vectors, sizeof args->row);
    memset(args->col, 0, sizeof args->col);
}

/* Shares out units of work, each of `work` multiply-adds, that exist for each of `blocks` blocks.
 */
static void share_out(const tenon_context *context, int64_t units, int64_t blocks, double work,
                      conv_int8_depthwise_args *args)
{
    const int64_t wanted = GROUPS_PER_UNIT * (int64_t)context->device.info.compute_units;
    const int64_t groups = tn_ceil_div(wanted, blocks);
    const double worth = LEAST_WORK / work;
    args->units = units;
    args->run =
        tn_max_i64(1, tn_min_i64(tn_ceil_div(units, groups), worth < 1 ? 1 : (int64_t)worth));
}

static tenon_status conv_int8_depthwise_launch(const char *caller, tn_recording *recording,
                                               const tn_problem *problem, const tn_choice *choice)
{
    const conv_int8_problem *p = (const conv_int8_problem *)problem;
    const conv_window *v = &p->conv.window;
    const layout *l = TN_LAYOUT(const layout, choice);
    const double taps = (double)tn_window_taps(v);
    conv_int8_depthwise_args args = {
        .conv = tn_conv_int8_arguments(p), .filters = filters_of(&p->conv), .tile = l->tile};
    tn_patch patches[CONV_INT8_PATCHES];
    tn_launch launch = {.source = "conv/int8/depthwise",
                        .options = choice->options,
                        .dimensions = 2,
                        .local = {1, 1},
                        TN_ARGS(args),
                        .patches = patches};
    if (l->along_channels) {
        args.conv.group_filters = args.filters;
        share_out(recording->context, p->conv.n * v->out[0] * v->out[1],
                  tn_ceil_div(args.filters, l->lanes), taps * (double)v->out[2] * (double)l->lanes,
                  &args);
        launch.kernel = "conv_int8_depthwise_channels";
        launch.global[1] = (size_t)tn_ceil_div(args.filters, l->lanes);
    } else {
        turn(p, &args.conv.product);
        args.across = tn_ceil_div(v->out[2], l->tile.columns);
        args.down = tn_ceil_div(v->out[1], l->tile.rows);
        share_out(recording->context,
                  p->conv.n * args.filters * v->out[0] * args.down * args.across, 1,
                  taps * (double)(l->tile.rows * l->tile.columns), &args);
        launch.kernel = "conv_int8_depthwise_rows";
        launch.global[1] = 1;
    }
    launch.global[0] = (size_t)tn_ceil_div(args.units, args.run);
    tn_conv_int8_add_operands(p, true, &launch, patches);
    return tn_record(caller, recording, &launch);
}

/* The value of `depthwise` in the awkward cases is the stride of windows that are not unrolled. */
const tn_solver tn_conv_int8_depthwise = {
    .name = "depthwise",
    .serves = "groups of one channel, windows of up to two dimensions, on CPUs",
    .awkward = "depthwise=1; depthwise=2; depthwise=3",
    .configure = conv_int8_depthwise_configure,
    .launch = conv_int8_depthwise_launch};
