/* The reference of resizing, in plain C and double precision, and its awkward cases. Coordinates
 * are fractions of two integers if the scale is the ratio of the sizes, and otherwise computed as
 * ONNX defines them; weights are computed element by element from the distance. */
#include "check/awkward.h"
#include "base/checked.h"
#include "base/dtype.h"
#include "base/shape.h"
#include "check/host.h"
#include "ops/registry.h"
#include "ops/resize/reference.h"

#include <math.h>
#include <stdlib.h>

/* A coordinate: an integer, a fraction in [0, 1), and the error of both. */
typedef struct point {
    int64_t at;
    double rest, error;
} point;

/* Rounds a coordinate that is close to an integer, or to the middle between two. */
static point snapped(point p)
{
    const double close = 0x1p-33;
    if (p.rest >= 1 - close) {
        p.at++;
        p.rest = 0;
    } else if (p.rest < close) {
        p.rest = 0;
    } else if (fabs(p.rest - 0.5) < close) {
        p.rest = 0.5;
    }
    p.error = p.rest == 0 || p.rest == 0.5 ? 0 : p.error;
    return p;
}

static point fraction(int64_t a, int64_t b)
{
    const int64_t at = a / b - (a % b < 0);
    return snapped((point){at, (double)(a - at * b) / (double)b, 0x1p-53});
}

/* Returns the coordinate for a scale that is the ratio of the sizes. */
static point point_of_sizes(uint32_t coordinates, int64_t in, int64_t out, int64_t o)
{
    switch (coordinates) {
    case TENON_RESIZE_ALIGN_CORNERS:
        return out == 1 ? (point){0, 0, 0} : fraction(o * (in - 1), out - 1);
    case TENON_RESIZE_ASYMMETRIC:
        return fraction(o * in, out);
    case TENON_RESIZE_TF_HALF_PIXEL:
        return fraction((2 * o + 1) * in, 2 * out);
    case TENON_RESIZE_PYTORCH_HALF_PIXEL:
        if (out == 1)
            return (point){0, 0, 0};
        break;
    default:
        break;
    }
    return fraction((2 * o + 1) * in - out, 2 * out);
}

static double coordinate(const tenon_resize_params *params, uint32_t d, double in, double out,
                         double o)
{
    const double s = params->scales[d] > 0 ? params->scales[d] : out / in,
                 length = params->scales[d] > 0 ? s * in : out, begin = params->region_begin[d],
                 end = params->region_end[d];
    switch (params->coordinates) {
    case TENON_RESIZE_HALF_PIXEL_SYMMETRIC:
        return in / 2 * (1 - out / length) + (o + 0.5) / s - 0.5;
    case TENON_RESIZE_PYTORCH_HALF_PIXEL:
        return out == 1 ? 0 : (o + 0.5) / s - 0.5;
    case TENON_RESIZE_ALIGN_CORNERS:
        return length == 1 ? 0 : o * (in - 1) / (length - 1);
    case TENON_RESIZE_ASYMMETRIC:
        return o / s;
    case TENON_RESIZE_TF_HALF_PIXEL:
        return (o + 0.5) / s;
    case TENON_RESIZE_TF_CROP_AND_RESIZE:
        return length == 1 ? (begin + end) * (in - 1) / 2
                           : begin * (in - 1) + o * (end - begin) * (in - 1) / (length - 1);
    default:
        return (o + 0.5) / s - 0.5;
    }
}

static point point_of(const tenon_resize_params *params, uint32_t d, int64_t in, int64_t out,
                      int64_t o)
{
    if (params->scales[d] == 0 && params->coordinates != TENON_RESIZE_TF_CROP_AND_RESIZE)
        return point_of_sizes(params->coordinates, in, out, o);
    double x = coordinate(params, d, (double)in, (double)out, (double)o);
    /* Beyond this the coordinate is outside, wherever it is. */
    x = x < -0x1p30 ? -0x1p30 : x > 0x1p30 ? 0x1p30 : x;
    const double at = floor(x);
    return snapped((point){(int64_t)at, x - at, 0x1p-50 * (fabs(x) + (double)in)});
}

/* The kernel of R. Keys, "Cubic convolution interpolation for digital image processing", IEEE
 * Transactions on Acoustics, Speech, and Signal Processing 29 (1981), and the linear one. */
static double weight_at(const tenon_resize_params *params, double distance)
{
    const double x = fabs(distance), a = params->cubic_a;
    if (params->mode == TENON_RESIZE_LINEAR)
        return x < 1 ? 1 - x : 0;
    if (x <= 1)
        return (a + 2) * x * x * x - (a + 3) * x * x + 1;
    return x < 2 ? a * x * x * x - 5 * a * x * x + 8 * a * x - 4 * a : 0;
}

static int64_t nearest(uint32_t rounding, point p)
{
    const bool up = rounding == TENON_RESIZE_CEIL           ? p.rest > 0
                    : rounding == TENON_RESIZE_PREFER_CEIL  ? p.rest >= 0.5
                    : rounding == TENON_RESIZE_PREFER_FLOOR ? p.rest > 0.5
                                                            : false;
    return p.at + up;
}

/* Bounds of a filter: the derivative of the weight, and the roundings of computing it, without
 * those of the distance, which is subject to 12. */
typedef struct filter {
    double slope, roundings;
} filter;

#define DISTANCE_ROUNDINGS 12

static filter filter_of(const tenon_resize_params *params)
{
    if (params->mode == TENON_RESIZE_LINEAR)
        return (filter){1, 1};
    const double a = fabs(params->cubic_a), a2 = fabs(params->cubic_a + 2),
                 a3 = fabs(params->cubic_a + 3);
    return (filter){3 * a2 + 2 * a3 + a, 8 + 10 * a2 + 8 * a};
}

/* Adds the weight of tap `i` to the element that it reads. The first and the last element of x have
 * the sum of several taps. */
static void add_tap(resize_weights *w, bool excludes, int64_t in, int64_t i, double weight,
                    double error, double u)
{
    if (excludes && (i < 0 || i >= in))
        return;
    const int64_t at = i < 0 ? 0 : i >= in ? in - 1 : i;
    for (; w->count == 0 || at >= w->low + w->count; w->count++) {
        w->low = w->count == 0 ? at : w->low;
        w->weight[w->count] = w->error[w->count] = 0;
    }
    w->weight[at - w->low] += weight;
    w->error[at - w->low] +=
        error + (at == 0 || at == in - 1 ? u * fabs(weight) * (double)(w->taps + 1) : 0);
    w->sum += weight;
    w->magnitude += fabs(weight);
    w->sum_error += error;
    w->taps++;
}

/* Divides weights by their sum. `u` is the roundoff, twice that for f64. */
static void resize_normalize(resize_weights *w, double u)
{
    const double error = w->sum_error + tn_gamma((double)w->taps, u) * w->magnitude,
                 least = fabs(w->sum) - error;
    for (int64_t i = 0; i < w->count; i++) {
        if (least <= 0) {
            w->error[i] = TN_ANYTHING;
            continue;
        }
        const double weight = w->weight[i] / w->sum;
        w->error[i] = (w->error[i] + fabs(weight) * error) / least;
        w->error[i] += 6 * u * (fabs(weight) + w->error[i]);
        w->weight[i] = weight;
    }
}

static void find_weights(const tenon_resize_params *params, uint32_t d, int64_t in, int64_t out,
                         int64_t o, double u, resize_weights *w)
{
    const point p = point_of(params, d, in, out, o);
    w->count = w->taps = 0;
    w->sum = w->magnitude = w->sum_error = 0;
    w->outside = params->coordinates == TENON_RESIZE_TF_CROP_AND_RESIZE &&
                 (p.at < 0 || p.at >= in || (p.at == in - 1 && p.rest > 0));
    if (w->outside)
        return;
    if (params->mode == TENON_RESIZE_NEAREST) {
        add_tap(w, false, in, nearest(params->rounding, p), 1, 0, 0);
        return;
    }
    const double given = params->scales[d] > 0 ? params->scales[d] : (double)out / (double)in;
    const bool widens = (params->flags & TENON_RESIZE_ANTIALIAS) != 0 && given < 1,
               excludes = (params->flags & TENON_RESIZE_EXCLUDE_OUTSIDE) != 0;
    const double scale = widens ? given : 1;
    const filter f = filter_of(params);
    const int64_t reach = (int64_t)ceil((params->mode == TENON_RESIZE_CUBIC ? 2 : 1) / scale);
    const bool exact = p.rest == 0 && !widens;
    const double error = u * (f.slope * DISTANCE_ROUNDINGS + f.roundings) +
                         f.slope * scale * (p.error + (double)o * 0x1p-63) + 0x1p-126;
    for (int64_t i = p.at - reach; i <= p.at + reach + 1; i++) {
        const double weight = weight_at(params, ((double)(i - p.at) - p.rest) * scale);
        /* Taps at integer distances have weights that are exactly 0 or 1. */
        if (!exact || i == p.at)
            add_tap(w, excludes, in, i, exact ? 1 : weight, exact ? 0 : error, u);
    }
    if (widens || excludes)
        resize_normalize(w, u);
}

bool tn_resize_weights_find(const tenon_resize_params *params, uint32_t d, tenon_dtype dtype,
                            int64_t in, int64_t out, resize_weights **weights)
{
    const double u = tn_roundoff(dtype) * (dtype == TENON_DTYPE_F64 ? 2 : 1);
    const double given = params->scales[d] > 0 ? params->scales[d] : (double)out / (double)in;
    const double taps = given < 1 && (params->flags & TENON_RESIZE_ANTIALIAS) != 0 ? 4 / given : 4;
    const int64_t most = tn_min_i64(in, (int64_t)taps + 6);
    resize_weights *all = tn_array(out, sizeof *all);
    double *room = tn_array(2 * most * out, sizeof *room);
    *weights = all;
    if (all == NULL || room == NULL) {
        free(room);
        return false;
    }
    all[0].room = room;
    for (int64_t o = 0; o < out; o++) {
        all[o].weight = room + 2 * most * o;
        all[o].error = all[o].weight + most;
        find_weights(params, d, in, out, o, u, &all[o]);
    }
    return true;
}

void tn_resize_weights_free(resize_weights *weights)
{
    if (weights != NULL)
        free(weights[0].room);
    free(weights);
}

/* The weights of an image's dimension that the caller does not have. */
static bool find_single(resize_weights **weights)
{
    resize_weights *one = tn_array(1, sizeof *one);
    *weights = one;
    double *room = tn_array(2, sizeof *room);
    if (one == NULL || room == NULL) {
        free(room);
        return false;
    }
    *one = (resize_weights){.weight = room, .error = room + 1, .room = room, .count = 1};
    room[0] = 1;
    return true;
}

bool tn_resize_weights_of_image(const tenon_resize_params *params, const tenon_tensor *x,
                                const tenon_tensor *y, resize_weights *weights[3])
{
    bool found = true;
    for (int i = 0; i < 3; i++) {
        const int d = i + (int)x->rank - RESIZE_RANK;
        weights[i] = NULL;
        found =
            found && (d < 0 ? find_single(&weights[i])
                            : tn_resize_weights_find(params, (uint32_t)d, x->dtype, x->shape[2 + d],
                                                     y->shape[2 + d], &weights[i]));
    }
    return found;
}

void tn_resize_add(resize_sum *sum, double x, const double weight[3], const double error[3])
{
    double product = x, most = fabs(x), magnitude = fabs(x);
    bool exact = true, uncertain = false, zero = false;
    for (int d = 0; d < 3; d++) {
        if (error[d] == TN_ANYTHING) {
            sum->anything = true;
            return;
        }
        product *= weight[d];
        magnitude *= fabs(weight[d]);
        most *= fabs(weight[d]) + error[d];
        exact = exact && error[d] == 0;
        uncertain = uncertain || (error[d] > 0 && fabs(weight[d]) <= error[d]);
        zero = zero || (error[d] == 0 && weight[d] == 0);
    }
    if (zero)
        return;
    if (!isfinite(x) && uncertain) {
        sum->anything = true;
        return;
    }
    sum->value += product;
    sum->magnitude += most;
    sum->spread += most - magnitude;
    sum->terms++;
    sum->inexact |= !exact;
}

tn_bounded tn_resize_result(const resize_sum *sum, tenon_dtype dtype)
{
    if (sum->anything)
        return (tn_bounded){sum->value, TN_ANYTHING};
    if (!isfinite(sum->value))
        return (tn_bounded){sum->value, 0};
    if (sum->terms <= 1 && !sum->inexact)
        return (tn_bounded){sum->value, tn_least_normal(dtype)};
    /* A product along each dimension, and the sums, which are no longer than all terms. */
    double roundings = sum->terms + 6;
    if (dtype == TENON_DTYPE_F64)
        roundings *= 2; /* the reference rounds as much as the device */
    return tn_stored(
        dtype, (tn_bounded){sum->value,
                            sum->spread + tn_gamma(roundings, tn_roundoff(dtype)) * sum->magnitude +
                                (sum->terms + 4) * tn_least_normal(dtype)});
}

static tn_bounded resize_element_of(const resize_weights *const w[3], const double *plane,
                                    const int64_t in[3], tenon_dtype dtype)
{
    resize_sum sum = {0};
    for (int64_t i = 0; i < w[0]->count; i++)
        for (int64_t j = 0; j < w[1]->count; j++)
            for (int64_t k = 0; k < w[2]->count; k++) {
                const int64_t at =
                    ((w[0]->low + i) * in[1] + w[1]->low + j) * in[2] + w[2]->low + k;
                tn_resize_add(&sum, plane[at],
                              (double[]){w[0]->weight[i], w[1]->weight[j], w[2]->weight[k]},
                              (double[]){w[0]->error[i], w[1]->error[j], w[2]->error[k]});
            }
    return tn_resize_result(&sum, dtype);
}

/* Returns the constant as it is stored: rounded to the accumulator's type, then to y's. */
static tn_bounded resize_constant_of(double value, tenon_dtype dtype)
{
    unsigned char element[8];
    tn_dtype_store(dtype, element, dtype == TENON_DTYPE_F64 ? value : (double)(float)value);
    return (tn_bounded){tn_dtype_load(dtype, element), tn_least_normal(dtype)};
}

bool tn_resize_reference(const void *given, const tenon_tensor *const *v, tn_bounded *results)
{
    const tenon_resize_params *params = given;
    const tenon_tensor *x = v[RESIZE_X], *y = v[RESIZE_Y];
    const resize_views views = {"x", "y", x, y};
    resize_problem p;
    resize_weights *weights[3];
    if (tn_resize_canonicalize("reference", params, &views, &p) != TENON_OK)
        return false;
    double *values = tn_host_read(x, x->rank, x->shape);
    const bool whole = tn_resize_weights_of_image(params, x, y, weights) && values != NULL;
    const tn_bounded constant = resize_constant_of(params->extrapolation, x->dtype);
    for (int64_t image = 0; whole && !tn_tensor_empty(y) && image < p.n * p.c; image++) {
        const double *plane = values + image * p.in[0] * p.in[1] * p.in[2];
        int64_t o[3] = {0};
        do {
            const resize_weights *const w[] = {&weights[0][o[0]], &weights[1][o[1]],
                                               &weights[2][o[2]]};
            *results++ = w[0]->outside || w[1]->outside || w[2]->outside
                             ? constant
                             : resize_element_of(w, plane, p.in, x->dtype);
        } while (tn_next_index(o, p.out, 3));
    }
    for (int d = 0; d < 3; d++)
        tn_resize_weights_free(weights[d]);
    free(values);
    return whole;
}

/* Adds the gradient of an output to the elements of its window. */
static void resize_scatter(const resize_weights *const w[3], double dy, const int64_t in[3],
                           resize_sum *plane)
{
    for (int64_t i = 0; i < w[0]->count; i++)
        for (int64_t j = 0; j < w[1]->count; j++)
            for (int64_t k = 0; k < w[2]->count; k++) {
                const int64_t at =
                    ((w[0]->low + i) * in[1] + w[1]->low + j) * in[2] + w[2]->low + k;
                tn_resize_add(&plane[at], dy,
                              (double[]){w[0]->weight[i], w[1]->weight[j], w[2]->weight[k]},
                              (double[]){w[0]->error[i], w[1]->error[j], w[2]->error[k]});
            }
}

bool tn_resize_backward_reference(const void *given, const tenon_tensor *const *v,
                                  tn_bounded *results)
{
    const tenon_resize_params *params = given;
    const tenon_tensor *dy = v[RESIZE_BACKWARD_DY], *dx = v[RESIZE_BACKWARD_DX];
    const resize_views views = {"dx", "dy", dx, dy};
    resize_problem p;
    resize_weights *weights[3];
    if (tn_resize_canonicalize("reference", params, &views, &p) != TENON_OK)
        return false;
    const int64_t plane = p.in[0] * p.in[1] * p.in[2];
    double *values = tn_host_read(dy, dy->rank, dy->shape);
    const double *value = values;
    resize_sum *sums = tn_array(tenon_tensor_elements(dx), sizeof *sums);
    const bool whole =
        tn_resize_weights_of_image(params, dx, dy, weights) && values != NULL && sums != NULL;
    for (int64_t image = 0; whole && !tn_tensor_empty(dy) && image < p.n * p.c; image++) {
        int64_t o[3] = {0};
        do {
            const resize_weights *const w[] = {&weights[0][o[0]], &weights[1][o[1]],
                                               &weights[2][o[2]]};
            if (!w[0]->outside && !w[1]->outside && !w[2]->outside)
                resize_scatter(w, *value, p.in, sums + image * plane);
            value++;
        } while (tn_next_index(o, p.out, 3));
    }
    for (int64_t i = 0; whole && i < p.n * p.c * plane; i++)
        results[i] = tn_resize_result(&sums[i], dx->dtype);
    for (int d = 0; d < 3; d++)
        tn_resize_weights_free(weights[d]);
    free(values);
    free(sums);
    return whole;
}
