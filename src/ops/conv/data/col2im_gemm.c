/*
 * conv_backward_data/col2im_gemm: computes columns as the product of the transposed filters and y
 * in the workspace, then folds them into the image.
 *
 * The columns have the layout of x, to make both stages contiguous: along q, or along the channels
 * (NHWC). The taps have the order of the filters in memory; filters in neither order are packed
 * first. 16-bit tensors are packed too, in the accumulator type, since the columns must not be
 * rounded before they are added up. If the columns exceed the workspace, images are processed in
 * several blocks; if a single image exceeds it, some of its groups or channels at a time. Each
 * element of x is finished within one block, so the blocking does not change its bits.
 */
#include "base/checked.h"
#include "base/shape.h"
#include "ops/common/lanes.h"
#include "ops/conv/problem/product.h"
#include "ops/conv/problem/gradient.h"

#include <math.h>
#include <string.h>

/* On a CPU, keeping the columns in the cache until they are read matters more than longer
 * products. */
#define CPU_BLOCK_BYTES (INT64_C(2) << 20)
/* Columns along fewer channels than this do not fill a vector. */
#define LEAST_CHANNELS 8
/* Alignment of the parts of the workspace, in elements: the largest vector. */
#define ALIGNMENT 32

/* The division of the work. Sizes are in elements of the accumulator type. */
typedef struct layout {
    bool by_taps;      /* the taps of a column are contiguous */
    bool channel_last; /* taps in the order t, r, s, c instead of c, t, r, s */
    bool packs_w, packs_y;
    int64_t taps, pixels; /* taps and pixels of one channel */
    int64_t w_tap, w_filter;
    int64_t w_size, y_size;           /* sizes of the packed filters and of a packed image of y */
    int64_t images, groups, channels; /* sizes of a block; whole groups unless there is only one */
} layout;

/* Part of the problem that a block covers: first image, number of images, and so on. */
typedef struct span {
    int64_t image, images, group, groups, channel, channels;
} span;

static void choose_order(const conv_problem *p, bool splits_group, layout *l)
{
    /* With groups, or a part of a group's channels, the rows of the other order do not have a
     * single stride. */
    bool may_be_last = p->groups == 1 && !splits_group;
    conv_tap_order order;
    bool lies_so = tn_conv_choose_tap_order(p, l->by_taps, may_be_last, &order);
    l->channel_last = order.channel_last;
    l->w_tap = order.stride;
    l->packs_w = tn_conv_is_converted(p->dtype) || !lies_so;
    l->w_filter = p->w[0];
    l->w_size = 0;
    if (l->packs_w) {
        l->w_tap = 1;
        l->w_filter = p->c * l->taps;
        l->w_size = tn_round_up(p->groups * p->k * l->w_filter, ALIGNMENT);
    }
}

/* Returns the start of the columns, after the packed filters and images. */
static int64_t columns_at(const layout *l)
{
    return l->w_size + tn_round_up(l->images * l->y_size, ALIGNMENT);
}

/* Sets the sizes of a block, at least one channel. */
static void choose_block(const conv_problem *p, int64_t room, layout *l)
{
    int64_t channel = l->taps * l->pixels, group = p->c * channel, image = p->groups * group;
    room -= l->w_size + ALIGNMENT;
    l->images = l->groups = 1;
    l->channels = p->c;
    if (room >= image + l->y_size) {
        l->groups = p->groups;
        l->images = tn_min_i64(p->n, room / (image + l->y_size));
    } else if (room >= group + l->y_size) {
        l->groups = (room - l->y_size) / group;
    } else {
        l->channels = tn_max_i64(1, (room - l->y_size) / channel);
    }
}

static void conv_data_col2im_gemm_lay_out(tenon_context *context, const conv_problem *p, layout *l)
{
    int64_t size = (int64_t)tn_acc_size(p->dtype);
    uint64_t limit = p->head.workspace_limit;
    int64_t room = (int64_t)(limit < INT64_MAX ? limit : INT64_MAX) / size;
    /* Few channels make short contiguous runs; then columns along pixels are faster in any layout.
     */
    l->by_taps = p->x[1] == 1 && p->x[4] != 1 && p->groups * p->c >= LEAST_CHANNELS;
    l->taps = tn_window_taps(&p->window);
    l->pixels = tn_window_pixels(&p->window);
    l->packs_y = tn_conv_is_converted(p->dtype);
    l->y_size = l->packs_y ? p->groups * p->k * l->pixels : 0;
    choose_order(p, false, l);
    int64_t in_cache = l->w_size + l->y_size + CPU_BLOCK_BYTES / size;
    choose_block(p, context->device.is_cpu ? tn_min_i64(room, in_cache) : room, l);
    if (l->channels == p->c || !l->channel_last)
        return;
    choose_block(p, room, l); /* better than splitting the channels in the other order */
    if (l->channels < p->c) {
        choose_order(p, true, l);
        choose_block(p, room, l);
    }
}

static const char *conv_data_col2im_gemm_refuses(const conv_problem *p)
{
    const conv_window *v = &p->window;
    int64_t size;
    if (p->k == 0 || tn_window_pixels(v) == 0 || (p->flags & CONV_SKIP_XW) != 0)
        return "there is nothing to multiply";
    if (!tn_mul_i64(tn_max_i64(p->c, p->k) * p->groups, tn_window_taps(v), &size) ||
        !tn_mul_i64(size, tn_window_pixels(v), &size) || !tn_mul_i64(size, 16 * p->n, &size))
        return "the columns' size overflows";
    return NULL;
}

/* Sets the strides of y[n, k, o, p, q] as read by the product. */
static void source_strides(const conv_problem *p, const layout *l, int64_t stride[CONV_RANK])
{
    const int64_t *out = p->window.out, filters = p->groups * p->k;
    if (!l->packs_y) {
        memcpy(stride, p->y, CONV_RANK * sizeof *stride);
        return;
    }
    stride[0] = l->y_size;
    stride[1] = l->by_taps ? 1 : l->pixels;
    stride[4] = l->by_taps ? filters : 1;
    stride[3] = out[2] * stride[4];
    stride[2] = out[1] * stride[3];
}

/* Sets the strides of col[n, c, t, r, s, o, p, q] for a block. */
static void column_strides(const conv_problem *p, const layout *l, const span *b, int64_t stride[8])
{
    const conv_window *v = &p->window;
    int64_t rows = b->groups * b->channels * l->taps, tap = l->by_taps ? 1 : l->pixels;
    stride[0] = rows * l->pixels;
    stride[1] = l->channel_last ? tap : l->taps * tap;
    stride[4] = l->channel_last ? p->c * tap : tap;
    stride[3] = v->filter[2] * stride[4];
    stride[2] = v->filter[1] * stride[3];
    stride[7] = l->by_taps ? rows : 1;
    stride[6] = v->out[2] * stride[7];
    stride[5] = v->out[1] * stride[6];
}

static tenon_tensor conv_data_col2im_gemm_make_view(const conv_problem *p, const int64_t shape[6],
                                                    const int64_t stride[6])
{
    tenon_tensor view = {.dtype = tn_conv_sum_type(p->dtype), .rank = 6};
    memcpy(view.shape, shape, 6 * sizeof *shape);
    memcpy(view.stride, stride, 6 * sizeof *stride);
    return view;
}

/* Returns the bytes of workspace: packed filters and images, and the columns of a block. */
static uint64_t workspace_of(const conv_problem *p, const layout *l)
{
    const int64_t columns = l->images * l->groups * l->channels * l->taps * l->pixels;
    return (uint64_t)(columns_at(l) + columns) * tn_acc_size(p->dtype);
}

/* Makes the product: columns [image, group, o, p, taps, q] = transposed filters · y. */
static tenon_status block_product(const char *caller, const conv_problem *p, const layout *l,
                                  const span *b, conv_product *product)
{
    const tenon_gemm_params params = TENON_GEMM_PARAMS_INIT;
    const int64_t *out = p->window.out, rows = b->channels * l->taps;
    int64_t y[CONV_RANK], c[8];
    bool empty = false;
    source_strides(p, l, y);
    column_strides(p, l, b, c);
    int64_t tap = l->by_taps ? 1 : l->pixels;
    const int64_t w_shape[] = {1, b->groups, 1, 1, rows, p->k};
    const int64_t w_stride[] = {0, p->k * l->w_filter, 0, 0, l->w_tap, l->w_filter};
    const int64_t y_shape[] = {b->images, b->groups, out[0], out[1], p->k, out[2]};
    const int64_t y_stride[] = {y[0], p->k * y[1], y[2], y[3], y[1], y[4]};
    const int64_t c_shape[] = {b->images, b->groups, out[0], out[1], rows, out[2]};
    const int64_t c_stride[] = {c[0], rows * tap, c[5], c[6], tap, c[7]};
    const tenon_tensor w_view = conv_data_col2im_gemm_make_view(p, w_shape, w_stride),
                       y_view = conv_data_col2im_gemm_make_view(p, y_shape, y_stride),
                       c_view = conv_data_col2im_gemm_make_view(p, c_shape, c_stride);
    TN_TRY(tn_gemm_canonicalize(caller, &params, &w_view, &y_view, NULL, NULL, &c_view,
                                &product->gemm, &empty));
    const int64_t size = (int64_t)tn_acc_size(p->dtype),
                  w_at = b->group * p->k * l->w_filter + b->channel * l->taps * l->w_tap,
                  y_at = b->group * p->k * y[1] + (l->packs_y ? l->w_size : b->image * y[0]);
    tn_frame *frame = &product->frame;
    tn_conv_product_after(p, workspace_of(p, l), product);
    tn_frame_operand(frame, GEMM_A, l->packs_w ? TN_WORKSPACE : p->operand[CONV_W], w_at * size);
    tn_frame_operand(frame, GEMM_B, l->packs_y ? TN_WORKSPACE : p->operand[CONV_Y], y_at * size);
    tn_frame_operand(frame, GEMM_D, TN_WORKSPACE, columns_at(l) * size);
    tn_conv_product_sums(product);
    return TENON_OK;
}

static col2im_problem fold_problem(const conv_problem *p, const layout *l, const span *b)
{
    col2im_problem f = {.head = {.size = sizeof f, .forced = -1},
                        .dtype = p->dtype,
                        .activation = p->activation,
                        .flags = p->flags,
                        .col_acc = tn_conv_is_converted(p->dtype),
                        .operand = {COL2IM_COL, COL2IM_RES, COL2IM_BIAS, COL2IM_X},
                        .n = b->images,
                        .c = b->groups * b->channels,
                        .bias = p->bias,
                        .window = p->window};
    memcpy(f.res, p->res, sizeof f.res);
    memcpy(f.x, p->x, sizeof f.x);
    column_strides(p, l, b, f.col);
    return f;
}

static tn_frame fold_frame(const conv_problem *p, const layout *l, const span *b)
{
    const int64_t channel = b->group * p->c + b->channel,
                  size = (int64_t)tenon_dtype_size((tenon_dtype)p->dtype),
                  col_at = columns_at(l) * (int64_t)tn_acc_size(p->dtype),
                  res_at = b->image * p->res[0] + channel * p->res[1],
                  x_at = b->image * p->x[0] + channel * p->x[1];
    tn_frame frame = tn_frame_after(workspace_of(p, l));
    tn_frame_operand(&frame, COL2IM_COL, TN_WORKSPACE, col_at);
    tn_frame_operand(&frame, COL2IM_RES, p->operand[CONV_C], res_at * size);
    tn_frame_operand(&frame, COL2IM_BIAS, p->operand[CONV_BIAS], channel * p->bias * size);
    tn_frame_operand(&frame, COL2IM_X, p->operand[CONV_X], x_at * size);
    return frame;
}

static span first_span(const layout *l)
{
    return (span){.images = l->images, .groups = l->groups, .channels = l->channels};
}

/* Adds the time of the products, of storing and loading the columns, and of the packing before
 * them. */
static void conv_data_col2im_gemm_add_time(tenon_context *context, const conv_problem *p,
                                           const layout *l, tn_choice *choice)
{
    const span b = first_span(l);
    const double blocks =
        fmax((double)tn_ceil_div(p->n, l->images) * (double)tn_ceil_div(p->groups, l->groups) *
                 (double)tn_ceil_div(p->c, l->channels),
             1);
    const double columns =
        (double)p->n * (double)p->groups * (double)p->c * (double)l->taps * (double)l->pixels;
    const double image = (double)p->n * tn_conv_image_elements(p);
    const tn_work fold = tn_conv_fold_work((uint32_t)p->dtype, image / blocks, columns / blocks),
                  pack_w = tn_conv_pack_work((uint32_t)p->dtype, (double)l->w_size),
                  pack_y = tn_conv_pack_work((uint32_t)p->dtype, (double)p->n * (double)l->y_size);
    conv_product product;
    if (block_product("configure", p, l, &b, &product) != TENON_OK) {
        choice->time = INFINITY;
        return;
    }
    tn_choice_add(context, choice, &fold);
    choice->time = blocks * (choice->time + tn_conv_product_time(context, &product));
    tn_choice_add(context, choice, &pack_w);
    tn_choice_add(context, choice, &pack_y);
    if (!context->device.is_cpu)
        choice->time *= CONV_COLUMNS_DOUBT;
}

/* The solver itself only has the layouts to check; GEMM and col2im check their own variants. */
static const char *conv_data_col2im_gemm_configure(tenon_context *context,
                                                   const tn_problem *problem, tn_choice *choice)
{
    const conv_problem *p = (const conv_problem *)problem;
    layout *l = TN_LAYOUT(layout, choice);
    const char *why = conv_data_col2im_gemm_refuses(p);
    if (why != NULL)
        return why;
    conv_data_col2im_gemm_lay_out(context, p, l);
    choice->workspace = workspace_of(p, l);
    conv_data_col2im_gemm_add_time(context, p, l, choice);
    tn_choice_options(context, choice, "-DTENON_DTYPE=%u -DTENON_ACT_BUILD=%u -DTENON_VW=%u",
                      p->dtype, tn_activation_is_build(p->activation) ? p->activation : 0u,
                      tn_lanes(context, p->dtype));
    return NULL;
}

static tenon_status record_pack_w(const char *caller, tn_recording *recording,
                                  const conv_problem *p, const layout *l)
{
    const int64_t *f = p->window.filter, *w = p->w;
    conv_packing packing = {.dtype = p->dtype,
                            .operand = p->operand[CONV_W],
                            .shape = {p->groups * p->k, p->c, f[0], f[1], f[2]},
                            .stride = {w[0], w[1], w[2], w[3], w[4]}};
    if (l->channel_last)
        tn_conv_move_last(&packing, 1);
    return tn_conv_record_pack(caller, recording, &packing);
}

static tenon_status record_pack_y(const char *caller, tn_recording *recording,
                                  const conv_problem *p, const layout *l, int64_t image,
                                  int64_t images)
{
    const int64_t *out = p->window.out, filters = p->groups * p->k, *y = p->y;
    conv_packing packing = {.dtype = p->dtype,
                            .operand = p->operand[CONV_Y],
                            .shift = image * y[0],
                            .packed = l->w_size,
                            .shape = {images, filters, out[0], out[1], out[2]},
                            .stride = {y[0], y[1], y[2], y[3], y[4]}};
    if (l->by_taps)
        tn_conv_move_last(&packing, 1);
    return tn_conv_record_pack(caller, recording, &packing);
}

static tenon_status record_block(const char *caller, tn_recording *recording, const conv_problem *p,
                                 const layout *l, const span *block)
{
    conv_product product;
    const col2im_problem fold = fold_problem(p, l, block);
    tn_frame frame = fold_frame(p, l, block);
    TN_TRY(block_product(caller, p, l, block, &product));
    TN_TRY(tn_conv_product_record(caller, recording, &product));
    return tn_child_record(caller, recording, &frame, &tn_col2im_family, &fold.head);
}

static tenon_status conv_data_col2im_gemm_launch(const char *caller, tn_recording *recording,
                                                 const tn_problem *problem, const tn_choice *choice)
{
    const conv_problem *p = (const conv_problem *)problem;
    const layout *l = TN_LAYOUT(const layout, choice);
    span b = first_span(l);
    if (l->packs_w)
        TN_TRY(record_pack_w(caller, recording, p, l));
    for (b.image = 0; b.image < p->n; b.image += l->images) {
        b.images = tn_min_i64(l->images, p->n - b.image);
        if (l->packs_y)
            TN_TRY(record_pack_y(caller, recording, p, l, b.image, b.images));
        for (b.group = 0; b.group < p->groups; b.group += l->groups)
            for (b.channel = 0; b.channel < p->c; b.channel += l->channels) {
                b.groups = tn_min_i64(l->groups, p->groups - b.group);
                b.channels = tn_min_i64(l->channels, p->c - b.channel);
                TN_TRY(record_block(caller, recording, p, l, &b));
            }
    }
    return TENON_OK;
}

const tn_solver tn_conv_backward_data_col2im_gemm = {
    .name = "col2im_gemm",
    .serves = "everything",
    .needs =
        "workspace for columns; processes images, groups or channels in blocks that fit the limit",
    .configure = conv_data_col2im_gemm_configure,
    .launch = conv_data_col2im_gemm_launch};
