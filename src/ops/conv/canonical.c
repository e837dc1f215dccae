/* From the caller's views and geometry to the canonical problems. */
#include "base/checked.h"
#include "base/shape.h"
#include "ops/conv/internal.h"

#include <inttypes.h>
#include <string.h>

static const char spatial[] = "HWD";

/* Whether the entries of one spatial dimension make sense. */
static bool geometry_valid(const tenon_conv_geometry *g, uint32_t d)
{
    return g->stride[d] >= 1 && g->dilation[d] >= 1 && g->pad_begin[d] >= 0 && g->pad_end[d] >= 0;
}

/* The padded image's size less the dilated filter's, or false where one of them overflows. */
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

static tenon_status check_geometry(const char *operation, const tenon_conv_geometry *g, uint32_t d)
{
    const struct {
        const char *name;
        int64_t value, least;
    } entries[] = {{"stride", g->stride[d], 1},
                   {"dilation", g->dilation[d], 1},
                   {"pad_begin", g->pad_begin[d], 0},
                   {"pad_end", g->pad_end[d], 0}};
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
        if (entries[i].value < entries[i].least)
            return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                           "%s: params: geometry: %s[%u] is %" PRId64 ", must be at least %" PRId64,
                           operation, entries[i].name, d, entries[i].value, entries[i].least);
    return TENON_OK;
}

/* Fills in one spatial dimension of a window. */
static tenon_status take_dimension(const char *operation, const tenon_conv_geometry *g, uint32_t d,
                                   int64_t size, int64_t filter, int64_t *output)
{
    TN_TRY(check_geometry(operation, g, d));
    *output = tenon_conv_output_size(g, d, size, filter);
    if (*output < 0)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: the sizes along %c are invalid or overflow: image %" PRId64
                       ", filter %" PRId64 ", padding %" PRId64 " + %" PRId64 ", dilation %" PRId64,
                       operation, spatial[d], size, filter, g->pad_begin[d], g->pad_end[d],
                       g->dilation[d]);
    return TENON_OK;
}

static tenon_status take_window(const char *operation, const tenon_conv_geometry *g,
                                const tenon_tensor *x, int64_t r, int64_t s, conv_window *v)
{
    v->h = x->shape[2];
    v->w = x->shape[3];
    v->r = r;
    v->s = s;
    TN_TRY(take_dimension(operation, g, 0, v->h, r, &v->p));
    TN_TRY(take_dimension(operation, g, 1, v->w, s, &v->q));
    v->stride_h = g->stride[0];
    v->stride_w = g->stride[1];
    v->dilation_h = g->dilation[0];
    v->dilation_w = g->dilation[1];
    v->h_start = -g->pad_begin[0];
    v->w_start = -g->pad_begin[1];
    return TENON_OK;
}

static tenon_status check_rank(const char *operation, const char *name, const tenon_tensor *view,
                               uint32_t rank)
{
    if (view->rank == rank)
        return TENON_OK;
    /* Images with one and three spatial dimensions are to come. */
    tenon_status status = rank == 4 && (view->rank == 3 || view->rank == 5)
                              ? TENON_ERROR_UNSUPPORTED
                              : TENON_ERROR_INVALID_ARGUMENT;
    return tn_fail(
        status, "%s: %s: rank is %u, must be %u%s", operation, name, view->rank, rank,
        status == TENON_ERROR_UNSUPPORTED ? ": only two spatial dimensions are implemented" : "");
}

static tenon_status check_shape(const char *operation, const char *name, const tenon_tensor *view,
                                uint32_t rank, const int64_t *shape)
{
    char got[160], wanted[160];
    if (view->rank == rank && memcmp(view->shape, shape, rank * sizeof *shape) == 0)
        return TENON_OK;
    return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s: shape is %s, must be %s", operation, name,
                   tn_shape_text(view->rank, view->shape, got), tn_shape_text(rank, shape, wanted));
}

static tenon_status check_filters(const char *operation, int64_t groups, const tenon_tensor *x,
                                  const tenon_tensor *w)
{
    if (groups < 1)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: params: groups is %" PRId64 ", must be at least 1", operation, groups);
    if (w->shape[0] % groups != 0 || x->shape[1] % groups != 0 ||
        x->shape[1] / groups != w->shape[1])
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: w: %" PRId64 " filters of %" PRId64 " channels do not fit %" PRId64
                       " channels of x in %" PRId64 " groups",
                       operation, w->shape[0], w->shape[1], x->shape[1], groups);
    if (w->shape[2] < 1 || w->shape[3] < 1)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: w: a filter of %" PRId64 "x%" PRId64 ", must be at least 1x1",
                       operation, w->shape[2], w->shape[3]);
    return TENON_OK;
}

static tenon_status check_output(const char *operation, const tenon_tensor *w,
                                 const tenon_tensor *bias, const tenon_tensor *y,
                                 const conv_problem *p)
{
    const int64_t filters = w->shape[0], shape[] = {p->n, filters, p->window.p, p->window.q};
    TN_TRY(check_shape(operation, "y", y, 4, shape));
    return bias != NULL ? check_shape(operation, "bias", bias, 1, &filters) : TENON_OK;
}

static void copy_strides(int64_t *to, const tenon_tensor *view)
{
    for (uint32_t d = 0; d < view->rank; d++)
        to[d] = view->shape[d] == 1 ? 0 : view->stride[d];
}

tenon_status tn_conv_canonicalise(const char *operation, const tenon_conv_params *params,
                                  const tenon_tensor *x, const tenon_tensor *w,
                                  const tenon_tensor *c, const tenon_tensor *bias,
                                  const tenon_tensor *y, conv_problem *p)
{
    const tenon_epilogue *epilogue = &params->epilogue;
    memset(p, 0, sizeof *p);
    p->head.size = sizeof *p;
    p->head.forced = -1;
    TN_TRY(check_rank(operation, "x", x, 4));
    TN_TRY(check_rank(operation, "w", w, 4));
    TN_TRY(check_rank(operation, "y", y, 4));
    TN_TRY(check_filters(operation, params->groups, x, w));
    TN_TRY(take_window(operation, &params->geometry, x, w->shape[2], w->shape[3], &p->window));
    p->dtype = y->dtype;
    p->activation = epilogue->activation.kind;
    p->flags = (epilogue->beta != 0 ? CONV_HAS_C : 0) | (bias != NULL ? CONV_HAS_BIAS : 0) |
               (epilogue->alpha == 0 ? CONV_SKIP_XW : 0);
    p->n = x->shape[0];
    p->groups = params->groups;
    p->c = w->shape[1];
    p->k = w->shape[0] / params->groups;
    TN_TRY(check_output(operation, w, bias, y, p));
    copy_strides(p->x, x);
    copy_strides(p->w, w);
    copy_strides(p->y, y);
    if (c != NULL)
        TN_TRY(tn_broadcast(operation, "c", c, 4, y->shape, p->res));
    if (epilogue->beta == 0) /* not read, so that its strides must not tell problems apart */
        memset(p->res, 0, sizeof p->res);
    if (bias != NULL)
        copy_strides(&p->bias, bias);
    return TENON_OK;
}

tenon_status tn_im2col_canonicalise(const char *operation, const tenon_im2col_params *params,
                                    const tenon_tensor *x, const tenon_tensor *col,
                                    im2col_problem *p)
{
    int64_t r = params->filter[0], s = params->filter[1], taps, rows, pixels;
    memset(p, 0, sizeof *p);
    p->head.size = sizeof *p;
    p->head.forced = -1;
    TN_TRY(check_rank(operation, "x", x, 4));
    TN_TRY(check_rank(operation, "col", col, 3));
    for (int d = 0; d < 2; d++)
        if (params->filter[d] < 1)
            return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                           "%s: params: filter[%d] is %" PRId64 ", must be at least 1", operation,
                           d, params->filter[d]);
    TN_TRY(take_window(operation, &params->geometry, x, r, s, &p->window));
    if (!tn_mul_i64(r, s, &taps) || !tn_mul_i64(taps, x->shape[1], &rows) ||
        !tn_mul_i64(p->window.p, p->window.q, &pixels))
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: params: filter: the size of col overflows", operation);
    const int64_t shape[] = {x->shape[0], rows, pixels};
    TN_TRY(check_shape(operation, "col", col, 3, shape));
    p->dtype = x->dtype;
    p->n = x->shape[0];
    p->c = x->shape[1];
    p->col_operand = IM2COL_COL;
    copy_strides(p->x, x);
    const int64_t strides[] = {col->stride[0], col->stride[1] * taps,        col->stride[1] * s,
                               col->stride[1], col->stride[2] * p->window.q, col->stride[2]};
    memcpy(p->col, strides, sizeof p->col);
    return TENON_OK;
}

double tn_conv_work(const conv_problem *p)
{
    const conv_window *v = &p->window;
    return (double)p->n * (double)p->groups * (double)p->k * (double)p->c * (double)v->r *
           (double)v->s * (double)v->p * (double)v->q;
}
