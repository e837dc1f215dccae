/*
 * conv_int8/columns: unfolds the images into the rows of a matrix in the workspace, then multiplies
 * it by the filters of each group, with the product's own scales, zero points and epilogue.
 * Filters of one element that read each pixel once multiply the images in place.
 *
 * If the rows exceed the workspace, images are processed in several blocks.
 */
#include "base/checked.h"
#include "ops/conv/int8/int8.h"
#include "ops/conv/problem/product.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* On a CPU, rows are read from the cache if a block of images fits it. */
#define CPU_BLOCK_BYTES (INT64_C(4) << 20)
/* Taps per work-item on a GPU; a work-item of a CPU writes a whole row. */
#define GPU_RUN 4
/* Views of [image, o, p, q, column]. */
#define PRODUCT_RANK 5

typedef struct layout {
    bool in_place, channel_last;
    int64_t w_tap;  /* stride between the taps of a filter */
    int64_t taps;   /* of a group */
    int64_t images; /* per block */
} layout;

static bool is_pointwise(const conv_window *v)
{
    bool reads_all = tn_window_taps(v) == 1;
    for (int d = 0; d < 3; d++)
        reads_all &= v->start[d] == 0 && (v->out[d] - 1) * v->stride[d] < v->size[d];
    return reads_all;
}

static const char *columns_refuses(const conv_problem *p)
{
    int64_t size;
    if ((p->flags & CONV_SKIP_XW) != 0 || p->c == 0)
        return "there are no products";
    if (tn_window_empty(&p->window))
        return "the image is empty";
    if (!tn_mul_i64(p->c, tn_window_taps(&p->window), &size) ||
        !tn_mul_i64(size, tn_window_pixels(&p->window), &size) ||
        !tn_mul_i64(size, tn_max_i64(p->n, 1), &size))
        return "the size of the unfolded images overflows";
    return NULL;
}

static const char *columns_lay_out(tenon_context *context, const conv_problem *p, layout *l)
{
    conv_tap_order order;
    const bool found = tn_conv_find_tap_order(p, &order);
    const int64_t row = p->c * tn_window_taps(&p->window),
                  image = row * tn_window_pixels(&p->window);
    const uint64_t limit = p->head.workspace_limit;
    int64_t room = limit < INT64_MAX ? (int64_t)limit : INT64_MAX;
    if (!found)
        return "the taps of the filters have no single stride";
    *l = (layout){.in_place = is_pointwise(&p->window),
                  .channel_last = order.channel_last,
                  .w_tap = order.stride,
                  .taps = row,
                  .images = p->n};
    if (l->in_place)
        return NULL;
    if (context->device.is_cpu)
        room = tn_min_i64(room, CPU_BLOCK_BYTES);
    l->images = tn_max_i64(1, tn_min_i64(p->n, room / image));
    return NULL;
}

static uint64_t columns_bytes(const conv_problem *p, const layout *l)
{
    return l->in_place ? 0 : (uint64_t)(l->images * tn_window_pixels(&p->window) * l->taps);
}

/* Returns a view of [image, o, p, q, column]. */
static tenon_tensor columns_view(uint32_t dtype, const conv_problem *p, int64_t images,
                                 int64_t columns, const int64_t stride[CONV_RANK])
{
    const int64_t *out = p->window.out;
    return (tenon_tensor){.dtype = (tenon_dtype)dtype,
                          .rank = PRODUCT_RANK,
                          .shape = {images, out[0], out[1], out[2], columns},
                          .stride = {stride[0], stride[2], stride[3], stride[4], stride[1]}};
}

/* Sets the strides of the first factor, in the order of an image's. */
static void factor_strides(const conv_problem *p, const layout *l, int64_t stride[CONV_RANK])
{
    const conv_window *v = &p->window;
    if (l->in_place) {
        memcpy(stride, p->x, CONV_RANK * sizeof *stride);
        for (int d = 0; d < 3; d++)
            stride[2 + d] = p->x[2 + d] * v->stride[d];
        return;
    }
    stride[1] = 1;
    stride[4] = l->taps;
    stride[3] = v->out[2] * stride[4];
    stride[2] = v->out[1] * stride[3];
    stride[0] = v->out[0] * stride[2];
}

/* Fills in the scales and zero points of a group's product. */
static void columns_vectors(const conv_int8_problem *p, tenon_tensor vectors[INT8_VECTORS],
                            const tenon_tensor **views)
{
    static const int of[] = {CONV_X, CONV_W, CONV_Y};
    for (int i = 0; i < INT8_VECTORS; i++) {
        const bool is_one = p->vectors[i] == 0;
        vectors[i] = (tenon_tensor){.dtype = i < INT8_ZERO_A ? TENON_DTYPE_F32
                                                             : (tenon_dtype)p->types[of[i % 3]],
                                    .rank = is_one ? 0 : 1,
                                    .shape = {p->conv.k},
                                    .stride = {p->vectors[i]}};
        if ((p->present >> i & 1U) != 0)
            views[INT8_VECTOR(i)] = &vectors[i];
    }
}

/* Makes the product of `images` images and the filters of one group. */
static tenon_status columns_product(const char *caller, const conv_int8_problem *problem,
                                    const layout *l, int64_t images, int8_problem *product)
{
    const conv_problem *p = &problem->conv;
    const uint32_t *types = problem->types;
    int64_t stride[CONV_RANK];
    factor_strides(p, l, stride);
    const tenon_tensor a = columns_view(types[CONV_X], p, images, l->taps, stride);
    const tenon_tensor b = {.dtype = (tenon_dtype)types[CONV_W],
                            .rank = 2,
                            .shape = {l->taps, p->k},
                            .stride = {l->w_tap, p->w[0]}};
    const tenon_tensor c = columns_view(types[CONV_C], p, images, p->k, p->res);
    const tenon_tensor bias = {
        .dtype = (tenon_dtype)types[CONV_BIAS], .rank = 1, .shape = {p->k}, .stride = {p->bias}};
    const tenon_tensor d = columns_view(types[CONV_Y], p, images, p->k, p->y);
    tenon_tensor vectors[INT8_VECTORS];
    int8_views views = {[GEMM_A] = &a,
                        [GEMM_B] = &b,
                        [GEMM_C] = (p->flags & CONV_HAS_C) != 0 ? &c : NULL,
                        [GEMM_BIAS] = (p->flags & CONV_HAS_BIAS) != 0 ? &bias : NULL,
                        [GEMM_D] = &d};
    tenon_gemm_params params = TENON_GEMM_PARAMS_INIT; /* the scalars are those of the run */
    bool empty = false;
    columns_vectors(problem, vectors, views);
    params.epilogue.beta = (p->flags & CONV_HAS_C) != 0 ? 1 : 0;
    params.epilogue.activation.kind = p->activation;
    TN_TRY(tn_gemm_int8_canonicalize(caller, &params, views, product, &empty));
    product->gemm.head.workspace_limit =
        tn_frame_room(p->head.workspace_limit, columns_bytes(p, l));
    return TENON_OK;
}

static tn_work columns_unfold_work(const conv_problem *p, const layout *l)
{
    const double elements =
        (double)l->images * (double)tn_window_pixels(&p->window) * (double)l->taps;
    if (l->in_place)
        return (tn_work){.launches = 0};
    return (tn_work){.launches = 1,
                     .items = elements / GPU_RUN,
                     .vector_elements = l->channel_last ? elements / 4 : 0,
                     .single_elements = l->channel_last ? 0 : 4 * elements,
                     .rows = (double)l->images * (double)tn_window_pixels(&p->window) *
                             (double)tn_window_taps(&p->window),
                     .instructions = elements * 20,
                     .bytes = 2 * elements};
}

static const char *conv_int8_columns_configure(tenon_context *context, const tn_problem *problem,
                                               tn_choice *choice)
{
    const conv_int8_problem *p = (const conv_int8_problem *)problem;
    layout *l = TN_LAYOUT(layout, choice);
    int8_problem product;
    const char *why = columns_refuses(&p->conv);
    if (why == NULL)
        why = columns_lay_out(context, &p->conv, l);
    if (why != NULL)
        return why;
    if (columns_product("configure", p, l, l->images, &product) != TENON_OK)
        return "a product of i8 and u8 does not support the problem";
    const tn_work work = columns_unfold_work(&p->conv, l);
    const double blocks = (double)tn_ceil_div(p->conv.n, l->images) * (double)p->conv.groups;
    choice->workspace = columns_bytes(&p->conv, l);
    tn_choice_add(context, choice, &work);
    choice->time += tn_problem_time(context, &tn_gemm_int8_family, &product.gemm.head);
    choice->time *= blocks;
    tn_choice_options(context, choice, "-DTENON_DTYPE=%u", (unsigned)TENON_DTYPE_F32);
    return NULL;
}

/* Records the unfolding of `images` images from `image` on, for one group. */
static tenon_status record_unfold(const char *caller, tn_recording *recording,
                                  const conv_int8_problem *problem, const tn_choice *choice,
                                  int64_t image, int64_t images, int64_t group)
{
    const conv_problem *p = &problem->conv;
    const layout *l = TN_LAYOUT(const layout, choice);
    const bool has_zero = (problem->present >> INT8_ZERO_A & 1U) != 0;
    const uint8_t zero = has_zero ? INT8_VECTOR(INT8_ZERO_A) : CONV_X;
    conv_int8_columns_args args = {.channels = p->c,
                                   .taps = l->taps,
                                   .run = recording->context->device.is_cpu ? l->taps : GPU_RUN,
                                   .window = p->window,
                                   .channel_last = l->channel_last,
                                   .has_zero = has_zero};
    const tn_patch patches[] = {
        {TN_PATCH_OFFSET, CONV_X, offsetof(conv_int8_columns_args, x_offset), 1},
        {TN_PATCH_OFFSET, CONV_Y, offsetof(conv_int8_columns_args, col_offset), 1},
        {TN_PATCH_OFFSET, zero, offsetof(conv_int8_columns_args, zero_offset), 1}};
    const size_t local = recording->context->device.is_cpu ? 1 : 0;
    memcpy(args.x_stride, p->x, sizeof args.x_stride);
    tn_launch launch = {.source = "conv/int8/columns",
                        .options = choice->options,
                        .kernel = "conv_int8_columns",
                        .dimensions = 3,
                        .global = {(size_t)tn_ceil_div(l->taps, args.run),
                                   (size_t)tn_window_pixels(&p->window), (size_t)images},
                        .local = {local, local, local},
                        .operands = {CONV_X, CONV_Y, zero},
                        .operand_count = 3,
                        TN_ARGS(args),
                        TN_PATCHES(patches)};
    /* In the frame operand y is the matrix in the workspace. */
    tn_frame frame = tn_frame_after(0);
    tn_frame_operand(&frame, CONV_X, CONV_X, image * p->x[0] + group * p->c * p->x[1]);
    tn_frame_operand(&frame, CONV_Y, TN_WORKSPACE, 0);
    tn_frame_enter(recording, &frame);
    const tenon_status status = tn_record(caller, recording, &launch);
    tn_frame_leave(recording);
    return status;
}

/* Maps the operands of the product of a block and a group. */
static tn_frame columns_frame(const conv_int8_problem *problem, const layout *l, int64_t image,
                              int64_t group)
{
    const conv_problem *p = &problem->conv;
    const uint32_t *types = problem->types;
    const int64_t filter = group * p->k, in_c = image * p->res[0] + filter * p->res[1],
                  in_y = image * p->y[0] + filter * p->y[1];
    tn_frame frame = tn_frame_after(columns_bytes(p, l));
    if (l->in_place)
        tn_frame_operand(&frame, GEMM_A, CONV_X, image * p->x[0] + group * p->c * p->x[1]);
    else
        tn_frame_operand(&frame, GEMM_A, TN_WORKSPACE, 0);
    tn_frame_operand(&frame, GEMM_B, CONV_W, filter * p->w[0]);
    tn_frame_operand(&frame, GEMM_C, CONV_C,
                     in_c * (int64_t)tenon_dtype_size((tenon_dtype)types[CONV_C]));
    tn_frame_operand(&frame, GEMM_BIAS, CONV_BIAS,
                     filter * p->bias * (int64_t)tenon_dtype_size((tenon_dtype)types[CONV_BIAS]));
    tn_frame_operand(&frame, GEMM_D, CONV_Y,
                     in_y * (int64_t)tenon_dtype_size((tenon_dtype)types[CONV_Y]));
    for (int i = 0; i < INT8_VECTORS; i++)
        tn_frame_operand(&frame, (uint32_t)INT8_VECTOR(i), (uint16_t)INT8_VECTOR(i),
                         filter * problem->vectors[i] *
                             (i < INT8_ZERO_A ? (int64_t)sizeof(float) : 1));
    return frame;
}

static tenon_status conv_int8_columns_launch(const char *caller, tn_recording *recording,
                                             const tn_problem *problem, const tn_choice *choice)
{
    const conv_int8_problem *p = (const conv_int8_problem *)problem;
    const layout *l = TN_LAYOUT(const layout, choice);
    for (int64_t n = 0; n < p->conv.n; n += l->images)
        for (int64_t g = 0; g < p->conv.groups; g++) {
            const int64_t images = tn_min_i64(l->images, p->conv.n - n);
            int8_problem product;
            tn_frame frame = columns_frame(p, l, n, g);
            if (!l->in_place)
                TN_TRY(record_unfold(caller, recording, p, choice, n, images, g));
            TN_TRY(columns_product(caller, p, l, images, &product));
            TN_TRY(tn_child_record(caller, recording, &frame, &tn_gemm_int8_family,
                                   &product.gemm.head));
        }
    return TENON_OK;
}

const tn_solver tn_conv_int8_columns = {
    .name = "columns",
    .serves = "filters whose taps have a single stride",
    .needs = "workspace for unfolded images, except for filters of one element",
    .configure = conv_int8_columns_configure,
    .launch = conv_int8_columns_launch};
