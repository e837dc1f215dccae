/* Conversion of the caller's views and parameters to the canonical problem, in either direction. */
#include "base/shape.h"
#include "ops/resize/internal.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static tenon_status resize_check_params(const char *caller, const tenon_resize_params *params)
{
    TN_TRY(tn_kind_check(caller, "mode", params->mode, TENON_RESIZE_CUBIC, "tenon_resize_mode"));
    TN_TRY(tn_kind_check(caller, "coordinates", params->coordinates,
                         TENON_RESIZE_TF_CROP_AND_RESIZE, "tenon_resize_coordinates"));
    TN_TRY(tn_kind_check(caller, "rounding", params->rounding, TENON_RESIZE_CEIL,
                         "tenon_resize_rounding"));
    TN_TRY(tn_reserved_check(caller, params->reserved));
    TN_TRY(tn_number_check(caller, "cubic_a", params->cubic_a, -1e6, 1e6));
    if ((params->flags & TENON_RESIZE_ANTIALIAS) != 0 && params->mode == TENON_RESIZE_NEAREST)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: params: flags contain TENON_RESIZE_ANTIALIAS, but mode is nearest; it "
                       "must be linear or cubic",
                       caller);
    return TENON_OK;
}

/* Checks spatial dimension `d`, as the caller counts them. */
static tenon_status resize_check_dimension(const char *caller, const tenon_resize_params *params,
                                           const resize_views *views, uint32_t d)
{
    const int64_t in = views->x->shape[2 + d], out = views->y->shape[2 + d];
    const double scale = params->scales[d];
    if (in > RESIZE_MOST || out > RESIZE_MOST)
        return tn_fail(TENON_ERROR_UNSUPPORTED,
                       "%s: %s: size of dimension %u is %" PRId64 ", must be at most %" PRId64,
                       caller, in > RESIZE_MOST ? views->x_name : views->y_name, 2 + d,
                       in > RESIZE_MOST ? in : out, RESIZE_MOST);
    if (in == 0 && out != 0)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: %s: size of dimension %u is 0, must be at least 1", caller,
                       views->x_name, 2 + d);
    if (!isfinite(params->region_begin[d]) || !isfinite(params->region_end[d]))
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: params: region_begin[%u] is %g, region_end[%u] is %g, must be finite",
                       caller, d, params->region_begin[d], d, params->region_end[d]);
    if (!(scale >= 0) || !isfinite(scale))
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: params: scales[%u] is %g, must be positive, or 0 for the ratio of the "
                       "sizes",
                       caller, d, scale);
    if (scale > 0 && fabs(scale * (double)in - (double)out) >= 1)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: params: scales[%u] is %g: times size %" PRId64
                       " of %s it is %g, which differs by 1 or more from size %" PRId64 " of %s",
                       caller, d, scale, in, views->x_name, scale * (double)in, out, views->y_name);
    return TENON_OK;
}

static tenon_status resize_check_shapes(const char *caller, const tenon_resize_params *params,
                                        const resize_views *views)
{
    const tenon_tensor *x = views->x, *y = views->y;
    if (x->rank < 3 || x->rank > RESIZE_RANK)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: %s: rank is %u, must be 3, 4 or 5: N, C and the spatial dimensions",
                       caller, views->x_name, x->rank);
    int64_t shape[RESIZE_RANK];
    memcpy(shape, x->shape, sizeof shape);
    if (y->rank == x->rank)
        memcpy(shape + 2, y->shape + 2, (x->rank - 2) * sizeof *shape);
    TN_TRY(tn_shape_check(caller, views->y_name, y, x->rank, shape));
    for (uint32_t d = 0; d + 2 < x->rank; d++)
        TN_TRY(resize_check_dimension(caller, params, views, d));
    return TENON_OK;
}

tenon_status tn_resize_canonicalize(const char *caller, const tenon_resize_params *params,
                                    const resize_views *views, resize_problem *p)
{
    const tenon_tensor *x = views->x;
    tn_problem_begin(&p->head, sizeof *p);
    TN_TRY(resize_check_params(caller, params));
    TN_TRY(resize_check_shapes(caller, params, views));
    p->dtype = x->dtype;
    p->mode = params->mode;
    p->rounding = params->mode == TENON_RESIZE_NEAREST ? params->rounding : 0;
    p->flags =
        (params->mode != TENON_RESIZE_NEAREST && (params->flags & TENON_RESIZE_EXCLUDE_OUTSIDE) != 0
             ? RESIZE_EXCLUDES
             : 0) |
        (params->coordinates == TENON_RESIZE_TF_CROP_AND_RESIZE ? RESIZE_EXTRAPOLATES : 0);
    p->n = x->shape[0];
    p->c = x->shape[1];
    for (int i = 0; i < 3; i++) {
        const int d = i + (int)x->rank - RESIZE_RANK + 2;
        p->in[i] = d < 2 ? 1 : x->shape[d];
        p->out[i] = d < 2 ? 1 : views->y->shape[d];
    }
    tn_image_strides(p->x, x);
    tn_image_strides(p->y, views->y);
    tn_resize_map(params, tn_tensor_empty(x) || tn_tensor_empty(views->y) ? 0 : x->rank - 2, p);
    if (p->map[0].taps <= 1 && p->map[1].taps <= 1 && p->map[2].taps <= 1)
        p->flags &= ~(uint32_t)RESIZE_EXCLUDES; /* no element has a weight outside x */
    return TENON_OK;
}
