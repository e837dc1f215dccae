/* Awkward cases (sizes and layouts on which the self-check tries a solver) of convolution, its
 * gradients, the transposed convolution, im2col and col2im. Their tensors have the layouts of the
 * given problem; a solver may set some of the sizes. */
#include "base/checked.h"
#include "check/awkward.h"
#include "ops/conv/forward/cpu_direct.h"
#include "ops/conv/depthwise/depthwise.h"
#include "ops/conv/problem/gradient.h"
#include "ops/conv/implicit/implicit.h"
#include "ops/conv/implicit/tiled.h"
#include "ops/registry.h"

#include <stddef.h>
#include <string.h>

/* Sizes of a convolution; channels and filters are per group. Images with fewer dimensions use the
 * same kernels, with one element in each missing dimension. */
typedef struct sizes {
    int64_t n, groups, channels, filters;
    int64_t image[3], filter[3], out[3];
    int64_t rows;      /* rows of an image that is split into several depthwise tiles */
    int64_t unit;      /* channels, offsets and gaps are multiples of it */
    bool same_options; /* see tn_case */
    int64_t shift;     /* additional offset, in elements, of the gathered tensor (x or dy) */
    tenon_conv_geometry geometry;
} sizes;

/* Default sizes. A filter has more taps than a block of K. */
static const sizes of_result = {
    .n = 2,
    .groups = 2,
    .channels = 35,
    .filters = 7,
    .image = {4, 6, 35},
    .filter = {2, 3, 2},
    .rows = 71,
    .unit = 1,
    .geometry = {
        .stride = {1, 2, 1}, .dilation = {1, 2, 1}, .pad_begin = {1, 2, 1}, .pad_end = {0, 0, 2}}};
static const sizes of_gradient = {
    .n = 2,
    .groups = 2,
    .channels = 5,
    .filters = 7,
    .image = {1, 11, 37},
    .filter = {1, 3, 2},
    .rows = 133,
    .unit = 1,
    .geometry = {
        .stride = {1, 1, 2}, .dilation = {1, 2, 1}, .pad_begin = {0, 2, 1}, .pad_end = {0, 0, 2}}};

/* Names of the sizes in the solvers' awkward cases. */
static const struct {
    const char *name;
    size_t at;
} names[] = {{"n", offsetof(sizes, n)},
             {"channels", offsetof(sizes, channels)},
             {"filters", offsetof(sizes, filters)},
             {"d", offsetof(sizes, image[0])},
             {"h", offsetof(sizes, image[1])},
             {"w", offsetof(sizes, image[2])},
             {"t", offsetof(sizes, filter[0])},
             {"r", offsetof(sizes, filter[1])},
             {"s", offsetof(sizes, filter[2])},
             {"unit", offsetof(sizes, unit)},
             {"shift", offsetof(sizes, shift)},
             {"stride_h", offsetof(sizes, geometry.stride[1])},
             {"stride_w", offsetof(sizes, geometry.stride[2])},
             {"dilation_h", offsetof(sizes, geometry.dilation[1])},
             {"dilation_w", offsetof(sizes, geometry.dilation[2])}};

/* Sets groups of one channel and `filters` filters, and an image with several tiles or several
 * blocks of channels; `narrow` is its width if positive. */
static void make_depthwise(const conv_problem *like, int64_t filters, int64_t narrow, sizes *s)
{
    static const int64_t windows[][3] = {{1, 2, 4}, {1, 3, 3}, {1, 5, 5}};
    const bool along_channels = tn_depthwise_along_channels(like, 2);
    memcpy(s->filter, windows[tn_depthwise_taps(&like->window) / 2], sizeof s->filter);
    s->groups = along_channels ? 71 : 3;
    s->channels = 1;
    s->filters = along_channels ? 1 : filters;
    s->same_options = true;
    if (along_channels)
        return;
    if (narrow > 0)
        s->image[2] = tn_max_i64(narrow, s->filter[2] - 3); /* three columns of padding */
    s->image[0] = s->image[0] > 1 ? 2 : 1;
    s->image[1] = s->rows;
}

static void find_outputs(sizes *s)
{
    for (uint32_t d = 0; d < 3; d++)
        s->out[d] = tenon_conv_output_size(&s->geometry, d, s->image[d], s->filter[d]);
}

static bool is_set(const tn_choice *choice, uint32_t number, const char *name)
{
    return tn_awkward_size(choice, number, name, 0) != 0;
}

static sizes take_sizes(const sizes *usual, const conv_problem *like, const tn_choice *choice,
                        uint32_t number)
{
    sizes s = *usual;
    tenon_conv_geometry *g = &s.geometry;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        int64_t *size = (int64_t *)((char *)&s + names[i].at);
        *size = tn_awkward_size(choice, number, names[i].name, *size);
    }
    const int64_t filters = tn_awkward_size(choice, number, "depthwise", 0);
    if (filters > 0)
        make_depthwise(like, filters, tn_awkward_size(choice, number, "narrow", 0), &s);
    if (s.image[0] == 1)
        g->pad_begin[0] = 0;
    if (s.filter[0] * s.filter[1] * s.filter[2] == 1) {
        memset(g->pad_begin, 0, sizeof g->pad_begin);
        memset(g->pad_end, 0, sizeof g->pad_end);
    }
    find_outputs(&s);
    return s;
}

/* Returns a number of channels or filters that is loaded in the same way as the given one. */
static int64_t depth_like(int64_t depth)
{
    return depth % 8 == 0 ? 24 : depth % 4 == 0 ? 20 : 19;
}

/* Rounds channels and filters to multiples of the unit, if one is set and those of the given
 * problem are multiples of it. */
static void take_unit(const conv_problem *like, sizes *s)
{
    if (like->c % s->unit == 0)
        s->channels = tn_round_up(s->channels, s->unit);
    if (like->k % s->unit == 0)
        s->filters = tn_round_up(s->filters, s->unit);
}

/* Returns true if the channels are the contiguous dimension. */
static bool channels_last(const int64_t stride[CONV_RANK])
{
    return stride[1] == 1 && stride[4] != 1;
}

/* Returns a view of images in the order N C D H W, or N D H W C if `last`. There are gaps of a few
 * units between channels or pixels, and between images, and also between rows unless `join`. */
static tenon_tensor image_view(uint32_t dtype, bool last, bool join, int64_t n, int64_t c,
                               const int64_t size[3], int64_t unit)
{
    tenon_tensor view = {.offset = 3 * (uint64_t)unit * tenon_dtype_size((tenon_dtype)dtype),
                         .dtype = (tenon_dtype)dtype,
                         .rank = CONV_RANK,
                         .shape = {n, c, size[0], size[1], size[2]}};
    view.stride[4] = last ? c + 2 * unit : 1;
    view.stride[3] = size[2] * view.stride[4] + (join ? 0 : 3 * unit);
    view.stride[2] = size[1] * view.stride[3] + (join ? 0 : unit);
    view.stride[1] = last ? 1 : size[0] * view.stride[2] + unit;
    view.stride[0] = (last ? size[0] * view.stride[2] : c * view.stride[1]) + 5 * unit;
    return view;
}

static void shift_view(const sizes *s, tenon_tensor *view)
{
    view->offset += (uint64_t)s->shift * tenon_dtype_size(view->dtype);
}

static tenon_tensor dense_view(uint32_t dtype, int64_t n, int64_t c, const int64_t size[3])
{
    const int64_t shape[CONV_RANK] = {n, c, size[0], size[1], size[2]};
    return tenon_tensor_view((tenon_dtype)dtype, CONV_RANK, shape);
}

/* Returns filters whose taps have the order and the kind of stride of the given ones. */
static tenon_tensor filters_like(const conv_problem *like, const sizes *s)
{
    const int64_t k = s->groups * s->filters, c = s->channels, *size = s->filter;
    const bool rows_join = like->w[4] == 1 && like->w[3] == like->window.filter[2];
    conv_tap_order order;
    if (s->unit > 1 && channels_last(like->w)) /* filters of one tap match both orders */
        return image_view(like->dtype, true, rows_join, k, c, size, s->unit);
    if (!tn_conv_find_tap_order(like, &order))
        return image_view(like->dtype, channels_last(like->w), rows_join, k, c, size, s->unit);
    tenon_tensor view = image_view(like->dtype, order.channel_last, true, k, c, size, s->unit);
    int64_t taps = size[0] * size[1] * size[2], stride = order.stride == 1 ? 1 : 2;
    bool filters_first = (like->w[0] == 1 || like->k == 1) && stride != 1;
    if (filters_first)
        stride = k;
    view.stride[4] = order.channel_last ? c * stride : stride;
    view.stride[3] = size[2] * view.stride[4];
    view.stride[2] = size[1] * view.stride[3];
    view.stride[1] = order.channel_last ? stride : taps * stride;
    view.stride[0] = filters_first ? 1 : c * taps * stride + 3 * s->unit;
    return view;
}

/* Adds the residual and the bias if the given problem reads them; `image` is a view like the
 * output. */
static void take_epilogue(const conv_problem *like, const tenon_tensor *image,
                          const tenon_epilogue *epilogue, const tn_choice *choice, tn_case *c)
{
    if (epilogue->beta != 0)
        c->views[CONV_C] = *image;
    if ((like->flags & CONV_HAS_BIAS) != 0)
        c->views[CONV_BIAS] = tenon_tensor_view((tenon_dtype)like->dtype, 1, &image->shape[1]);
    for (int term = POST_SCALE; term <= POST_SHIFT; term++)
        if ((like->flags & TENON_POST_SCALE << term) != 0)
            c->views[CONV_POST + term] =
                tenon_tensor_view((tenon_dtype)like->dtype, 1, &image->shape[1]);
    if ((like->flags & TENON_POST_RESIDUAL) != 0)
        c->views[CONV_POST + POST_RESIDUAL] = *image;
    if (tn_post_tries_in_place(choice, like->flags))
        c->same[CONV_POST + POST_RESIDUAL] = CONV_Y + 1;
}

static bool has_post(const conv_problem *like)
{
    return (like->flags & TENON_POST_ANY) != 0;
}

static void take_views(const conv_problem *like, const sizes *s, const tn_choice *choice,
                       tn_case *c)
{
    tenon_conv_params *params = (tenon_conv_params *)c->params.bytes;
    int64_t y_stride, res_stride;
    const bool join = tn_conv_pixels_join(like, &y_stride, &res_stride);
    params->groups = s->groups;
    params->geometry = s->geometry;
    params->epilogue = tn_check_epilogue(like->flags, like->activation);
    c->views[CONV_X] = image_view(like->dtype, channels_last(like->x), join, s->n,
                                  s->groups * s->channels, s->image, s->unit);
    shift_view(s, &c->views[CONV_X]);
    c->views[CONV_W] = filters_like(like, s);
    c->views[CONV_Y] = image_view(like->dtype, channels_last(like->y), join, s->n,
                                  s->groups * s->filters, s->out, s->unit);
    take_epilogue(like, &c->views[CONV_Y], &params->epilogue, choice, c);
}

/* Limits the work per work-group of conv/cpu_direct, which makes several work-groups. Tries
 * problems that need less and less local memory, and keeps the first that fits, or the last, which
 * fits on every device that fits any problem. */
static void take_cut_views(const conv_problem *like, const tn_choice *choice, sizes *s, tn_case *c)
{
    static const struct {
        int64_t channels, filter[3];
        int32_t runs, panels; /* per work-group */
    } cuts[] = {
        {35, {2, 3, 2}, 4, 2}, {3, {2, 3, 2}, 4, 1}, {3, {1, 2, 2}, 1, 1}, {1, {1, 1, 1}, 1, 1}};
    bool fits = false;
    s->filters = tn_conv_cpu_direct_filters(c->context, like);
    memcpy(c->values, choice->values, sizeof c->values);
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts && !fits; i++) {
        conv_problem problem;
        s->channels = cuts[i].channels;
        memcpy(s->filter, cuts[i].filter, sizeof s->filter);
        find_outputs(s);
        take_views(like, s, choice, c);
        fits =
            tn_conv_canonicalize("self-check", (const tenon_conv_params *)c->params.bytes,
                                 &c->views[CONV_X], &c->views[CONV_W], NULL, NULL,
                                 &c->views[CONV_Y], &problem) == TENON_OK &&
            tn_conv_cpu_direct_cut(c->context, &problem, cuts[i].runs, cuts[i].panels, c->values);
    }
}

/* Usually makes cases with two strides along the rows, since kernels load strides of 1 or 2 as
 * vectors and other strides element by element. */
bool tn_conv_awkward(const tn_problem *problem, const tn_choice *choice, uint32_t number,
                     tn_case *c)
{
    const conv_problem *like = (const conv_problem *)problem;
    sizes usual = of_result;
    usual.geometry.stride[2] = 1 + number % 2;
    if (number >= (choice->solver->awkward != NULL ? tn_awkward_count(choice) : 2))
        return false;
    sizes s = take_sizes(&usual, like, choice, number);
    if (is_set(choice, number, "depth"))
        s.channels = depth_like(like->c);
    take_unit(like, &s);
    tn_awkward_begin(c, has_post(like) ? &tn_operation_conv_post : &tn_operation_conv);
    c->same_options = s.same_options;
    if (is_set(choice, number, "cut"))
        take_cut_views(like, choice, &s, c);
    else
        take_views(like, &s, choice, c);
    return true;
}

/* Operands of the gradients: x, w and y of the convolution. If filters are dense, the result is
 * not added to the output's contents. */
typedef struct backwards {
    sizes size;
    tenon_tensor x, w, y;
    tenon_epilogue epilogue;
} backwards;

static backwards take_backwards(const conv_problem *like, const tn_choice *choice, uint32_t number)
{
    sizes s = take_sizes(&of_gradient, like, choice, number);
    if (is_set(choice, number, "depth"))
        s.filters = depth_like(like->k);
    take_unit(like, &s);
    const int64_t k = s.groups * s.filters, c = s.groups * s.channels;
    const bool last = channels_last(like->x), y_last = channels_last(like->y);
    const bool w_last = s.unit > 1 && channels_last(like->w);
    backwards b = {s, image_view(like->dtype, last, false, s.n, c, s.image, s.unit),
                   image_view(like->dtype, w_last, false, k, s.channels, s.filter, s.unit),
                   image_view(like->dtype, y_last, false, s.n, k, s.out, s.unit),
                   tn_check_epilogue(like->flags, like->activation)};
    shift_view(&s, &b.y); /* read by both gradients */
    if (is_set(choice, number, "dense_images")) {
        b.x = dense_view(like->dtype, s.n, c, s.image);
        b.y = dense_view(like->dtype, s.n, k, s.out);
    }
    if (is_set(choice, number, "dense_filters")) {
        b.w = dense_view(like->dtype, k, s.channels, s.filter);
        b.epilogue.beta = 0;
    }
    return b;
}

static void begin_gradient(const tn_operation *operation, const backwards *b, tn_case *c)
{
    tenon_conv_backward_params *params = (tenon_conv_backward_params *)c->params.bytes;
    tn_awkward_begin(c, operation);
    c->same_options = b->size.same_options;
    params->groups = b->size.groups;
    params->geometry = b->size.geometry;
    params->beta = b->epilogue.beta;
}

bool tn_conv_backward_data_awkward(const tn_problem *problem, const tn_choice *choice,
                                   uint32_t number, tn_case *c)
{
    if (number >= tn_awkward_count(choice))
        return false;
    const backwards b = take_backwards((const conv_problem *)problem, choice, number);
    begin_gradient(&tn_operation_conv_backward_data, &b, c);
    c->views[0] = b.y;
    c->views[1] = b.w;
    c->views[2] = b.x;
    return true;
}

bool tn_conv_backward_filter_awkward(const tn_problem *problem, const tn_choice *choice,
                                     uint32_t number, tn_case *c)
{
    if (number >= tn_awkward_count(choice))
        return false;
    const backwards b = take_backwards((const conv_problem *)problem, choice, number);
    begin_gradient(&tn_operation_conv_backward_filter, &b, c);
    c->views[0] = b.x;
    c->views[1] = b.y;
    c->views[2] = b.w;
    return true;
}

bool tn_conv_transpose_awkward(const tn_problem *problem, const tn_choice *choice, uint32_t number,
                               tn_case *c)
{
    const conv_problem *like = (const conv_problem *)problem;
    tenon_conv_transpose_params *params = (tenon_conv_transpose_params *)c->params.bytes;
    if (number >= tn_awkward_count(choice))
        return false;
    const backwards b = take_backwards(like, choice, number);
    const sizes *s = &b.size;
    tn_awkward_begin(c, has_post(like) ? &tn_operation_conv_transpose_post
                                       : &tn_operation_conv_transpose);
    c->same_options = s->same_options;
    params->groups = s->groups;
    params->geometry = s->geometry;
    params->epilogue = b.epilogue;
    for (uint32_t d = 0; d < 3; d++)
        params->output_padding[d] = s->image[d] - tenon_conv_transpose_output_size(
                                                      &s->geometry, d, s->out[d], s->filter[d], 0);
    c->views[CONV_X] = b.y;
    c->views[CONV_W] = b.w;
    c->views[CONV_Y] = b.x;
    take_epilogue(like, &b.x, &params->epilogue, choice, c);
    return true;
}

/* Makes enough lines for several parts. One variant contains the kernels of both layouts. */
bool tn_conv_backward_bias_awkward(const tn_problem *problem, const tn_choice *choice,
                                   uint32_t number, tn_case *c)
{
    static const int64_t size[3] = {1, 61, 37}, filters = 3;
    const conv_bias_problem *like = (const conv_bias_problem *)problem;
    (void)choice;
    if (number == 2)
        return false;
    tn_awkward_begin(c, &tn_operation_conv_backward_bias);
    ((tenon_conv_backward_params *)c->params.bytes)->beta = like->adds != 0 ? -0.5 : 0;
    c->views[0] = image_view(like->dtype, number == 1, false, 2, filters, size, 1);
    c->views[1] = tenon_tensor_view((tenon_dtype)like->dtype, 1, &filters);
    return true;
}

/* Fills in the parameters and returns a view of the columns. Columns are contiguous along the taps
 * if `along_taps`. */
static tenon_tensor columns_view(tenon_dtype dtype, bool along_taps, const sizes *s,
                                 tenon_im2col_params *params)
{
    const int64_t *f = s->filter, *out = s->out;
    const int64_t shape[] = {s->n, s->channels * f[0] * f[1] * f[2], out[0] * out[1] * out[2]};
    tenon_tensor view = tenon_tensor_view(dtype, 3, shape);
    memcpy(params->filter, f, sizeof s->filter);
    params->geometry = s->geometry;
    if (along_taps) {
        view.stride[1] = 1;
        view.stride[2] = shape[1];
    }
    return view;
}

bool tn_im2col_awkward(const tn_problem *problem, const tn_choice *choice, uint32_t number,
                       tn_case *c)
{
    const im2col_problem *like = (const im2col_problem *)problem;
    sizes s = of_result;
    (void)choice;
    if (number == 1)
        return false;
    s.channels = 5;
    find_outputs(&s);
    tn_awkward_begin(c, &tn_operation_im2col);
    c->views[IM2COL_X] = image_view((uint32_t)like->dtype, channels_last(like->x), false, s.n,
                                    s.channels, s.image, 1);
    c->views[IM2COL_COL] = columns_view((tenon_dtype)like->dtype, like->col[1] == 1, &s,
                                        (tenon_im2col_params *)c->params.bytes);
    return true;
}

/* Makes a case of col2im as the last step of a convolution, with an epilogue and with columns in
 * another type. If the given problem is a call of tenon_col2im, a case of such a call precedes it.
 */
bool tn_col2im_awkward(const tn_problem *problem, const tn_choice *choice, uint32_t number,
                       tn_case *c)
{
    const col2im_problem *like = (const col2im_problem *)problem;
    const bool is_own =
        like->flags == 0 && like->activation == TENON_ACTIVATION_IDENTITY && like->col_acc == 0;
    const tenon_dtype dtype = (tenon_dtype)like->dtype;
    conv_folding_params *params = (conv_folding_params *)c->params.bytes;
    sizes s = of_gradient;
    (void)choice;
    if (number == (is_own ? 2 : 1))
        return false;
    s.channels = 10;
    find_outputs(&s);
    const bool alone = is_own && number == 0;
    const uint32_t x = alone ? 1 : COL2IM_X;
    tn_awkward_begin(c, alone ? &tn_operation_col2im : &tn_conv_folding);
    c->views[COL2IM_COL] = columns_view(like->col_acc ? tn_conv_sum_type(like->dtype) : dtype,
                                        like->col[1] == 1, &s, &params->columns);
    c->views[x] =
        image_view(like->dtype, channels_last(like->x), false, s.n, s.channels, s.image, 1);
    if (alone)
        return true;
    params->epilogue = tn_check_epilogue(like->flags, like->activation);
    if ((like->flags & CONV_HAS_C) != 0)
        c->views[COL2IM_RES] = c->views[x];
    if ((like->flags & CONV_HAS_BIAS) != 0)
        c->views[COL2IM_BIAS] = tenon_tensor_view(dtype, 1, &s.channels);
    return true;
}
