/*
 * conv/im2col_gemm: unfolds the images into columns in the workspace, then multiplies matrices.
 *
 * The columns have the layout that lets the product read and write whole rows: along q if y is
 * contiguous along it (NCHW), along the taps if y is contiguous along its channels (NHWC). The
 * taps have the order of the filters in memory; filters in neither order are gathered first. If
 * the columns exceed the workspace, images are processed in several blocks; if a single image
 * exceeds it, some of its planes, rows or pixels at a time.
 */
#include "base/checked.h"
#include "ops/conv/implicit/tiled.h"
#include "ops/conv/problem/product.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* On a CPU, keeping the columns in the cache until they are read matters more than longer
 * products. */
#define CPU_BLOCK_BYTES (INT64_C(8) << 20)
/* Alignment of the columns after the gathered filters, in elements: the largest vector. */
#define ALIGNMENT 32

/* Minimum columns per product, unless a row has fewer. */
#define LEAST_COLUMNS 256

/* The division of the work. */
typedef struct layout {
    bool by_taps;      /* the taps of a column are contiguous */
    bool channel_last; /* taps in the order t, r, s, c instead of c, t, r, s */
    bool gathers;      /* the filters are gathered in the workspace first */
    int64_t w_tap;     /* stride between taps of a filter */
    int64_t taps;      /* taps of a group */
    int64_t packed;    /* elements of gathered filters */
    int64_t column;    /* elements of the columns of one pixel: one for each group */
    conv_block block;  /* the first and largest block */
} layout;

/* With groups, taps with the channels last would not have a single stride between channels. */
static void choose_order(const conv_problem *p, layout *l)
{
    conv_tap_order order;
    bool found = tn_conv_find_tap_order(p, &order) && (!order.channel_last || p->groups == 1);
    l->gathers = !found;
    l->channel_last = found && order.channel_last;
    l->w_tap = order.stride;
}

/* Sets the sizes of a block. If even the smallest exceeds the workspace, its sizes are used. */
static void choose_block(tenon_context *context, const conv_problem *p, uint64_t limit, layout *l)
{
    const conv_window *v = &p->window;
    int64_t size = (int64_t)tenon_dtype_size((tenon_dtype)p->dtype);
    int64_t room = (int64_t)(limit < INT64_MAX ? limit : INT64_MAX) / size - l->packed;
    int64_t image = l->column * tn_window_pixels(v);
    int64_t columns = l->column > 0 && room > 0 ? room / l->column : room;
    tn_conv_cut_pixels(v, tn_max_i64(columns, tn_min_i64(LEAST_COLUMNS, v->out[2])),
                       l->block.count);
    l->block.images = 1;
    if (room < image)
        return;
    int64_t wanted = context->device.is_cpu ? tn_min_i64(room, CPU_BLOCK_BYTES / size) : room;
    l->block.images = tn_max_i64(1, tn_min_i64(p->n, image > 0 ? wanted / image : p->n));
}

static void conv_im2col_gemm_lay_out(tenon_context *context, const conv_problem *p, layout *l)
{
    l->by_taps = p->y[1] == 1 && p->y[4] != 1;
    l->taps = p->c * tn_window_taps(&p->window);
    choose_order(p, l);
    if (l->gathers) {
        l->packed = tn_round_up(p->groups * p->k * l->taps, ALIGNMENT);
        l->w_tap = 1;
    }
    l->column = p->groups * l->taps;
    choose_block(context, p, p->head.workspace_limit, l);
}

static const char *conv_im2col_gemm_refuses(const conv_problem *p)
{
    const conv_window *v = &p->window;
    int64_t size;
    if (tn_window_empty(v))
        return "the image is empty";
    if (!tn_mul_i64(p->c * p->groups, tn_window_taps(v), &size) ||
        !tn_mul_i64(size, tn_window_pixels(v), &size) ||
        !tn_mul_i64(size, 8 * tn_max_i64(p->n, 1), &size))
        return "the columns' size overflows";
    return NULL;
}

/* Sets the strides of col[n, c, t, r, s, o, p, q] for a block. */
static void column_strides(const conv_problem *p, const layout *l, const conv_block *block,
                           int64_t stride[8])
{
    const conv_window *v = &p->window;
    int64_t pixels = tn_conv_block_pixels(block), tap = l->by_taps ? 1 : pixels;
    stride[0] = l->column * pixels;
    stride[1] = l->channel_last ? tap : tn_window_taps(v) * tap;
    stride[4] = l->channel_last ? p->c * tap : tap;
    stride[3] = v->filter[2] * stride[4];
    stride[2] = v->filter[1] * stride[3];
    stride[7] = l->by_taps ? l->column : 1;
    stride[6] = block->count[2] * stride[7];
    stride[5] = block->count[1] * stride[6];
}

static im2col_problem unfold_problem(const conv_problem *p, const layout *l,
                                     const conv_block *block)
{
    im2col_problem u = {.head = {.size = sizeof u, .forced = -1},
                        .dtype = p->dtype,
                        .n = block->images,
                        .c = p->groups * p->c,
                        .window = p->window};
    memcpy(u.x, p->x, sizeof u.x);
    column_strides(p, l, block, u.col);
    for (int d = 0; d < 3; d++) {
        u.window.out[d] = block->count[d];
        u.window.start[d] += block->first[d] * p->window.stride[d];
    }
    return u;
}

/* Returns the bytes of workspace: packed filters, and the columns of a block. */
static uint64_t workspace_of(const conv_problem *p, const layout *l)
{
    const int64_t columns = l->block.images * tn_conv_block_pixels(&l->block) * l->column;
    return (uint64_t)(l->packed + columns) * tenon_dtype_size((tenon_dtype)p->dtype);
}

static tenon_status block_product(const char *caller, const conv_problem *p, const layout *l,
                                  const conv_block *block, conv_product *product)
{
    int64_t stride[8], tap = l->by_taps ? 1 : tn_conv_block_pixels(block);
    column_strides(p, l, block, stride);
    int64_t w_filter = l->gathers ? l->taps : p->w[0];
    const conv_factors factors = {.w_group = p->k * w_filter,
                                  .w_filter = w_filter,
                                  .w_tap = l->w_tap,
                                  .image = stride[0],
                                  .group = l->taps * tap,
                                  .tap = tap,
                                  .pixel = {stride[5], stride[6], stride[7]},
                                  .taps = l->taps};
    TN_TRY(tn_conv_product(caller, p, block, &factors, workspace_of(p, l), product));
    if (l->gathers)
        tn_frame_operand(&product->frame, GEMM_A, TN_WORKSPACE, 0);
    tn_frame_operand(&product->frame, GEMM_B, TN_WORKSPACE,
                     l->packed * (int64_t)tenon_dtype_size((tenon_dtype)p->dtype));
    return TENON_OK;
}

/* Adds the time of storing and loading the columns, and of the products. */
static void conv_im2col_gemm_add_time(tenon_context *context, const conv_problem *p,
                                      const layout *l, tn_choice *choice)
{
    const double blocks = tn_conv_block_count(p, &l->block);
    const im2col_problem unfold = unfold_problem(p, l, &l->block);
    const tn_work pack = tn_conv_pack_work((uint32_t)p->dtype, (double)l->packed);
    conv_product product;
    if (block_product("configure", p, l, &l->block, &product) != TENON_OK) {
        choice->time = INFINITY;
        return;
    }
    choice->time = blocks * (tn_problem_time(context, &tn_im2col_family, &unfold.head) +
                             tn_conv_product_time(context, &product));
    /* A block may fit the cache, but the images are read from memory before they are multiplied. */
    const tn_work whole = {.bytes = tn_conv_bytes(p)};
    tn_choice_add(context, choice, &whole);
    tn_choice_add(context, choice, &pack);
    if (!context->device.is_cpu)
        choice->time *= CONV_COLUMNS_DOUBT;
}

static const char *conv_im2col_gemm_configure(tenon_context *context, const tn_problem *problem,
                                              tn_choice *choice)
{
    const conv_problem *p = (const conv_problem *)problem;
    layout *l = TN_LAYOUT(layout, choice);
    const char *why = conv_im2col_gemm_refuses(p);
    if (why != NULL)
        return why;
    conv_im2col_gemm_lay_out(context, p, l);
    choice->workspace = workspace_of(p, l);
    conv_im2col_gemm_add_time(context, p, l, choice);
    tn_choice_options(context, choice, "-DTENON_DTYPE=%u", p->dtype);
    return NULL;
}

static tenon_status record_gather(const char *caller, tn_recording *recording,
                                  const conv_problem *p, const tn_choice *choice)
{
    uint32_t size = (uint32_t)tenon_dtype_size((tenon_dtype)p->dtype);
    pack_filter_args args = {.c = p->c,
                             .elements = p->groups * p->k * p->c * tn_window_taps(&p->window)};
    const tn_patch patches[] = {
        {TN_PATCH_OFFSET, p->operand[CONV_W], offsetof(pack_filter_args, w_offset), size},
        {TN_PATCH_OFFSET, TN_WORKSPACE, offsetof(pack_filter_args, packed_offset), size}};
    memcpy(args.w_stride, p->w, sizeof args.w_stride);
    memcpy(args.filter, p->window.filter, sizeof args.filter);
    tn_launch launch = {.source = "conv/forward/pack_filter",
                        .options = choice->options,
                        .kernel = "pack_filter",
                        .dimensions = 1,
                        .global = {(size_t)tn_round_up(args.elements, 64)},
                        .local = {64},
                        .operands = {p->operand[CONV_W], TN_WORKSPACE},
                        .operand_count = 2,
                        TN_ARGS(args),
                        TN_PATCHES(patches)};
    return tn_record(caller, recording, &launch);
}

static tenon_status record_block(const char *caller, tn_recording *recording, const conv_problem *p,
                                 const layout *l, const conv_block *block)
{
    conv_product product;
    im2col_problem unfold = unfold_problem(p, l, block);
    const int64_t size = (int64_t)tenon_dtype_size((tenon_dtype)p->dtype);
    tn_frame frame = tn_frame_after(workspace_of(p, l));
    tn_frame_operand(&frame, IM2COL_X, p->operand[CONV_X], block->image * p->x[0] * size);
    tn_frame_operand(&frame, IM2COL_COL, TN_WORKSPACE, l->packed * size);
    TN_TRY(tn_child_record(caller, recording, &frame, &tn_im2col_family, &unfold.head));
    TN_TRY(block_product(caller, p, l, block, &product));
    return tn_conv_product_record(caller, recording, &product);
}

static tenon_status conv_im2col_gemm_launch(const char *caller, tn_recording *recording,
                                            const tn_problem *problem, const tn_choice *choice)
{
    const conv_problem *p = (const conv_problem *)problem;
    int64_t blocks[3], index[3] = {0};
    const layout *l = TN_LAYOUT(const layout, choice);
    if (l->gathers)
        TN_TRY(record_gather(caller, recording, p, choice));
    for (int d = 0; d < 3; d++)
        blocks[d] = tn_ceil_div(p->window.out[d], l->block.count[d]);
    for (int64_t n = 0; n < p->n; n += l->block.images)
        do {
            const conv_block block = tn_conv_block_at(&p->window, p->n, &l->block, n, index);
            TN_TRY(record_block(caller, recording, p, l, &block));
        } while (tn_next_index(index, blocks, 3));
    return TENON_OK;
}

const tn_solver tn_conv_im2col_gemm = {
    .name = "im2col_gemm",
    .serves = "everything",
    .needs = "workspace for columns; processes images or pixels in blocks that fit the limit",
    .configure = conv_im2col_gemm_configure,
    .launch = conv_im2col_gemm_launch};
