#include "ops/conv/tiled.h"

#include "base/checked.h"
#include "ops/conv/gradient.h"
#include "ops/conv/implicit.h"

#include <string.h>

/* What finding an element adds to the time of the product. */
#define GATHER_FACTOR 1.15
/* Elements, and what is counted, must fit the kernel's 32 bits. */
#define MOST_ELEMENTS INT64_C(0x7fffffff)
#define MOST_COUNTED  (INT64_C(1) << 30)
/* More products than this, for as many residues, are not worth their launch. */
#define MOST_RESIDUES 64
/* Local memory of a column and of a step of k, in the kernel's tables. */
#define COLUMN_BYTES 24
#define STEP_BYTES   20

static const char *const source_names[] = {"conv/implicit_tiled", "conv/data_tiled",
                                           "conv/filter_tiled"};

/* Elements from the first to the last of a tensor of five dimensions; none where they overflow. */
static bool spans_fit(const int64_t shape[CONV_RANK], const int64_t stride[CONV_RANK])
{
    int64_t span = 1;
    for (int d = 0; d < CONV_RANK; d++) {
        int64_t reach;
        if (!tn_mul_i64(tn_max_i64(shape[d], 1) - 1, stride[d], &reach) ||
            !tn_add_i64(span, reach, &span))
            return false;
    }
    return span <= MOST_ELEMENTS;
}

static bool elements_fit(const conv_problem *p, conv_direction direction)
{
    const conv_window *v = &p->window;
    const int64_t x[] = {p->n, p->groups * p->c, v->size[0], v->size[1], v->size[2]};
    const int64_t y[] = {p->n, p->groups * p->k, v->out[0], v->out[1], v->out[2]};
    const int64_t w[] = {p->groups * p->k, p->c, v->filter[0], v->filter[1], v->filter[2]};
    const int64_t *res = direction == CONV_RESULT ? y : direction == CONV_GRADIENT_OF_IMAGE ? x : w;
    return spans_fit(x, p->x) && spans_fit(y, p->y) && spans_fit(w, p->w) &&
           ((p->flags & CONV_HAS_C) == 0 || direction == CONV_GRADIENT_OF_FILTER ||
            spans_fit(res, p->res));
}

static bool counts_fit(const conv_problem *p)
{
    const conv_window *v = &p->window;
    int64_t size = 0, pixels = 0, taps = 0;
    bool fits = tn_mul_i64(p->n, v->size[0], &size) && tn_mul_i64(size, v->size[1], &size) &&
                tn_mul_i64(size, v->size[2], &size) &&
                tn_mul_i64(p->n, tn_window_pixels(v), &pixels) &&
                tn_mul_i64(tn_max_i64(p->c, p->k), tn_window_taps(v), &taps);
    return fits && size < MOST_COUNTED && pixels < MOST_COUNTED && taps < MOST_COUNTED &&
           tn_conv_positions_fit(v);
}

/* Positions along a dimension that are met by taps of their own. */
static int64_t phases(const conv_window *v, int d)
{
    return tn_max_i64(1, tn_min_i64(v->step[d], v->size[d]));
}

static int64_t residues(const conv_window *v)
{
    int64_t count = 1;
    for (int d = 0; d < 3; d++)
        if (!tn_mul_i64(count, phases(v, d), &count))
            return INT64_MAX;
    return count;
}

const char *tn_conv_tiled_refuses(tenon_context *context, const tn_problem *problem,
                                  conv_direction direction)
{
    const conv_problem *p = (const conv_problem *)problem;
    const conv_window *v = &p->window;
    if (context->device.is_cpu && problem->forced < 0)
        return "made for GPUs";
    if (p->n == 0 || p->c == 0 || p->k == 0 || tn_window_pixels(v) == 0 || tn_window_empty(v))
        return "there is no product";
    if (!counts_fit(p) || !elements_fit(p, direction))
        return "the image is too large";
    if (direction == CONV_GRADIENT_OF_IMAGE && residues(v) > MOST_RESIDUES)
        return "the strides are too long";
    return NULL;
}

/* The images' pixels that n, or k, counts. */
static int64_t pixels_of(const conv_problem *p)
{
    return p->n * tn_window_pixels(&p->window);
}

/* The columns of the largest residue. */
static int64_t residue_pixels(const conv_problem *p)
{
    const conv_window *v = &p->window;
    int64_t pixels = p->n;
    for (int d = 0; d < 3; d++)
        pixels *= tn_ceil_div(v->size[d], phases(v, d));
    return pixels;
}

/* The most taps that meet one element of the image. */
static int64_t meeting_taps(const conv_window *v)
{
    const conv_meeting meeting = tn_conv_find_meeting(v);
    int64_t taps = 1;
    for (int d = 0; d < 3; d++)
        taps *= tn_ceil_div(v->filter[d], meeting.tap[d]);
    return taps;
}

static gemm_problem result_product(const conv_problem *p)
{
    return (gemm_problem){
        .m = p->k,
        .n = pixels_of(p),
        .k = p->c * tn_window_taps(&p->window),
        .batch = {p->groups, 1},
        .matrix = {
            [GEMM_A] = {.row = p->w[0], .batch = {p->k * p->w[0]}, .operand = p->operand[CONV_W]},
            [GEMM_B] = {.batch = {p->c * p->x[1]}, .operand = p->operand[CONV_X]},
            [GEMM_C] = {.row = p->res[1], .batch = {p->k * p->res[1]}},
            [GEMM_BIAS] = {.row = p->bias, .batch = {p->k * p->bias}},
            [GEMM_D] = {.row = p->y[1], .batch = {p->k * p->y[1]}, .operand = p->operand[CONV_Y]}}};
}

static gemm_problem image_product(const conv_problem *p)
{
    return (gemm_problem){
        .m = p->c,
        .n = residue_pixels(p),
        .k = p->k * meeting_taps(&p->window),
        .batch = {p->groups, residues(&p->window)},
        .matrix = {
            [GEMM_A] = {.row = p->w[1], .batch = {p->k * p->w[0]}, .operand = p->operand[CONV_W]},
            [GEMM_B] = {.batch = {p->k * p->y[1]}, .operand = p->operand[CONV_Y]},
            [GEMM_C] = {.row = p->res[1], .batch = {p->c * p->res[1]}},
            [GEMM_BIAS] = {.row = p->bias, .batch = {p->c * p->bias}},
            [GEMM_D] = {.row = p->x[1], .batch = {p->c * p->x[1]}, .operand = p->operand[CONV_X]}}};
}

/* One slice goes to dw, several to the workspace, as dense sums. */
static gemm_problem filter_product(const conv_problem *p, int64_t slices)
{
    const int64_t taps = p->c * tn_window_taps(&p->window);
    gemm_problem g = {
        .m = p->k,
        .n = taps,
        .k = tn_ceil_div(pixels_of(p), slices),
        .batch = {p->groups, slices},
        .matrix = {
            [GEMM_A] = {.row = p->y[1], .batch = {p->k * p->y[1]}, .operand = p->operand[CONV_Y]},
            [GEMM_B] = {.batch = {p->c * p->x[1]}, .operand = p->operand[CONV_X]},
            [GEMM_C] = {.row = p->w[0], .batch = {p->k * p->w[0]}},
            [GEMM_D] = {.row = p->w[0], .batch = {p->k * p->w[0]}, .operand = p->operand[CONV_W]}}};
    if (slices > 1) {
        g.flags = GEMM_PARTIAL;
        g.sums = 1u << GEMM_D;
        g.matrix[GEMM_D] = (gemm_matrix){
            .row = taps, .batch = {p->k * taps, p->groups * p->k * taps}, .operand = TN_WORKSPACE};
    }
    return g;
}

gemm_problem tn_conv_tiled_product(const conv_problem *p, conv_direction direction, int64_t slices)
{
    gemm_problem g = direction == CONV_RESULT              ? result_product(p)
                     : direction == CONV_GRADIENT_OF_IMAGE ? image_product(p)
                                                           : filter_product(p, slices);
    g.head = p->head;
    g.dtype = p->dtype;
    g.activation = p->activation;
    g.batch_rank = 2;
    g.matrix[GEMM_C].operand = p->operand[CONV_C];
    g.matrix[GEMM_BIAS].operand = p->operand[CONV_BIAS];
    if ((g.flags & GEMM_PARTIAL) == 0)
        g.flags = ((p->flags & CONV_HAS_C) != 0 ? GEMM_HAS_C : 0) |
                  ((p->flags & CONV_HAS_BIAS) != 0 ? GEMM_HAS_BIAS : 0) |
                  ((p->flags & CONV_SKIP_XW) != 0 ? GEMM_SKIP_AB : 0);
    return g;
}

/* Strides of the gathered image. */
static const int64_t *gathered(const conv_problem *p, conv_direction direction)
{
    return direction == CONV_GRADIENT_OF_IMAGE ? p->y : p->x;
}

/* Whether neighbouring work-items gather along k: channels that are neighbours, or pixels. */
static bool along_k(const conv_problem *p, conv_direction direction)
{
    const int64_t *image = gathered(p, direction);
    bool channels_last = image[1] == 1 && image[4] != 1;
    return channels_last != (direction == CONV_GRADIENT_OF_FILTER);
}

/* Steps of k that lie one after the other in the image and are in it together. */
static int32_t run_of(const conv_problem *p, conv_direction direction, const int32_t *values)
{
    int64_t channels = direction == CONV_RESULT ? p->c : p->k;
    bool runs = along_k(p, direction) && direction != CONV_GRADIENT_OF_FILTER &&
                channels % 4 == 0 && values[TILED_KB] % 4 == 0;
    return runs ? 4 : 1;
}

void tn_conv_tiled_tune(tenon_context *context, const conv_problem *p, conv_direction direction,
                        int32_t *values)
{
    const gemm_problem g = tn_conv_tiled_product(p, direction, 1);
    tn_gemm_tiled_tune(context, &g.head, values);
}

const char *tn_conv_tiled_constrains(tenon_context *context, const conv_problem *p,
                                     conv_direction direction, const int32_t *values)
{
    const gemm_problem g = tn_conv_tiled_product(p, direction, 1);
    const char *why = tn_gemm_tiled_constrains(context, &g.head, values);
    if (why != NULL)
        return why;
    uint64_t mb = (uint64_t)values[TILED_MB], nb = (uint64_t)values[TILED_NB],
             kb = (uint64_t)values[TILED_KB], items_m = mb / (uint64_t)values[TILED_MR],
             items_n = nb / (uint64_t)values[TILED_NR], area = (mb + nb + 8) * kb;
    if (kb > items_m * items_n)
        return "kb is more than the work-group";
    if (area < items_m * nb)
        area = items_m * nb;
    if (area < items_n * mb)
        area = items_n * mb;
    return area * tn_acc_size(p->dtype) + nb * COLUMN_BYTES + kb * STEP_BYTES >
                   context->device.info.local_memory
               ? "the blocks and the tables do not fit the local memory"
               : NULL;
}

double tn_conv_tiled_estimate(tenon_context *context, const conv_problem *p,
                              conv_direction direction, int64_t slices, const int32_t *values)
{
    const gemm_problem g = tn_conv_tiled_product(p, direction, slices);
    return GATHER_FACTOR * tn_gemm_tiled_estimate(context, &g.head, values);
}

void tn_conv_tiled_options(tenon_context *context, const conv_problem *p, conv_direction direction,
                           int64_t slices, const int32_t *values, char text[TN_OPTIONS_SIZE])
{
    const gemm_problem g = tn_conv_tiled_product(p, direction, slices);
    tn_build_options(context, text,
                     GEMM_OPTIONS_FORMAT " -DTENON_MB=%d -DTENON_NB=%d -DTENON_KB=%d -DTENON_MR=%d"
                                         " -DTENON_NR=%d -DTENON_ALONG_K=%d -DTENON_RUN=%d",
                     GEMM_OPTIONS_VALUES(&g), values[TILED_MB], values[TILED_NB], values[TILED_KB],
                     values[TILED_MR], values[TILED_NR], along_k(p, direction),
                     run_of(p, direction, values));
}

static tenon_i32 narrow(int64_t x)
{
    return (tenon_i32)(uint32_t)(uint64_t)x;
}

/* A side that counts channels (or images) and places along three dimensions. */
static void fill_side(conv_side *side, int64_t count, int64_t image, int64_t other,
                      const int64_t counts[3], const int64_t scale[3],
                      const int64_t image_stride[3], const int64_t other_stride[3])
{
    side->count[0] = narrow(count);
    side->image[0] = narrow(image);
    side->other[0] = narrow(other);
    for (int d = 0; d < 3; d++) {
        side->count[1 + d] = narrow(counts[d]);
        side->image[1 + d] = (tenon_i32)((uint32_t)scale[d] * (uint32_t)image_stride[d]);
        side->other[1 + d] = narrow(other_stride[d]);
        side->position[d] = narrow(scale[d]);
    }
}

/* The columns', or the steps', places begin at the window's. */
static void start_side(conv_side *side, const conv_window *v, const int64_t stride[3])
{
    uint32_t shift = 0;
    for (int d = 0; d < 3; d++) {
        side->start[d] = narrow(v->start[d]);
        shift += (uint32_t)v->start[d] * (uint32_t)stride[d];
    }
    side->image_shift = (tenon_i32)shift;
}

static void fill_result(const conv_problem *p, conv_tiled_args *args)
{
    const conv_window *v = &p->window;
    fill_side(&args->depth, p->c, p->x[1], p->w[1], v->filter, v->dilation, p->x + 2, p->w + 2);
    fill_side(&args->columns, p->n, p->x[0], p->y[0], v->out, v->step, p->x + 2, p->y + 2);
    start_side(&args->columns, v, p->x + 2);
}

static void fill_filter(const conv_problem *p, int64_t slices, conv_tiled_args *args)
{
    const conv_window *v = &p->window;
    const int64_t *f = v->filter, plane = f[0] * f[1] * f[2];
    const int64_t dense[] = {plane, f[1] * f[2], f[2], 1}, *to = slices > 1 ? dense : p->w + 1;
    fill_side(&args->depth, p->n, p->x[0], p->y[0], v->out, v->step, p->x + 2, p->y + 2);
    fill_side(&args->columns, p->c, p->x[1], to[0], f, v->dilation, p->x + 2, to + 1);
    start_side(&args->columns, v, p->x + 2);
    for (int d = 0; d < 4; d++)
        args->res[d] = narrow(p->w[1 + d]);
}

/* The kernel narrows the sides to what a residue meets. */
static void fill_image(const conv_problem *p, conv_tiled_args *args)
{
    static const int64_t ones[3] = {1, 1, 1};
    const conv_window *v = &p->window;
    const conv_meeting meeting = tn_conv_find_meeting(v);
    fill_side(&args->depth, p->k, p->y[1], p->w[0], v->filter, ones, p->y + 2, p->w + 2);
    fill_side(&args->columns, p->n, p->y[0], p->x[0], v->size, ones, p->y + 2, p->x + 2);
    for (int d = 0; d < 3; d++) {
        args->step[d] = narrow(v->step[d]);
        args->dilation[d] = narrow(v->dilation[d]);
        args->first[d] = narrow(v->start[d]);
        args->filter[d] = narrow(v->filter[d]);
        args->phases[d] = narrow(phases(v, d));
        args->tap[d] = narrow(meeting.tap[d]);
        args->out[d] = narrow(meeting.out[d]);
        args->whole[d] = narrow(v->size[d]);
    }
}

/* Whether the fastest index of k is contiguous in a, by which neighbouring work-items then read it. */
static bool reads_a_along_k(const conv_tiled_args *args, bool channels_first)
{
    const conv_side *depth = &args->depth;
    static const int slowest_last[2][4] = {{3, 2, 1, 0}, {0, 3, 2, 1}};
    for (int i = 0; i < 4; i++) {
        int d = slowest_last[channels_first][i];
        if (depth->count[d] > 1)
            return depth->other[d] == 1 || args->gemm.a_row != 1;
    }
    return args->gemm.a_row != 1;
}

static void fill_arguments(const conv_problem *p, conv_direction direction, int64_t slices,
                           const gemm_problem *g, const int32_t *values, conv_tiled_args *args)
{
    const conv_window *v = &p->window;
    const int64_t *image = gathered(p, direction),
                  *size = direction == CONV_GRADIENT_OF_IMAGE ? v->out : v->size;
    for (int d = 0; d < 4; d++)
        args->res[d] = narrow(p->res[d == 0 ? 0 : 1 + d]);
    if (direction == CONV_RESULT)
        fill_result(p, args);
    else if (direction == CONV_GRADIENT_OF_IMAGE)
        fill_image(p, args);
    else
        fill_filter(p, slices, args);
    for (int d = 0; d < 3; d++)
        args->size[d] = narrow(size[d]);
    args->row_blocks = narrow(tn_ceil_div(g->m, values[TILED_MB]));
    args->slice = narrow(g->k);
    args->a_along_k =
        reads_a_along_k(args, along_k(p, direction) && direction != CONV_GRADIENT_OF_FILTER);
    args->d_along_m = args->gemm.d_row == 1 && args->columns.other[3] != 1;
    args->aligned = 1;
    for (int d = 0; d < CONV_RANK; d++)
        args->aligned &= d == 1 || image[d] % 4 == 0;
}

/* A group's part of the image begins where its channels do. */
tenon_status tn_conv_tiled_record(const char *operation, tn_recording *recording,
                                  const conv_problem *p, conv_direction direction, int64_t slices,
                                  const int32_t *values)
{
    const gemm_problem g = tn_conv_tiled_product(p, direction, slices);
    gemm_arguments arguments;
    char text[TN_OPTIONS_SIZE];
    conv_tiled_args args;
    tn_gemm_arguments(&g, &arguments);
    memset(&args, 0, sizeof args);
    args.gemm = arguments.args;
    fill_arguments(p, direction, slices, &g, values, &args);
    tn_conv_tiled_options(recording->context, p, direction, slices, values, text);
    size_t items = (size_t)(values[TILED_MB] / values[TILED_MR]) *
                   (size_t)(values[TILED_NB] / values[TILED_NR]);
    size_t blocks = (size_t)args.row_blocks * (size_t)tn_ceil_div(g.n, values[TILED_NB]);
    tn_launch launch = {.source = source_names[direction],
                        .options = text,
                        .kernel = "conv_tiled",
                        .dimensions = 3,
                        .global = {blocks * items, 1, (size_t)tn_gemm_batch_count(&g)},
                        .local = {items, 1, 1},
                        .args = &args,
                        .args_size = sizeof args,
                        .patches = arguments.patches,
                        .patch_count = arguments.patch_count};
    tn_gemm_launch_operands(&g, &launch);
    return tn_record(operation, recording, &launch);
}
