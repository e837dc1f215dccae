/* conv_packed/depthwise: groups of one channel, with vectors along the filters. */
#include "base/checked.h"
#include "ops/conv/implicit/tiled.h"
#include "ops/common/lanes.h"
#include "ops/gemm/cpu.h"
#include "ops/packed/internal.h"

/* Maximum filters per channel. Each number is another kernel variant. */
#define MOST_SHARE 16
/* Bytes of the copied rows of the image, which then stay in the first-level cache, and at most for
 * large windows. */
#define STRIP_BYTES      32768
#define MOST_STRIP_BYTES 262144
/* Work-items per compute unit. */
#define ITEMS_PER_UNIT 8
/* Rows of results of a work-item for each row of taps, unless there are fewer: work-items that
 * share rows of the image copy them twice. */
#define LEAST_RUN 4
/* Minimum multiply-adds of a work-item for which its launch is worthwhile. */
#define LEAST_WORK 65536

/* Rows are prefetched if the tensors exceed the last-level cache divided by this number. For
 * smaller ones, much of which is in the caches of the cores, prefetching is slower: measured with 1
 * to 38 MB and a cache of 32 MiB. */
#define CACHE_SHARE 4

/* The layout of a choice. */
typedef struct layout {
    packed_parts shape;
    int64_t strip; /* elements of the copied rows */
    bool in_place; /* rows are not copied */
} layout;

/* Returns the columns of the image that the kernel reads for `pixels` results. */
static int64_t columns_of(const conv_window *v, int64_t pixels)
{
    const int64_t computed = tn_round_up(pixels, PACKED_DEPTHWISE_PIXELS);
    return (computed - 1) * v->stride[2] + (v->filter[2] - 1) * v->dilation[2] + 1;
}

/* Returns the taps along w if the kernel unrolls them, or 0. */
static int unrolled_taps(const conv_window *v)
{
    const int64_t taps = v->filter[2];
    const bool is_unrolled = v->dilation[2] == 1 && v->stride[2] <= 2;
    return is_unrolled && (taps == 3 || taps == 5 || taps == 7) ? (int)taps : 0;
}

/* Returns true if the tensors are large: their rows are copied, and those that follow prefetched.
 */
static bool is_large(const tenon_context *context, const filter_problem *p)
{
    return tn_conv_bytes(&p->conv) * CACHE_SHARE > (double)context->device.model.cache_size;
}

/* Returns true if rows are read in place: for whole vectors of filters, whose few taps along w are
 * not far in the padding. */
static bool reads_in_place(const tenon_context *context, const filter_problem *p)
{
    const conv_window *v = &p->conv.window;
    const int64_t lanes = p->panel / PACKED_PANEL_VECTORS,
                  last = (v->out[2] - 1) * v->stride[2] + v->start[2];
    return unrolled_taps(v) != 0 && p->conv.k == 1 && p->conv.groups % lanes == 0 &&
           v->start[2] + v->filter[2] > 0 && last < v->size[2] && !is_large(context, p);
}

bool tn_packed_depthwise_in_place(const tn_choice *choice)
{
    return TN_LAYOUT(const layout, choice)->in_place;
}

/* Divides rows of pixels into the fewest segments for which the rows under a filter fit the local
 * memory. Returns false if there are none. */
static bool cut_rows(tenon_context *context, const filter_problem *p, layout *l)
{
    const conv_window *v = &p->conv.window;
    const int64_t lanes = tn_gemm_lanes(context, p->conv.dtype),
                  bytes = (int64_t)tn_acc_size(p->conv.dtype),
                  most = tn_min_i64(MOST_STRIP_BYTES, (int64_t)context->device.info.local_memory) /
                         bytes;
    const int64_t rows = v->filter[0] * v->filter[1],
                  least = rows * columns_of(v, PACKED_DEPTHWISE_PIXELS) * lanes;
    l->strip = STRIP_BYTES / bytes;
    while (l->strip < least && l->strip < most)
        l->strip *= 2;
    if (l->strip < least || l->strip > most)
        return false;
    const int64_t columns = l->strip / lanes / rows,
                  pixels = (columns - (v->filter[2] - 1) * v->dilation[2] - 1) / v->stride[2] + 1,
                  whole = pixels / PACKED_DEPTHWISE_PIXELS * PACKED_DEPTHWISE_PIXELS;
    packed_parts *shape = &l->shape;
    shape->segments = tn_ceil_div(v->out[2], whole);
    shape->segment = tn_round_up(tn_ceil_div(v->out[2], shape->segments), PACKED_DEPTHWISE_PIXELS);
    shape->segments = tn_ceil_div(v->out[2], shape->segment);
    shape->columns = columns_of(v, tn_min_i64(shape->segment, v->out[2]));
    return true;
}

/* Rows that are read in place are not divided. */
static void keep_rows(const filter_problem *p, layout *l)
{
    const conv_window *v = &p->conv.window;
    l->strip = STRIP_BYTES / (int64_t)tn_acc_size(p->conv.dtype);
    l->shape.segments = 1;
    l->shape.segment = v->out[2];
    l->shape.columns = columns_of(v, v->out[2]);
}

/* Distributes the results to work-items: first long runs of rows, then blocks of filters. */
static void share_out(const tenon_context *context, const filter_problem *p, layout *l)
{
    const conv_window *v = &p->conv.window;
    packed_parts *shape = &l->shape;
    shape->filters = p->conv.groups * p->conv.k;
    shape->reuses = v->filter[0] == 1 && v->dilation[1] == 1 && v->stride[1] < v->filter[1];
    shape->prefetches = shape->reuses && is_large(context, p);
    const int64_t planes = p->conv.n * v->out[0] * shape->segments,
                  row = v->out[2] * shape->filters * tn_window_taps(v),
                  work = p->conv.n * v->out[0] * v->out[1] * row;
    const int64_t wanted = tn_min_i64(ITEMS_PER_UNIT * (int64_t)context->device.info.compute_units,
                                      tn_ceil_div(work, LEAST_WORK));
    /* A shorter run would copy many rows of the image that the next one copies, too. */
    const int64_t least = shape->reuses ? LEAST_RUN * v->filter[1] : 1,
                  parts = tn_min_i64(tn_ceil_div(wanted, planes), tn_max_i64(1, v->out[1] / least));
    shape->run = tn_ceil_div(v->out[1], parts);
    shape->parts = tn_ceil_div(v->out[1], shape->run);
    const int64_t panels = tn_ceil_div(shape->filters, p->panel),
                  blocks = tn_min_i64(panels, tn_ceil_div(wanted, planes * shape->parts));
    shape->chunk = tn_ceil_div(panels, blocks) * p->panel;
}

/* Sets the vectors of filters that a work-item computes at a time. Their rows of the image stay in
 * the first-level cache; copied ones take half of its share, which leaves room for the rows that
 * are prefetched. */
static void slice_filters(const filter_problem *p, int64_t lanes, layout *l)
{
    const conv_window *v = &p->conv.window;
    const int64_t filters = tn_min_i64(l->shape.chunk, l->shape.filters);
    const int64_t vector = lanes * v->filter[0] * v->filter[1] * l->shape.columns;
    const int64_t share = l->in_place ? l->strip : l->strip / 2;
    l->shape.slice = tn_min_i64(tn_ceil_div(filters, lanes), tn_max_i64(1, share / vector));
}

/* Returns the work. The share of the peak rate is limited by the loads of x: one for each tap, or
 * fewer if taps are unrolled. Channels with several filters are loaded one by one. */
static tn_work work_of(const conv_problem *p, int64_t lanes)
{
    const double taps = (double)tn_window_taps(&p->window);
    const double vectors = (double)p->n * (double)tn_window_pixels(&p->window) *
                           (double)tn_ceil_div(p->groups * p->k, lanes);
    return (tn_work){.launches = 1,
                     .rate = tn_sum_rate(p->dtype),
                     .multiply_adds = vectors * (double)lanes * taps,
                     .efficiency = unrolled_taps(&p->window) != 0 ? 0.6 : 0.4,
                     .rows = 0.25 * vectors,
                     .single_elements = p->k > 1 ? vectors * (double)lanes * taps : 0,
                     .bytes = tn_conv_bytes(p)};
}

static const char *conv_packed_depthwise_configure(tenon_context *context,
                                                   const tn_problem *problem, tn_choice *choice)
{
    const filter_problem *p = (const filter_problem *)problem;
    const conv_window *v = &p->conv.window;
    const int64_t lanes = tn_gemm_lanes(context, p->conv.dtype);
    layout *l = TN_LAYOUT(layout, choice);
    const char *why = tn_filters_refuse(context, p);
    if (why != NULL)
        return why;
    if (p->conv.c != 1)
        return "a group has more than one channel";
    if (p->conv.k > MOST_SHARE)
        return "a channel has more than 16 filters";
    l->in_place = reads_in_place(context, p);
    if (l->in_place)
        keep_rows(p, l);
    else if (!cut_rows(context, p, l))
        return "the rows under a filter do not fit the local memory";
    share_out(context, p, l);
    slice_filters(p, lanes, l);
    choice->never_chosen = tn_gemm_made_for_cpus(context);
    const tn_work work = work_of(&p->conv, lanes);
    tn_choice_add(context, choice, &work);
    tn_choice_options(context, choice,
                      "-DTENON_DTYPE=%u -DTENON_ACT_BUILD=%u -DTENON_VW=%d -DTENON_PV=%d "
                      "-DTENON_TAPS=%d -DTENON_STEP=%d -DTENON_SHARE=%d -DTENON_STRIP=%d "
                      "-DTENON_IN_PLACE=%d -DTENON_BUILTIN_PREFETCH=%d%s",
                      p->conv.dtype,
                      tn_activation_is_build(p->conv.activation) ? p->conv.activation : 0u,
                      (int)lanes, (int)(p->panel / lanes), unrolled_taps(v),
                      unrolled_taps(v) != 0 ? (int)v->stride[2] : 0, (int)p->conv.k, (int)l->strip,
                      l->in_place, context->device.has_builtin_prefetch,
                      (p->conv.flags & TENON_POST_ANY) != 0 ? " -DTENON_POST=1" : "");
    return NULL;
}

static tenon_status conv_packed_depthwise_launch(const char *caller, tn_recording *recording,
                                                 const tn_problem *problem, const tn_choice *choice)
{
    const filter_problem *p = (const filter_problem *)problem;
    const conv_window *v = &p->conv.window;
    const packed_parts *shape = &TN_LAYOUT(const layout, choice)->shape;
    const int64_t parts = p->conv.n * v->out[0] * shape->segments * shape->parts;
    tn_launch launch = {
        .source = "packed/conv_depthwise",
        .options = choice->options,
        .kernel = "packed_conv_depthwise",
        .global = {(size_t)parts, (size_t)tn_ceil_div(shape->filters, shape->chunk), 1}};
    return tn_conv_packed_record(caller, recording, &p->conv, 0, shape, sizeof *shape, &launch);
}

/* Each case has the taps and the stride of the problem along w, if those select the variant, and
 * whole vectors of filters if the problem's rows are read in place. Rows
 * in several segments and slices; taps along d, for which no rows are kept; several parts of a
 * plane, with kept rows. */
const tn_solver tn_conv_packed_depthwise = {
    .name = "depthwise",
    .serves = "panels, groups of one channel, and images with their channels last, on CPUs",
    .awkward = "depthwise=1 h=6 w=403 r=3; depthwise=1 gap=3 d=2 h=5 w=13 t=2 r=2 stride_h=2 "
               "dilation_h=2; depthwise=1 h=63 w=9 r=3 stride_h=2",
    .configure = conv_packed_depthwise_configure,
    .launch = conv_packed_depthwise_launch};
