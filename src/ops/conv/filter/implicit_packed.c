/* conv_backward_filter/implicit_packed: multiplies dy by columns that the kernel reads from a
 * packed, padded copy of its part of the image. Works without workspace; with a workspace, the
 * outputs are split into slices if dw is too small to keep the device busy. */
#include "base/checked.h"
#include "ops/common/lanes.h"
#include "base/shape.h"
#include "ops/conv/problem/gradient.h"
#include "ops/gemm/cpu.h"

#include <stddef.h>
#include <string.h>

/* Tuning parameters: the register tile, and the size of blocks in local memory in units of 1024
 * elements. */
enum { TILE_ROWS, TILE_VECTORS, BLOCK, PARAMETERS };
static const tn_parameter parameters[PARAMETERS] = {
    [TILE_ROWS] = {"mr", 2, 14}, [TILE_VECTORS] = {"nv", 1, 4}, [BLOCK] = {"lm", 1, 64}};

#define BLOCK_UNIT 1024
/* Maximum pixels of a band; matches TENON_PIXELS. */
#define BAND_PIXELS 512
/* Vectors of columns in the self-check: 3 x 2 taps of more channels than a vector has lanes. */
#define CHECK_VECTORS 6
/* Maximum pixels of a line that is joined from several. */
#define LINE_PIXELS 256
/* Work-groups per compute unit, enough to balance the load at the end. */
#define GROUPS_PER_UNIT 4
#define LEAST_GROUPS    8

/* Moves per element of the image that is packed by vectors. */
#define PACK_MOVES 4

/* The division of the work. */
typedef struct layout {
    conv_window window; /* with lines joined */
    int64_t x[CONV_RANK], y[CONV_RANK];
    int64_t skip[3], stride[3], dilation[3];
    int64_t run, channels, filters;
    int64_t vectors;              /* vectors of a work-group's columns */
    int64_t images, lines, width; /* sizes of a band */
    int64_t rows, pitch;
    int64_t blocks[4], slices;
} layout;

/* Joins several lines into one if the filter has one element, which visits each pixel once. */
static void join_lines(const conv_problem *p, layout *l)
{
    conv_window *v = &l->window;
    int64_t joined = 1;
    for (int d = 1; d < 3; d++)
        if (v->filter[d] != 1 || v->stride[d] != 1 || v->start[d] != 0 || v->out[d] != v->size[d])
            return;
    if (p->x[3] != v->out[2] * p->x[4] || p->y[3] != v->out[2] * p->y[4])
        return;
    for (int64_t lines = 1; lines <= v->out[1] && lines * v->out[2] <= LINE_PIXELS; lines++)
        if (v->out[1] % lines == 0)
            joined = lines;
    v->out[1] = v->size[1] = v->out[1] / joined;
    v->out[2] = v->size[2] = v->out[2] * joined;
    l->x[3] *= joined;
    l->y[3] *= joined;
}

static void choose_positions(layout *l)
{
    const conv_window *v = &l->window;
    for (int d = 0; d < 3; d++) {
        bool skips = d > 0 && v->filter[d] == 1;
        l->skip[d] = skips ? v->stride[d] : 1;
        l->stride[d] = skips ? 1 : v->stride[d];
        l->dilation[d] = v->dilation[d];
    }
}

/* Returns the positions under the filter along a dimension for `outputs` outputs. */
static int64_t reach(const layout *l, int d, int64_t outputs)
{
    return (outputs - 1) * l->stride[d] + (l->window.filter[d] - 1) * l->dilation[d] + 1;
}

static void choose_columns(const conv_problem *p, int64_t lanes, layout *l)
{
    const int64_t *f = l->window.filter;
    bool is_single = tn_window_taps(&l->window) == 1;
    l->run = f[2] == 1 || l->dilation[2] == 1 ? f[2] : 1;
    l->channels = tn_min_i64(p->c, is_single ? 8 * lanes : lanes);
    l->vectors = f[0] * f[1] * (f[2] / l->run) * tn_ceil_div(l->channels * l->run, lanes);
}

/* Finds the largest band whose packed image fits `room` elements. Returns false if a single pixel
 * does not fit. */
static bool choose_band(const conv_problem *p, int64_t room, layout *l)
{
    const int64_t *out = l->window.out, depth = l->window.filter[0] * l->channels;
    int64_t most = room / depth; /* positions */
    l->images = l->lines = l->width = 1;
    if (reach(l, 1, 1) > most / reach(l, 2, 1))
        return false;
    if (reach(l, 2, out[2]) > most / reach(l, 1, 1) || out[2] > BAND_PIXELS) {
        int64_t positions = most / reach(l, 1, 1) - reach(l, 2, 1);
        l->width = tn_min_i64(tn_min_i64(out[2], BAND_PIXELS), 1 + positions / l->stride[2]);
    } else {
        int64_t rows = most / reach(l, 2, out[2]) - reach(l, 1, 1);
        l->width = out[2];
        l->lines = tn_min_i64(tn_min_i64(out[1], BAND_PIXELS / out[2]), 1 + rows / l->stride[1]);
        l->lines = tn_ceil_div(out[1], tn_ceil_div(out[1], l->lines));
    }
    l->rows = reach(l, 1, l->lines);
    l->pitch = reach(l, 2, l->width);
    if (l->lines == out[1] && l->width == out[2])
        l->images = tn_max_i64(1, tn_min_i64(tn_min_i64(p->n, BAND_PIXELS / (l->lines * l->width)),
                                             most / (l->rows * l->pitch)));
    l->blocks[0] = tn_ceil_div(p->n, l->images);
    l->blocks[1] = out[0];
    l->blocks[2] = tn_ceil_div(out[1], l->lines);
    l->blocks[3] = tn_ceil_div(out[2], l->width);
    return true;
}

static int64_t bands_of(const layout *l)
{
    return l->blocks[0] * l->blocks[1] * l->blocks[2] * l->blocks[3];
}

static int64_t groups_of(const conv_problem *p, const layout *l)
{
    return p->groups * tn_ceil_div(p->c, l->channels) * tn_ceil_div(p->k, l->filters);
}

static double packed_elements(const conv_problem *p, const layout *l)
{
    return (double)bands_of(l) * (double)(l->images * l->window.filter[0] * l->rows * l->pitch) *
           (double)(p->groups * p->c);
}

/* Makes enough work-groups. Smaller blocks of filters pack the image more often; slices must be
 * added up. */
static void share_out(tenon_context *context, const conv_problem *p, const int32_t *values,
                      layout *l)
{
    int64_t size = (int64_t)tn_acc_size(p->dtype),
            dw = p->groups * p->k * p->c * tn_window_taps(&p->window),
            units = context->device.info.compute_units, groups = groups_of(p, l),
            more = tn_ceil_div(tn_max_i64(LEAST_GROUPS, GROUPS_PER_UNIT * units), groups),
            slices = tn_min_i64(more, bands_of(l));
    l->slices = 1;
    if (more == 1)
        return;
    const tn_work add = {.single_elements = 2 * (double)(slices * dw)},
                  pack = {.rate = tn_sum_rate(p->dtype),
                          .vector_elements =
                              PACK_MOVES * (double)(more - 1) * packed_elements(p, l)};
    const bool adds_faster =
        tn_work_time(&context->device.model, &add) < tn_work_time(&context->device.model, &pack);
    bool fits = (uint64_t)(slices * dw * size) <= p->head.workspace_limit;
    if (fits && slices > 1 && adds_faster) {
        l->slices = tn_ceil_div(bands_of(l), tn_ceil_div(bands_of(l), slices));
        return;
    }
    int64_t blocks =
        tn_min_i64(tn_ceil_div(p->k, l->filters) * more, tn_ceil_div(p->k, values[TILE_ROWS]));
    l->filters = tn_round_up(tn_ceil_div(p->k, blocks), values[TILE_ROWS]);
}

/* Divides the work. Returns why it does not fit, or NULL. */
static const char *conv_filter_implicit_packed_lay_out(tenon_context *context,
                                                       const conv_problem *p, const int32_t *values,
                                                       layout *l)
{
    int64_t lanes = tn_gemm_lanes(context, p->dtype), room = values[BLOCK] * BLOCK_UNIT;
    memset(l, 0, sizeof *l);
    l->window = p->window;
    memcpy(l->x, p->x, sizeof l->x);
    memcpy(l->y, p->y, sizeof l->y);
    join_lines(p, l);
    choose_positions(l);
    choose_columns(p, lanes, l);
    int64_t columns = tn_round_up(l->vectors, values[TILE_VECTORS]) * lanes,
            checked = tn_round_up(CHECK_VECTORS, values[TILE_VECTORS]) * lanes;
    if (tn_max_i64(columns, checked) > room / values[TILE_ROWS])
        return "the columns of the filter, or those of the self-check, do not fit the local memory";
    if (!choose_band(p, room, l))
        return "the part of the image under the filter does not fit the local memory";
    int64_t rows = room / columns / values[TILE_ROWS] * values[TILE_ROWS];
    int64_t blocks = tn_ceil_div(p->k, rows);
    l->filters = tn_round_up(tn_ceil_div(p->k, blocks), values[TILE_ROWS]);
    share_out(context, p, values, l);
    return NULL;
}

static uint64_t slice_size(const conv_problem *p)
{
    return (uint64_t)(p->groups * p->k * p->c * tn_window_taps(&p->window));
}

static bool in_place(const conv_problem *p)
{
    return !tn_conv_is_converted(p->dtype);
}

static bool fits(tenon_context *context, const conv_problem *p, const int32_t *values)
{
    int64_t lanes = tn_gemm_lanes(context, p->dtype),
            packed_y = in_place(p) ? 1 : (int64_t)BAND_PIXELS * values[TILE_ROWS],
            elements = 2 * (int64_t)values[BLOCK] * BLOCK_UNIT + 2 * lanes + packed_y;
    return (uint64_t)elements * tn_acc_size(p->dtype) + (uint64_t)BAND_PIXELS * 12 <=
           context->device.info.local_memory;
}

static const char *conv_filter_implicit_packed_refuses(const conv_problem *p)
{
    const conv_window *v = &p->window;
    if (p->n == 0 || tn_window_pixels(v) == 0 || tn_window_empty(v))
        return "there is nothing to multiply";
    for (int d = 0; d < 3; d++) /* positions within a band are counted in 32 bits */
        if (v->filter[d] > BLOCK_UNIT || v->dilation[d] > INT32_MAX / BLOCK_UNIT / 2 ||
            v->stride[d] > INT32_MAX / BLOCK_UNIT / 2)
            return "the dilated filter or the stride is too large";
    return NULL;
}

/* Selects the vectors per tile that leave the fewest unused in the last panel. */
static void conv_filter_implicit_packed_tune(tenon_context *context, const conv_problem *p,
                                             int32_t *values)
{
    int64_t lanes = tn_gemm_lanes(context, p->dtype);
    layout l = {.window = p->window};
    choose_positions(&l);
    choose_columns(p, lanes, &l);
    if (values[TILE_VECTORS] == 0) {
        int32_t most = tn_gemm_has_many_registers(context) ? 4 : 3, best = most;
        for (int32_t nv = most - 1; nv >= 2; nv--)
            if (tn_round_up(l.vectors, nv) < tn_round_up(l.vectors, best))
                best = nv;
        values[TILE_VECTORS] = l.vectors == 1 ? 1 : best;
    }
    if (values[TILE_ROWS] == 0)
        values[TILE_ROWS] = tn_gemm_rows_of_tile(context, values[TILE_VECTORS]);
    bool is_free = values[BLOCK] == 0;
    if (is_free)
        values[BLOCK] = 32;
    while (is_free && values[BLOCK] > 1 && !fits(context, p, values))
        values[BLOCK] /= 2;
}

/* Divides the work and returns NULL, or returns why the values are incompatible. */
static const char *conv_filter_implicit_packed_misfit_of(tenon_context *context,
                                                         const conv_problem *p,
                                                         const int32_t *values, layout *l)
{
    if (!fits(context, p, values))
        return "the packed blocks do not fit the local memory";
    if (values[TILE_ROWS] * values[TILE_VECTORS] + values[TILE_VECTORS] + 1 > 32)
        return "the tile of mr x nv does not fit the vector registers";
    return conv_filter_implicit_packed_lay_out(context, p, values, l);
}

/* Returns the work of packing the image by vectors or elements, of storing the sums, and of adding
 * those of slices. */
static tn_work conv_filter_implicit_packed_work_of(tenon_context *context, const conv_problem *p,
                                                   const layout *l, const int32_t *values)
{
    const int64_t lanes = tn_gemm_lanes(context, p->dtype);
    const double blocks = (double)(p->groups * tn_ceil_div(p->c, l->channels)),
                 vectors = (double)tn_round_up(l->vectors, values[TILE_VECTORS]) * blocks,
                 pixels = (double)p->n * (double)tn_window_pixels(&p->window),
                 packed = packed_elements(p, l) * (double)tn_ceil_div(p->k, l->filters);
    const bool by_vectors = (l->x[1] == 1 || l->skip[2] * l->x[4] <= 2) && l->channels >= lanes;
    return (tn_work){.launches = 1,
                     .blocks = true,
                     .groups = (double)groups_of(p, l) * (double)l->slices,
                     .rate = tn_sum_rate(p->dtype),
                     .multiply_adds = pixels * vectors * (double)lanes * (double)p->k,
                     .efficiency = 0.95,
                     .scalar = in_place(p) ? 0 : pixels * blocks * (double)p->k,
                     .vector_elements = by_vectors ? PACK_MOVES * packed : 0,
                     .single_elements =
                         (by_vectors ? 0 : packed) +
                         (double)slice_size(p) * (l->slices > 1 ? 1 + 2 * (double)l->slices : 1)};
}

static void conv_filter_implicit_packed_set_options(tenon_context *context, const conv_problem *p,
                                                    const int32_t *values,
                                                    char text[TN_OPTIONS_SIZE])
{
    tn_build_options(context, text,
                     "-DTENON_DTYPE=%u -DTENON_VW=%d -DTENON_MR=%d -DTENON_NV=%d -DTENON_BLOCK=%d "
                     "-DTENON_PIXELS=%d -DTENON_Y_IN_PLACE=%d",
                     p->dtype, (int)tn_gemm_lanes(context, p->dtype), values[TILE_ROWS],
                     values[TILE_VECTORS], values[BLOCK] * BLOCK_UNIT, BAND_PIXELS, in_place(p));
}

static const char *conv_filter_implicit_packed_configure(tenon_context *context,
                                                         const tn_problem *problem,
                                                         tn_choice *choice)
{
    const conv_problem *p = (const conv_problem *)problem;
    layout *l = TN_LAYOUT(layout, choice);
    const char *why = conv_filter_implicit_packed_refuses(p);
    if (why != NULL)
        return why;
    choice->never_chosen = context->device.is_cpu ? NULL : "made for CPUs";
    conv_filter_implicit_packed_tune(context, p, choice->values);
    choice->misfit = conv_filter_implicit_packed_misfit_of(context, p, choice->values, l);
    if (choice->misfit != NULL)
        return NULL;
    if (l->slices > 1)
        choice->workspace = (uint64_t)l->slices * slice_size(p) * tn_acc_size(p->dtype);
    const tn_work work = conv_filter_implicit_packed_work_of(context, p, l, choice->values);
    tn_choice_add(context, choice, &work);
    if (!choice->is_estimate)
        conv_filter_implicit_packed_set_options(context, p, choice->values, choice->options);
    return NULL;
}

static conv_filter_packed_args arguments(const conv_problem *p, const layout *l)
{
    const conv_window *v = &l->window;
    const int64_t *f = v->filter;
    conv_filter_packed_args args = {.x_span =
                                        (p->n - 1) * l->x[0] + (p->groups * p->c - 1) * l->x[1] + 1,
                                    .n = p->n,
                                    .group_channels = p->c,
                                    .group_filters = p->k,
                                    .channels = l->channels,
                                    .filters = l->filters,
                                    .images = l->images,
                                    .lines = l->lines,
                                    .width = l->width,
                                    .bands = tn_ceil_div(bands_of(l), l->slices),
                                    .slice = l->slices > 1 ? (int64_t)slice_size(p) : 0,
                                    .run = l->run,
                                    .rows = l->rows,
                                    .pitch = l->pitch,
                                    .adds = (p->flags & CONV_HAS_C) != 0};
    const int64_t dense[] = {p->c * f[0] * f[1] * f[2], f[0] * f[1] * f[2], f[1] * f[2], f[2], 1};
    memcpy(args.x_stride, l->x, sizeof args.x_stride);
    memcpy(args.y_stride, l->y, sizeof args.y_stride);
    memcpy(args.to_stride, l->slices > 1 ? dense : p->w, sizeof args.to_stride);
    memcpy(args.blocks, l->blocks, sizeof args.blocks);
    int64_t next = args.taps_join = 1;
    for (int d = 2; d >= 0; d--) {
        args.taps_join &= f[d] == 1 || args.to_stride[2 + d] == next;
        next *= f[d];
    }
    args.taps_join &= p->c == 1 || args.to_stride[1] == next;
    memcpy(args.skip, l->skip, sizeof args.skip);
    memcpy(args.stride, l->stride, sizeof args.stride);
    memcpy(args.dilation, l->dilation, sizeof args.dilation);
    memcpy(args.size, v->size, sizeof args.size);
    memcpy(args.filter, f, sizeof args.filter);
    memcpy(args.out, v->out, sizeof args.out);
    memcpy(args.start, v->start, sizeof args.start);
    for (int d = 0; d < 3; d++)
        args.x_span += (v->size[d] - 1) * l->x[2 + d];
    return args;
}

static tenon_status record_sum(const char *caller, tn_recording *recording, const conv_problem *p,
                               const layout *l)
{
    const int64_t *f = p->window.filter, *w = p->w;
    const conv_packing packing = {.dtype = p->dtype,
                                  .operand = p->operand[CONV_W],
                                  .adds = (p->flags & CONV_HAS_C) != 0,
                                  .shape = {p->groups * p->k, p->c, f[0], f[1], f[2]},
                                  .stride = {w[0], w[1], w[2], w[3], w[4]},
                                  .parts = l->slices};
    return tn_conv_record_unpack(caller, recording, &packing);
}

static tenon_status conv_filter_implicit_packed_launch(const char *caller, tn_recording *recording,
                                                       const tn_problem *problem,
                                                       const tn_choice *choice)
{
    const conv_problem *p = (const conv_problem *)problem;
    const uint8_t w = p->operand[CONV_W], x = p->operand[CONV_X], y = p->operand[CONV_Y];
    const uint32_t size = (uint32_t)tenon_dtype_size((tenon_dtype)p->dtype);
    const layout *l = TN_LAYOUT(const layout, choice);
    const conv_filter_packed_args args = arguments(p, l);
    const uint8_t sums = l->slices > 1 ? TN_WORKSPACE : w; /* an operand that is not written may be
                                                            * absent */
    const tn_patch patches[] = {
        {(uint8_t)tn_scalar_patch((tenon_dtype)p->dtype), TN_SCALAR_BETA,
         offsetof(conv_filter_packed_args, beta), 1},
        {TN_PATCH_OFFSET, w, offsetof(conv_filter_packed_args, w_offset), size},
        {TN_PATCH_OFFSET, y, offsetof(conv_filter_packed_args, y_offset), size},
        {TN_PATCH_OFFSET, x, offsetof(conv_filter_packed_args, x_offset), size},
        {TN_PATCH_OFFSET, TN_WORKSPACE, offsetof(conv_filter_packed_args, sum_offset),
         (uint32_t)tn_acc_size(p->dtype)}};
    const tn_launch launch = {.source = "conv/filter/implicit_packed",
                              .options = choice->options,
                              .kernel = "conv_filter_packed",
                              .dimensions = 3,
                              .global = {(size_t)(p->groups * tn_ceil_div(p->c, l->channels)),
                                         (size_t)tn_ceil_div(p->k, l->filters), (size_t)l->slices},
                              .local = {1, 1, 1},
                              .operands = {x, y, w, sums},
                              .operand_count = 4,
                              TN_ARGS(args),
                              .patches = patches,
                              .patch_count = l->slices > 1 ? 5 : 4};
    TN_TRY(tn_record(caller, recording, &launch));
    return l->slices > 1 ? record_sum(caller, recording, p, l) : TENON_OK;
}

const tn_solver tn_conv_backward_filter_implicit_packed = {
    .name = "implicit_packed",
    .serves =
        "problems for which the part of the image under the filter fits the local memory, on CPUs",
    .needs = "workspace for slices of the outputs if dw is small",
    .awkward = "channels=35 filters=29; channels=35 filters=29 dense_filters=1; n=9; "
               "n=9 dense_filters=1",
    TN_PARAMETERS(parameters, PARAMETERS),
    .configure = conv_filter_implicit_packed_configure,
    .launch = conv_filter_implicit_packed_launch};
