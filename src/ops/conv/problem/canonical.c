/* Conversion of the caller's views and geometry to the canonical problems, with the checks that
 * they need. */
#include "base/checked.h"
#include "base/shape.h"
#include "ops/conv/problem/problem.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Returns true if the geometry of one spatial dimension is valid. */
static bool geometry_valid(const tenon_conv_geometry *g, uint32_t d)
{
    return g->stride[d] >= 1 && g->dilation[d] >= 1 && g->pad_begin[d] >= 0 && g->pad_end[d] >= 0;
}

/* Computes the padded image's size minus the dilated filter's. Returns false on overflow. */
static bool free_length(const tenon_conv_geometry *g, uint32_t d, int64_t size, int64_t filter,
                        int64_t *length)
{
    int64_t padded, reach;
    return tn_add_i64(size, g->pad_begin[d], &padded) &&
           tn_add_i64(padded, g->pad_end[d], &padded) &&
           tn_mul_i64(filter - 1, g->dilation[d], &reach) && tn_add_i64(padded, -reach - 1, length);
}

TENON_API int64_t tenon_conv_output_size(const tenon_conv_geometry *geometry, uint32_t dim,
                                         int64_t size, int64_t filter)
{
    int64_t length;
    if (geometry == NULL || dim >= TENON_MAX_SPATIAL || size < 0 || filter < 1 ||
        !geometry_valid(geometry, dim) || !free_length(geometry, dim, size, filter, &length))
        return -1;
    return length < 0 ? 0 : length / geometry->stride[dim] + 1;
}

int64_t tn_conv_padding_end(const tenon_conv_geometry *g, uint32_t d)
{
    return tn_max_i64(g->stride[d], g->dilation[d]);
}

/* Returns true if all values are zero, like members that an initializer omits. */
static bool all_zero(const int64_t values[TENON_MAX_SPATIAL])
{
    for (int d = 0; d < TENON_MAX_SPATIAL; d++)
        if (values[d] != 0)
            return false;
    return true;
}

#define CLEARED                                                                                    \
    "; .geometry = {…} sets the members that it does not name to 0: set them one by one "        \
    "(.geometry.pad_begin = {1, 1})"

tenon_status tn_conv_check_geometry(const char *caller, const tenon_conv_geometry *g, uint32_t d)
{
    const struct {
        const char *name;
        const int64_t *values;
        int64_t least;
    } entries[] = {{"stride", g->stride, 1},
                   {"dilation", g->dilation, 1},
                   {"pad_begin", g->pad_begin, 0},
                   {"pad_end", g->pad_end, 0}};
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
        if (entries[i].values[d] < entries[i].least)
            return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                           "%s: params: geometry: %s[%u] is %" PRId64 ", must be at least %" PRId64
                           "%s",
                           caller, entries[i].name, d, entries[i].values[d], entries[i].least,
                           all_zero(entries[i].values) ? CLEARED : "");
    return TENON_OK;
}

/* Fills in spatial dimension `at` of a window; `d` is the number of the dimension in the caller's
 * tensors. */
static tenon_status take_dimension(const char *caller, const tenon_conv_geometry *g, uint32_t d,
                                   int at, int64_t size, int64_t filter, conv_window *v)
{
    static const char names[] = {'D', 'H', 'W'};
    TN_TRY(tn_conv_check_geometry(caller, g, d));
    int64_t out = tenon_conv_output_size(g, d, size, filter);
    if (out < 0)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: the sizes along %c are invalid or overflow: image %" PRId64
                       ", filter %" PRId64 ", padding %" PRId64 " + %" PRId64 ", dilation %" PRId64,
                       caller, names[at], size, filter, g->pad_begin[d], g->pad_end[d],
                       g->dilation[d]);
    v->size[at] = size;
    v->filter[at] = filter;
    v->out[at] = out;
    v->stride[at] = g->stride[d];
    v->dilation[at] = filter > 1 ? g->dilation[d] : 1;
    v->start[at] = -g->pad_begin[d];
    return TENON_OK;
}

/* Fills in a window. `filter` has an entry for each spatial dimension of x. */
static tenon_status take_window(const char *caller, const tenon_conv_geometry *g,
                                const tenon_tensor *x, const int64_t *filter, conv_window *v)
{
    int64_t taps = 1;
    int missing = CONV_RANK - (int)x->rank;
    for (int i = 0; i < 3; i++) {
        int d = i - missing;
        v->size[i] = v->filter[i] = v->out[i] = v->stride[i] = v->dilation[i] = 1;
        if (d >= 0)
            TN_TRY(take_dimension(caller, g, (uint32_t)d, i, x->shape[2 + d], filter[d], v));
        if (!tn_mul_i64(taps, v->filter[i], &taps))
            return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                           "%s: the number of the filter's taps overflows", caller);
    }
    return TENON_OK;
}

tenon_status tn_conv_check_image_rank(const char *caller, const char *name,
                                      const tenon_tensor *view)
{
    if (view->rank >= 3 && view->rank <= CONV_RANK)
        return TENON_OK;
    return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                   "%s: %s: rank is %u, must be 3, 4 or 5: N, C and the spatial dimensions", caller,
                   name, view->rank);
}

tenon_status tn_conv_check_rank(const char *caller, const char *name, const tenon_tensor *view,
                                uint32_t rank)
{
    if (view->rank == rank)
        return TENON_OK;
    return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s: rank is %u, must be %u", caller, name,
                   view->rank, rank);
}

bool tn_conv_channels_last(const tenon_tensor *x, const tenon_tensor *w, int64_t groups)
{
    int64_t channels;
    return x != NULL && w != NULL && x->rank >= 3 && x->rank <= CONV_RANK && x->rank == w->rank &&
           groups >= 1 && tn_mul_i64(w->shape[1], groups, &channels) && x->shape[1] != channels &&
           x->shape[x->rank - 1] == channels;
}

static tenon_status check_filters(const char *caller, int64_t groups, const conv_views *views)
{
    const tenon_tensor *x = views->x, *w = views->w;
    if (groups < 1)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: params: groups is %" PRId64 ", must be at least 1", caller, groups);
    if (w->shape[0] % groups != 0 || x->shape[1] % groups != 0 ||
        x->shape[1] / groups != w->shape[1])
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: %s: %" PRId64 " filters of %" PRId64 " channels do not fit %" PRId64
                       " channels of %s in %" PRId64 " group%s",
                       caller, views->w_name, w->shape[0], w->shape[1], x->shape[1], views->x_name,
                       groups, groups == 1 ? "" : "s");
    for (uint32_t d = 2; d < w->rank; d++)
        if (w->shape[d] < 1)
            return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                           "%s: %s: size of dimension %u is %" PRId64 ", must be at least 1",
                           caller, views->w_name, d, w->shape[d]);
    return TENON_OK;
}

/* Sets the number of outputs from y. A reversed convolution may have fewer outputs than fit its
 * image: output padding of at least the stride adds elements to the image that no tap reaches. */
static void take_given_outputs(const tenon_conv_geometry *g, const conv_views *views,
                               conv_window *v)
{
    for (uint32_t d = 0; d + 2 < views->y->rank; d++) {
        const int at = CONV_RANK - (int)views->y->rank + (int)d;
        const int64_t given = views->y->shape[2 + d];
        int64_t length;
        if (given >= 1 && given <= v->out[at] &&
            free_length(g, d, v->size[at], v->filter[at], &length) &&
            length - (given - 1) * g->stride[d] < tn_conv_padding_end(g, d))
            v->out[at] = given;
    }
}

/* Appends to the error message the geometry that determines the output's spatial sizes. */
static void append_geometry(const tenon_conv_geometry *g, uint32_t spatial)
{
    char text[4 * 160 + 64], stride[160], dilation[160], begin[160], end[160];
    snprintf(text, sizeof text, " (stride %s, dilation %s, pad_begin %s, pad_end %s)",
             tn_shape_text(spatial, g->stride, stride),
             tn_shape_text(spatial, g->dilation, dilation),
             tn_shape_text(spatial, g->pad_begin, begin), tn_shape_text(spatial, g->pad_end, end));
    tn_fail_append(text);
}

static tenon_status check_output(const char *caller, const tenon_conv_geometry *geometry,
                                 const conv_views *views, const conv_problem *p)
{
    const tenon_tensor *y = views->y;
    const uint32_t spatial = y->rank - 2;
    int64_t shape[CONV_RANK] = {p->n, views->w->shape[0]};
    memcpy(shape + 2, p->window.out + 3 - spatial, spatial * sizeof *shape);
    tenon_status status = tn_shape_check(caller, views->y_name, y, y->rank, shape);
    if (status != TENON_OK && memcmp(shape + 2, y->shape + 2, spatial * sizeof *shape) != 0)
        append_geometry(geometry, spatial);
    return status;
}

/* Sets the strides of N, C and the spatial dimensions; the latter are aligned to the right. */
static void spread_strides(int64_t to[CONV_RANK], uint32_t rank, const int64_t *stride)
{
    for (uint32_t d = 0; d < rank; d++)
        to[d < 2 ? d : d + CONV_RANK - rank] = stride[d];
}

/* Strides of dimensions of size 1 are irrelevant: they are set to 0, and equivalent problems become
 * equal. */
void tn_conv_copy_strides(int64_t to[CONV_RANK], const tenon_tensor *view)
{
    int64_t stride[CONV_RANK];
    for (uint32_t d = 0; d < view->rank; d++)
        stride[d] = view->shape[d] == 1 ? 0 : view->stride[d];
    spread_strides(to, view->rank, stride);
}

uint32_t tn_conv_flags(const tenon_epilogue *epilogue, const tenon_tensor *c,
                       const tenon_tensor *bias)
{
    return (tn_epilogue_adds(epilogue, c) ? CONV_HAS_C : 0) | (bias != NULL ? CONV_HAS_BIAS : 0) |
           (epilogue->alpha == 0 ? CONV_SKIP_XW : 0);
}

tenon_status tn_conv_take_epilogue(const char *caller, const tenon_epilogue *epilogue,
                                   const tenon_tensor *c, const tenon_tensor *bias,
                                   const tenon_tensor *output, conv_problem *p)
{
    int64_t stride[CONV_RANK];
    p->activation = epilogue->activation.kind;
    p->flags = tn_conv_flags(epilogue, c, bias);
    if (bias != NULL)
        TN_TRY(tn_shape_check(caller, "bias", bias, 1, &output->shape[1]));
    if (bias != NULL && bias->shape[0] != 1)
        p->bias = bias->stride[0];
    if (c == NULL)
        return TENON_OK;
    TN_TRY(tn_epilogue_bias_hint(tn_broadcast(caller, "c", c, output->rank, output->shape, stride),
                                 bias));
    if ((p->flags & CONV_HAS_C) != 0) /* otherwise its strides are irrelevant and remain 0 */
        spread_strides(p->res, output->rank, stride);
    return TENON_OK;
}

tenon_status tn_conv_take_post(const char *caller, const tenon_tensor *const term[POST_TERMS],
                               const tenon_tensor *output, conv_problem *p)
{
    int64_t *const strides[] = {&p->post_scale, &p->post_shift};
    for (int t = POST_SCALE; t <= POST_SHIFT; t++) {
        if (term[t] == NULL)
            continue;
        TN_TRY(tn_shape_check(caller, tn_post_names[t], term[t], 1, &output->shape[1]));
        *strides[t] = term[t]->shape[0] != 1 ? term[t]->stride[0] : 0;
        p->flags |= TENON_POST_SCALE << t;
    }
    if (term[POST_RESIDUAL] == NULL)
        return TENON_OK;
    TN_TRY(tn_shape_check(caller, tn_post_names[POST_RESIDUAL], term[POST_RESIDUAL], output->rank,
                          output->shape));
    tn_conv_copy_strides(p->residual, term[POST_RESIDUAL]);
    p->flags |= TENON_POST_RESIDUAL;
    return TENON_OK;
}

tenon_status tn_conv_check_call(const tn_call *call, const tenon_epilogue *epilogue)
{
    const tn_argument *o = call->operands;
    const tenon_dtype dtype = o[CONV_X].view->dtype;
    TN_TRY(tn_epilogue_check(call->caller, epilogue, o[CONV_C].view));
    TN_TRY(tn_float_check(call->caller, "x", call->context, dtype));
    for (int i = CONV_W; i < CONV_VIEWS; i++)
        TN_TRY(tn_same_dtype_check(call->caller, o[i].name, o[i].view, "x", dtype));
    return TENON_OK;
}

tenon_status tn_conv_take_shapes(const char *caller, int64_t groups,
                                 const tenon_conv_geometry *geometry, const conv_views *views,
                                 conv_problem *p)
{
    const tenon_tensor *x = views->x, *w = views->w, *y = views->y;
    tn_problem_begin(&p->head, sizeof *p);
    for (int i = 0; i < CONV_VIEWS; i++)
        p->operand[i] = (uint8_t)i;
    TN_TRY(tn_conv_check_image_rank(caller, views->x_name, x));
    TN_TRY(tn_conv_check_rank(caller, views->w_name, w, x->rank));
    TN_TRY(tn_conv_check_rank(caller, views->y_name, y, x->rank));
    TN_TRY(check_filters(caller, groups, views));
    TN_TRY(take_window(caller, geometry, x, w->shape + 2, &p->window));
    if (views->is_transposed)
        take_given_outputs(geometry, views, &p->window);
    p->dtype = y->dtype;
    p->n = x->shape[0];
    p->groups = groups;
    p->c = w->shape[1];
    p->k = w->shape[0] / groups;
    TN_TRY(check_output(caller, geometry, views, p));
    tn_conv_copy_strides(p->x, x);
    tn_conv_copy_strides(p->w, w);
    tn_conv_copy_strides(p->y, y);
    return TENON_OK;
}

tenon_status tn_conv_canonicalize(const char *caller, const tenon_conv_params *params,
                                  const tenon_tensor *x, const tenon_tensor *w,
                                  const tenon_tensor *c, const tenon_tensor *bias,
                                  const tenon_tensor *y, conv_problem *p)
{
    const conv_views views = {"x", "w", "y", x, w, y};
    TN_TRY(tn_conv_take_shapes(caller, params->groups, &params->geometry, &views, p));
    return tn_conv_take_epilogue(caller, &params->epilogue, c, bias, y, p);
}

static tenon_status check_columns(const char *caller, const tenon_tensor *x,
                                  const tenon_tensor *col, const conv_window *v)
{
    int64_t rows, plane, pixels;
    if (!tn_mul_i64(tn_window_taps(v), x->shape[1], &rows) ||
        !tn_mul_i64(v->out[1], v->out[2], &plane) || !tn_mul_i64(plane, v->out[0], &pixels))
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: params: filter: the size of col overflows", caller);
    const int64_t shape[] = {x->shape[0], rows, pixels};
    return tn_shape_check(caller, "col", col, 3, shape);
}

tenon_status tn_im2col_canonicalize(const char *caller, const tenon_im2col_params *params,
                                    const tenon_tensor *x, const tenon_tensor *col,
                                    im2col_problem *p)
{
    const conv_window *v = &p->window;
    tn_problem_begin(&p->head, sizeof *p);
    TN_TRY(tn_conv_check_image_rank(caller, "x", x));
    TN_TRY(tn_conv_check_rank(caller, "col", col, 3));
    for (uint32_t d = 0; d + 2 < x->rank; d++)
        if (params->filter[d] < 1)
            return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                           "%s: params: filter[%u] is %" PRId64 ", must be at least 1", caller, d,
                           params->filter[d]);
    TN_TRY(take_window(caller, &params->geometry, x, params->filter, &p->window));
    TN_TRY(check_columns(caller, x, col, v));
    p->dtype = x->dtype;
    p->n = x->shape[0];
    p->c = x->shape[1];
    tn_conv_copy_strides(p->x, x);
    p->col[0] = col->stride[0];
    p->col[4] = col->stride[1];
    p->col[7] = col->stride[2];
    for (int d = 3; d > 0; d--) /* s, r, t to r, t, c */
        p->col[d] = p->col[d + 1] * v->filter[d - 1];
    for (int d = 6; d > 4; d--) /* q, p to p, o */
        p->col[d] = p->col[d + 1] * v->out[d - 4];
    return TENON_OK;
}

uint64_t tn_conv_paths(const tn_problem *problem)
{
    const conv_problem *p = (const conv_problem *)problem;
    return tn_epilogue_paths(p->flags, p->activation);
}

int64_t tn_window_taps(const conv_window *window)
{
    return window->filter[0] * window->filter[1] * window->filter[2];
}

int64_t tn_window_pixels(const conv_window *window)
{
    return window->out[0] * window->out[1] * window->out[2];
}

bool tn_window_empty(const conv_window *window)
{
    return window->size[0] == 0 || window->size[1] == 0 || window->size[2] == 0;
}

double tn_conv_image_elements(const conv_problem *p)
{
    const int64_t *size = p->window.size;
    return (double)p->groups * (double)p->c * (double)size[0] * (double)size[1] * (double)size[2];
}

double tn_conv_work(const conv_problem *p)
{
    return (double)p->n * (double)p->groups * (double)p->k * (double)p->c *
           (double)tn_window_taps(&p->window) * (double)tn_window_pixels(&p->window);
}
