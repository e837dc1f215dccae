/* The reference of RoI align, and its awkward cases. The corners of a region and the number of
 * samples are computed in the type in which the header defines them, everything else in double. */
#include "base/checked.h"
#include "base/dtype.h"
#include "base/shape.h"
#include "check/awkward.h"
#include "check/host.h"
#include "ops/registry.h"
#include "ops/roi_align/internal.h"

#include <math.h>
#include <stdlib.h>

/* A region along one dimension, and the error of the coordinates of its samples. */
typedef struct extent {
    double start, length, error;
    int64_t bins, samples;
} extent;

/* Rounds to the type of coordinates. */
static double roi_rounded(tenon_dtype dtype, double x)
{
    return dtype == TENON_DTYPE_F64 ? x : (double)(float)x;
}

/* Roundings of a coordinate: three quotients and products of at most 5 roundoffs, and the sums. */
#define COORDINATE_ROUNDINGS 20

static extent find_extent(const tenon_roi_align_params *params, tenon_dtype dtype, double first,
                          double last, int64_t bins)
{
    const double scale = roi_rounded(dtype, params->spatial_scale),
                 shift = (params->flags & TENON_ROI_ALIGN_UNSHIFTED) != 0 ? 0 : 0.5,
                 u = tn_roundoff(dtype) * (dtype == TENON_DTYPE_F64 ? 2 : 1);
    /* Products and sums of two floats are exact in double, or rounded twice to the same number. */
    extent e = {.bins = bins,
                .start = roi_rounded(dtype, roi_rounded(dtype, first * scale) - shift),
                .samples = params->sampling_ratio};
    e.length =
        roi_rounded(dtype, roi_rounded(dtype, roi_rounded(dtype, last * scale) - shift) - e.start);
    if ((params->flags & TENON_ROI_ALIGN_UNSHIFTED) != 0 && e.length < 1)
        e.length = 1;
    e.error = COORDINATE_ROUNDINGS * u * (fabs(e.start) + fabs(e.length)) + tn_least_normal(dtype);
    while (params->sampling_ratio == 0 && e.samples < ROI_MOST_SAMPLES &&
           roi_rounded(dtype, (double)e.samples * roi_rounded(dtype, (double)bins)) < e.length)
        e.samples++;
    return e;
}

/* The place of a sample along one dimension: the first of two elements, and the weight of the
 * second one. */
typedef struct sample {
    bool inside, uncertain;
    int64_t low, high;
    double weight;
} sample;

static sample find_sample(const extent *e, int64_t bin, int64_t number, int64_t size)
{
    const double width = e->length / (double)e->bins,
                 at = e->start + (double)bin * width +
                      ((double)number + 0.5) * width / (double)e->samples,
                 limit = (double)size;
    sample s = {.inside = at >= -1 && at <= limit,
                .uncertain = fabs(at + 1) <= e->error || fabs(at - limit) <= e->error};
    if (!s.inside && !s.uncertain)
        return s;
    const double inside = fmin(at > 0 ? at : 0, limit);
    s.low = tn_min_i64((int64_t)inside, size - 1);
    s.high = tn_min_i64(s.low + 1, size - 1);
    s.weight = s.high == s.low ? 0 : inside - (double)s.low;
    return s;
}

/* The samples of a bin. */
typedef struct bin {
    double sum, best, error, magnitude;
    bool anything, has_best;
} bin;

static double greatest_around(const double *plane, const sample *v, const sample *u,
                              const int64_t *size)
{
    double greatest = 0;
    for (int64_t i = tn_max_i64(v->low - 1, 0); i <= tn_min_i64(v->high + 1, size[0] - 1); i++)
        for (int64_t j = tn_max_i64(u->low - 1, 0); j <= tn_min_i64(u->high + 1, size[1] - 1);
             j++) {
            const double x = fabs(plane[i * size[1] + j]);
            greatest = x > greatest || isnan(x) ? x : greatest;
        }
    return greatest;
}

/* Adds a sample. The interpolation is continuous, so an uncertain element matters little. */
static void add_sample(bin *b, const double *plane, const sample *v, const sample *u,
                       const int64_t *size, double error, double roundoff)
{
    double best = 0;
    if (v->inside && u->inside) {
        const double greatest = greatest_around(plane, v, u, size), row = v->weight,
                     column = u->weight;
        const double *low = plane + v->low * size[1], *high = plane + v->high * size[1];
        const double terms[] = {(1 - row) * (1 - column) * low[u->low],
                                (1 - row) * column * low[u->high],
                                row * (1 - column) * high[u->low], row * column * high[u->high]};
        if (!isfinite(greatest)) {
            b->anything = true;
            return;
        }
        best = terms[0];
        for (int i = 0; i < 4; i++) {
            b->sum += terms[i];
            best = fmax(best, terms[i]);
        }
        b->magnitude += greatest;
        b->error += (2 * error + 12 * roundoff) * greatest;
        if (v->uncertain || u->uncertain)
            b->error += 4 * greatest;
    } else if ((v->uncertain && (u->inside || u->uncertain)) || (u->uncertain && v->inside)) {
        b->anything = true;
    }
    b->best = b->has_best ? fmax(b->best, best) : best;
    b->has_best = true;
}

static tn_bounded roi_result_of(const tenon_roi_align_params *params, tenon_dtype dtype,
                                const double *plane, const extent e[2], const int64_t at[2],
                                const int64_t *size)
{
    const double u = tn_roundoff(dtype) * (dtype == TENON_DTYPE_F64 ? 2 : 1),
                 count = (double)tn_max_i64(e[0].samples * e[1].samples, 1);
    bin b = {0};
    for (int64_t i = 0; i < e[0].samples; i++)
        for (int64_t j = 0; j < e[1].samples; j++) {
            const sample v = find_sample(&e[0], at[0], i, size[0]),
                         w = find_sample(&e[1], at[1], j, size[1]);
            add_sample(&b, plane, &v, &w, size, e[0].error + e[1].error, u);
        }
    if (b.anything)
        return (tn_bounded){0, TN_ANYTHING};
    /* The maximum has at most the error of one sample, which is less than that of all. */
    if (params->mode == TENON_ROI_ALIGN_MAX)
        return tn_stored(dtype, (tn_bounded){b.best, b.error + 4 * tn_least_normal(dtype)});
    const double magnitude = b.magnitude + b.error;
    return tn_stored(
        dtype, (tn_bounded){b.sum / count, (b.error + tn_gamma(count + 8, u) * magnitude) / count +
                                               (4 * count + 2) * tn_least_normal(dtype)});
}

bool tn_roi_align_reference(const void *given, const tenon_tensor *const *v, tn_bounded *results)
{
    const tenon_roi_align_params *params = given;
    const tenon_tensor *x = v[ROI_X], *y = v[ROI_Y];
    const int64_t *size = x->shape + 2, *bins = y->shape + 2, regions = y->shape[0];
    double *values = tn_host_read(x, 4, x->shape),
           *corners = tn_host_read(v[ROI_ROIS], 2, v[ROI_ROIS]->shape),
           *images = tn_host_read(v[ROI_INDICES], 1, v[ROI_INDICES]->shape);
    const bool whole = values != NULL && corners != NULL && images != NULL;
    for (int64_t r = 0; whole && !tn_tensor_empty(y) && r < regions; r++) {
        const double *c = corners + 4 * r;
        const extent e[] = {find_extent(params, x->dtype, c[1], c[3], bins[0]),
                            find_extent(params, x->dtype, c[0], c[2], bins[1])};
        const bool exists = images[r] >= 0 && images[r] < (double)x->shape[0];
        for (int64_t channel = 0; channel < x->shape[1]; channel++) {
            int64_t at[2] = {0};
            const double *plane =
                values +
                (exists ? ((int64_t)images[r] * x->shape[1] + channel) * size[0] * size[1] : 0);
            do
                *results++ = exists ? roi_result_of(params, x->dtype, plane, e, at, size)
                                    : (tn_bounded){(double)NAN, 0};
            while (tn_next_index(at, bins, 2));
        }
    }
    free(values);
    free(corners);
    free(images);
    return whole;
}

/* An element of dx: the sum of its terms, and its error. */
typedef struct roi_sum {
    double value, magnitude, error, terms;
    bool anything;
} roi_sum;

/* Adds the terms of a sample, whose share of dy is `share`, to the elements around it. */
static void spread_sample(roi_sum *plane, const int64_t *size, const sample *v, const sample *u,
                          double share, double error)
{
    const bool reaches = (v->inside || v->uncertain) && (u->inside || u->uncertain);
    const bool anything = !isfinite(share) || v->uncertain || u->uncertain;
    for (int64_t i = tn_max_i64(v->low - 1, 0);
         reaches && i <= tn_min_i64(v->high + 1, size[0] - 1); i++)
        for (int64_t j = tn_max_i64(u->low - 1, 0); j <= tn_min_i64(u->high + 1, size[1] - 1);
             j++) {
            roi_sum *s = &plane[i * size[1] + j];
            const double row = (i == v->low ? 1 - v->weight : 0) + (i == v->high ? v->weight : 0),
                         column =
                             (j == u->low ? 1 - u->weight : 0) + (j == u->high ? u->weight : 0);
            s->anything = s->anything || anything;
            s->value += row * column * share;
            s->magnitude += row * column * fabs(share);
            s->error += error * fabs(share);
            s->terms++;
        }
}

/* Adds the terms of all samples of a bin. */
static void spread_bin(const extent e[2], const int64_t at[2], const int64_t *size, double dy,
                       double roundoff, roi_sum *plane)
{
    const double share = dy / (double)tn_max_i64(e[0].samples * e[1].samples, 1),
                 error = 2 * (e[0].error + e[1].error) + 12 * roundoff;
    for (int64_t i = 0; i < e[0].samples; i++)
        for (int64_t j = 0; j < e[1].samples; j++) {
            const sample v = find_sample(&e[0], at[0], i, size[0]),
                         u = find_sample(&e[1], at[1], j, size[1]);
            spread_sample(plane, size, &v, &u, share, error);
        }
}

/* The elements of a bin that may be its maximum, and the largest error of one. */
typedef struct maxima {
    double best, error;
    int64_t candidates;
    bool has_best, anything;
} maxima;

/* A term of the maximum: an element times its weight, or 0 for a sample outside x. */
typedef struct term {
    int64_t element; /* -1: none */
    double weight, value;
} term;

/* Writes the terms of a sample and returns their number. */
static int terms_of(const double *values, const int64_t *size, const sample *v, const sample *u,
                    term terms[4])
{
    terms[0] = (term){-1, 0, 0};
    if (!v->inside || !u->inside)
        return 1;
    for (int i = 0; i < 4; i++) {
        term *t = &terms[i];
        t->element = (i < 2 ? v->low : v->high) * size[1] + (i % 2 == 0 ? u->low : u->high);
        t->weight = (i < 2 ? 1 - v->weight : v->weight) * (i % 2 == 0 ? 1 - u->weight : u->weight);
        t->value = t->weight * values[t->element];
    }
    return 4;
}

/* Calls a function with each sample of a bin and its terms. */
typedef void term_function(void *context, const sample *v, const sample *u, const term *terms,
                           int count);

static void each_sample(const extent e[2], const int64_t at[2], const int64_t *size,
                        const double *values, term_function *function, void *context)
{
    for (int64_t i = 0; i < e[0].samples; i++)
        for (int64_t j = 0; j < e[1].samples; j++) {
            const sample v = find_sample(&e[0], at[0], i, size[0]),
                         u = find_sample(&e[1], at[1], j, size[1]);
            term terms[4];
            const int count = terms_of(values, size, &v, &u, terms);
            function(context, &v, &u, terms, count);
        }
}

/* A bin of a channel with maxima. */
typedef struct max_bin {
    const double *values;
    const int64_t *size;
    double dy, error; /* of a weight */
    maxima found;
    roi_sum *plane;
} max_bin;

static void find_best(void *context, const sample *v, const sample *u, const term *terms, int count)
{
    max_bin *b = context;
    maxima *m = &b->found;
    const bool reaches = (v->inside || v->uncertain) && (u->inside || u->uncertain);
    if (reaches) {
        const double greatest = greatest_around(b->values, v, u, b->size);
        m->anything = m->anything || v->uncertain || u->uncertain || !isfinite(greatest);
        m->error = fmax(m->error, b->error * greatest);
    }
    for (int i = 0; i < count; i++) {
        m->best = m->has_best ? fmax(m->best, terms[i].value) : terms[i].value;
        m->has_best = true;
    }
}

static bool is_candidate(const maxima *m, const term *t)
{
    return t->value >= m->best - 2 * m->error;
}

static void count_candidates(void *context, const sample *v, const sample *u, const term *terms,
                             int count)
{
    max_bin *b = context;
    (void)v;
    (void)u;
    for (int i = 0; i < count; i++)
        b->found.candidates += is_candidate(&b->found, &terms[i]) ? 1 : 0;
}

/* Adds the error of a weight to all elements around a sample, also those that only a rounded
 * coordinate reaches. */
static void spread_error(const max_bin *b, const sample *v, const sample *u)
{
    const bool reaches = (v->inside || v->uncertain) && (u->inside || u->uncertain);
    for (int64_t i = tn_max_i64(v->low - 1, 0);
         reaches && i <= tn_min_i64(v->high + 1, b->size[0] - 1); i++)
        for (int64_t j = tn_max_i64(u->low - 1, 0); j <= tn_min_i64(u->high + 1, b->size[1] - 1);
             j++) {
            roi_sum *s = &b->plane[i * b->size[1] + j];
            s->anything = s->anything || b->found.anything || !isfinite(b->dy);
            s->error += b->error * fabs(b->dy);
            s->terms++;
        }
}

/* The only candidate receives dy times its weight. Of several, each may receive all or nothing. */
static void spread_maximum(void *context, const sample *v, const sample *u, const term *terms,
                           int count)
{
    max_bin *b = context;
    const double part = b->found.candidates > 1 ? 0.5 : 1;
    spread_error(b, v, u);
    for (int i = 0; i < count; i++)
        if (terms[i].element >= 0 && is_candidate(&b->found, &terms[i])) {
            roi_sum *s = &b->plane[terms[i].element];
            const double value = part * terms[i].weight * b->dy;
            s->value += value;
            s->magnitude += fabs(value);
            s->error += part < 1 ? fabs(value) : 0;
        }
}

static void spread_max_bin(const extent e[2], const int64_t at[2], double roundoff, max_bin *b)
{
    b->found = (maxima){0};
    b->error = 2 * (e[0].error + e[1].error) + 12 * roundoff;
    each_sample(e, at, b->size, b->values, find_best, b);
    each_sample(e, at, b->size, b->values, count_candidates, b);
    each_sample(e, at, b->size, b->values, spread_maximum, b);
}

static tn_bounded sum_result(const roi_sum *s, tenon_dtype dtype, double regions, double roundoff)
{
    if (s->anything)
        return (tn_bounded){0, TN_ANYTHING};
    const double magnitude = s->magnitude + s->error;
    return tn_stored(
        dtype,
        (tn_bounded){s->value, s->error + tn_gamma(s->terms + regions + 16, roundoff) * magnitude +
                                   (4 * s->terms + 2) * tn_least_normal(dtype)});
}

/* Adds the terms of a region to the planes of its image; `values` are the planes of x for maxima.
 */
static void spread_region(const tenon_roi_align_params *params, const tenon_tensor *dy,
                          const tenon_tensor *dx, const double *corner, const double *gradient,
                          const double *values, double roundoff, roi_sum *planes)
{
    const int64_t *size = dx->shape + 2, *bins = dy->shape + 2, plane = size[0] * size[1];
    const extent e[] = {find_extent(params, dx->dtype, corner[1], corner[3], bins[0]),
                        find_extent(params, dx->dtype, corner[0], corner[2], bins[1])};
    for (int64_t c = 0; c < dx->shape[1]; c++) {
        int64_t at[2] = {0};
        do {
            max_bin b = {.size = size, .dy = *gradient++, .plane = planes + c * plane};
            b.values = values != NULL ? values + c * plane : NULL;
            if (values != NULL)
                spread_max_bin(e, at, roundoff, &b);
            else
                spread_bin(e, at, size, b.dy, roundoff, b.plane);
        } while (tn_next_index(at, bins, 2));
    }
}

bool tn_roi_align_backward_reference(const void *given, const tenon_tensor *const *v,
                                     tn_bounded *results)
{
    const tenon_tensor *dy = v[ROI_DY], *dx = v[ROI_DX], *rois = v[ROI_BACKWARD_ROIS],
                       *indices = v[ROI_BACKWARD_INDICES];
    const double u = tn_roundoff(dx->dtype) * (dx->dtype == TENON_DTYPE_F64 ? 2 : 1);
    const bool is_max = ((const tenon_roi_align_params *)given)->mode == TENON_ROI_ALIGN_MAX;
    const int64_t regions = dy->shape[0], count = tenon_tensor_elements(dx),
                  each = dy->shape[1] * dy->shape[2] * dy->shape[3],
                  image = dx->shape[1] * dx->shape[2] * dx->shape[3];
    double *gradients = tn_host_read(dy, 4, dy->shape),
           *values = is_max ? tn_host_read(v[ROI_BACKWARD_X], 4, dx->shape) : NULL,
           *corners = tn_host_read(rois, 2, rois->shape),
           *images = tn_host_read(indices, 1, indices->shape);
    roi_sum *sums = tn_array(count, sizeof *sums);
    const bool whole = gradients != NULL && (values != NULL || !is_max) && corners != NULL &&
                       images != NULL && sums != NULL;
    for (int64_t r = 0; whole && each > 0 && r < regions; r++)
        if (images[r] >= 0 && images[r] < (double)dx->shape[0])
            spread_region(given, dy, dx, corners + 4 * r, gradients + r * each,
                          is_max ? values + (int64_t)images[r] * image : NULL, u,
                          sums + (int64_t)images[r] * image);
    for (int64_t i = 0; whole && i < count; i++)
        results[i] = sum_result(&sums[i], dx->dtype, (double)regions, u);
    free(gradients);
    free(values);
    free(corners);
    free(images);
    free(sums);
    return whole;
}

void tn_roi_align_backward_fill_valid(const void *params, const tenon_tensor *const *v,
                                      uint64_t *seed)
{
    const tenon_tensor *const forward[] = {v[ROI_DX], v[ROI_BACKWARD_ROIS], v[ROI_BACKWARD_INDICES],
                                           v[ROI_DY]};
    tn_roi_align_fill_valid(params, forward, seed);
}

/* Regions around the image, some of them partly or entirely outside, and images of which one in ten
 * does not exist. */
void tn_roi_align_fill_valid(const void *given, const tenon_tensor *const *v, uint64_t *seed)
{
    const tenon_roi_align_params *params = given;
    const tenon_tensor *x = v[ROI_X], *rois = v[ROI_ROIS];
    const double scale = fabs(params->spatial_scale) > 1e-3 ? params->spatial_scale : 1;
    int64_t index[2] = {0};
    if (tn_tensor_empty(rois) || x->rank != 4)
        return;
    tn_case_integers(v[ROI_INDICES], 0, tn_max_i64(x->shape[0] - 1, 0), seed);
    do {
        const double size = (double)x->shape[index[1] % 2 == 0 ? 3 : 2],
                     middle = index[1] < 2 ? 0.2 : 0.7;
        tn_dtype_store(rois->dtype, tn_host_element(rois, index),
                       size * (middle + 0.5 * tn_random(seed)) / scale);
    } while (tn_next_index(index, rois->shape, 2));
    for (index[0] = 0; index[0] < v[ROI_INDICES]->shape[0]; index[0]++)
        if (tn_random(seed) > 0.8)
            tn_dtype_store(TENON_DTYPE_I32, tn_host_element(v[ROI_INDICES], index),
                           tn_random(seed) > 0 ? -1 : (double)x->shape[0]);
}

/* In the layout of the problem at hand. */
bool tn_roi_align_awkward(const tn_problem *problem, const tn_choice *choice, uint32_t number,
                          tn_case *c)
{
    const roi_problem *like = (const roi_problem *)problem;
    const bool channels_last = like->x[1] == 1 && like->x[3] != 1;
    const int64_t size[] = {9, 13}, bins[] = {3, 2}, regions[] = {7, 4};
    const int64_t channels = tn_awkward_size(choice, number, "channels", 5);
    if (number >= (choice->solver->awkward != NULL ? tn_awkward_count(choice) : 1))
        return false;
    tn_awkward_begin(c, &tn_operation_roi_align);
    tenon_roi_align_params *params = (tenon_roi_align_params *)c->params.bytes;
    params->mode = (like->flags & ROI_MAX) != 0 ? TENON_ROI_ALIGN_MAX : TENON_ROI_ALIGN_AVERAGE;
    params->flags = (like->flags & ROI_UNSHIFTED) != 0 ? TENON_ROI_ALIGN_UNSHIFTED : 0;
    params->sampling_ratio = like->samples != 0 ? 3 : 0;
    params->spatial_scale = 0.5;
    c->views[ROI_X] = tn_image_view((tenon_dtype)like->dtype, channels_last, 2, channels, size);
    c->views[ROI_Y] = tn_image_view((tenon_dtype)like->dtype, channels_last, 7, channels, bins);
    c->views[ROI_ROIS] = tn_awkward_view((tenon_dtype)like->dtype, 2, regions, true);
    c->views[ROI_INDICES] = tn_awkward_view(TENON_DTYPE_I32, 1, regions, true);
    return true;
}

bool tn_roi_align_backward_awkward(const tn_problem *problem, const tn_choice *choice,
                                   uint32_t number, tn_case *c)
{
    if (!tn_roi_align_awkward(problem, choice, number, c))
        return false;
    const tenon_tensor x = c->views[ROI_X], rois = c->views[ROI_ROIS],
                       indices = c->views[ROI_INDICES], y = c->views[ROI_Y];
    c->operation = &tn_operation_roi_align_backward;
    c->views[ROI_BACKWARD_X] = x;
    c->views[ROI_DY] = y;
    c->views[ROI_BACKWARD_ROIS] = rois;
    c->views[ROI_BACKWARD_INDICES] = indices;
    c->views[ROI_DX] = x;
    return true;
}
