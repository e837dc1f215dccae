/* conv/cpu_direct: for CPUs, with vectors along the filters. A work-group copies the part of the
 * image under its pixels to local memory, together with its reordered filters. Nothing is
 * unfolded, and the pixels of a small image need not fill a vector. The cost model selects the
 * amount of work per work-group. */
#include "base/checked.h"
#include "ops/common/lanes.h"
#include "base/shape.h"
#include "conv/forward/cpu_direct_args.h"
#include "ops/conv/forward/cpu_direct.h"
#include "ops/conv/problem/gradient.h"
#include "ops/conv/implicit/implicit.h"
#include "ops/conv/implicit/tiled.h"
#include "ops/gemm/cpu.h"

#include <stddef.h>
#include <string.h>

/* Tuning parameters: pixels of a run and of a work-group, and filters of a work-group. */
enum { RUN, PIXELS, FILTERS, PARAMETERS };
static const tn_parameter parameters[PARAMETERS] = {
    [RUN] = {"run", 1, 14}, [PIXELS] = {"px", 1, 4096}, [FILTERS] = {"nf", 1, 4096}};

#define PANEL_VECTORS 2
/* Taps processed at a time, in whole channels if possible: a panel of them stays in the L1 cache,
 * and the copy in the L2 cache. */
#define TAPS 256
/* Maximum taps in the tables; a channel may have more than TAPS. */
#define MOST_TAPS 1024
/* With less local memory than this, both limits are divided by FEWER_TAPS, since tables and a
 * panel of filters would leave no room for the copy. */
#define LITTLE_MEMORY (UINT64_C(64) << 10)
#define FEWER_TAPS    4
/* Maximum local memory of a work-group. */
#define MOST_BYTES (INT64_C(512) << 10)

/* Layout of a problem for one choice of the parameters. */
typedef struct layout {
    conv_problem problem; /* with the pixels of a 1x1 filter merged into one dimension where
                           * possible */
    int64_t run, lanes, panel;
    int64_t box[4], filters, channels;
    conv_subfilter subfilter;
    int64_t phases[3], extent[3];
    int64_t channel;             /* elements of the copy per channel */
    int64_t copy, sums, laid;    /* sizes in vectors of local memory */
    int64_t runs, boxes, panels; /* runs of the largest box, number of boxes, and panels of a
                                  * work-group */
    bool channel_last, taps_join;
} layout;

/* Returns the vectors of a tile's sums. With two vectors of the filters and one broadcast element
 * they fill the registers: 32 with AVX-512, otherwise 16. */
static int64_t tile_pixels(int64_t vector_bytes)
{
    return vector_bytes >= 64 ? 14 : 6;
}

static int64_t runs_of_tile(const layout *l, uint32_t dtype)
{
    return tn_max_i64(1, tile_pixels(l->lanes * (int64_t)tn_acc_size(dtype)) / l->run);
}

static int64_t taps_for(tenon_context *context, int64_t taps)
{
    return context->device.info.local_memory < LITTLE_MEMORY ? taps / FEWER_TAPS : taps;
}

/* Returns the bytes of local memory available to a work-group, without the tables. */
static int64_t scratch_bytes(tenon_context *context)
{
    const int64_t tables = taps_for(context, MOST_TAPS) * 24 + CONV_DIRECT_RUNS * 4 + 4096;
    const int64_t local = (int64_t)context->device.info.local_memory - tables;
    return tn_max_i64(0, tn_min_i64(local, MOST_BYTES)) / 64 * 64;
}

static int64_t scratch_vectors(tenon_context *context, const layout *l, uint32_t dtype)
{
    return scratch_bytes(context) / (l->lanes * (int64_t)tn_acc_size(dtype));
}

/* Merges the pixels into one row if the filter is 1x1 and stays within the image, and if x, y and
 * the residual each have a single stride: such a filter treats all pixels alike. */
static void join_pixels(conv_problem *p)
{
    conv_window *v = &p->window;
    tn_space space = {.rank = 3, .views = 3};
    for (int d = 0; d < 3; d++) {
        if (v->filter[d] != 1 || v->start[d] != 0 || (v->out[d] - 1) * v->stride[d] >= v->size[d])
            return;
        space.shape[d] = v->out[d];
        space.stride[0][d] = p->x[2 + d] * v->stride[d];
        space.stride[1][d] = p->y[2 + d];
        space.stride[2][d] = p->res[2 + d];
    }
    tn_space_collapse(&space);
    if (space.rank != 1)
        return;
    const conv_window row = {.size = {1, 1, space.shape[0]},
                             .filter = {1, 1, 1},
                             .out = {1, 1, space.shape[0]},
                             .stride = {1, 1, 1},
                             .dilation = {1, 1, 1}};
    *v = row;
    p->x[4] = space.stride[0][0];
    p->y[4] = space.stride[1][0];
    p->res[4] = space.stride[2][0];
    p->x[2] = p->x[3] = p->y[2] = p->y[3] = p->res[2] = p->res[3] = 0;
}

/* Returns the size of equal parts that are not larger than `most`. */
static int64_t even_part(int64_t whole, int64_t most)
{
    return tn_ceil_div(whole, tn_ceil_div(whole, tn_max_i64(1, most)));
}

static void choose_box(layout *l, int64_t pixels)
{
    const conv_window *v = &l->problem.window;
    int64_t cut[3], whole = tn_window_pixels(v);
    tn_conv_cut_pixels(v, pixels, cut);
    for (int d = 0; d < 3; d++)
        l->box[1 + d] = even_part(v->out[d], cut[d]);
    if (l->box[3] < v->out[2])
        l->box[3] = tn_min_i64(v->out[2], tn_round_up(l->box[3], l->run));
    l->box[0] = even_part(l->problem.n, pixels / whole);
    l->boxes = tn_ceil_div(l->problem.n, l->box[0]);
    l->runs = l->box[0] * l->box[1] * l->box[2] * tn_ceil_div(l->box[3], l->run);
    for (int d = 0; d < 3; d++)
        l->boxes *= tn_ceil_div(v->out[d], l->box[1 + d]);
}

/* Selects the number of channels processed at a time. */
static void choose_channels(tenon_context *context, layout *l)
{
    const conv_problem *p = &l->problem;
    conv_tap_order order;
    bool found = tn_conv_find_tap_order(p, &order);
    const int64_t taps = tn_window_taps(&p->window);
    l->channel_last = found && order.channel_last;
    l->taps_join = found && order.stride == 1;
    l->channels = even_part(p->c, taps_for(context, TAPS) / taps);
    /* Rounded so that vectors along the taps do not reach into the next row of taps, if a panel of
     * that size leaves half of the memory. */
    const int64_t whole = tn_min_i64(p->c, tn_round_up(l->channels, l->lanes)),
                  room = scratch_vectors(context, l, p->dtype) / 2 / PANEL_VECTORS;
    if (l->channel_last && whole * taps <= tn_min_i64(room, taps_for(context, MOST_TAPS)))
        l->channels = whole;
}

/* Sets the sizes of the copy. Returns false if they are unreasonably large. */
static bool measure_copy(layout *l)
{
    const conv_window *v = &l->problem.window;
    l->subfilter = tn_conv_find_subfilter(v);
    l->channel = l->box[0];
    for (int d = 0; d < 3; d++) {
        int64_t pixels = d < 2 ? l->box[1 + d] : tn_round_up(l->box[3], l->run);
        l->phases[d] = tn_min_i64(v->filter[d], l->subfilter.tap[d]);
        l->extent[d] = pixels + (v->filter[d] - 1) / l->subfilter.tap[d] * l->subfilter.out[d];
        if (l->extent[d] > MOST_BYTES || l->phases[d] > MOST_BYTES ||
            l->channel > MOST_BYTES / (l->extent[d] * l->phases[d]))
            return false;
        l->channel *= l->extent[d] * l->phases[d];
    }
    if (l->channel % 64 == 0) /* avoids that all channels map to the same few cache sets */
        l->channel += l->lanes;
    return true;
}

/* Lays out the local memory. Returns false if it does not suffice. */
static bool conv_cpu_direct_lay_out(tenon_context *context, const conv_problem *p,
                                    const int32_t *values, layout *l)
{
    l->problem = *p;
    join_pixels(&l->problem);
    l->run = values[RUN];
    l->lanes = tn_gemm_lanes(context, p->dtype);
    l->panel = PANEL_VECTORS * l->lanes;
    l->filters = tn_min_i64(tn_round_up(values[FILTERS], l->panel), tn_round_up(p->k, l->panel));
    l->panels = l->filters / l->panel;
    choose_box(l, values[PIXELS]);
    choose_channels(context, l);
    if (l->runs > CONV_DIRECT_RUNS || !measure_copy(l))
        return false;
    int64_t taps = l->channels * tn_window_taps(&p->window);
    l->copy = tn_ceil_div(l->channels * l->channel, l->lanes) + 1;
    l->sums = l->panels * l->runs * l->run * PANEL_VECTORS;
    l->laid = taps * PANEL_VECTORS;
    return taps <= taps_for(context, MOST_TAPS) &&
           l->copy + l->sums + l->laid <= scratch_vectors(context, l, p->dtype);
}

/* Adds the work of copying a part of the image for each channel: rows of vectors or of single
 * elements. */
static void add_copy(const layout *l, double groups, tn_work *work)
{
    const conv_problem *p = &l->problem;
    const int64_t pitch = p->window.stride[2] * p->x[4];
    const double lines = groups * (double)p->c * (double)l->channel / (double)l->extent[2];
    const double elements = lines * (double)tn_round_up(l->extent[2], l->lanes);
    work->rows += lines;
    if (pitch == 1 || pitch == 2)
        work->vector_elements += 2 * (double)pitch * elements;
    else
        work->single_elements += elements;
}

/* Returns the work of all work-groups: the tiles, the copy, the reordered filters, the stored
 * sums, and the lookup of each tap. */
static tn_work conv_cpu_direct_work_of(const layout *l)
{
    const conv_problem *p = &l->problem;
    const double groups =
        (double)l->boxes * (double)tn_ceil_div(p->k, l->filters) * (double)p->groups;
    const double taps = groups * (double)p->c * (double)tn_window_taps(&p->window);
    const double pixels = (double)(l->runs * l->run), filters = (double)l->filters;
    const bool lays = l->taps_join || p->w[0] == 1, stores = p->y[1] == 1 || p->y[4] == 1;
    const double laid = taps * filters, stored = groups * pixels * filters;
    tn_work work = {.launches = 1,
                    .blocks = true,
                    .groups = groups,
                    .rate = tn_sum_rate(p->dtype),
                    .multiply_adds = pixels * filters * taps,
                    .efficiency = 0.97,
                    .vector_elements = (lays ? 4 * laid : 0) + (stores ? 2 * stored : 0),
                    .single_elements = (lays ? 0 : laid) + (stores ? 0 : stored),
                    .scalar = taps,
                    .bytes = tn_conv_bytes(p)};
    add_copy(l, groups, &work);
    return work;
}

/* Returns the longest run of a tile that wastes the fewest pixels at the ends of rows. */
static int32_t choose_run(tenon_context *context, const conv_problem *p)
{
    conv_problem joined = *p;
    int64_t bytes = tn_gemm_lanes(context, p->dtype) * (int64_t)tn_acc_size(p->dtype);
    int64_t longest = tile_pixels(bytes) / 2, shorter = longest / 2 + 1;
    join_pixels(&joined);
    int64_t row = joined.window.out[2];
    return (int32_t)(tn_round_up(row, shorter) < tn_round_up(row, longest) ? shorter : longest);
}

/* Tries several amounts of work per work-group, and selects the one with the least estimated time.
 */
static void conv_cpu_direct_tune(tenon_context *context, const conv_problem *p, int32_t *values)
{
    static const int32_t pixels[] = {448, 224, 112, 56, 28, 14, 7, 1};
    static const int32_t panels[] = {8, 4, 2, 1};
    int32_t lanes = (int32_t)tn_gemm_lanes(context, p->dtype);
    int32_t best[PARAMETERS] = {0, 1, 1};
    double least = 1e300;
    if (values[RUN] == 0)
        values[RUN] = choose_run(context, p);
    for (size_t i = 0; i < sizeof pixels / sizeof *pixels; i++)
        for (size_t j = 0; j < sizeof panels / sizeof *panels; j++) {
            const int32_t tried[PARAMETERS] = {
                values[RUN], values[PIXELS] != 0 ? values[PIXELS] : pixels[i],
                values[FILTERS] != 0 ? values[FILTERS] : panels[j] * PANEL_VECTORS * lanes};
            layout l;
            if (!conv_cpu_direct_lay_out(context, p, tried, &l))
                continue;
            const tn_work work = conv_cpu_direct_work_of(&l);
            const double time = tn_work_time(&context->device.model, &work);
            if (time < least) {
                least = time;
                memcpy(best, tried, sizeof best);
            }
        }
    for (int i = PIXELS; i < PARAMETERS; i++)
        if (values[i] == 0)
            values[i] = best[i];
}

static int32_t panel_filters(tenon_context *context, const conv_problem *p)
{
    return PANEL_VECTORS * (int32_t)tn_gemm_lanes(context, p->dtype);
}

int64_t tn_conv_cpu_direct_filters(tenon_context *context, const conv_problem *problem)
{
    return 2 * panel_filters(context, problem) + 1;
}

bool tn_conv_cpu_direct_cut(tenon_context *context, const conv_problem *problem, int32_t runs,
                            int32_t panels, int32_t *values)
{
    layout l;
    values[PIXELS] = runs * values[RUN];
    values[FILTERS] = panels * panel_filters(context, problem);
    return conv_cpu_direct_lay_out(context, problem, values, &l);
}

static bool fits_by_default(tenon_context *context, const conv_problem *p)
{
    int32_t values[PARAMETERS] = {0};
    layout l;
    conv_cpu_direct_tune(context, p, values);
    return conv_cpu_direct_lay_out(context, p, values, &l);
}

static void conv_cpu_direct_set_options(tenon_context *context, const layout *l,
                                        char text[TN_OPTIONS_SIZE])
{
    const conv_problem *p = &l->problem;
    tn_build_options(context, text,
                     "-DTENON_DTYPE=%u -DTENON_ACT_BUILD=%u -DTENON_VW=%d -DTENON_RUN=%d "
                     "-DTENON_RUNS=%d -DTENON_SCRATCH=%d -DTENON_TAP_BATCH=%d",
                     p->dtype, tn_activation_is_build(p->activation) ? p->activation : 0u,
                     (int)l->lanes, (int)l->run, (int)runs_of_tile(l, p->dtype),
                     (int)scratch_vectors(context, l, p->dtype), (int)taps_for(context, MOST_TAPS));
}

static const char *conv_cpu_direct_configure(tenon_context *context, const tn_problem *problem,
                                             tn_choice *choice)
{
    const conv_problem *p = (const conv_problem *)problem;
    const int64_t bytes = tn_gemm_lanes(context, p->dtype) * (int64_t)tn_acc_size(p->dtype);
    layout *l = TN_LAYOUT(layout, choice);
    if (p->c == 0)
        return "there are no channels";
    if (tn_window_empty(&p->window))
        return "the image is empty";
    if (!tn_conv_positions_fit(&p->window))
        return "the image is too large";
    conv_cpu_direct_tune(context, p, choice->values);
    const bool fits = conv_cpu_direct_lay_out(context, p, choice->values, l);
    if (!fits && !fits_by_default(context, p))
        return "the input of one output pixel does not fit the local memory";
    choice->never_chosen = context->device.is_cpu ? NULL : "made for CPUs";
    choice->misfit = choice->values[RUN] > tile_pixels(bytes)
                         ? "the tile of a run does not fit the vector registers"
                     : fits ? NULL
                            : "the work of a work-group does not fit the local memory";
    if (choice->misfit != NULL)
        return NULL;
    const tn_work work = conv_cpu_direct_work_of(l);
    tn_choice_add(context, choice, &work);
    if (!choice->is_estimate)
        conv_cpu_direct_set_options(context, l, choice->options);
    return NULL;
}

/* Returns the number of dimensions along which the rows of y and of the residual merge: the next
 * row begins where the previous one ends. */
static int32_t joined_dimensions(const layout *l)
{
    const conv_problem *p = &l->problem;
    const int64_t *out = p->window.out, *box = l->box + 1;
    if (box[2] != out[2] || p->y[3] != out[2] * p->y[4] || p->res[3] != out[2] * p->res[4])
        return out[1] == 1 && out[0] == 1 ? 2 : 0;
    if (box[1] != out[1] || p->y[2] != out[1] * p->y[3] || p->res[2] != out[1] * p->res[3])
        return out[0] == 1 ? 2 : 1;
    return 2;
}

static conv_direct_args make_args(const layout *l)
{
    const conv_problem *p = &l->problem;
    conv_direct_args args = {.images = p->n,
                             .filters = l->filters,
                             .channels = l->channels,
                             .x_span = (p->c - 1) * p->x[1] + 1,
                             .channel = l->channel,
                             .sums_at = l->copy,
                             .filters_at = l->copy + l->sums,
                             .channel_last = l->channel_last,
                             .taps_join = l->taps_join,
                             .join = joined_dimensions(l)};
    memcpy(args.box, l->box, sizeof args.box);
    memcpy(args.subfilter_tap, l->subfilter.tap, sizeof args.subfilter_tap);
    memcpy(args.subfilter_out, l->subfilter.out, sizeof args.subfilter_out);
    memcpy(args.phases, l->phases, sizeof args.phases);
    memcpy(args.extent, l->extent, sizeof args.extent);
    for (int d = 0; d < 3; d++)
        args.x_span += (p->window.size[d] - 1) * p->x[2 + d];
    return args;
}

static tenon_status conv_cpu_direct_launch(const char *caller, tn_recording *recording,
                                           const tn_problem *problem, const tn_choice *choice)
{
    const conv_problem *p = (const conv_problem *)problem;
    const bool reads[CONV_OPERANDS] = {
        [CONV_X] = true, [CONV_W] = true, [CONV_C] = true, [CONV_BIAS] = true};
    tn_patch patches[CONV_OPERANDS + TN_EPILOGUE_SCALARS];
    const layout *l = TN_LAYOUT(const layout, choice);
    conv_direct_args args = make_args(l);
    tn_launch launch = {
        .source = "conv/forward/cpu_direct",
        .options = choice->options,
        .kernel = "conv_cpu_direct",
        .dimensions = 3,
        .global = {(size_t)l->boxes, (size_t)tn_ceil_div(p->k, l->filters), (size_t)p->groups},
        .local = {1, 1, 1},
        .args_size = sizeof args};
    tn_conv_direct_launch(&l->problem, reads, CONV_Y, &launch, &args.conv, patches);
    return tn_record(caller, recording, &launch);
}

const tn_solver tn_conv_cpu_direct = {
    .name = "cpu_direct",
    .serves = "problems for which the input of a few output pixels fits the local memory, on CPUs",
    .awkward = "cut=1 stride_w=1; cut=1 stride_w=2",
    TN_PARAMETERS(parameters, PARAMETERS),
    .configure = conv_cpu_direct_configure,
    .launch = conv_cpu_direct_launch};
