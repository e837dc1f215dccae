/*
 * conv/winograd2_gemm and conv/winograd4_gemm, for GPUs: filters and tiles are transformed to
 * matrices in the workspace, one per point. A batch of products follows, then the inverse transform
 * with the epilogue. If the tiles exceed the workspace, they are processed in several sets.
 *
 * Transformed data is in the accumulator type. In 16 bits a term would have an error of 2^-11 (or
 * 2^-8) of a magnitude far above an output's, whereas the error bound is relative to the output's
 * magnitude.
 */
#include "base/checked.h"
#include "ops/common/gpu.h"
#include "conv/forward/winograd_gemm_args.h"
#include "ops/conv/problem/gradient.h"
#include "ops/conv/problem/product.h"
#include "ops/conv/forward/winograd.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#define GROUP 64 /* work-items of a work-group */
/* Work-items of a launch, and tiles of all images, are counted in 31 bits. */
#define MOST_ITEMS (INT64_C(1) << 30)
/* Alignment of the matrices' rows in elements; the tiles of a set are a multiple of it. */
#define ALIGNMENT 32
/* Share of the published memory bandwidth that a kernel which only loads and stores attains. */
#define REACH 0.83

/* The layout of the workspace, in elements. */
typedef struct layout {
    int64_t tiles[2], all_tiles, set_tiles;
    int64_t u_point;
    winograd_matrix v, m;
    int64_t elements;
} layout;

static int64_t points(const winograd *w)
{
    return (w->tile + 2) * (w->tile + 2);
}

static int64_t channels_of(const conv_problem *p)
{
    return p->groups * p->c;
}

static int64_t filters_of(const conv_problem *p)
{
    return p->groups * p->k;
}

static int64_t tiles_along(const winograd *w, int d)
{
    return tn_ceil_div(w->conv->window.out[d], w->tile);
}

static const char *conv_winograd_gemm_refuses(const winograd *w)
{
    const conv_problem *p = w->conv;
    const char *why = tn_winograd_refuses(p);
    int64_t tiles;
    if (why != NULL)
        return why;
    if (!tn_mul_i64(p->n, tiles_along(w, 1), &tiles) ||
        !tn_mul_i64(tiles, tiles_along(w, 2), &tiles) || tiles > MOST_ITEMS ||
        filters_of(p) * p->c > MOST_ITEMS || channels_of(p) > MOST_ITEMS)
        return "there are too many tiles or filters";
    return NULL;
}

/* Returns a matrix whose contiguous dimension, rows or columns, is that of the tensor. */
static winograd_matrix make_matrix(int64_t at, int64_t rows, int64_t tiles,
                                   const int64_t stride[CONV_RANK])
{
    const int64_t pitch = tn_round_up(tiles, ALIGNMENT);
    if (stride[1] == 1 && stride[4] != 1)
        return (winograd_matrix){.at = at, .point = rows * pitch, .row = 1, .tile = rows};
    return (winograd_matrix){.at = at, .point = rows * pitch, .row = pitch, .tile = 1};
}

/* Lays out sets with as many tiles as the workspace holds, at least one. */
static layout conv_winograd_gemm_lay_out(const winograd *w)
{
    const conv_problem *p = w->conv;
    const int64_t rows = channels_of(p) + filters_of(p),
                  most = tn_max_i64(channels_of(p), filters_of(p));
    const uint64_t limit = p->head.workspace_limit / tn_acc_size(p->dtype);
    layout l = {.tiles = {tiles_along(w, 1), tiles_along(w, 2)}, .u_point = filters_of(p) * p->c};
    int64_t u = tn_round_up(points(w) * l.u_point, ALIGNMENT),
            room = (int64_t)(limit < INT64_MAX ? limit : INT64_MAX) - u;
    int64_t fitting = tn_min_i64(room / rows / points(w), MOST_ITEMS / most);
    l.all_tiles = p->n * l.tiles[0] * l.tiles[1];
    l.set_tiles = tn_round_up(l.all_tiles, ALIGNMENT) <= fitting ? l.all_tiles
                                                                 : fitting / ALIGNMENT * ALIGNMENT;
    l.set_tiles = tn_max_i64(l.set_tiles, tn_min_i64(l.all_tiles, ALIGNMENT));
    l.v = make_matrix(u, channels_of(p), l.set_tiles, p->x);
    l.m = make_matrix(u + points(w) * l.v.point, filters_of(p), l.set_tiles, p->y);
    l.elements = l.m.at + points(w) * l.m.point;
    return l;
}

static tenon_tensor conv_winograd_gemm_make_view(const winograd *w, int64_t rows, int64_t columns,
                                                 const int64_t stride[4])
{
    tenon_tensor view = {.dtype = tn_conv_sum_type(w->conv->dtype),
                         .rank = 4,
                         .shape = {points(w), w->conv->groups, rows, columns}};
    memcpy(view.stride, stride, 4 * sizeof *stride);
    return view;
}

/* Makes the products: for each point and group, filters × channels times channels × tiles. */
static tenon_status make_product(const char *caller, const winograd *w, const layout *l,
                                 int64_t tiles, conv_product *product)
{
    const conv_problem *p = w->conv;
    const tenon_gemm_params params = TENON_GEMM_PARAMS_INIT;
    const int64_t u_stride[] = {l->u_point, p->k * p->c, p->c, 1},
                  v_stride[] = {l->v.point, p->c * l->v.row, l->v.row, l->v.tile},
                  m_stride[] = {l->m.point, p->k * l->m.row, l->m.row, l->m.tile};
    const tenon_tensor u = conv_winograd_gemm_make_view(w, p->k, p->c, u_stride),
                       v = conv_winograd_gemm_make_view(w, p->c, tiles, v_stride),
                       m = conv_winograd_gemm_make_view(w, p->k, tiles, m_stride);
    const int64_t size = (int64_t)tn_acc_size(p->dtype);
    tn_frame *frame = &product->frame;
    bool empty = false;
    TN_TRY(tn_gemm_canonicalize(caller, &params, &u, &v, NULL, NULL, &m, &product->gemm, &empty));
    tn_conv_product_after(p, (uint64_t)(l->elements * size), product);
    tn_frame_operand(frame, GEMM_A, TN_WORKSPACE, 0);
    tn_frame_operand(frame, GEMM_B, TN_WORKSPACE, l->v.at * size);
    tn_frame_operand(frame, GEMM_D, TN_WORKSPACE, l->m.at * size);
    tn_conv_product_sums(product);
    return TENON_OK;
}

/* Adds the time of the products of all sets, and of the memory traffic of the transforms. */
static void conv_winograd_gemm_add_time(tenon_context *context, const winograd *w, const layout *l,
                                        tn_choice *choice)
{
    const conv_problem *p = w->conv;
    const double sets = (double)tn_ceil_div(l->all_tiles, l->set_tiles), all = (double)l->all_tiles;
    const double sum = (double)tn_acc_size(p->dtype), point = (double)points(w) * sum,
                 element = (double)tenon_dtype_size((tenon_dtype)p->dtype),
                 tile = (double)(w->tile * w->tile) * element;
    const tn_work transforms = {.launches = 1 + 2 * sets,
                                .bytes =
                                    (double)l->u_point * (9 * element + point) +
                                    all * (double)(channels_of(p) + filters_of(p)) * (point + tile),
                                .reach = REACH};
    conv_product product;
    if (make_product("configure", w, l, l->set_tiles, &product) != TENON_OK) {
        choice->time = INFINITY;
        return;
    }
    choice->time = sets * tn_conv_product_time(context, &product);
    tn_choice_add(context, choice, &transforms);
}

static const char *conv_winograd_gemm_configure(tenon_context *context, const tn_problem *problem,
                                                tn_choice *choice)
{
    const conv_problem *p = (const conv_problem *)problem;
    const winograd w = {.conv = p, .tile = tn_winograd_tile(choice->solver)};
    layout *l = TN_LAYOUT(layout, choice);
    const char *why = conv_winograd_gemm_refuses(&w);
    if (why != NULL)
        return why;
    choice->never_chosen = context->device.is_cpu ? "made for GPUs" : NULL;
    *l = conv_winograd_gemm_lay_out(&w);
    choice->workspace = (uint64_t)l->elements * tn_acc_size(p->dtype);
    conv_winograd_gemm_add_time(context, &w, l, choice);
    tn_choice_options(context, choice, "-DTENON_DTYPE=%u -DTENON_ACT_BUILD=%u -DTENON_TILE=%d",
                      p->dtype, tn_activation_is_build(p->activation) ? p->activation : 0u,
                      (int)w.tile);
    return NULL;
}

/* A kernel, the tensors of the convolution that it accesses, and its work-items. */
typedef struct transform {
    const char *kernel;
    bool takes[CONV_OPERANDS];
    int64_t items;
} transform;

static tenon_status record_transform(const char *caller, tn_recording *recording,
                                     const conv_problem *p, const tn_choice *choice,
                                     const transform *t, winograd_gemm_args args)
{
    tn_patch patches[CONV_OPERANDS + TN_EPILOGUE_SCALARS + 1];
    tn_launch launch = {.source = "conv/forward/winograd_gemm",
                        .options = choice->options,
                        .kernel = t->kernel,
                        .dimensions = 1,
                        .global = {(size_t)tn_round_up(t->items, GROUP)},
                        .local = {GROUP},
                        .args_size = sizeof args};
    tn_conv_direct_launch(p, t->takes, CONV_Y, &launch, &args.conv, patches);
    uint32_t count = 0;
    for (int i = 0; i < CONV_OPERANDS; i++)
        if (t->takes[i])
            launch.operands[count++] = launch.operands[i];
    launch.operands[count++] = TN_WORKSPACE;
    launch.operand_count = count;
    patches[launch.patch_count++] =
        (tn_patch){TN_PATCH_OFFSET, TN_WORKSPACE, offsetof(winograd_gemm_args, work_offset),
                   (uint32_t)tn_acc_size(p->dtype)};
    return tn_record(caller, recording, &launch);
}

static tenon_status record_set(const char *caller, tn_recording *recording, const winograd *w,
                               const tn_choice *choice, winograd_gemm_args *args)
{
    const transform tiles = {"conv_winograd_tile_points",
                             {[CONV_X] = true},
                             args->count * channels_of(w->conv)},
                    outputs = {"conv_winograd_outputs",
                               {[CONV_C] = true, [CONV_BIAS] = true, [CONV_Y] = true},
                               args->count * filters_of(w->conv)};
    conv_product product;
    TN_TRY(make_product(caller, w, TN_LAYOUT(const layout, choice), args->count, &product));
    TN_TRY(record_transform(caller, recording, w->conv, choice, &tiles, *args));
    TN_TRY(tn_conv_product_record(caller, recording, &product));
    return record_transform(caller, recording, w->conv, choice, &outputs, *args);
}

static tenon_status conv_winograd_gemm_launch(const char *caller, tn_recording *recording,
                                              const tn_problem *problem, const tn_choice *choice)
{
    const conv_problem *p = (const conv_problem *)problem;
    const winograd w = {.conv = p, .tile = tn_winograd_tile(choice->solver)};
    const layout *l = TN_LAYOUT(const layout, choice);
    const transform filters = {
        "conv_winograd_filter_points", {[CONV_W] = true}, filters_of(p) * p->c};
    winograd_gemm_args args = {.u_point = l->u_point,
                               .v = l->v,
                               .m = l->m,
                               .channels = channels_of(p),
                               .filters = filters_of(p),
                               .tiles = {(tenon_i32)l->tiles[0], (tenon_i32)l->tiles[1]}};
    TN_TRY(record_transform(caller, recording, p, choice, &filters, args));
    for (int64_t first = 0; first < l->all_tiles; first += l->set_tiles) {
        args.first = (tenon_i32)first;
        args.count = (tenon_i32)tn_min_i64(l->set_tiles, l->all_tiles - first);
        TN_TRY(record_set(caller, recording, &w, choice, &args));
    }
    return TENON_OK;
}

const tn_solver tn_conv_winograd2_gemm = {
    .name = "winograd2_gemm",
    .serves = "3 × 3 filters with stride and dilation 1, unless TENON_CONV_EXACT is requested, on "
              "GPUs: a product for each of a tile's 16 points",
    .needs = "workspace for transformed tiles, filters and products; processes tiles in sets that "
             "fit the limit",
    .awkward = TN_WINOGRAD_AWKWARD,
    .configure = conv_winograd_gemm_configure,
    .launch = conv_winograd_gemm_launch};

const tn_solver tn_conv_winograd4_gemm = {
    .name = "winograd4_gemm",
    .serves = "3 × 3 filters with stride and dilation 1, unless TENON_CONV_EXACT is requested, on "
              "GPUs: a product for each of a tile's 36 points",
    .needs = "workspace for transformed tiles, filters and products; processes tiles in sets that "
             "fit the limit",
    .awkward = TN_WINOGRAD_AWKWARD,
    .inexact = true,
    .configure = conv_winograd_gemm_configure,
    .launch = conv_winograd_gemm_launch};
