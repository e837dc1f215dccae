/*
 * conv_backward_filter/im2col_gemm: unfolds the images into columns in the workspace, then
 * multiplies dy by the transposed columns, summing over blocks of pixels.
 *
 * The columns have the layout of the images (along q, or along the channels for NHWC), which
 * together with the filters' layout determines the order of the taps. A block of several images is
 * one product: dy is packed unless its images and pixels have a single stride. Blocks are added in
 * order: in dw itself, or in the workspace if dw would round their sum or has another layout than
 * the columns. On a GPU with more work-groups than dw has tiles, each image of a block has its own
 * sum, and these sums are added in order at the end.
 */
#include "base/checked.h"
#include "base/shape.h"
#include "ops/common/gpu.h"
#include "ops/common/lanes.h"
#include "ops/conv/problem/product.h"
#include "ops/conv/problem/gradient.h"

#include <math.h>
#include <string.h>

/* On a CPU, keeping the columns in the cache until they are read matters more than longer
 * products. */
#define CPU_BLOCK_BYTES (INT64_C(8) << 20)
/* Alignment of the parts of the workspace, in elements: the largest vector. */
#define ALIGNMENT 32
/* Minimum columns per product, unless a row has fewer. */
#define LEAST_COLUMNS 256
/* Approximate number of elements of dw per work-group of a GPU's GEMM. */
#define GPU_TILE 4096

/* The division of the work. Sizes are in elements of the accumulator type. */
typedef struct layout {
    bool by_taps;      /* the taps of a column are contiguous */
    bool channel_last; /* taps in the order t, r, s, c instead of c, t, r, s */
    bool packs_x;      /* the images are converted first */
    bool packs_y;
    bool sums;                        /* sums are in the workspace, not in dw */
    bool slices;                      /* each image of a block has its own sum */
    int64_t taps;                     /* taps of a group */
    int64_t w_tap;                    /* stride between taps of dw */
    int64_t y_pixel;                  /* stride between pixels of dy unless it is packed */
    conv_block block;                 /* the first and largest block */
    int64_t sum_size, x_size, y_size; /* of all sums; a packed image; a packed block of dy */
} layout;

static void choose_order(const conv_problem *p, layout *l)
{
    conv_tap_order order;
    bool lies_so = tn_conv_choose_tap_order(p, l->by_taps, p->groups == 1, &order);
    l->channel_last = order.channel_last;
    l->w_tap = order.stride;
    l->sums = tn_conv_is_converted(p->dtype) || !lies_so;
}

/* Returns true if the pixels of `images` images of dy have a single stride. */
static bool merges(const conv_problem *p, int64_t images, int64_t *joined)
{
    const int64_t *out = p->window.out, *y = p->y;
    const int64_t shape[] = {images, out[0], out[1], out[2]}, stride[] = {y[0], y[2], y[3], y[4]};
    return tn_conv_one_dimension(shape, stride, joined);
}

/* Sets the sizes of a block. If even the smallest exceeds the workspace, its sizes are used. */
static void choose_block(tenon_context *context, const conv_problem *p, layout *l)
{
    const conv_window *v = &p->window;
    int64_t size = (int64_t)tn_acc_size(p->dtype), pixels = tn_window_pixels(v);
    uint64_t limit = p->head.workspace_limit;
    int64_t room =
        (int64_t)(limit < INT64_MAX ? limit : INT64_MAX) / size - l->sum_size - 3 * ALIGNMENT;
    bool packs = tn_conv_is_converted(p->dtype) || !merges(p, p->n, &l->y_pixel);
    int64_t pixel = p->groups * (l->taps + (packs ? p->k : 0));
    int64_t image = pixel * pixels + l->x_size;
    int64_t columns = room > l->x_size ? (room - l->x_size) / pixel : 0;
    tn_conv_cut_pixels(v, tn_max_i64(columns, tn_min_i64(LEAST_COLUMNS, v->out[2])),
                       l->block.count);
    l->block.images = 1;
    if (room >= image) {
        int64_t wanted = context->device.is_cpu ? tn_min_i64(room, CPU_BLOCK_BYTES / size) : room;
        l->block.images = tn_max_i64(1, tn_min_i64(p->n, wanted / image));
    }
    /* A single image may have a single stride where several do not. */
    l->packs_y = packs && (tn_conv_is_converted(p->dtype) || l->block.images > 1 ||
                           !merges(p, 1, &l->y_pixel));
    int64_t block = l->block.images * tn_conv_block_pixels(&l->block);
    l->y_size = l->packs_y ? p->groups * p->k * block : 0;
}

/* Returns true if each image of a block gets its own sum: dw has too few tiles to keep a GPU busy.
 */
static bool wants_slices(tenon_context *context, const conv_problem *p, const layout *l, int64_t dw)
{
    int64_t room = (int64_t)(p->head.workspace_limit / tn_acc_size(p->dtype) / 4);
    return !context->device.is_cpu && l->block.images > 1 &&
           dw < 2 * GPU_TILE * (int64_t)tn_model_cores(&context->device.model) &&
           dw <= room / l->block.images;
}

static void conv_filter_im2col_gemm_lay_out(tenon_context *context, const conv_problem *p,
                                            layout *l)
{
    const int64_t *size = p->window.size;
    l->by_taps = p->x[1] == 1 && p->x[4] != 1;
    l->packs_x = tn_conv_is_converted(p->dtype);
    l->taps = p->c * tn_window_taps(&p->window);
    choose_order(p, l);
    if (l->packs_x)
        l->x_size = p->groups * p->c * size[0] * size[1] * size[2];
    int64_t dw = tn_round_up(p->groups * p->k * l->taps, ALIGNMENT);
    l->sum_size = l->sums ? dw : 0;
    choose_block(context, p, l);
    if (wants_slices(context, p, l, dw)) {
        l->slices = l->sums = true;
        l->sum_size = dw * l->block.images;
        choose_block(context, p, l); /* uses the workspace that the sums leave free */
    }
}

/* Workspace layout: sums, packed images, packed dy, columns. */
static int64_t x_at(const layout *l)
{
    return tn_round_up(l->sum_size, ALIGNMENT);
}

static int64_t y_at(const layout *l)
{
    return x_at(l) + tn_round_up(l->block.images * l->x_size, ALIGNMENT);
}

static int64_t columns_at(const layout *l)
{
    return y_at(l) + tn_round_up(l->y_size, ALIGNMENT);
}

static const char *conv_filter_im2col_gemm_refuses(const conv_problem *p)
{
    const conv_window *v = &p->window;
    int64_t size;
    if (p->n == 0 || tn_window_pixels(v) == 0 || tn_window_empty(v))
        return "there is nothing to multiply";
    if (!tn_mul_i64((p->c + p->k) * p->groups, tn_window_taps(v), &size) ||
        !tn_mul_i64(size, tn_window_pixels(v), &size) || !tn_mul_i64(size, 16 * p->n, &size))
        return "the columns' size overflows";
    return NULL;
}

/* Sets the strides of col[n, c, t, r, s, o, p, q]; contiguous are the pixels of all images of a
 * block, or the taps. */
static void column_strides(const conv_problem *p, const layout *l, const conv_block *b,
                           int64_t stride[8])
{
    const conv_window *v = &p->window;
    int64_t pixels = tn_conv_block_pixels(b), tap = l->by_taps ? 1 : b->images * pixels;
    stride[1] = l->channel_last ? tap : tn_window_taps(v) * tap;
    stride[4] = l->channel_last ? p->c * tap : tap;
    stride[3] = v->filter[2] * stride[4];
    stride[2] = v->filter[1] * stride[3];
    stride[7] = l->by_taps ? p->groups * l->taps : 1;
    stride[6] = b->count[2] * stride[7];
    stride[5] = b->count[1] * stride[6];
    stride[0] = b->count[0] * stride[5];
}

/* Returns the bytes of workspace: sums, packed images, packed dy, and the columns of a block. */
static uint64_t workspace_of(const conv_problem *p, const layout *l)
{
    const int64_t columns = p->groups * l->taps * l->block.images * tn_conv_block_pixels(&l->block);
    return (uint64_t)(columns_at(l) + columns) * tn_acc_size(p->dtype);
}

static im2col_problem unfold_problem(const conv_problem *p, const layout *l, const conv_block *b)
{
    const int64_t *size = p->window.size, channels = p->groups * p->c;
    im2col_problem u = {.head = {.size = sizeof u, .forced = -1},
                        .dtype = tn_conv_sum_type(p->dtype),
                        .n = b->images,
                        .c = channels,
                        .window = p->window};
    memcpy(u.x, p->x, sizeof u.x);
    if (l->packs_x) {
        u.x[0] = l->x_size;
        u.x[1] = l->by_taps ? 1 : size[0] * size[1] * size[2];
        u.x[4] = l->by_taps ? channels : 1;
        u.x[3] = size[2] * u.x[4];
        u.x[2] = size[1] * u.x[3];
    }
    column_strides(p, l, b, u.col);
    for (int d = 0; d < 3; d++) {
        u.window.out[d] = b->count[d];
        u.window.start[d] += b->first[d] * p->window.stride[d];
    }
    return u;
}

static tenon_tensor conv_filter_im2col_gemm_make_view(const conv_problem *p, const int64_t shape[4],
                                                      const int64_t stride[4])
{
    tenon_tensor view = {.dtype = tn_conv_sum_type(p->dtype), .rank = 4};
    memcpy(view.shape, shape, 4 * sizeof *shape);
    memcpy(view.stride, stride, 4 * sizeof *stride);
    return view;
}

/* Sets the strides of dy by slice, group, filter and pixel. */
static void source_strides(const conv_problem *p, const layout *l, const conv_block *b,
                           int64_t stride[4])
{
    int64_t pixels = tn_conv_block_pixels(b), filters = p->groups * p->k;
    bool by_filters = l->packs_y && l->by_taps;
    stride[2] = by_filters ? 1 : l->packs_y ? b->images * pixels : p->y[1];
    stride[3] = by_filters ? filters : l->packs_y ? 1 : l->y_pixel;
    stride[1] = p->k * stride[2];
    stride[0] = l->packs_y ? pixels * stride[3] : p->y[0];
}

static tn_frame unfold_frame(const conv_problem *p, const layout *l, const conv_block *b)
{
    const int64_t size = (int64_t)tn_acc_size(p->dtype);
    tn_frame frame = tn_frame_after(workspace_of(p, l));
    if (l->packs_x)
        tn_frame_operand(&frame, IM2COL_X, TN_WORKSPACE, x_at(l) * size);
    else
        tn_frame_operand(&frame, IM2COL_X, p->operand[CONV_X], b->image * p->x[0] * size);
    tn_frame_operand(&frame, IM2COL_COL, TN_WORKSPACE, columns_at(l) * size);
    return frame;
}

static void place(const conv_problem *p, const layout *l, const conv_block *b, tn_frame *frame)
{
    const int64_t *y = p->y, *first = b->first, size = (int64_t)tn_acc_size(p->dtype);
    const int64_t given_at = b->image * y[0] + first[0] * y[2] + first[1] * y[3] + first[2] * y[4];
    if (l->packs_y)
        tn_frame_operand(frame, GEMM_A, TN_WORKSPACE, y_at(l) * size);
    else
        tn_frame_operand(frame, GEMM_A, p->operand[CONV_Y], given_at * size);
    tn_frame_operand(frame, GEMM_B, TN_WORKSPACE, columns_at(l) * size);
    for (uint32_t operand = GEMM_C; operand < GEMM_OPERANDS; operand++)
        tn_frame_operand(frame, operand, l->sums ? TN_WORKSPACE : p->operand[CONV_W], 0);
}

/* Makes the product: dw [slice, group, filters, taps] = dy · transposed columns, summed over the
 * pixels. All blocks but the first add to the previous sum. The first adds the caller's beta times
 * dw if the sum is in dw. */
static tenon_status block_product(const char *caller, const conv_problem *p, const layout *l,
                                  const conv_block *b, bool is_first, conv_product *product)
{
    tenon_gemm_params params = TENON_GEMM_PARAMS_INIT;
    int64_t pixels = b->images * tn_conv_block_pixels(b), slices = l->slices ? b->images : 1;
    int64_t c[8], y_stride[4], length = pixels / slices;
    int64_t group = l->by_taps ? l->taps : l->taps * pixels;
    bool empty = false, adds = is_first ? !l->sums && (p->flags & CONV_HAS_C) != 0 : true;
    source_strides(p, l, b, y_stride);
    column_strides(p, l, b, c);
    const int64_t y_shape[] = {slices, p->groups, p->k, length};
    const int64_t c_shape[] = {slices, p->groups, length, l->taps};
    const int64_t c_stride[] = {c[0], group, c[7], l->by_taps ? 1 : pixels};
    const int64_t w_shape[] = {slices, p->groups, p->k, l->taps};
    const int64_t filter = l->sums ? l->taps : p->w[0], tap = l->sums ? 1 : l->w_tap;
    const int64_t w_stride[] = {p->groups * p->k * filter, p->k * filter, filter, tap};
    const tenon_tensor y = conv_filter_im2col_gemm_make_view(p, y_shape, y_stride),
                       cols = conv_filter_im2col_gemm_make_view(p, c_shape, c_stride),
                       w = conv_filter_im2col_gemm_make_view(p, w_shape, w_stride);
    params.epilogue.beta = adds;
    TN_TRY(tn_gemm_canonicalize(caller, &params, &y, &cols, adds ? &w : NULL, NULL, &w,
                                &product->gemm, &empty));
    tn_conv_product_after(p, workspace_of(p, l), product);
    place(p, l, b, &product->frame);
    if (!is_first)
        tn_conv_product_sums(product);
    return TENON_OK;
}

/* Moves per element that is unfolded into the accumulator type, tap by tap, in addition to those of
 * im2col. */
#define GATHERED 4

/* Adds the time of the products, of unfolding and packing, and of reloading and storing the sums
 * in all products but the first. On GPUs the products' own estimates include the latter, and the
 * sums of slices are added at the end. */
static void conv_filter_im2col_gemm_add_time(tenon_context *context, const conv_problem *p,
                                             const layout *l, tn_choice *choice)
{
    const double blocks = tn_conv_block_count(p, &l->block), n = (double)p->n,
                 pixels = n * (double)tn_window_pixels(&p->window),
                 columns = pixels * (double)p->groups * (double)l->taps;
    const double packed =
        pixels * (double)(l->packs_y ? p->groups * p->k : 0) + n * (double)l->x_size;
    const double sums = context->device.is_cpu
                            ? (double)(p->groups * p->k * l->taps) * (l->sums ? blocks : blocks - 1)
                            : (double)l->sum_size;
    tn_work unfold = tn_conv_unfold_work(tn_conv_sum_type(p->dtype),
                                         n * tn_conv_image_elements(p) / blocks, columns / blocks);
    const tn_work pack = tn_conv_pack_work((uint32_t)p->dtype, packed / blocks),
                  add = tn_conv_pack_work((uint32_t)p->dtype, sums);
    conv_product product;
    if (block_product("configure", p, l, &l->block, true, &product) != TENON_OK) {
        choice->time = INFINITY;
        return;
    }
    unfold.vector_elements *= GATHERED;
    tn_choice_add(context, choice, &unfold);
    tn_choice_add(context, choice, &pack);
    choice->time = blocks * (choice->time + tn_conv_product_time(context, &product));
    tn_choice_add(context, choice, &add);
    if (!context->device.is_cpu)
        choice->time *= CONV_COLUMNS_DOUBT;
}

static const char *conv_filter_im2col_gemm_configure(tenon_context *context,
                                                     const tn_problem *problem, tn_choice *choice)
{
    const conv_problem *p = (const conv_problem *)problem;
    layout *l = TN_LAYOUT(layout, choice);
    const char *why = conv_filter_im2col_gemm_refuses(p);
    if (why != NULL)
        return why;
    conv_filter_im2col_gemm_lay_out(context, p, l);
    choice->workspace = workspace_of(p, l);
    conv_filter_im2col_gemm_add_time(context, p, l, choice);
    tn_choice_options(context, choice, "-DTENON_DTYPE=%u -DTENON_VW=%u", p->dtype,
                      tn_lanes(context, p->dtype));
    return NULL;
}

static tenon_status record_pack_x(const char *caller, tn_recording *recording,
                                  const conv_problem *p, const layout *l, const conv_block *b)
{
    const int64_t *size = p->window.size, channels = p->groups * p->c, *x = p->x;
    conv_packing packing = {.dtype = p->dtype,
                            .operand = p->operand[CONV_X],
                            .shift = b->image * x[0],
                            .packed = x_at(l),
                            .shape = {b->images, channels, size[0], size[1], size[2]},
                            .stride = {x[0], x[1], x[2], x[3], x[4]}};
    if (l->by_taps)
        tn_conv_move_last(&packing, 1);
    return tn_conv_record_pack(caller, recording, &packing);
}

static tenon_status record_pack_y(const char *caller, tn_recording *recording,
                                  const conv_problem *p, const layout *l, const conv_block *b)
{
    const int64_t *count = b->count, *y = p->y, filters = p->groups * p->k;
    conv_packing packing = {.dtype = p->dtype,
                            .operand = p->operand[CONV_Y],
                            .shift = b->image * y[0] + b->first[0] * y[2] + b->first[1] * y[3] +
                                     b->first[2] * y[4],
                            .packed = y_at(l),
                            .shape = {filters, b->images, count[0], count[1], count[2]},
                            .stride = {y[1], y[0], y[2], y[3], y[4]}};
    if (l->by_taps)
        tn_conv_move_last(&packing, 0);
    return tn_conv_record_pack(caller, recording, &packing);
}

static tenon_status record_unpack(const char *caller, tn_recording *recording,
                                  const conv_problem *p, const layout *l)
{
    const int64_t *f = p->window.filter, *w = p->w;
    conv_packing packing = {.dtype = p->dtype,
                            .operand = p->operand[CONV_W],
                            .adds = (p->flags & CONV_HAS_C) != 0,
                            .shape = {p->groups * p->k, p->c, f[0], f[1], f[2]},
                            .stride = {w[0], w[1], w[2], w[3], w[4]},
                            .parts = l->slices ? l->block.images : 1};
    if (l->channel_last)
        tn_conv_move_last(&packing, 1);
    return tn_conv_record_unpack(caller, recording, &packing);
}

static tenon_status record_block(const char *caller, tn_recording *recording, const conv_problem *p,
                                 const layout *l, const conv_block *b, bool is_first)
{
    conv_product product;
    const im2col_problem unfold = unfold_problem(p, l, b);
    tn_frame frame = unfold_frame(p, l, b);
    TN_TRY(tn_child_record(caller, recording, &frame, &tn_im2col_family, &unfold.head));
    if (l->packs_y)
        TN_TRY(record_pack_y(caller, recording, p, l, b));
    TN_TRY(block_product(caller, p, l, b, is_first, &product));
    return tn_conv_product_record(caller, recording, &product);
}

static tenon_status conv_filter_im2col_gemm_launch(const char *caller, tn_recording *recording,
                                                   const tn_problem *problem,
                                                   const tn_choice *choice)
{
    const conv_problem *p = (const conv_problem *)problem;
    int64_t blocks[3], index[3] = {0};
    const layout *l = TN_LAYOUT(const layout, choice);
    bool is_first = true;
    for (int d = 0; d < 3; d++)
        blocks[d] = tn_ceil_div(p->window.out[d], l->block.count[d]);
    for (int64_t n = 0; n < p->n; n += l->block.images) {
        do {
            const conv_block b = tn_conv_block_at(&p->window, p->n, &l->block, n, index);
            if (l->packs_x && index[0] + index[1] + index[2] == 0)
                TN_TRY(record_pack_x(caller, recording, p, l, &b));
            TN_TRY(record_block(caller, recording, p, l, &b, is_first));
            is_first = false;
        } while (tn_next_index(index, blocks, 3));
    }
    return l->sums ? record_unpack(caller, recording, p, l) : TENON_OK;
}

const tn_solver tn_conv_backward_filter_im2col_gemm = {
    .name = "im2col_gemm",
    .serves = "everything",
    .needs = "workspace for columns, and for sums that dw would round; processes images or pixels "
             "in blocks that fit the limit",
    .configure = conv_filter_im2col_gemm_configure,
    .launch = conv_filter_im2col_gemm_launch};
