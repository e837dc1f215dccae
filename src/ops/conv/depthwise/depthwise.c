/* conv/depthwise and conv_backward_data/depthwise: convolutions whose groups have one channel. The
 * gradient of the image is a forward convolution of dy, dilated by the stride, with reversed
 * filters at stride 1, in which nonexistent elements are skipped. One kernel serves both
 * directions. */
#include "base/checked.h"
#include "ops/common/lanes.h"
#include "ops/conv/depthwise/depthwise.h"
#include "ops/conv/implicit/tiled.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { VW, ROWS, PARAMETERS };
enum { FORWARD, BACKWARDS }; /* variants */

static const tn_parameter parameters[PARAMETERS] = {{"vw", 1, 16}, {"rows", 1, 8}};

/* Minimum multiply-adds per CPU work-item for which its launch is worthwhile. */
#define CPU_WORK 65536
/* Work-items of a GPU work-group. */
#define GPU_ITEMS 128
/* GPU work-items are counted in 31 bits. */
#define MOST_ITEMS 2147483647

/* Maximum width for which lane numbers cannot overflow, with any padding. */
#define MOST_WIDTH (1 << 28)

/* The problem as seen by the kernel, which reads x and writes y. It is the layout of a choice. */
typedef struct depthwise {
    conv_problem problem;
    int64_t spread[3];
    int64_t share, members;
    int64_t w_shift;
    bool backwards;
    depthwise_tile tile; /* set if tiles are used */
} depthwise;

static depthwise as_forward(const conv_problem *p)
{
    return (depthwise){.problem = *p, .spread = {1, 1, 1}, .share = p->k, .members = 1};
}

static void swap_operands(const conv_problem *from, conv_problem *to)
{
    memcpy(to->x, from->y, sizeof to->x);
    memcpy(to->y, from->x, sizeof to->y);
    to->operand[CONV_X] = from->operand[CONV_Y];
    to->operand[CONV_Y] = from->operand[CONV_X];
}

static depthwise as_backwards(const conv_problem *p)
{
    depthwise w = {.problem = *p, .share = 1, .members = p->k, .backwards = true};
    conv_window *v = &w.problem.window;
    swap_operands(p, &w.problem);
    for (int d = 0; d < 3; d++) {
        int64_t reach = (v->filter[d] - 1) * v->dilation[d];
        w.spread[d] = v->stride[d];
        v->size[d] = p->window.out[d];
        v->out[d] = p->window.size[d];
        v->stride[d] = 1;
        v->start[d] = -v->start[d] - reach;
        w.w_shift += (v->filter[d] - 1) * p->w[2 + d];
        w.problem.w[2 + d] = -p->w[2 + d];
    }
    return w;
}

/* Returns the stride at which rows of results are computed directly from the image without looking
 * up each tap, or 0. */
static int plain_stride(const depthwise *w)
{
    bool whole = w->members == 1 && w->spread[1] == 1 && w->spread[2] == 1;
    return whole ? tn_depthwise_stride(&w->problem.window) : 0;
}

/* Like plain_stride, for work-items without vectors, which assume that every plane of the dilated
 * image exists. */
static int column_stride(const depthwise *w)
{
    return w->spread[0] == 1 ? plain_stride(w) : 0;
}

/* Like plain_stride, for kernels with vectors along rows. At 0 the image must be loaded to local
 * memory. */
static int straight_stride(const depthwise *w)
{
    const conv_problem *p = &w->problem;
    bool serves = p->window.size[2] <= MOST_WIDTH && p->x[4] == 1 && p->y[4] == 1;
    return serves ? plain_stride(w) : 0;
}

/* Returns the stride along h for which a kernel with vectors along rows unrolls the taps, or 0. */
static int rows_apart(const depthwise *w)
{
    const conv_window *v = &w->problem.window;
    const bool serves = tn_depthwise_taps(v) != 0 && w->members == 1 && v->dilation[1] == 1 &&
                        (v->stride[1] == 1 || (v->stride[1] == 2 && w->spread[1] == 1));
    return serves ? (int)v->stride[1] : 0;
}

/* Returns the number of channels whose rows share a vector: 2 if one fills at most half of it. */
static int planes_of(const depthwise *w, const int32_t *values)
{
    const conv_problem *p = &w->problem;
    int64_t lanes = p->window.out[2];
    if (straight_stride(w) == 2) /* one load per plane, which must include the elements under the
                                  * last taps */
        lanes += (p->window.filter[2] - 1) / 2;
    bool whole = tn_acc_size(p->dtype) == tenon_dtype_size((tenon_dtype)p->dtype);
    return straight_stride(w) != 0 && whole && values[VW] >= 4 && lanes <= values[VW] / 2 ? 2 : 1;
}

static int64_t channels_of(const depthwise *w)
{
    return w->problem.groups * w->share;
}

/* Returns the number of GPU work-items, each with `rows` rows. */
static double items_of(const depthwise *w, int32_t rows)
{
    const int64_t *out = w->problem.window.out;
    return (double)(w->problem.n * channels_of(w)) * (double)(out[0] * out[2]) *
           (double)tn_ceil_div(out[1], rows);
}

/* Returns the number of rows that a CPU computes at once. Where the image is read directly, rows
 * under the window that do not exist cost next to nothing: as many as the registers hold. Elsewhere
 * few rows are computed together. */
static int32_t vector_rows_of(const depthwise *w)
{
    const conv_window *v = &w->problem.window;
    const int stride = straight_stride(w);
    const int64_t out = v->out[1];
    if (stride == 1 || (stride == 2 && v->filter[1] == 3))
        return 7;
    return out <= 2 && stride == 0 ? 2 : out == 5 || out == 6 ? 6 : 4;
}

/* Returns the number of rows computed at once: enough to reuse most of the loaded data, with few
 * wasted rows, and fewer if a GPU would be idle. */
static int32_t rows_of(tenon_context *context, const depthwise *w, int32_t lanes)
{
    if (lanes > 1)
        return vector_rows_of(w);
    const int64_t out = w->problem.window.out[1];
    const bool seven = column_stride(w) != 0 && w->problem.window.filter[1] == 3 &&
                       tn_round_up(out, 7) <= tn_round_up(out, 4);
    const int32_t rows = seven ? 7 : 4;
    return !context->device.is_cpu && items_of(w, rows) < tn_model_items(&context->device.model)
               ? 2
               : rows;
}

static bool conv_depthwise_lay_out(const depthwise *w, const int32_t *values, depthwise_tile *tile)
{
    const conv_problem *p = &w->problem;
    return tn_depthwise_lay_out(&p->window, w->spread[2], w->members, tn_depthwise_room(p->dtype),
                                values[ROWS], values[VW], tile);
}

static bool uses_tile(const depthwise *w, const int32_t *values)
{
    return values[VW] > 1 && !tn_depthwise_along_channels(&w->problem, values[VW]);
}

static void conv_depthwise_tune(tenon_context *context, const depthwise *w, int32_t *values)
{
    depthwise_tile tile;
    bool chooses = values[ROWS] == 0;
    if (values[VW] == 0)
        values[VW] = tn_depthwise_lanes(context, w->problem.dtype);
    if (chooses)
        values[ROWS] = rows_of(context, w, values[VW]);
    while (chooses && values[ROWS] > 1 && uses_tile(w, values) &&
           !conv_depthwise_lay_out(w, values, &tile))
        values[ROWS] /= 2;
}

static const char *conv_depthwise_misfit_of(const tenon_context *context, const int32_t *values)
{
    if ((values[VW] & (values[VW] - 1)) != 0)
        return "vw must be a power of two";
    if (values[VW] > 1 && TN_DEPTHWISE_TILE_BYTES > context->device.info.local_memory)
        return "tiles do not fit the local memory";
    return NULL;
}

/* Returns the work of loading a vector of the image, multiplying it by each tap and storing the
 * results; gathered vectors are loaded element by element. A tap attains half the peak rate of
 * multiply-adds, or a quarter if taps are not unrolled, measured on x86-64 with 16-lane vectors. */
tn_work tn_depthwise_vectors(const conv_problem *p, double vectors, int32_t lanes, bool unrolled)
{
    const bool channels = tn_depthwise_along_channels(p, lanes);
    const bool whole = channels || (p->x[4] == 1 && p->y[4] == 1);
    const double taps = (double)tn_window_taps(&p->window);
    return (tn_work){.launches = 1,
                     .rate = tn_sum_rate(p->dtype),
                     .multiply_adds = vectors * lanes * taps,
                     .efficiency = unrolled ? 0.5 : 0.25,
                     .single_elements = whole ? 0 : 2.5 * vectors * lanes,
                     .rows = vectors};
}

/* Efficiency without vectors, for GPUs, where each tap is looked up. */
#define SINGLE_EFFICIENCY 0.3
/* Efficiency along channels, measured on x86-64 with 16-lane vectors: a result waits for one tap
 * after the other. */
#define CHANNELS_EFFICIENCY 0.12

/* Returns the elements that tiles copy one by one to local memory, which happens at strides
 * above 2. The cost of the other copies is part of the efficiency. */
static double copied_elements(const depthwise *w, const int32_t *values)
{
    const conv_problem *p = &w->problem;
    const conv_window *v = &p->window;
    const depthwise_tile *t = &w->tile;
    if (t->rows == 0 || t->columns == 0 || !uses_tile(w, values) || v->stride[2] <= 2)
        return 0;
    const double tiles =
        (double)(p->n * channels_of(w) * v->out[0]) *
        (double)(tn_ceil_div(v->out[1], t->rows) * tn_ceil_div(v->out[2], t->columns));
    const double rows =
        (double)((t->rows - 1) * v->stride[1] + (v->filter[1] - 1) * v->dilation[1] + 1);
    return tiles * rows * (double)(t->pitch * w->members);
}

static tn_work conv_depthwise_work_of(const tenon_context *context, const depthwise *w,
                                      const int32_t *values)
{
    const conv_problem *p = &w->problem;
    const int64_t *out = p->window.out, channels = p->groups * w->share;
    const double rows = (double)p->n * (double)out[0] * (double)out[1];
    const bool unrolled = tn_depthwise_taps(&p->window) != 0 && w->members == 1;
    if (!context->device.is_cpu || values[VW] == 1)
        return (tn_work){.launches = 1,
                         .scalar = context->device.is_cpu ? 2 * tn_conv_work(p) : 0,
                         .rate = tn_sum_rate(p->dtype),
                         .multiply_adds = tn_conv_work(p),
                         .efficiency = SINGLE_EFFICIENCY};
    const bool along_channels = tn_depthwise_along_channels(p, values[VW]);
    const double vectors = along_channels
                               ? (double)out[2] * (double)tn_ceil_div(channels, values[VW])
                               : (double)channels * (double)tn_ceil_div(out[2], values[VW]);
    tn_work work = tn_depthwise_vectors(p, rows * vectors, values[VW], unrolled);
    work.multiply_adds *= w->members;
    work.bytes = tn_conv_bytes(p);
    work.single_elements += copied_elements(w, values);
    if (along_channels)
        work.efficiency = CHANNELS_EFFICIENCY;
    return work;
}

static void conv_depthwise_set_options(tenon_context *context, const depthwise *w,
                                       const int32_t *values, char text[TN_OPTIONS_SIZE])
{
    const conv_problem *p = &w->problem;
    char down[24] = "";
    if (uses_tile(w, values))
        snprintf(down, sizeof down, " -DTENON_DOWN=%d", rows_apart(w));
    tn_build_options(context, text,
                     "-DTENON_DTYPE=%u -DTENON_ACT_BUILD=%u -DTENON_VW=%d -DTENON_ROWS=%d "
                     "-DTENON_TAPS=%d -DTENON_CHANNELS=%d -DTENON_SPARSE_ROWS=%d -DTENON_STEP=%d "
                     "-DTENON_PLANES=%d -DTENON_BLOCKS=%d -DTENON_TILE=%d -DTENON_MAX_TAPS=%d "
                     "-DTENON_SKIP_OUTSIDE=%d%s",
                     p->dtype, tn_activation_is_build(p->activation) ? p->activation : 0u,
                     values[VW], values[ROWS], tn_depthwise_taps(&p->window),
                     tn_depthwise_along_channels(p, values[VW]), w->spread[1] > 1,
                     values[VW] == 1 ? column_stride(w) : straight_stride(w), planes_of(w, values),
                     TN_DEPTHWISE_BLOCKS, (int)tn_depthwise_room(p->dtype), TN_DEPTHWISE_MOST_TAPS,
                     w->backwards, down);
}

static const char *conv_depthwise_configure(tenon_context *context, const tn_problem *problem,
                                            tn_choice *choice)
{
    const conv_problem *p = (const conv_problem *)problem;
    depthwise *w = TN_LAYOUT(depthwise, choice);
    int32_t *values = choice->values;
    const char *why = tn_depthwise_refuses(p);
    if (why != NULL)
        return why;
    *w = choice->solver->variant == FORWARD ? as_forward(p) : as_backwards(p);
    conv_depthwise_tune(context, w, values);
    if (values[VW] == 1 && items_of(w, values[ROWS]) > MOST_ITEMS - GPU_ITEMS)
        return "there are too many results";
    if (uses_tile(w, values) && !conv_depthwise_lay_out(w, values, &w->tile))
        return "the window does not fit a tile";
    choice->misfit = conv_depthwise_misfit_of(context, values);
    if (choice->misfit != NULL)
        return NULL;
    const tn_work work = conv_depthwise_work_of(context, w, values);
    tn_choice_add(context, choice, &work);
    if (!choice->is_estimate)
        conv_depthwise_set_options(context, w, values, choice->options);
    return NULL;
}

static int64_t span_of_image(const conv_problem *p, int64_t channels)
{
    const int64_t shape[] = {p->n, channels, p->window.size[0], p->window.size[1],
                             p->window.size[2]};
    return tn_depthwise_span(shape, p->x);
}

/* Returns how many of `units` units, each of `work` multiply-adds, a CPU work-item processes. */
static int64_t run_of(const tenon_context *context, int64_t units, double work)
{
    int64_t fair = tn_ceil_div(units, 8 * (int64_t)context->device.info.compute_units);
    double worth = CPU_WORK / work;
    return tn_max_i64(1, tn_min_i64(fair, worth < 1 ? 1 : (int64_t)worth));
}

static void share_out_tiles(const tenon_context *context, const depthwise *w, const int32_t *values,
                            depthwise_args *args, tn_launch *launch)
{
    const conv_window *v = &w->problem.window;
    const depthwise_tile *t = &args->tile;
    int64_t planes = planes_of(w, values);
    args->across = tn_ceil_div(v->out[2], t->columns);
    args->down = tn_ceil_div(v->out[1], t->rows);
    args->units =
        w->problem.n * tn_ceil_div(args->channels, planes) * v->out[0] * args->down * args->across;
    args->run = run_of(context, args->units,
                       (double)(tn_window_taps(v) * w->members * planes) *
                           (double)tn_min_i64(t->rows, v->out[1]) * (double)t->columns);
    launch->kernel = "conv_depthwise_rows";
    launch->global[0] = (size_t)tn_ceil_div(args->units, args->run);
    launch->global[1] = launch->global[2] = 1;
}

static void share_out_rows(const tenon_context *context, const depthwise *w, const int32_t *values,
                           depthwise_args *args, tn_launch *launch)
{
    const conv_window *v = &w->problem.window;
    int64_t blocks = tn_ceil_div(args->channels, values[VW]);
    args->units = w->problem.n * v->out[0] * v->out[1];
    args->run =
        run_of(context, args->units * blocks, (double)(tn_window_taps(v) * v->out[2] * values[VW]));
    launch->kernel = "conv_depthwise_channels";
    launch->global[0] = (size_t)tn_ceil_div(args->units, args->run);
    launch->global[1] = (size_t)blocks;
    launch->global[2] = 1;
}

static void share_out_columns(const depthwise *w, const int32_t *values, depthwise_args *args,
                              tn_launch *launch)
{
    const conv_problem *p = &w->problem;
    args->down = tn_ceil_div(p->window.out[1], values[ROWS]);
    args->units = (int64_t)items_of(w, values[ROWS]);
    args->side_by_side = p->y[1] == 1 && p->y[4] != 1;
    launch->kernel = "conv_depthwise_columns";
    launch->dimensions = 1;
    launch->local[0] = GPU_ITEMS;
    launch->global[0] = (size_t)tn_round_up(args->units, GPU_ITEMS);
}

static tenon_status conv_depthwise_launch(const char *caller, tn_recording *recording,
                                          const tn_problem *problem, const tn_choice *choice)
{
    const depthwise *w = TN_LAYOUT(const depthwise, choice);
    const conv_problem *p = &w->problem;
    const int32_t *values = choice->values;
    const bool reads[CONV_OPERANDS] = {
        [CONV_X] = true, [CONV_W] = true, [CONV_C] = true, [CONV_BIAS] = true};
    tn_patch patches[CONV_OPERANDS + TN_EPILOGUE_SCALARS];
    depthwise_args args = {.conv.w_offset = w->w_shift,
                           .channels = channels_of(w),
                           .share = w->share,
                           .members = w->members,
                           .x_span = span_of_image(p, p->groups * w->members),
                           .backwards = w->backwards};
    tn_launch launch = {.source = "conv/depthwise",
                        .options = choice->options,
                        .dimensions = 3,
                        .local = {1, 1, 1},
                        .args_size = sizeof args};
    memcpy(args.spread, w->spread, sizeof args.spread);
    (void)problem;
    tn_conv_direct_launch(p, reads, CONV_Y, &launch, &args.conv, patches);
    if (values[VW] == 1) {
        share_out_columns(w, values, &args, &launch);
    } else if (tn_depthwise_along_channels(p, values[VW])) {
        share_out_rows(recording->context, w, values, &args, &launch);
    } else {
        args.tile = w->tile;
        share_out_tiles(recording->context, w, values, &args, &launch);
    }
    return tn_record(caller, recording, &launch);
}

/* Cases with other options than the checked variant are left out. With a dilation along w, rows are
 * copied to a tile, and their taps are unrolled. */
const tn_solver tn_conv_depthwise = {
    .name = "depthwise",
    .serves = "groups of one channel, windows of up to two dimensions",
    .awkward =
        TN_DEPTHWISE_AWKWARD "; depthwise=2 stride_h=1 stride_w=1 dilation_h=1 dilation_w=2"
                             "; depthwise=2 stride_h=2 stride_w=2 dilation_h=1 dilation_w=2"
                             "; depthwise=2 stride_h=1 stride_w=1 dilation_h=1 narrow=vw/2-1"
                             "; depthwise=2 stride_h=2 stride_w=2 dilation_h=1 narrow=vw/2-1",
    TN_PARAMETERS(parameters, PARAMETERS),
    .variant = FORWARD,
    .configure = conv_depthwise_configure,
    .launch = conv_depthwise_launch};

/* Groups of one filter have their own loops. */
const tn_solver tn_conv_backward_data_depthwise = {
    .name = "depthwise",
    .serves = "groups of one channel, windows of up to two dimensions",
    .awkward = TN_DEPTHWISE_AWKWARD "; depthwise=1 stride_h=1 stride_w=1 dilation_h=1"
                                    "; depthwise=1 stride_h=2 stride_w=2 dilation_h=1"
                                    "; depthwise=1 stride_h=1 stride_w=2 dilation_h=1"
                                    "; depthwise=1 stride_h=1 stride_w=1 dilation_h=1 "
                                    "narrow=vw/2-1",
    TN_PARAMETERS(parameters, PARAMETERS),
    .variant = BACKWARDS,
    .configure = conv_depthwise_configure,
    .launch = conv_depthwise_launch};
