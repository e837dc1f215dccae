/* conv_backward_filter/depthwise: the gradient of filters whose groups have one channel. If there
 * are too few filters to keep the device busy, the outputs are split into parts whose sums are
 * added at the end. */
#include "base/checked.h"
#include "ops/conv/depthwise/depthwise.h"

#include <stddef.h>
#include <string.h>

enum { VW, PARTS, PARAMETERS };

static const tn_parameter parameters[PARAMETERS] = {{"vw", 1, 16}, {"parts", 1, 256}};

#define GPU_ITEMS   128 /* per work-group, which shares the sums of its filters */
#define GPU_LANES   32  /* filters per work-group if they are contiguous */
#define LEAST_ITEMS 4   /* minimum work-groups per compute unit */
/* Units of work on a GPU are counted in 31 bits. */
#define MOST_UNITS (2147483647 - GPU_ITEMS)

typedef enum way { ITEMS, CHANNELS, TILES } way;

typedef struct layout {
    way how;
    int64_t units, groups; /* units of work that are split into parts, and work-groups per part */
    depthwise_tile tile;
} layout;

/* Returns the rows of dy processed at once; the sums of many taps leave few registers. */
static int rows_of(const conv_problem *p, int32_t lanes)
{
    return lanes == 1 && tn_depthwise_taps(&p->window) == 5 ? 2 : 4;
}

/* Returns the number of adjacent filters per work-group without vectors. */
static int64_t filters_of_group(const conv_problem *p)
{
    return p->y[1] == 1 && p->y[4] != 1 && p->groups * p->k >= GPU_LANES ? GPU_LANES : 1;
}

/* Divides the work. Returns false if a tile is too small for the window. */
static bool conv_filter_depthwise_lay_out(const conv_problem *p, int32_t lanes, layout *l)
{
    const conv_window *v = &p->window;
    const int64_t *out = v->out, filters = p->groups * p->k, planes = p->n * out[0];
    l->how = lanes == 1 ? ITEMS : tn_depthwise_along_channels(p, lanes) ? CHANNELS : TILES;
    l->groups = filters;
    switch (l->how) {
    case ITEMS:
        l->units =
            planes * tn_ceil_div(out[1], tn_depthwise_stride(v) != 0 ? rows_of(p, 1) : 1) * out[2];
        l->groups = tn_ceil_div(filters, filters_of_group(p));
        return true;
    case CHANNELS:
        l->units = planes * out[1];
        l->groups = tn_ceil_div(filters, lanes);
        return true;
    default:
        if (!tn_depthwise_lay_out(v, 1, 1, tn_depthwise_room(p->dtype), 1, lanes, &l->tile))
            return false;
        l->units =
            planes * tn_ceil_div(out[1], l->tile.rows) * tn_ceil_div(out[2], l->tile.columns);
        return true;
    }
}

static uint64_t workspace(const conv_problem *p, int32_t parts)
{
    if (parts == 1)
        return 0;
    return (uint64_t)(parts * p->groups * p->k * tn_window_taps(&p->window)) *
           tn_acc_size(p->dtype);
}

/* Returns the number of parts that keeps the device busy: a power of two, since each number is
 * checked separately. */
static int32_t choose_parts(const tenon_context *context, const conv_problem *p, const layout *l)
{
    const int64_t least = LEAST_ITEMS * (int64_t)context->device.info.compute_units,
                  units = l->how == ITEMS ? l->units * filters_of_group(p) / GPU_ITEMS : l->units;
    int32_t parts = 1;
    while (parts < parameters[PARTS].high && l->groups * parts < least && 2 * parts <= units &&
           workspace(p, 2 * parts) <= p->head.workspace_limit)
        parts *= 2;
    return parts;
}

static const char *conv_filter_depthwise_misfit_of(const tenon_context *context,
                                                   const conv_problem *p, const int32_t *values)
{
    const uint64_t vector = (uint64_t)values[VW] * tn_acc_size(p->dtype);
    const int taps = tn_depthwise_taps(&p->window);
    const uint64_t sums =
        (uint64_t)(taps != 0 ? taps * taps : 1) * GPU_ITEMS * tn_acc_size(p->dtype);
    if (values[VW] == 1 && sums > context->device.info.local_memory)
        return "the sums of the taps do not fit the local memory";
    if ((values[VW] & (values[VW] - 1)) != 0)
        return "vw must be a power of two";
    if (values[VW] > 1 && TN_DEPTHWISE_TILE_BYTES + TN_DEPTHWISE_MOST_TAPS * vector >
                              context->device.info.local_memory)
        return "tiles do not fit the local memory";
    return NULL;
}

/* Adds the time. The work is that of conv/depthwise without stores of results. */
static void conv_filter_depthwise_add_time(const tenon_context *context, const conv_problem *p,
                                           const layout *l, tn_choice *choice)
{
    const int32_t *values = choice->values;
    const int64_t *out = p->window.out;
    const bool vectorized = context->device.is_cpu && values[VW] > 1;
    const int64_t vectors = l->how == CHANNELS ? out[2] : tn_ceil_div(out[2], values[VW]);
    tn_work work = vectorized
                       ? tn_depthwise_vectors(p,
                                              (double)p->n * (double)out[0] * (double)out[1] *
                                                  (double)(vectors * l->groups),
                                              values[VW], tn_depthwise_taps(&p->window) != 0)
                       : (tn_work){.launches = 1, .scalar = 2 * tn_conv_work(p)};
    work.groups = (double)l->groups * (double)values[PARTS];
    work.launches = values[PARTS] > 1 ? 2 : 1;
    tn_choice_add(context, choice, &work);
}

static void conv_filter_depthwise_set_options(tenon_context *context, const conv_problem *p,
                                              int32_t lanes, char text[TN_OPTIONS_SIZE])
{
    tn_build_options(context, text,
                     "-DTENON_DTYPE=%u -DTENON_VW=%d -DTENON_ROWS=%d -DTENON_TAPS=%d "
                     "-DTENON_CHANNELS=%d -DTENON_TILE=%d -DTENON_MAX_TAPS=%d -DTENON_ITEMS=%d "
                     "-DTENON_STEP=%d",
                     p->dtype, lanes, rows_of(p, lanes), tn_depthwise_taps(&p->window),
                     tn_depthwise_along_channels(p, lanes), (int)tn_depthwise_room(p->dtype),
                     TN_DEPTHWISE_MOST_TAPS, GPU_ITEMS,
                     lanes == 1 ? tn_depthwise_stride(&p->window) : 0);
}

/* Uses the requested lanes, or by default the device's. */
static const char *conv_filter_depthwise_configure(tenon_context *context,
                                                   const tn_problem *problem, tn_choice *choice)
{
    const conv_problem *p = (const conv_problem *)problem;
    const char *why = tn_depthwise_refuses(p);
    int32_t *values = choice->values;
    layout *l = TN_LAYOUT(layout, choice);
    if (why != NULL)
        return why;
    if (values[VW] == 0)
        values[VW] = tn_depthwise_lanes(context, p->dtype);
    const bool fits = conv_filter_depthwise_lay_out(p, values[VW], l);
    if (l->how == ITEMS && l->units > MOST_UNITS)
        return "there are too many outputs";
    if (l->how != ITEMS && tn_window_taps(&p->window) > TN_DEPTHWISE_MOST_TAPS)
        return "the window has too many taps for vectors";
    if (!fits)
        return "the window does not fit a tile";
    if (values[PARTS] == 0)
        values[PARTS] = choose_parts(context, p, l);
    choice->misfit = conv_filter_depthwise_misfit_of(context, p, values);
    if (choice->misfit != NULL)
        return NULL;
    choice->workspace = workspace(p, values[PARTS]);
    conv_filter_depthwise_add_time(context, p, l, choice);
    if (!choice->is_estimate)
        conv_filter_depthwise_set_options(context, p, values[VW], choice->options);
    return NULL;
}

static depthwise_filter_args arguments(const conv_problem *p, const layout *l, int32_t parts)
{
    const int64_t *size = p->window.size, *out = p->window.out;
    const int64_t x_shape[] = {p->n, p->groups, size[0], size[1], size[2]},
                  y_shape[] = {p->n, p->groups * p->k, out[0], out[1], out[2]};
    depthwise_filter_args args = {.window = p->window,
                                  .filters = p->groups * p->k,
                                  .share = p->k,
                                  .x_span = tn_depthwise_span(x_shape, p->x),
                                  .y_span = tn_depthwise_span(y_shape, p->y),
                                  .tile = l->tile,
                                  .units = l->units,
                                  .parts = parts,
                                  .lanes = (tenon_i32)filters_of_group(p),
                                  .adds = (p->flags & CONV_HAS_C) != 0};
    args.chunk = tn_ceil_div(args.units, args.parts);
    memcpy(args.x_stride, p->x, sizeof args.x_stride);
    memcpy(args.y_stride, p->y, sizeof args.y_stride);
    memcpy(args.w_stride, p->w, sizeof args.w_stride);
    return args;
}

static void set_sizes(const layout *l, int32_t part_count, tn_launch *launch)
{
    static const char *const kernels[] = {[ITEMS] = "conv_depthwise_filter_items",
                                          [CHANNELS] = "conv_depthwise_filter_channels",
                                          [TILES] = "conv_depthwise_filter_rows"};
    const size_t groups = (size_t)l->groups, parts = (size_t)part_count;
    const size_t global[][3] = {[ITEMS] = {groups * GPU_ITEMS, parts, 1},
                                [CHANNELS] = {groups, parts, 1},
                                [TILES] = {groups, parts, 1}};
    launch->kernel = kernels[l->how];
    launch->dimensions = 3;
    memcpy(launch->global, global[l->how], sizeof launch->global);
    launch->local[0] = l->how == ITEMS ? GPU_ITEMS : 1;
    launch->local[1] = launch->local[2] = 1;
}

static tenon_status record_finish(const char *caller, tn_recording *recording,
                                  const conv_problem *p, const tn_launch *like)
{
    tn_launch launch = *like;
    bool is_cpu = recording->context->device.is_cpu;
    launch.kernel = "conv_depthwise_filter_finish";
    launch.dimensions = 1;
    launch.global[0] = (size_t)(p->groups * p->k * tn_window_taps(&p->window));
    launch.local[0] = is_cpu ? 1 : 0;
    launch.operand_count = 2;
    launch.operands[0] = TN_WORKSPACE;
    launch.operands[1] = p->operand[CONV_W];
    launch.patch_count -= 2; /* without those of the images */
    return tn_record(caller, recording, &launch);
}

static tenon_status conv_filter_depthwise_launch(const char *caller, tn_recording *recording,
                                                 const tn_problem *problem, const tn_choice *choice)
{
    const conv_problem *p = (const conv_problem *)problem;
    const layout *l = TN_LAYOUT(const layout, choice);
    const uint32_t size = (uint32_t)tenon_dtype_size((tenon_dtype)p->dtype);
    const uint8_t w = p->operand[CONV_W], x = p->operand[CONV_X], y = p->operand[CONV_Y];
    const int32_t count = choice->values[PARTS];
    const bool parts = count > 1;
    const depthwise_filter_args args = arguments(p, l, count);
    const tn_patch patches[] = {
        {(uint8_t)tn_scalar_patch((tenon_dtype)p->dtype), TN_SCALAR_BETA,
         offsetof(depthwise_filter_args, beta), 1},
        {TN_PATCH_OFFSET, w, offsetof(depthwise_filter_args, w_offset), size},
        {TN_PATCH_OFFSET, parts ? TN_WORKSPACE : w, offsetof(depthwise_filter_args, sum_offset),
         (uint32_t)tn_acc_size(p->dtype)},
        {TN_PATCH_OFFSET, x, offsetof(depthwise_filter_args, x_offset), size},
        {TN_PATCH_OFFSET, y, offsetof(depthwise_filter_args, y_offset), size}};
    tn_launch launch = {.source = "conv/filter/depthwise",
                        .options = choice->options,
                        .operands = {x, y, parts ? TN_WORKSPACE : w, w},
                        .operand_count = 4,
                        TN_ARGS(args),
                        TN_PATCHES(patches)};
    set_sizes(l, count, &launch);
    TN_TRY(tn_record(caller, recording, &launch));
    return parts ? record_finish(caller, recording, p, &launch) : TENON_OK;
}

const tn_solver tn_conv_backward_filter_depthwise = {
    .name = "depthwise",
    .serves = "groups of one channel, windows of up to two dimensions",
    .needs = "workspace for partial sums if there are several parts",
    .awkward = TN_DEPTHWISE_AWKWARD,
    TN_PARAMETERS(parameters, PARAMETERS),
    .configure = conv_filter_depthwise_configure,
    .launch = conv_filter_depthwise_launch};
