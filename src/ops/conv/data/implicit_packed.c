/* conv_backward_data/implicit_packed, which also serves conv_transpose: one kernel computes columns
 * as the product of the transposed filters and y, and folds them into the image, without workspace.
 */
#include "base/checked.h"
#include "ops/common/lanes.h"
#include "ops/conv/problem/gradient.h"
#include "ops/gemm/cpu.h"

#include <string.h>

/* Tuning parameters: the register tile, the maximum block length of the sum over filters, the
 * maximum rows packed at once, and the sums in local memory in units of 1024 elements. */
enum { TILE_ROWS, TILE_VECTORS, DEPTH, ROWS, SUMS, PARAMETERS };
static const tn_parameter parameters[PARAMETERS] = {[TILE_ROWS] = {"mr", 2, 14},
                                                    [TILE_VECTORS] = {"nv", 1, 4},
                                                    [DEPTH] = {"kc", 64, 512},
                                                    [ROWS] = {"rb", 8, 192},
                                                    [SUMS] = {"lm", 1, 64}};

#define SUMS_UNIT 1024
/* Number of pixels from which a work-group needs no further images. */
#define WANTED_PIXELS 512
/* Work-groups per compute unit, enough to balance the load at the end. */
#define GROUPS_PER_UNIT 4
#define LEAST_GROUPS    8

/* The division of the work. */
typedef struct layout {
    int64_t channels, images, band; /* sizes per work-group */
    int64_t lines;                  /* maximum lines of y */
    int64_t phases[3], rows, pitch;
} layout;

static int64_t padded_rows(const int32_t *values)
{
    return tn_round_up(values[ROWS], values[TILE_ROWS]);
}

/* Matches W_PITCH of the kernel. */
static int64_t tile_pitch(const int32_t *values)
{
    return values[TILE_ROWS] <= 4 ? 4 : values[TILE_ROWS] <= 8 ? 8 : 16;
}

static uint64_t local_bytes(tenon_context *context, const conv_problem *p, const int32_t *values)
{
    int64_t lanes = tn_gemm_lanes(context, p->dtype), columns = lanes * values[TILE_VECTORS];
    int64_t packed =
        values[DEPTH] * (padded_rows(values) / values[TILE_ROWS] * tile_pitch(values) + columns);
    return (uint64_t)(packed + (int64_t)values[SUMS] * SUMS_UNIT + 2 * lanes) *
               tn_acc_size(p->dtype) +
           (uint64_t)columns * 20 + (uint64_t)padded_rows(values) * 4 + 8;
}

/* Returns the elements of a channel's planes of sums, for a band of `band` lines of x. */
static int64_t sums_of_band(const conv_problem *p, int64_t band, layout *l)
{
    const conv_window *v = &p->window;
    int64_t reach = (v->filter[1] - 1) * v->dilation[1];
    l->band = band;
    l->lines = tn_min_i64(v->out[1], (band - 1 + reach) / v->stride[1] + 1);
    l->rows = l->lines + reach / v->stride[1];
    return l->phases[1] * l->phases[2] * l->rows * l->pitch;
}

/* Finds the longest band, of equal bands, whose sums fit. Returns false if none fits. */
static bool choose_band(const conv_problem *p, int64_t room, layout *l)
{
    int64_t size = p->window.size[1], low = 0, high = size;
    while (low < high) {
        int64_t middle = (low + high + 1) / 2;
        if (sums_of_band(p, middle, l) <= room)
            low = middle;
        else
            high = middle - 1;
    }
    if (low == 0)
        return false;
    sums_of_band(p, tn_ceil_div(size, tn_ceil_div(size, low)), l);
    return true;
}

static double groups_of(const conv_problem *p, const layout *l)
{
    return (double)p->groups * (double)tn_ceil_div(p->c, l->channels) *
           (double)tn_ceil_div(p->window.size[1], l->band) * (double)p->window.size[0] *
           (double)tn_ceil_div(p->n, l->images);
}

/* Reduces the channels, then the bands, until there are enough work-groups. */
static void share_out(tenon_context *context, const conv_problem *p, layout *l)
{
    const conv_window *v = &p->window;
    double units = context->device.info.compute_units,
           wanted = units * GROUPS_PER_UNIT > LEAST_GROUPS ? units * GROUPS_PER_UNIT : LEAST_GROUPS;
    int64_t taps = v->filter[1] * v->filter[2];
    while (groups_of(p, l) < wanted && l->images > 1)
        l->images = tn_ceil_div(l->images, 2);
    while (groups_of(p, l) < wanted && l->channels * taps >= 48 && l->channels > 1)
        l->channels = tn_ceil_div(l->channels, 2);
    while (groups_of(p, l) < wanted && l->lines * v->out[2] >= 256 &&
           l->band >= 4 * (v->filter[1] - 1) * v->dilation[1] && l->band > 1)
        sums_of_band(p, tn_ceil_div(l->band, 2), l);
}

/* Divides the work. Returns why it does not fit, or NULL. */
static const char *conv_data_implicit_packed_lay_out(tenon_context *context, const conv_problem *p,
                                                     const int32_t *values, layout *l)
{
    const conv_window *v = &p->window;
    const conv_subfilter subfilter = tn_conv_find_subfilter(v);
    int64_t room = (int64_t)values[SUMS] * SUMS_UNIT, taps = v->filter[1] * v->filter[2];
    memset(l, 0, sizeof *l);
    for (int d = 0; d < 3; d++)
        l->phases[d] = tn_min_i64(v->filter[d], subfilter.tap[d]);
    l->pitch = tn_max_i64(v->out[2] + (v->filter[2] - 1) * v->dilation[2] / v->stride[2],
                          (v->size[2] - 1 - v->start[2]) / v->stride[2] + 1);
    l->images = 1;
    l->channels = tn_min_i64(p->c, tn_max_i64(1, values[ROWS] / taps));
    while (!choose_band(p, room / l->channels, l)) {
        if (l->channels == 1)
            return "the sums of one line do not fit the local memory";
        l->channels = tn_ceil_div(l->channels, 2);
    }
    if (l->band == v->size[1]) {
        int64_t sums = l->channels * sums_of_band(p, l->band, l);
        l->images = tn_min_i64(tn_min_i64(p->n, room / sums),
                               tn_ceil_div(WANTED_PIXELS, l->lines * v->out[2]));
    }
    share_out(context, p, l);
    l->channels = tn_ceil_div(p->c, tn_ceil_div(p->c, l->channels));
    return NULL;
}

static const char *conv_data_implicit_packed_refuses(const conv_problem *p)
{
    const conv_window *v = &p->window;
    if (p->k == 0 || tn_window_pixels(v) == 0 || (p->flags & CONV_SKIP_XW) != 0)
        return "there is nothing to multiply";
    for (int d = 0; d < 3; d++) /* counted in 32 bits */
        if (v->filter[d] > SUMS_UNIT || v->dilation[d] > INT32_MAX / SUMS_UNIT / 4 ||
            v->stride[d] > INT32_MAX / SUMS_UNIT / 4 || v->size[d] > INT32_MAX / 4 ||
            v->out[d] > INT32_MAX / 4 || -v->start[d] > INT32_MAX / 4)
            return "the image is too large";
    return NULL;
}

/* Returns the vectors per tile whose panels leave the fewest columns unused. */
static int32_t choose_vectors(const conv_problem *p, int64_t lanes, bool many)
{
    int64_t pixels = tn_window_pixels(&p->window) / p->window.out[0];
    if (pixels * p->n > 512 || !many)
        return many ? 4 : 2;
    int64_t vectors = tn_ceil_div(pixels * p->n, lanes);
    return vectors == 1 ? 1 : tn_round_up(vectors, 4) <= tn_round_up(vectors, 2) ? 4 : 2;
}

static void conv_data_implicit_packed_tune(tenon_context *context, const conv_problem *p,
                                           int32_t *values)
{
    int64_t lanes = tn_gemm_lanes(context, p->dtype);
    const bool is_free[] = {values[DEPTH] == 0, values[ROWS] == 0, values[SUMS] == 0};
    uint64_t room = context->device.info.local_memory;
    if (values[TILE_VECTORS] == 0)
        values[TILE_VECTORS] = choose_vectors(p, lanes, tn_gemm_has_many_registers(context));
    if (values[TILE_ROWS] == 0)
        values[TILE_ROWS] = tn_gemm_rows_of_tile(context, values[TILE_VECTORS]);
    if (is_free[0])
        values[DEPTH] = 256;
    if (is_free[1])
        values[ROWS] = 96;
    if (is_free[2])
        values[SUMS] = 32;
    while (is_free[0] && values[DEPTH] > 64 && local_bytes(context, p, values) > room)
        values[DEPTH] /= 2;
    while (is_free[1] && values[ROWS] > 24 && local_bytes(context, p, values) > room)
        values[ROWS] /= 2;
    while (is_free[2] && values[SUMS] > 1 && local_bytes(context, p, values) > room)
        values[SUMS] /= 2;
}

/* Divides the work and returns NULL, or returns why the values are incompatible. */
static const char *conv_data_implicit_packed_misfit_of(tenon_context *context,
                                                       const conv_problem *p, const int32_t *values,
                                                       layout *l)
{
    if (local_bytes(context, p, values) > context->device.info.local_memory)
        return "the packed blocks do not fit the local memory";
    if (values[TILE_ROWS] * values[TILE_VECTORS] + values[TILE_VECTORS] + 1 > 32)
        return "the tile of mr x nv does not fit the vector registers";
    return conv_data_implicit_packed_lay_out(context, p, values, l);
}

/* Returns true if the taps of all channels have stride 1 in the filters. */
static bool rows_join(const conv_problem *p)
{
    const int64_t *f = p->window.filter;
    return (f[2] == 1 || p->w[4] == 1) && (f[1] == 1 || p->w[3] == f[2]) &&
           (p->c == 1 || p->w[1] == f[1] * f[2]);
}

/* Returns the work of packing y and the filters by vectors or elements, of folding one vector of
 * columns at a time, and of storing x. */
static tn_work conv_data_implicit_packed_work_of(tenon_context *context, const conv_problem *p,
                                                 const layout *l, const int32_t *values)
{
    const conv_window *v = &p->window;
    const int64_t lanes = tn_gemm_lanes(context, p->dtype), panel = lanes * values[TILE_VECTORS];
    const double rows = (double)tn_round_up(l->channels * v->filter[1] * v->filter[2],
                                            values[TILE_ROWS]),
                 columns = (double)tn_round_up(l->images * l->lines * v->out[2], panel);
    const double planes = (double)v->filter[0] * (double)v->out[0] / (double)v->size[0],
                 groups = groups_of(p, l), all = groups * planes, depth = (double)p->k;
    const double y = depth * columns * (double)tn_ceil_div((int64_t)rows, values[ROWS]),
                 w = depth * rows;
    const bool y_joins = p->y[4] == 1 || p->y[1] == 1,
               w_joins = rows_join(p) && !tn_conv_is_converted(p->dtype);
    const double runs = (double)tn_ceil_div(v->out[2], lanes) / (double)v->out[2],
                 folded = rows * columns * runs * (double)tn_ceil_div(p->k, values[DEPTH]);
    const double written = (double)(l->images * l->channels * l->band * v->size[2]);
    return (tn_work){.launches = 1,
                     .blocks = true,
                     .groups = groups,
                     .rate = tn_sum_rate(p->dtype),
                     .multiply_adds = all * rows * columns * depth,
                     .efficiency = 0.9,
                     .vector_elements = all * ((y_joins ? y : 0) + (w_joins ? w : 0)),
                     .single_elements =
                         all * ((y_joins ? 0 : y) + (w_joins ? 0 : w)) + 2 * groups * written,
                     .rows = 0.4 * all * folded};
}

static void conv_data_implicit_packed_set_options(tenon_context *context, const conv_problem *p,
                                                  const int32_t *values, char text[TN_OPTIONS_SIZE])
{
    tn_build_options(
        context, text,
        "-DTENON_DTYPE=%u -DTENON_ACT_BUILD=%u -DTENON_VW=%d -DTENON_MR=%d -DTENON_NV=%d "
        "-DTENON_KC=%d -DTENON_ROWS=%d -DTENON_SUMS=%d",
        p->dtype, tn_activation_is_build(p->activation) ? p->activation : 0u,
        (int)tn_gemm_lanes(context, p->dtype), values[TILE_ROWS], values[TILE_VECTORS],
        values[DEPTH], (int)padded_rows(values), values[SUMS] * SUMS_UNIT);
}

static const char *conv_data_implicit_packed_configure(tenon_context *context,
                                                       const tn_problem *problem, tn_choice *choice)
{
    const conv_problem *p = (const conv_problem *)problem;
    layout *l = TN_LAYOUT(layout, choice);
    const char *why = conv_data_implicit_packed_refuses(p);
    if (why != NULL)
        return why;
    choice->never_chosen = context->device.is_cpu ? NULL : "made for CPUs";
    conv_data_implicit_packed_tune(context, p, choice->values);
    choice->misfit = conv_data_implicit_packed_misfit_of(context, p, choice->values, l);
    if (choice->misfit != NULL)
        return NULL;
    const tn_work work = conv_data_implicit_packed_work_of(context, p, l, choice->values);
    tn_choice_add(context, choice, &work);
    if (!choice->is_estimate)
        conv_data_implicit_packed_set_options(context, p, choice->values, choice->options);
    return NULL;
}

static void fill_arguments(const conv_problem *p, const layout *l, conv_data_packed_args *args)
{
    const conv_window *v = &p->window;
    args->subfilter = tn_conv_find_subfilter(v);
    args->n = p->n;
    args->channels = l->channels;
    args->images = l->images;
    args->band = l->band;
    args->rows = l->rows;
    args->pitch = l->pitch;
    args->rows_join = rows_join(p);
    args->y_span = (p->n - 1) * p->y[0] + (p->groups * p->k - 1) * p->y[1] + 1;
    args->w_span = (p->groups * p->k - 1) * p->w[0] + (p->c - 1) * p->w[1] + 1;
    for (int d = 0; d < 3; d++) {
        args->phases[d] = l->phases[d];
        args->y_span += (v->out[d] - 1) * p->y[2 + d];
        args->w_span += (v->filter[d] - 1) * p->w[2 + d];
    }
}

static tenon_status conv_data_implicit_packed_launch(const char *caller, tn_recording *recording,
                                                     const tn_problem *problem,
                                                     const tn_choice *choice)
{
    const conv_problem *p = (const conv_problem *)problem;
    const bool reads[CONV_OPERANDS] = {
        [CONV_Y] = true, [CONV_W] = true, [CONV_C] = true, [CONV_BIAS] = true};
    tn_patch patches[CONV_OPERANDS + TN_EPILOGUE_SCALARS];
    conv_data_packed_args args = {.subfilter = {.tap = {0}}};
    const layout *l = TN_LAYOUT(const layout, choice);
    fill_arguments(p, l, &args);
    tn_launch launch = {.source = "conv/data/implicit_packed",
                        .options = choice->options,
                        .kernel = "conv_data_packed",
                        .dimensions = 3,
                        .local = {1, 1, 1},
                        .args_size = sizeof args};
    tn_conv_direct_launch(p, reads, CONV_X, &launch, &args.conv, patches);
    launch.global[0] = (size_t)(p->groups * tn_ceil_div(p->c, l->channels));
    launch.global[1] = (size_t)(tn_ceil_div(p->window.size[1], l->band) * p->window.size[0]);
    launch.global[2] = (size_t)tn_ceil_div(p->n, l->images);
    return tn_record(caller, recording, &launch);
}

const tn_solver tn_conv_backward_data_implicit_packed = {
    .name = "implicit_packed",
    .serves = "problems whose sums of one line fit the local memory, on CPUs",
    .awkward = "filters=265; filters=265 dense_filters=1",
    TN_PARAMETERS(parameters, PARAMETERS),
    .configure = conv_data_implicit_packed_configure,
    .launch = conv_data_implicit_packed_launch};
