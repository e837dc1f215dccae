/* Conversion of the caller's views and parameters to the canonical problem, in either direction. */
#include "base/checked.h"
#include "base/shape.h"
#include "ops/pool/internal.h"
#include "pool/args.h"
#include "pool/windows_args.h"

#include <inttypes.h>
#include <string.h>

static tenon_status pool_canonical_check_params(const char *caller, const tenon_pool_params *params)
{
    const uint32_t shapes =
        params->flags & (TENON_POOL_GLOBAL | TENON_POOL_CEIL | TENON_POOL_ADAPTIVE);
    TN_TRY(tn_kind_check(caller, "kind", params->kind, TENON_POOL_LP, "tenon_pool_kind"));
    if ((shapes & (shapes - 1)) != 0)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: params: flags is %u, must contain at most one of TENON_POOL_GLOBAL, "
                       "TENON_POOL_CEIL and TENON_POOL_ADAPTIVE",
                       caller, params->flags);
    if (params->kind == TENON_POOL_LP)
        TN_TRY(tn_number_check(caller, "p", params->p, 1, 100));
    return tn_reserved_check(caller, params->reserved);
}

/* Returns the number of windows along a dimension with valid geometry, as
 * tenon_pool_output_size. */
static int64_t windows_of(const tenon_pool_params *params, uint32_t d, int64_t size)
{
    const tenon_conv_geometry *g = &params->geometry;
    const int64_t out = tenon_conv_output_size(g, d, size, params->window[d]);
    if (out <= 0 || (params->flags & TENON_POOL_CEIL) == 0)
        return out;
    const int64_t reach = (params->window[d] - 1) * g->dilation[d] + 1,
                  rest = size + g->pad_begin[d] + g->pad_end[d] - reach - (out - 1) * g->stride[d];
    int64_t next;
    return rest > 0 && tn_mul_i64(out, g->stride[d], &next) && next < size + g->pad_begin[d]
               ? out + 1
               : out;
}

TENON_API int64_t tenon_pool_output_size(const tenon_pool_params *params, uint32_t dimension,
                                         int64_t size)
{
    if (params == NULL || dimension >= TENON_MAX_SPATIAL || size < 0 ||
        (params->flags & TENON_POOL_ADAPTIVE) != 0)
        return -1;
    if ((params->flags & TENON_POOL_GLOBAL) != 0)
        return 1;
    return windows_of(params, dimension, size);
}

/* Checks the parameters of spatial dimension `d`, as the caller counts them. */
static tenon_status check_geometry(const char *caller, const tenon_pool_params *params, uint32_t d)
{
    const tenon_conv_geometry *g = &params->geometry;
    const struct {
        const char *name;
        int64_t value, least;
    } entries[] = {{"window", params->window[d], 1},
                   {"geometry: stride", g->stride[d], 1},
                   {"geometry: dilation", g->dilation[d], 1},
                   {"geometry: pad_begin", g->pad_begin[d], 0},
                   {"geometry: pad_end", g->pad_end[d], 0}};
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
        if (entries[i].value < entries[i].least)
            return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                           "%s: params: %s[%u] is %" PRId64 ", must be at least %" PRId64, caller,
                           entries[i].name, d, entries[i].value, entries[i].least);
    return TENON_OK;
}

/* Returns true if every window along a dimension contains an element. If the image is at least as
 * long as the dilation, every window that overlaps it does. */
static bool windows_hold(const pool_problem *p, int d, int64_t pad_end)
{
    int64_t reach = (p->window[d] - 1) * p->dilation[d] + 1;
    if (-p->start[d] >= reach || pad_end >= reach || p->size[d] == 0)
        return false;
    bool sure = p->window[d] == 1 || p->size[d] >= p->dilation[d];
    for (int64_t o = 0; o < p->out[d] && !sure; o++) {
        int64_t at = o * p->step[d] + p->start[d];
        if (at < 0)
            at += tn_ceil_div(-at, p->dilation[d]) * p->dilation[d];
        if (at >= p->size[d])
            return false;
    }
    return true;
}

static tenon_status take_dimension(const char *caller, const tenon_pool_params *params,
                                   const pool_views *views, uint32_t d, int at, pool_problem *p)
{
    const tenon_conv_geometry *g = &params->geometry;
    int64_t size = views->x->shape[2 + d], window = params->window[d];
    TN_TRY(check_geometry(caller, params, d));
    int64_t out = windows_of(params, d, size);
    if (out < 0)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: params: window[%u] is %" PRId64
                       ", which overflows with padding %" PRId64 " + %" PRId64
                       ", dilation %" PRId64,
                       caller, d, window, g->pad_begin[d], g->pad_end[d], g->dilation[d]);
    int64_t reach = (window - 1) * g->dilation[d] + 1;
    if (out == 0)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: params: window[%u] is %" PRId64 " (%" PRId64
                       " dilated), larger than the padded %s, %" PRId64,
                       caller, d, window, reach, views->x_name,
                       size + g->pad_begin[d] + g->pad_end[d]);
    p->size[at] = size;
    p->out[at] = out;
    p->window[at] = window;
    p->step[at] = g->stride[d];
    p->dilation[at] = window > 1 ? g->dilation[d] : 1;
    p->start[at] = -g->pad_begin[d];
    p->limit[at] = size + g->pad_end[d];
    if (params->kind == TENON_POOL_AVERAGE &&
        (out - 1) * p->step[at] + p->start[at] + reach > p->limit[at])
        p->flags |= POOL_COUNT_PADDED;
    if (params->kind != TENON_POOL_AVERAGE && !windows_hold(p, at, g->pad_end[d]))
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: params: geometry: with padding %" PRId64 " + %" PRId64
                       " along dimension %u a window (%" PRId64
                       " dilated) contains only padding and no element of %s (size %" PRId64 ")",
                       caller, g->pad_begin[d], g->pad_end[d], d, reach, views->x_name, size);
    return TENON_OK;
}

/* Sets a dimension of y's windows that divide the image. The window is the largest one. */
static tenon_status take_adaptive(const char *caller, const pool_views *views, uint32_t d, int at,
                                  pool_problem *p)
{
    const int64_t size = views->x->shape[2 + d],
                  out = views->y->rank == views->x->rank ? views->y->shape[2 + d] : 1;
    int64_t product;
    if (size == 0 || out == 0)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: %s: size of dimension %u is 0, must be at least 1", caller,
                       size == 0 ? views->x_name : views->y_name, 2 + d);
    if (!tn_mul_i64(size + 1, out + 1, &product))
        return tn_fail(TENON_ERROR_UNSUPPORTED,
                       "%s: %s: the product of the sizes of dimension %u overflows", caller,
                       views->x_name, 2 + d);
    p->size[at] = size;
    p->out[at] = out;
    p->window[at] = p->step[at] = size / out;
    if (size % out != 0) {
        p->flags |= POOL_ADAPTIVE;
        p->window[at] = tn_min_i64(size / out + 2, size);
        p->step[at] = 1;
    }
    return TENON_OK;
}

/* Sets a dimension of a single window over the whole image. */
static tenon_status take_global(const char *caller, const pool_views *views, uint32_t d, int at,
                                pool_problem *p)
{
    int64_t size = views->x->shape[2 + d];
    if (size == 0)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: %s: size of dimension %u is 0, must be at least 1", caller,
                       views->x_name, 2 + d);
    p->size[at] = p->window[at] = size;
    return TENON_OK;
}

static tenon_status take_window(const char *caller, const tenon_pool_params *params,
                                const pool_views *views, pool_problem *p)
{
    uint32_t spatial = views->x->rank - 2;
    bool global = (params->flags & TENON_POOL_GLOBAL) != 0;
    int64_t taps = 1;
    for (int i = 0; i < 3; i++) {
        int d = i - (3 - (int)spatial);
        p->size[i] = p->out[i] = p->window[i] = p->step[i] = p->dilation[i] = p->limit[i] = 1;
        if (d >= 0 && (params->flags & TENON_POOL_ADAPTIVE) != 0)
            TN_TRY(take_adaptive(caller, views, (uint32_t)d, i, p));
        else if (d >= 0 && global)
            TN_TRY(take_global(caller, views, (uint32_t)d, i, p));
        else if (d >= 0)
            TN_TRY(take_dimension(caller, params, views, (uint32_t)d, i, p));
        if (!tn_mul_i64(taps, p->window[i], &taps))
            return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                           "%s: params: window: its number of taps overflows", caller);
    }
    return TENON_OK;
}

static tenon_status check_indices(const char *caller, const pool_views *views,
                                  const pool_problem *p)
{
    const tenon_tensor *indices = views->indices;
    if (p->kind != TENON_POOL_MAX)
        return indices == NULL
                   ? TENON_OK
                   : tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                             "%s: indices is given, but only maximum pooling has them; it must be "
                             "NULL",
                             caller);
    if (indices == NULL && views->image == NULL)
        return TENON_OK;
    int64_t plane;
    if (!tn_mul_i64(p->size[0], p->size[1], &plane) || !tn_mul_i64(plane, p->size[2], &plane) ||
        plane > INT64_C(1) + INT32_MAX)
        return tn_fail(TENON_ERROR_UNSUPPORTED,
                       "%s: indices: i32 is too small for the elements of a plane of %s, %" PRId64
                       "x%" PRId64 "x%" PRId64,
                       caller, views->x_name, p->size[0], p->size[1], p->size[2]);
    if (indices == NULL)
        return TENON_OK;
    if (indices->dtype != TENON_DTYPE_I32)
        return tn_fail(TENON_ERROR_UNSUPPORTED, "%s: indices: type is %s, must be i32", caller,
                       tenon_dtype_string(indices->dtype));
    return tn_shape_check(caller, "indices", indices, views->y->rank, views->y->shape);
}

tenon_status tn_pool_canonicalize(const char *caller, const tenon_pool_params *params,
                                  const pool_views *views, pool_problem *p)
{
    const tenon_tensor *x = views->x;
    tn_problem_begin(&p->head, sizeof *p);
    TN_TRY(pool_canonical_check_params(caller, params));
    if (x->rank < 3 || x->rank > POOL_RANK)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: %s: rank is %u, must be 3, 4 or 5: N, C and the spatial dimensions",
                       caller, views->x_name, x->rank);
    TN_TRY(take_window(caller, params, views, p));
    if ((p->flags & POOL_COUNT_PADDED) == 0)
        memset(p->limit, 0, sizeof p->limit);
    int64_t shape[POOL_RANK] = {x->shape[0], x->shape[1]};
    memcpy(shape + 2, p->out + POOL_RANK - x->rank, (x->rank - 2) * sizeof *shape);
    TN_TRY(tn_shape_check(caller, views->y_name, views->y, x->rank, shape));
    if (views->image != NULL)
        TN_TRY(tn_shape_check(caller, "x", views->image, x->rank, x->shape));
    p->dtype = x->dtype;
    p->kind = params->kind;
    p->n = x->shape[0];
    p->c = x->shape[1];
    TN_TRY(check_indices(caller, views, p));
    p->flags |= (views->indices != NULL ? POOL_HAS_INDICES : 0) |
                (params->kind == TENON_POOL_AVERAGE_INSIDE ? POOL_COUNT_INSIDE : 0);
    p->p = params->kind == TENON_POOL_LP ? params->p : 0;
    tn_image_strides(p->x, x);
    tn_image_strides(p->y, views->y);
    tn_image_strides(p->indices, views->indices);
    if (p->kind == TENON_POOL_LP || (p->kind == TENON_POOL_MAX && views->indices == NULL))
        tn_image_strides(p->image, views->image);
    return TENON_OK;
}
