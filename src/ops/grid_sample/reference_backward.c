/* The reference of the gradient of grid sampling, in double, and its awkward cases.
 * docs/numerics.md derives the bounds. */
#include "base/checked.h"
#include "base/dtype.h"
#include "base/shape.h"
#include "check/awkward.h"
#include "check/host.h"
#include "ops/grid_sample/internal.h"
#include "ops/registry.h"

#include <math.h>
#include <stdlib.h>

/* The operands of a call on the host, and their sizes. */
typedef struct host_call {
    const tenon_grid_sample_params *params;
    tenon_dtype dtype;
    uint32_t dims;
    double roundoff;
    int64_t size[3], elements, out[3], places, images, channels;
    double *x, *grid, *dy; /* x may be NULL */
} host_call;

static bool open_call(const tenon_grid_sample_params *params, const tenon_tensor *const *v,
                      host_call *h)
{
    const tenon_tensor *x = v[GRID_BACKWARD_X] != NULL ? v[GRID_BACKWARD_X] : v[GRID_DX],
                       *grid = v[GRID_BACKWARD_PLACES], *dy = v[GRID_DY];
    *h = (host_call){.params = params,
                     .dtype = dy->dtype,
                     .dims = x->rank - 2,
                     .roundoff = tn_roundoff(dy->dtype) * (dy->dtype == TENON_DTYPE_F64 ? 2 : 1),
                     .images = x->shape[0],
                     .channels = x->shape[1]};
    tn_grid_sizes(x, h->size);
    tn_grid_sizes(dy, h->out);
    h->elements = h->size[0] * h->size[1] * h->size[2];
    h->places = h->out[0] * h->out[1] * h->out[2];
    const bool reads_x = v[GRID_DPLACES] != NULL;
    h->x = reads_x ? tn_host_read(v[GRID_BACKWARD_X], x->rank, x->shape) : NULL;
    h->grid = tn_host_read(grid, grid->rank, grid->shape);
    h->dy = tn_host_read(dy, dy->rank, dy->shape);
    return (h->x != NULL || !reads_x) && h->grid != NULL && h->dy != NULL;
}

static void close_call(host_call *h)
{
    free(h->x);
    free(h->grid);
    free(h->dy);
}

/* The contributions to an element of dx. */
typedef struct share {
    double sum, magnitude, error, terms;
    bool anything;
} share;

/* A weight that an element may have for a place, and its error. */
typedef struct weight {
    double value, error;
} weight;

/* The largest slope of a filter. */
#define FILTER_SLOPE 2.0

/* Returns the weight of element i along one dimension. An element that only a rounded place reaches
 * has an error, too. */
static weight weight_along(uint32_t mode, const grid_place *p, int64_t i)
{
    const double distance = fabs((double)i - p->at);
    if (mode == TENON_GRID_SAMPLE_NEAREST) {
        const double first = rint(p->at - p->error), last = rint(p->at + p->error);
        const bool is_candidate = (double)i >= first && (double)i <= last;
        return first == last ? (weight){is_candidate, 0}
                             : (weight){is_candidate ? 0.5 : 0, is_candidate ? 0.5 : 0};
    }
    const double support = mode == TENON_GRID_SAMPLE_LINEAR ? 1 : 2;
    if (distance >= support + p->error)
        return (weight){0, 0};
    return (weight){tn_grid_filter(mode, distance), FILTER_SLOPE * p->error};
}

/* Adds dy of all channels to an element; `first` is the element of the first channel. */
static void add_element(const host_call *h, const double *dy, weight w, share *first)
{
    for (int64_t c = 0; c < h->channels; c++) {
        const double value = dy[c * h->places];
        share *s = &first[c * h->elements];
        s->anything = s->anything || !isfinite(value);
        s->sum += w.value * value;
        s->magnitude += fabs(w.value * value);
        s->error += w.error * fabs(value);
        s->terms++;
    }
}

static void anything(const host_call *h, share *first)
{
    for (int64_t i = 0; i < h->channels * h->elements; i++)
        first[i].anything = true;
}

/* Adds the contributions of a place to the elements of its image. */
static void add_place(const host_call *h, const double *coordinates, const double *dy, share *first)
{
    const uint32_t mode = h->params->mode;
    const double roundings = mode == TENON_GRID_SAMPLE_CUBIC    ? GRID_CUBIC_ROUNDINGS
                             : mode == TENON_GRID_SAMPLE_LINEAR ? GRID_LINEAR_ROUNDINGS
                                                                : 0;
    int64_t low[3], high[3];
    grid_place at[3];
    tn_grid_find_place(h->params, coordinates, h->dims, h->size, h->roundoff, at);
    if (isnan(at[0].at) || isnan(at[1].at) || isnan(at[2].at))
        return;
    if (!(at[0].error < 0.5 && at[1].error < 0.5 && at[2].error < 0.5)) {
        anything(h, first);
        return;
    }
    for (int d = 0; d < 3; d++) {
        const bool is_absent = d == 0 && h->dims == 2;
        low[d] = is_absent ? 0 : (int64_t)floor(at[d].at) - 2;
        high[d] = is_absent ? 0 : (int64_t)floor(at[d].at) + 3;
    }
    for (int64_t i = low[0]; i <= high[0]; i++)
        for (int64_t j = low[1]; j <= high[1]; j++)
            for (int64_t k = low[2]; k <= high[2]; k++) {
                const weight a = weight_along(mode, &at[0], i), b = weight_along(mode, &at[1], j),
                             c = weight_along(mode, &at[2], k);
                const int64_t place[] = {i, j, k},
                              element = tn_grid_element(place, h->size, h->params);
                const double value = a.value * b.value * c.value, most = (fabs(a.value) + a.error) *
                                                                         (fabs(b.value) + b.error) *
                                                                         (fabs(c.value) + c.error);
                if (element >= 0 && most > 0)
                    add_element(h, dy,
                                (weight){value, most - fabs(value) + roundings * h->roundoff},
                                first + element);
            }
}

static bool dx_results(const host_call *h, tn_bounded *results)
{
    const int64_t image = h->channels * h->elements, count = h->images * image;
    share *shares = tn_array(count, sizeof *shares);
    if (shares == NULL)
        return false;
    for (int64_t i = 0; i < h->images * h->places; i++) {
        const int64_t n = i / h->places;
        add_place(h, h->grid + h->dims * i, h->dy + n * h->channels * h->places + i % h->places,
                  shares + n * image);
    }
    for (int64_t i = 0; i < count; i++) {
        const share *s = &shares[i];
        const double magnitude = s->magnitude + s->error;
        results[i] =
            s->anything
                ? (tn_bounded){0, TN_ANYTHING}
                : tn_stored(h->dtype,
                            (tn_bounded){s->sum, s->error +
                                                     tn_gamma(s->terms, h->roundoff) * magnitude +
                                                     s->terms * tn_least_normal(h->dtype)});
    }
    free(shares);
    return true;
}

/* The derivative of the filter, from above at its corners. */
static double filter_slope(uint32_t mode, double distance)
{
    const double t = fabs(distance), a = -0.75;
    double slope = 0;
    if (mode == TENON_GRID_SAMPLE_LINEAR)
        slope = t < 1 ? -1 : 0;
    else if (t < 1)
        slope = 3 * (a + 2) * t * t - 2 * (a + 3) * t;
    else if (t < 2)
        slope = 3 * a * t * t - 10 * a * t + 8 * a;
    return distance < 0 ? -slope : slope;
}

/* The slope of an interpolation with respect to the place, relative to the largest magnitude of the
 * elements: at most `most`, with a slope of at most `curvature` of its own, a jump at the corners
 * of a linear one, and the roundings of the weights and their slopes. */
static const struct slope_bound {
    double most, curvature, jump, roundings;
} slope_bounds[] = {[TENON_GRID_SAMPLE_LINEAR] = {2, 4, 4, GRID_LINEAR_ROUNDINGS},
                    [TENON_GRID_SAMPLE_NEAREST] = {0, 0, 0, 0},
                    [TENON_GRID_SAMPLE_CUBIC] = {9, 40, 0, 2 * GRID_CUBIC_ROUNDINGS}};
/* Roundings of the sums over the elements around a place, and of the scale. */
#define SUM_ROUNDINGS 24

/* The sum over the channels of dy times the elements around a place. */
typedef struct slopes {
    double value[3], magnitude;
    bool anything;
} slopes;

static void add_slopes(const host_call *h, const grid_place at[3], const double *x, double dy,
                       slopes *s)
{
    const uint32_t mode = h->params->mode;
    const bool is_volume = h->dims == 3;
    const int64_t base[] = {(int64_t)floor(at[0].at), (int64_t)floor(at[1].at),
                            (int64_t)floor(at[2].at)};
    double most = 0;
    for (int64_t i = base[0] - (is_volume ? 2 : 0); i <= base[0] + (is_volume ? 3 : 0); i++)
        for (int64_t j = base[1] - 2; j <= base[1] + 3; j++)
            for (int64_t k = base[2] - 2; k <= base[2] + 3; k++) {
                const int64_t place[] = {i, j, k},
                              element = tn_grid_element(place, h->size, h->params);
                const double value = element < 0 ? 0 : x[element] * dy,
                             distance[] = {at[0].at - (double)i, at[1].at - (double)j,
                                           at[2].at - (double)k};
                double along[3], slope[3];
                for (int d = 0; d < 3; d++) {
                    along[d] = tn_grid_filter(mode, distance[d]);
                    slope[d] = filter_slope(mode, distance[d]);
                }
                s->anything = s->anything || !isfinite(value);
                most = fmax(most, fabs(value));
                s->value[0] += slope[0] * along[1] * along[2] * value;
                s->value[1] += along[0] * slope[1] * along[2] * value;
                s->value[2] += along[0] * along[1] * slope[2] * value;
            }
    s->magnitude += most;
}

/* Writes the results of a place. */
static void dgrid_result(const host_call *h, int64_t number, tn_bounded *results, tenon_dtype dtype)
{
    const bool aligned = (h->params->flags & TENON_GRID_SAMPLE_ALIGN_CORNERS) != 0,
               reads_image = h->params->mode != TENON_GRID_SAMPLE_NEAREST;
    const struct slope_bound *bounds = &slope_bounds[h->params->mode];
    const int64_t n = number / h->places;
    grid_place at[3];
    slopes s = {{0}};
    tn_grid_find_place(h->params, h->grid + h->dims * number, h->dims, h->size, h->roundoff, at);
    const bool is_number = !isnan(at[0].at) && !isnan(at[1].at) && !isnan(at[2].at),
               reads = is_number && reads_image,
               is_far = !(at[0].error < 0.5 && at[1].error < 0.5 && at[2].error < 0.5);
    for (int64_t c = 0; reads && !is_far && c < h->channels; c++)
        add_slopes(h, at, h->x + (n * h->channels + c) * h->elements,
                   h->dy[(n * h->channels + c) * h->places + number % h->places], &s);
    const double error = at[0].error + at[1].error + at[2].error;
    for (uint32_t i = 0; i < h->dims; i++) {
        const uint32_t d = 2 - i;
        const double scale = (double)(h->size[d] - (aligned ? 1 : 0)) / 2;
        const bool jumps = floor(at[d].at - at[d].error) != floor(at[d].at + at[d].error);
        const double relative =
            bounds->curvature * error + (jumps ? bounds->jump : 0) +
            bounds->most * tn_gamma((double)h->channels + SUM_ROUNDINGS, h->roundoff) +
            bounds->roundings * h->roundoff;
        results[i] =
            !is_number ? (tn_bounded){(double)NAN, 0}
            : !reads   ? (tn_bounded){0, 0}
            : s.anything || is_far
                ? (tn_bounded){0, TN_ANYTHING}
                : tn_stored(dtype, (tn_bounded){scale * s.value[d],
                                                scale * relative * s.magnitude +
                                                    (scale + 1) * 200 * (double)(h->channels + 1) *
                                                        tn_least_normal(dtype)});
    }
}

bool tn_grid_sample_backward_reference(const void *given, const tenon_tensor *const *v,
                                       tn_bounded *results)
{
    const tenon_tensor *dx = v[GRID_DX], *dgrid = v[GRID_DPLACES];
    host_call h;
    bool whole = open_call(given, v, &h);
    if (whole && dx != NULL) {
        whole = dx_results(&h, results);
        results += tenon_tensor_elements(dx);
    }
    for (int64_t i = 0; whole && dgrid != NULL && i < h.images * h.places; i++)
        dgrid_result(&h, i, results + h.dims * i, dgrid->dtype);
    close_call(&h);
    return whole;
}

/* Places within and around the image. */
void tn_grid_sample_backward_fill_valid(const void *params, const tenon_tensor *const *v,
                                        uint64_t *seed)
{
    (void)params;
    tn_case_reals(v[GRID_BACKWARD_PLACES], -1.6, 1.6, seed);
}

/* In the layout and with the outputs of the problem at hand. */
bool tn_grid_sample_backward_awkward(const tn_problem *problem, const tn_choice *choice,
                                     uint32_t number, tn_case *c)
{
    const grid_backward_problem *like = (const grid_backward_problem *)problem;
    (void)choice;
    if (number > 0)
        return false;
    tn_awkward_begin(c, &tn_operation_grid_sample_backward);
    tn_grid_awkward_views(&like->forward, (tenon_grid_sample_params *)c->params.bytes,
                          &c->views[GRID_BACKWARD_X], &c->views[GRID_BACKWARD_PLACES],
                          &c->views[GRID_DY]);
    if (like->has_dx)
        c->views[GRID_DX] = c->views[GRID_BACKWARD_X];
    if (like->has_dgrid)
        c->views[GRID_DPLACES] = c->views[GRID_BACKWARD_PLACES];
    return true;
}
