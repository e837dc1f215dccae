/* implicit_tiled of conv, conv_backward_data and conv_backward_filter: gemm/tiled, except that the
 * blocks of b are gathered from an image. */
#include "ops/conv/implicit/tiled.h"

#include "base/checked.h"
#include "ops/common/gpu.h"
#include "ops/conv/problem/gradient.h"
#include "runtime/probe/local_memory.h"

#include <math.h>
#include <string.h>

const tn_parameter tn_conv_tiled_parameters[CONV_TILED_SPLIT_PARAMETERS] = {
    [TILED_MB] = {"mb", 8, 256},        /* rows of a work-group's block */
    [TILED_NB] = {"nb", 8, 256},        /* columns of a work-group's block */
    [TILED_KB] = {"kb", 4, 64},         /* steps of K in local memory */
    [TILED_MR] = {"mr", 1, 16},         /* rows of a work-item */
    [TILED_NR] = {"nr", 1, 16},         /* columns of a work-item */
    [CONV_TILED_SLICES] = {"ks", 1, 64} /* maximum number of slices of the pixels */
};

/* Limits of elements and counts, which must fit the kernel's 32 bits. */
#define MOST_ELEMENTS INT64_C(0x7fffffff)
#define MOST_COUNTED  (INT64_C(1) << 30)
/* Maximum sub-filters; more products than this are not worth their launch. */
#define MOST_SUBFILTERS 64
/* Minimum pixels per slice for which storing its sums is worthwhile. */
#define LEAST_SLICE 256
/* Steps of k that are loaded together if they are contiguous. */
#define RUN 4

static const char *const source_names[] = {
    "conv/forward/implicit_tiled", "conv/data/implicit_tiled", "conv/filter/implicit_tiled"};

/* Returns true if the elements from the first to the last of a five-dimensional tensor fit the
 * limit; false on overflow. */
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

static int64_t subfilters(const conv_window *v)
{
    int64_t count = 1;
    for (int d = 0; d < 3; d++)
        if (!tn_mul_i64(count, tn_conv_phases(v, d), &count))
            return INT64_MAX;
    return count;
}

const char *tn_conv_tiled_refuses(const conv_problem *p, conv_direction direction)
{
    const conv_window *v = &p->window;
    if (p->n == 0 || p->c == 0 || p->k == 0 || tn_window_pixels(v) == 0 || tn_window_empty(v))
        return "there is nothing to multiply";
    if (!counts_fit(p) || !elements_fit(p, direction))
        return "the image is too large";
    if (direction == CONV_GRADIENT_OF_IMAGE && subfilters(v) > MOST_SUBFILTERS)
        return "the product of the strides is too large";
    return NULL;
}

/* Returns the image elements that the largest sub-filter writes. */
static int64_t subfilter_pixels(const conv_problem *p)
{
    const conv_window *v = &p->window;
    int64_t pixels = p->n;
    for (int d = 0; d < 3; d++)
        pixels *= tn_ceil_div(v->size[d], tn_conv_phases(v, d));
    return pixels;
}

/* Returns the number of image elements that the largest sub-filter writes. */
static int64_t subfilter_taps(const conv_window *v)
{
    const conv_subfilter subfilter = tn_conv_find_subfilter(v);
    int64_t taps = 1;
    for (int d = 0; d < 3; d++)
        taps *= tn_ceil_div(v->filter[d], subfilter.tap[d]);
    return taps;
}

static gemm_problem result_product(const conv_problem *p)
{
    return (gemm_problem){
        .m = p->k,
        .n = tn_conv_pixels(p),
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
        .n = subfilter_pixels(p),
        .k = p->k * subfilter_taps(&p->window),
        .batch = {p->groups, subfilters(&p->window)},
        .matrix = {
            [GEMM_A] = {.row = p->w[1], .batch = {p->k * p->w[0]}, .operand = p->operand[CONV_W]},
            [GEMM_B] = {.batch = {p->k * p->y[1]}, .operand = p->operand[CONV_Y]},
            [GEMM_C] = {.row = p->res[1], .batch = {p->c * p->res[1]}},
            [GEMM_BIAS] = {.row = p->bias, .batch = {p->c * p->bias}},
            [GEMM_D] = {.row = p->x[1], .batch = {p->c * p->x[1]}, .operand = p->operand[CONV_X]}}};
}

/* Returns the product of the filters' gradient. A single slice is stored to dw; several are stored
 * to the workspace as dense sums. */
static gemm_problem filter_product(const conv_problem *p, int64_t slices)
{
    const int64_t taps = p->c * tn_window_taps(&p->window);
    gemm_problem g = {
        .m = p->k,
        .n = taps,
        .k = tn_conv_slice(p, slices),
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

void tn_conv_tiled_lay_out(const conv_problem *p, conv_direction direction, int32_t most,
                           conv_tiled_layout *l)
{
    l->direction = direction;
    l->slices = direction == CONV_GRADIENT_OF_FILTER ? tn_conv_slices(p, most) : 1;
    l->product = tn_conv_tiled_product(p, direction, l->slices);
}

/* Sets the parameters of gemm/tiled, including those that this kernel lacks. */
static void as_gemm_values(const int32_t *values, int32_t gemm_values[TN_MAX_PARAMETERS])
{
    for (int i = 0; i < TN_MAX_PARAMETERS; i++)
        gemm_values[i] = i < CONV_TILED_PARAMETERS ? values[i] : 1;
    gemm_values[TILED_LB] = 2;
}

/* Sets the block and, for the filters' gradient, the best number of slices for it, unless the
 * caller has set them. */
static void take_tile(tenon_context *context, const conv_problem *p, conv_direction direction,
                      const tn_kind_tile *tile, int32_t *values)
{
    const int32_t defaults[CONV_TILED_PARAMETERS] = {[TILED_MB] = tile->mb,
                                                     [TILED_NB] = tile->nb,
                                                     [TILED_KB] = tile->kb,
                                                     [TILED_MR] = tile->mr,
                                                     [TILED_NR] = tile->nr};
    for (int i = 0; i < CONV_TILED_PARAMETERS; i++)
        if (values[i] == 0)
            values[i] = defaults[i];
    if (direction != CONV_GRADIENT_OF_FILTER || values[CONV_TILED_SLICES] != 0)
        return;
    const gemm_problem g = tn_conv_tiled_product(p, direction, 1);
    const int64_t groups = tn_gemm_tiled_groups(&g, values[TILED_MB], values[TILED_NB]);
    values[CONV_TILED_SLICES] = tn_conv_tune_slices(context, p, groups, LEAST_SLICE);
}

double tn_conv_bytes(const conv_problem *p)
{
    const conv_window *v = &p->window;
    const double x = (double)p->n * tn_conv_image_elements(p);
    const double y = (double)(p->n * p->groups * p->k) * (double)tn_window_pixels(v);
    const double w = (double)(p->groups * p->k * p->c) * (double)tn_window_taps(v);
    return (x + y + w) * (double)tenon_dtype_size((tenon_dtype)p->dtype);
}

double tn_conv_depth(const conv_problem *p, const conv_tiled_layout *l)
{
    if (l->direction != CONV_GRADIENT_OF_IMAGE)
        return (double)l->product.k;
    return (double)p->k * (double)tn_window_taps(&p->window) / (double)subfilters(&p->window);
}

static const char *conv_implicit_tiled_misfit_of(tenon_context *context, const gemm_problem *g,
                                                 const int32_t *values)
{
    int32_t gemm_values[TN_MAX_PARAMETERS];
    as_gemm_values(values, gemm_values);
    const char *why = tn_gemm_tiled_constrains(context, &g->head, gemm_values);
    if (why != NULL)
        return why;
    const int32_t mb = values[TILED_MB], nb = values[TILED_NB], kb = values[TILED_KB];
    const int32_t items_m = mb / values[TILED_MR], items_n = nb / values[TILED_NR];
    if (kb > items_m * items_n)
        return "kb exceeds the size of the work-group";
    uint64_t area = tn_gemm_tiled_local(g, gemm_values),
             columns = (uint64_t)items_n * (uint64_t)mb * tn_acc_size(g->dtype);
    uint64_t tables =
        (uint64_t)nb * CONV_COLUMN_BYTES + (uint64_t)kb * CONV_STEP_BYTES + CONV_PART_BYTES;
    return tn_local_array_fits(context, (area > columns ? area : columns) + tables)
               ? NULL
               : "the blocks and the tables do not fit the local memory";
}

/* Adds the time of the main loop, which is that of gemm/tiled with a gathered b: one address is
 * computed for each run. Loading takes longer than in gemm, especially in short steps of K. */
static void conv_implicit_tiled_add_time(tenon_context *context, const conv_problem *p,
                                         const conv_tiled_layout *l, tn_choice *choice)
{
    const int32_t *values = choice->values;
    const double gathering = context->device.model.kind->assumed.gathering;
    const double groups =
        (double)tn_gemm_tiled_groups(&l->product, values[TILED_MB], values[TILED_NB]);
    const double address_instructions =
        CONV_ADDRESS_INSTRUCTIONS / tn_conv_run(p, l->direction, values[TILED_KB], RUN);
    const tn_work slices = tn_conv_slices_work(p, l->slices);
    tn_work loop =
        tn_gemm_tiled_loop(p->dtype, values, groups, tn_conv_depth(p, l), address_instructions);
    loop.bytes = tn_conv_bytes(p);
    if (l->direction == CONV_RESULT) /* measured for it only */
        loop.instructions += loop.multiply_adds * gathering / (double)values[TILED_KB] *
                             (1.0 / (double)values[TILED_MB] + 1.0 / (double)values[TILED_NB]);
    tn_choice_add(context, choice, &loop);
    tn_choice_add(context, choice, &slices);
}

/* Selects the fastest of the device's tiles. On CPUs, where only tests force this solver, selects
 * the smallest. */
static void choose_tile(tenon_context *context, const conv_problem *p, conv_direction direction,
                        tn_choice *choice)
{
    const tn_kind_tile *tiles = tn_gemm_tiles(context, p->dtype, true);
    tn_choice best = {.time = INFINITY};
    const int last = tn_gemm_tile_count(tiles) - 1;
    for (int i = last; i >= (context->device.is_cpu ? last : 0); i--) {
        tn_choice tried = *choice;
        conv_tiled_layout *l = TN_LAYOUT(conv_tiled_layout, &tried);
        take_tile(context, p, direction, &tiles[i], tried.values);
        tn_conv_tiled_lay_out(p, direction, tried.values[CONV_TILED_SLICES], l);
        tried.misfit = conv_implicit_tiled_misfit_of(context, &l->product, tried.values);
        if (tried.misfit == NULL)
            conv_implicit_tiled_add_time(context, p, l, &tried);
        else
            tried.time = INFINITY;
        if (tried.time < best.time || i == last)
            best = tried;
    }
    *choice = best;
}

/* Configures the solver, whose variant is the direction. */
static const char *conv_implicit_tiled_configure(tenon_context *context, const tn_problem *problem,
                                                 tn_choice *choice)
{
    const conv_problem *p = (const conv_problem *)problem;
    const conv_direction direction = (conv_direction)choice->solver->variant;
    const conv_tiled_layout *l = TN_LAYOUT(const conv_tiled_layout, choice);
    const int32_t *values = choice->values;
    const char *why = tn_conv_tiled_refuses(p, direction);
    if (why != NULL)
        return why;
    choice->never_chosen = context->device.is_cpu ? "made for GPUs" : NULL;
    choose_tile(context, p, direction, choice);
    if (choice->misfit != NULL)
        return NULL;
    choice->workspace = tn_conv_slices_size(p, l->slices);
    tn_choice_options(context, choice,
                      GEMM_OPTIONS_FORMAT " -DTENON_MB=%d -DTENON_NB=%d -DTENON_KB=%d -DTENON_MR=%d"
                                          " -DTENON_NR=%d -DTENON_ALONG_K=%d -DTENON_RUN=%d",
                      GEMM_OPTIONS_VALUES(&l->product), values[TILED_MB], values[TILED_NB],
                      values[TILED_KB], values[TILED_MR], values[TILED_NR],
                      tn_conv_gathers_along_k(p, l->direction),
                      tn_conv_run(p, l->direction, values[TILED_KB], RUN));
    return NULL;
}

/* The image data of a group starts at its first channel. */
tenon_status tn_conv_tiled_launch(const char *caller, tn_recording *recording,
                                  const conv_problem *p, const conv_tiled_layout *l,
                                  const int32_t block[2], tn_launch *launch)
{
    const gemm_problem *g = &l->product;
    gemm_arguments arguments;
    conv_tiled_args args;
    tn_gemm_arguments(g, &arguments);
    memset(&args, 0, sizeof args);
    args.gemm = arguments.args;
    tn_conv_tiled_arguments(p, l, block[0], &args);
    const int64_t blocks = args.row_blocks * tn_ceil_div(g->n, block[1]);
    launch->dimensions = 3;
    launch->global[0] = (size_t)blocks * launch->local[0];
    launch->global[1] = 1;
    launch->global[2] = (size_t)tn_gemm_batch_count(g);
    launch->local[1] = launch->local[2] = 1;
    launch->args = &args;
    launch->args_size = sizeof args;
    launch->patches = arguments.patches;
    launch->patch_count = arguments.patch_count;
    tn_gemm_launch_operands(g, launch);
    TN_TRY(tn_record(caller, recording, launch));
    return tn_conv_record_slices(caller, recording, p, l->slices);
}

static tenon_status conv_implicit_tiled_launch(const char *caller, tn_recording *recording,
                                               const tn_problem *problem, const tn_choice *choice)
{
    const conv_tiled_layout *l = TN_LAYOUT(const conv_tiled_layout, choice);
    const int32_t *values = choice->values, block[] = {values[TILED_MB], values[TILED_NB]};
    tn_launch launch = {
        .source = source_names[l->direction],
        .options = choice->options,
        .kernel = "conv_tiled",
        .local = {(size_t)(block[0] / values[TILED_MR]) * (size_t)(block[1] / values[TILED_NR])}};
    return tn_conv_tiled_launch(caller, recording, (const conv_problem *)problem, l, block,
                                &launch);
}

const tn_solver tn_conv_implicit_tiled = {
    .name = "implicit_tiled",
    .serves = "tensors of fewer than 2³¹ elements, on GPUs",
    .awkward = TN_CONV_TILED_AWKWARD,
    TN_PARAMETERS(tn_conv_tiled_parameters, CONV_TILED_PARAMETERS),
    .variant = CONV_RESULT,
    .configure = conv_implicit_tiled_configure,
    .launch = conv_implicit_tiled_launch};

/* One product per sub-filter, with b gathered from dy. */
const tn_solver tn_conv_backward_data_implicit_tiled = {
    .name = "implicit_tiled",
    .serves = "tensors of fewer than 2³¹ elements and strides whose product is at "
              "most 64, on GPUs",
    .awkward = TN_CONV_TILED_DATA_AWKWARD,
    TN_PARAMETERS(tn_conv_tiled_parameters, CONV_TILED_PARAMETERS),
    .variant = CONV_GRADIENT_OF_IMAGE,
    .configure = conv_implicit_tiled_configure,
    .launch = conv_implicit_tiled_launch};

/* Multiplies dy by the elements of x under the taps, summed over the pixels of all images. With a
 * workspace the pixels are split into slices, whose sums are added in order. */
const tn_solver tn_conv_backward_filter_implicit_tiled = {
    .name = "implicit_tiled",
    .serves = "tensors of fewer than 2³¹ elements, on GPUs",
    .needs = "workspace for slices of the pixels if dw is small",
    .awkward = TN_CONV_TILED_FILTER_AWKWARD,
    TN_PARAMETERS(tn_conv_tiled_parameters, CONV_TILED_SPLIT_PARAMETERS),
    .variant = CONV_GRADIENT_OF_FILTER,
    .configure = conv_implicit_tiled_configure,
    .launch = conv_implicit_tiled_launch};
