/* conv_int8/implicit_dot: a product of pixels and packed filters, for CPUs with an instruction that
 * adds products of bytes. The images are read in place, or copied to the workspace as words. */
#include "base/checked.h"
#include "ops/common/lanes.h"
#include "ops/conv/int8/int8.h"
#include "ops/conv/problem/product.h"
#include "ops/gemm/cpu.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

enum { DOT_MR, DOT_NR, DOT_GROUP, DOT_PARAMETERS };

/* Values of the parameter gs: as of gemm_int8/cpu_dot. */
enum { OWN_INSTRUCTION = 1, PLAIN_PAIRS = 2, PLAIN_QUADS = 4 };

static const tn_parameter parameters[DOT_PARAMETERS] = {
    [DOT_MR] = {"mr", 1, 14},
    [DOT_NR] = {"nr", 2, 64},
    [DOT_GROUP] = {"gs", OWN_INSTRUCTION, PLAIN_QUADS}};

/* Vector registers of a tile. */
#define REGISTERS 32
/* Copies of images are read from the cache if a block of images fits it. */
#define BLOCK_BYTES (INT64_C(4) << 20)
/* Words of a pixel from which looking up each tap costs little, so that images are not copied for
 * longer segments. */
#define LONG_SEGMENT 8
/* Work-groups per compute unit, enough to balance the load at the end. */
#define GROUPS_PER_UNIT 4
/* Positions in an image are counted in 32 bits. */
#define MOST_PLACE (INT64_C(1) << 30)

typedef struct layout {
    bool copies, merges, turned;
    int64_t lanes, steps;  /* of a vector, in words; of a word */
    int64_t channel_words; /* of a pixel */
    int64_t words, segments;
    int64_t panels;    /* per group */
    int64_t padded[3]; /* size of a copy */
    int64_t images;    /* per block */
    int64_t fetched, order;
    /* In words of the workspace. */
    int64_t sums_at, padding_at, copy_at, end;
} layout;

static const char *refuses(const conv_problem *p)
{
    const conv_window *v = &p->window;
    if ((p->flags & CONV_SKIP_XW) != 0 || p->c == 0 || p->k == 0 || p->n == 0 ||
        tn_window_pixels(v) == 0)
        return "there are no products";
    if (tn_window_empty(v))
        return "the image is empty";
    for (int d = 0; d < 3; d++)
        if (v->size[d] > MOST_PLACE || v->out[d] > MOST_PLACE || v->start[d] < -MOST_PLACE ||
            v->filter[d] > MOST_PLACE / v->dilation[d] || v->out[d] > MOST_PLACE / v->stride[d])
            return "the image is too large";
    return NULL;
}

/* Returns the steps of K in a word; 0 if the processor has no instruction. */
static int64_t steps_of_word(tenon_context *context, int32_t group)
{
    if (group != OWN_INSTRUCTION)
        return group;
    const int own = tn_capability_form(context, TENON_CAPABILITY_X86_DOT);
    return own == 0 ? 4 : own == 1 ? 2 : 0;
}

/* Returns the vectors of a tile that multiplies the filters in the least time. Narrow tiles load
 * more words for each product. */
static int32_t choose_vectors(const tenon_context *context, int64_t filters, int64_t lanes)
{
    static const double time[] = {1.2, 1.05, 1, 1};
    double least = INFINITY;
    int32_t best = 1;
    for (int32_t v = tn_gemm_has_many_registers(context) ? 4 : 2; v >= 1; v--)
        if ((double)tn_round_up(filters, v * lanes) * time[v - 1] < least) {
            least = (double)tn_round_up(filters, v * lanes) * time[v - 1];
            best = v;
        }
    return best;
}

static void tune(const tenon_context *context, const conv_problem *p, int64_t lanes,
                 int32_t *values)
{
    if (values[DOT_NR] == 0)
        values[DOT_NR] = choose_vectors(context, p->k, lanes) * (int32_t)lanes;
    if (values[DOT_MR] == 0)
        values[DOT_MR] = tn_gemm_rows_of_tile(
            context, (int32_t)tn_min_i64(4, tn_max_i64(1, values[DOT_NR] / lanes)));
    if (values[DOT_GROUP] == 0)
        values[DOT_GROUP] = OWN_INSTRUCTION;
}

/* Returns the bytes of local memory, as in the kernels. */
static int64_t local_bytes(const int32_t *values, int64_t lanes)
{
    const int64_t rows = (int64_t)DOT_TILES * values[DOT_MR], room = tn_round_up(rows, lanes) + 1;
    const int64_t product = 4 * (room * values[DOT_NR] + room + lanes) + 36 * rows;
    return tn_max_i64(product, DOT_FETCH * lanes);
}

static const char *misfit_of(const tenon_context *context, const int32_t *values, int64_t lanes,
                             int64_t steps)
{
    const int64_t vectors = values[DOT_NR] / lanes;
    if (steps == 3)
        return "gs must be 1, 2 or 4";
    if (values[DOT_NR] % lanes != 0)
        return "nr must be a multiple of the vector width";
    if (values[DOT_MR] * vectors + vectors + 1 > REGISTERS)
        return "the tile of mr x nr does not fit the vector registers";
    if ((uint64_t)local_bytes(values, lanes) > context->device.info.local_memory)
        return "the sums do not fit the local memory";
    return NULL;
}

/* Returns true if the words of the image lie in it. */
static bool has_words(const conv_int8_problem *p, int64_t steps)
{
    return steps == 4 && p->types[CONV_X] == TENON_DTYPE_U8 && p->conv.x[1] == 1 &&
           p->conv.c % 4 == 0;
}

/* Returns true if the pixels of y are contiguous, and not the filters. */
static bool is_turned(const conv_problem *p)
{
    const int64_t *out = p->window.out;
    const int last = out[2] > 1 ? 4 : out[1] > 1 ? 3 : 2;
    return p->y[1] != 1 && p->y[last] == 1;
}

static void choose_fetching(const conv_problem *p, layout *l)
{
    const int64_t taps = tn_window_taps(&p->window);
    conv_tap_order order;
    l->order = DOT_STRIDED;
    if (!tn_conv_find_tap_order(p, &order) || order.stride != 1 || taps > DOT_FETCH / 4)
        return;
    l->order = order.channel_last ? DOT_CHANNELS_LAST : DOT_CHANNELS_FIRST;
    l->fetched = order.channel_last ? DOT_FETCH : DOT_FETCH / taps / 4 * 4;
}

/* Divides the workspace. Returns false if its size overflows. */
static bool place(const conv_problem *p, const int32_t *values, layout *l)
{
    const int64_t line = tn_round_up(l->words, l->lanes);
    int64_t panel, image = l->channel_words * p->groups;
    const uint64_t limit = p->head.workspace_limit / 4;
    bool fits = tn_mul_i64(l->segments * l->words, values[DOT_NR], &panel) &&
                tn_mul_i64(panel, l->panels * p->groups, &l->sums_at) &&
                tn_add_i64(l->sums_at, l->panels * p->groups * values[DOT_NR], &l->padding_at) &&
                tn_add_i64(l->padding_at, line, &l->copy_at);
    for (int d = 0; d < 3; d++)
        fits = fits && tn_mul_i64(image, l->padded[d], &image);
    if (!fits || image > INT64_MAX / 8 || l->copy_at > INT64_MAX / 8)
        return false;
    l->end = l->copy_at;
    l->images = p->n;
    if (l->copies) {
        const int64_t all = limit < INT64_MAX ? (int64_t)limit : INT64_MAX;
        const int64_t room = tn_min_i64(BLOCK_BYTES / 4, tn_max_i64(0, all - l->copy_at));
        l->images = tn_max_i64(1, tn_min_i64(p->n, room / tn_max_i64(1, image)));
        l->end += l->images * image;
    }
    return true;
}

static bool lay_out(const conv_int8_problem *problem, const int32_t *values, int64_t lanes,
                    int64_t steps, layout *l)
{
    const conv_problem *p = &problem->conv;
    const conv_window *v = &p->window;
    *l = (layout){.lanes = lanes,
                  .steps = steps,
                  .channel_words = tn_ceil_div(p->c, steps),
                  .turned = is_turned(p),
                  .panels = tn_ceil_div(p->k, values[DOT_NR])};
    const bool is_short = v->filter[2] > 1 && v->dilation[2] == 1;
    l->copies = !has_words(problem, steps) || (is_short && l->channel_words < LONG_SEGMENT);
    l->merges = l->copies && v->dilation[2] == 1;
    l->segments = v->filter[0] * v->filter[1] * (l->merges ? 1 : v->filter[2]);
    l->words = l->channel_words * (l->merges ? v->filter[2] : 1);
    for (int d = 0; d < 3; d++)
        l->padded[d] = (v->out[d] - 1) * v->stride[d] + (v->filter[d] - 1) * v->dilation[d] + 1;
    choose_fetching(p, l);
    return place(p, values, l);
}

/* Returns the work of packing the filters and copying the images, counted in words. Filters that
 * are fetched take about ten instructions for each word. */
static tn_work packing_work(const conv_problem *p, const layout *l)
{
    const double filters = (double)(l->segments * l->words) * (double)p->k * (double)p->groups;
    const double image = l->copies ? (double)(l->end - l->copy_at) : 0;
    const bool is_fetched = l->order != DOT_STRIDED;
    return (tn_work){.launches = l->copies ? 2 : 1,
                     .vector_elements = is_fetched ? 8 * filters : 0,
                     .single_elements = image * (p->x[4] == 1 ? 1.5 : 4) +
                                        (is_fetched ? 0 : (double)l->steps * filters),
                     .bytes = 8 * (filters + image)};
}

/* Returns the work of the products of a block. A register tile takes as long as one of f32 that has
 * a step for each word. */
static tn_work product_work(const conv_problem *p, const layout *l, const int32_t *values)
{
    const double rows = (double)l->images * (double)tn_window_pixels(&p->window),
                 columns = (double)(l->panels * values[DOT_NR]) * (double)p->groups,
                 depth = (double)(l->segments * l->words);
    return (tn_work){.launches = 1,
                     .follows = true,
                     .blocks = true,
                     .rate = tn_sum_rate(TENON_DTYPE_F32),
                     .groups = (double)(l->panels * p->groups) *
                               tn_ceil_div((int64_t)rows, (int64_t)DOT_TILES * values[DOT_MR]),
                     .multiply_adds = rows * columns * depth,
                     .efficiency = 0.8,
                     .vector_elements = rows * columns * (l->turned ? 6 : 3),
                     .rows = rows * (double)l->segments * (double)(l->panels * p->groups) / 4,
                     .bytes = 4 * depth * columns + rows * (double)p->c * (double)p->groups};
}

static const char *conv_int8_implicit_dot_configure(tenon_context *context,
                                                    const tn_problem *problem, tn_choice *choice)
{
    const conv_int8_problem *p = (const conv_int8_problem *)problem;
    const int64_t lanes = tn_gemm_lanes(context, TENON_DTYPE_F32);
    int32_t *values = choice->values;
    layout *l = TN_LAYOUT(layout, choice);
    const char *why = refuses(&p->conv);
    if (why != NULL)
        return why;
    choice->never_chosen = tn_gemm_made_for_cpus(context);
    tune(context, &p->conv, lanes, values);
    if (choice->never_chosen == NULL && values[DOT_GROUP] != OWN_INSTRUCTION)
        choice->never_chosen = "for tests";
    const int64_t steps = steps_of_word(context, values[DOT_GROUP]);
    if (steps == 0)
        return "the processor has no instruction that adds products of bytes";
    choice->misfit = misfit_of(context, values, lanes, steps);
    if (choice->misfit != NULL)
        return NULL;
    if (!lay_out(p, values, lanes, steps, l))
        return "the size of the packed filters and images overflows";
    choice->workspace = (uint64_t)l->end * 4;
    const tn_work packing = packing_work(&p->conv, l), product = product_work(&p->conv, l, values);
    tn_choice_add(context, choice, &packing);
    for (int64_t n = 0; n < p->conv.n; n += l->images)
        tn_choice_add(context, choice, &product);
    if (choice->is_estimate)
        return NULL;
#define DOT_OPTIONS                                                                                \
    "-DTENON_DTYPE=%u -DTENON_ACT_BUILD=%u -DTENON_VW=%d -DTENON_MR=%d -DTENON_NV=%d"
#define DOT_VALUES                                                                                 \
    p->conv.dtype, tn_activation_is_build(p->conv.activation) ? p->conv.activation : 0u,           \
        (int)lanes, values[DOT_MR], values[DOT_NR] / (int)lanes
    if (values[DOT_GROUP] == OWN_INSTRUCTION)
        tn_build_options_with(context, TENON_CAPABILITY_X86_DOT, choice->options, DOT_OPTIONS,
                              DOT_VALUES);
    else
        tn_build_options(context, choice->options, DOT_OPTIONS " -DTENON_DOT=%d", DOT_VALUES,
                         values[DOT_GROUP] == PLAIN_PAIRS);
    return NULL;
}

static bool has_zero_of_x(const conv_int8_problem *p)
{
    return (p->present >> INT8_ZERO_A & 1U) != 0;
}

/* Returns the operand with the zero point of x, or another one in its place. */
static uint8_t zero_operand(const conv_int8_problem *p)
{
    return has_zero_of_x(p) ? INT8_VECTOR(INT8_ZERO_A) : CONV_X;
}

static tenon_i32 sign_of(uint32_t dtype)
{
    return dtype == TENON_DTYPE_I8 ? 128 : 0;
}

static tenon_status record_pack(const char *caller, tn_recording *recording,
                                const conv_int8_problem *problem, const tn_choice *choice)
{
    const conv_problem *p = &problem->conv;
    const layout *l = TN_LAYOUT(const layout, choice);
    conv_int8_dot_pack_args args = {.sums_at = l->sums_at,
                                    .padding_at = l->padding_at,
                                    .channels = p->c,
                                    .filters = p->k,
                                    .panels = l->panels,
                                    .taps = tn_window_taps(&p->window),
                                    .words = l->channel_words,
                                    .padding = l->copies ? 0 : l->words,
                                    .fetched = l->fetched,
                                    .order = (tenon_i32)l->order,
                                    .sign = sign_of(problem->types[CONV_W]),
                                    .has_zero = has_zero_of_x(problem)};
    const tn_patch patches[] = {
        {TN_PATCH_OFFSET, CONV_W, offsetof(conv_int8_dot_pack_args, w_offset), 1},
        {TN_PATCH_OFFSET, TN_WORKSPACE, offsetof(conv_int8_dot_pack_args, panels_offset), 4},
        {TN_PATCH_OFFSET, zero_operand(problem), offsetof(conv_int8_dot_pack_args, zero_offset),
         1}};
    memcpy(args.w_stride, p->w, sizeof args.w_stride);
    memcpy(args.filter, p->window.filter, sizeof args.filter);
    const tn_launch launch = {
        .source = "conv/int8/implicit_dot",
        .options = choice->options,
        .kernel = "conv_int8_dot_pack",
        .dimensions = 2,
        .global = {(size_t)(l->panels * (choice->values[DOT_NR] / l->lanes)), (size_t)p->groups},
        .local = {1, 1},
        .operands = {CONV_W, TN_WORKSPACE, zero_operand(problem)},
        .operand_count = 3,
        TN_ARGS(args),
        TN_PATCHES(patches)};
    return tn_record(caller, recording, &launch);
}

/* Records the copy of `images` images from `image` on. */
static tenon_status record_copy(const char *caller, tn_recording *recording,
                                const conv_int8_problem *problem, const tn_choice *choice,
                                int64_t image, int64_t images)
{
    const conv_problem *p = &problem->conv;
    const layout *l = TN_LAYOUT(const layout, choice);
    conv_int8_dot_copy_args args = {.x_offset = image * p->x[0],
                                    .copy_offset = l->copy_at,
                                    .channels = p->c,
                                    .groups = p->groups,
                                    .words = l->channel_words,
                                    .sign = sign_of(problem->types[CONV_X]),
                                    .has_zero = has_zero_of_x(problem)};
    const tn_patch patches[] = {
        {TN_PATCH_OFFSET, CONV_X, offsetof(conv_int8_dot_copy_args, x_offset), 1},
        {TN_PATCH_OFFSET, TN_WORKSPACE, offsetof(conv_int8_dot_copy_args, copy_offset), 4},
        {TN_PATCH_OFFSET, zero_operand(problem), offsetof(conv_int8_dot_copy_args, zero_offset),
         1}};
    memcpy(args.x_stride, p->x, sizeof args.x_stride);
    memcpy(args.size, p->window.size, sizeof args.size);
    memcpy(args.start, p->window.start, sizeof args.start);
    memcpy(args.padded, l->padded, sizeof args.padded);
    const tn_launch launch = {
        .source = "conv/int8/implicit_dot",
        .options = choice->options,
        .kernel = "conv_int8_dot_copy",
        .dimensions = 3,
        .global = {(size_t)(l->padded[0] * l->padded[1]), (size_t)p->groups, (size_t)images},
        .local = {1, 1, 1},
        .operands = {CONV_X, TN_WORKSPACE, zero_operand(problem)},
        .operand_count = 3,
        TN_ARGS(args),
        TN_PATCHES(patches)};
    return tn_record(caller, recording, &launch);
}

/* Describes the image that is multiplied: x, or its copy, which has no padding. */
static void describe_image(const conv_problem *p, const layout *l, conv_int8_args *args)
{
    conv_window *v = &args->window;
    if (!l->copies) {
        args->x_stride[1] = p->c;
        return;
    }
    args->x_stride[4] = 4 * l->channel_words;
    args->x_stride[3] = l->padded[2] * args->x_stride[4];
    args->x_stride[2] = l->padded[1] * args->x_stride[3];
    args->x_stride[1] = l->padded[0] * args->x_stride[2];
    args->x_stride[0] = p->groups * args->x_stride[1];
    memcpy(v->size, l->padded, sizeof v->size);
    memset(v->start, 0, sizeof v->start);
    if (l->merges)
        v->filter[2] = 1;
}

/* Makes filters the rows of the product, and pixels, which have stride 1, its columns. */
static void turn(const conv_int8_problem *p, int8_args *args)
{
    args->gemm.c_row = args->gemm.c_col;
    args->gemm.d_row = args->gemm.d_col;
    args->gemm.bias_row = args->gemm.bias_col;
    args->gemm.c_col = args->gemm.d_col = 1;
    args->gemm.bias_col = 0;
    memcpy(args->row, p->vectors, sizeof args->row);
    memset(args->col, 0, sizeof args->col);
}

/* Returns the pixels of a work-group. */
static int64_t pixels_of_block(const tenon_context *context, const conv_problem *p, const layout *l,
                               const int32_t *values, int64_t rows)
{
    const int64_t wanted = GROUPS_PER_UNIT * (int64_t)context->device.info.compute_units;
    const int64_t groups = tn_ceil_div(wanted, l->panels * p->groups);
    const int64_t most = tn_ceil_div(rows, groups), block = (int64_t)DOT_TILES * values[DOT_MR];
    return most >= block ? tn_round_up(most, block) : tn_round_up(most, values[DOT_MR]);
}

/* Records the products of `images` images from `image` on. */
static tenon_status record_product(const char *caller, tn_recording *recording,
                                   const conv_int8_problem *problem, const tn_choice *choice,
                                   int64_t image, int64_t images)
{
    const conv_problem *p = &problem->conv;
    const layout *l = TN_LAYOUT(const layout, choice);
    const int64_t rows = images * tn_window_pixels(&p->window);
    conv_int8_dot_args args = {.conv = tn_conv_int8_arguments(problem),
                               .sums_at = l->sums_at,
                               .padding_at = l->padding_at,
                               .words = l->words,
                               .rows = rows,
                               .panels = l->panels,
                               .turned = l->turned};
    gemm_args *product = &args.conv.product.gemm;
    tn_patch patches[CONV_INT8_PATCHES + 2];
    args.block = pixels_of_block(recording->context, p, l, choice->values, rows);
    product->a_offset = l->copies ? 4 * l->copy_at : image * p->x[0];
    product->c_offset = image * p->res[0];
    product->d_offset = image * p->y[0];
    describe_image(p, l, &args.conv);
    if (l->turned)
        turn(problem, &args.conv.product);
    if ((p->flags & CONV_HAS_C) == 0)
        memcpy(args.conv.c_stride, args.conv.y_stride, sizeof args.conv.c_stride);
    tn_launch launch = {
        .source = "conv/int8/implicit_dot",
        .options = choice->options,
        .kernel = "conv_int8_dot",
        .dimensions = 2,
        .global = {(size_t)tn_ceil_div(rows, args.block), (size_t)(l->panels * p->groups)},
        .local = {1, 1},
        TN_ARGS(args),
        .patches = patches};
    tn_conv_int8_add_operands(problem, false, &launch, patches);
    const uint8_t source = l->copies ? TN_WORKSPACE : CONV_X;
    launch.operands[CONV_X] = source;
    launch.operands[CONV_W] = TN_WORKSPACE;
    patches[launch.patch_count++] = (tn_patch){
        TN_PATCH_OFFSET, source, offsetof(conv_int8_dot_args, conv.product.gemm.a_offset), 1};
    patches[launch.patch_count++] =
        (tn_patch){TN_PATCH_OFFSET, TN_WORKSPACE, offsetof(conv_int8_dot_args, panels_offset), 4};
    return tn_record(caller, recording, &launch);
}

static tenon_status conv_int8_implicit_dot_launch(const char *caller, tn_recording *recording,
                                                  const tn_problem *problem,
                                                  const tn_choice *choice)
{
    const conv_int8_problem *p = (const conv_int8_problem *)problem;
    const layout *l = TN_LAYOUT(const layout, choice);
    TN_TRY(record_pack(caller, recording, p, choice));
    for (int64_t n = 0; n < p->conv.n; n += l->images) {
        const int64_t images = tn_min_i64(l->images, p->conv.n - n);
        if (l->copies)
            TN_TRY(record_copy(caller, recording, p, choice, n, images));
        TN_TRY(record_product(caller, recording, p, choice, n, images));
    }
    return TENON_OK;
}

/* The awkward cases (tn_conv_int8_awkward): as usual, and with filters for several panels and
 * images that are read in place. */
const tn_solver tn_conv_int8_implicit_dot = {
    .name = "implicit_dot",
    .serves = "any layout, on CPUs with an instruction that adds products of bytes",
    .needs = "workspace for packed filters, and for the images unless their channels are "
             "contiguous u8 in multiples of 4",
    .awkward = "channels=19 filters=7; channels=19 filters=7 pointwise=1; channels=40 "
               "filters=nr+3; channels=5 filters=2*nr pointwise=1",
    TN_PARAMETERS(parameters, DOT_PARAMETERS),
    .configure = conv_int8_implicit_dot_configure,
    .launch = conv_int8_implicit_dot_launch};
