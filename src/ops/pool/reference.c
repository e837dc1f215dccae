/* References of pooling, in plain C and double precision, and its awkward cases. The gradient is
 * computed by scattering, as it is defined; most kernels gather. */
#include "base/checked.h"
#include "check/awkward.h"
#include "base/dtype.h"
#include "base/shape.h"
#include "ops/pool/internal.h"
#include "ops/registry.h"
#include "pool/args.h"
#include "pool/windows_args.h"

#include <math.h>
#include <stdlib.h>

/* Roundings other than those of the sum: 5 of the division (2.5 ulp, an ulp being at most two
 * roundoffs), and one for the products of errors. */
#define DIVISION_ROUNDINGS 6

/* Returns the first tap of an output along a dimension, which may be in the padding, and the number
 * of taps. */
static int64_t first_tap(const pool_problem *p, int d, int64_t output, int64_t *count)
{
    if ((p->flags & POOL_ADAPTIVE) != 0) {
        const int64_t first = output * p->size[d] / p->out[d],
                      last = tn_ceil_div((output + 1) * p->size[d], p->out[d]);
        *count = last - first;
        return first;
    }
    *count = p->window[d];
    return output * p->step[d] + p->start[d];
}

/* An iterator over the taps of one window that are within the plane. */
typedef struct taps {
    const pool_problem *p;
    int64_t window_index[3];
    const int64_t *output; /* o_d, o_h, o_w */
} taps;

/* Advances to the next tap within the plane and returns its position; -1 after the last. Starts
 * with window_index {0, 0, -1}. */
static int64_t next_tap(taps *t)
{
    const pool_problem *p = t->p;
    for (;;) {
        int d = 2;
        int64_t first[3], count[3];
        for (int i = 0; i < 3; i++)
            first[i] = first_tap(p, i, t->output[i], &count[i]);
        while (d >= 0 && ++t->window_index[d] >= count[d])
            t->window_index[d--] = 0;
        if (d < 0)
            return -1;
        int64_t position = 0;
        bool within = true;
        for (int i = 0; i < 3; i++) {
            int64_t at = first[i] + t->window_index[i] * p->dilation[i];
            within = within && at >= 0 && at < p->size[i];
            position = position * p->size[i] + at;
        }
        if (within)
            return position;
    }
}

static taps taps_of(const pool_problem *p, const int64_t *output)
{
    return (taps){.p = p, .window_index = {0, 0, -1}, .output = output};
}

/* Returns the first position of the maximum, or of the first NaN. */
static int64_t maximum_of(const pool_problem *p, const double *plane, const int64_t *output)
{
    taps t = taps_of(p, output);
    int64_t best = next_tap(&t);
    for (int64_t at = best; at >= 0 && !isnan(plane[best]); at = next_tap(&t))
        if (plane[at] > plane[best] || isnan(plane[at]))
            best = at;
    return best;
}

static double divisor_of(const pool_problem *p, const int64_t *output)
{
    double product = 1;
    for (int d = 0; d < 3 && p->kind == TENON_POOL_AVERAGE; d++) {
        int64_t all, counted = 0;
        const int64_t first = first_tap(p, d, output[d], &all);
        for (int64_t i = 0; i < all; i++)
            counted +=
                (p->flags & POOL_COUNT_PADDED) == 0 || first + i * p->dilation[d] < p->limit[d];
        product *= (double)counted;
    }
    if (p->kind == TENON_POOL_AVERAGE)
        return product;
    int64_t count = 0;
    for (taps t = taps_of(p, output); next_tap(&t) >= 0;)
        count++;
    return (double)count;
}

/* Returns a quotient with its bound for a sum of `count` terms with magnitudes `magnitude`. */
static tn_bounded rounded(const pool_problem *p, double value, double magnitude, double count)
{
    tenon_dtype dtype = (tenon_dtype)p->dtype;
    double roundings = count + DIVISION_ROUNDINGS;
    if (p->dtype == TENON_DTYPE_F64)
        roundings *= 2; /* the reference rounds as much as the device */
    return tn_stored(dtype,
                     (tn_bounded){value, tn_gamma(roundings, tn_roundoff(dtype)) * magnitude +
                                             (count + 1) * tn_least_normal(dtype)});
}

static tn_bounded average_of(const pool_problem *p, const double *plane, const int64_t *output)
{
    double value = 0, magnitude = 0, count = 0, divisor = divisor_of(p, output);
    taps t = taps_of(p, output);
    for (int64_t at = next_tap(&t); at >= 0; at = next_tap(&t)) {
        value += plane[at];
        magnitude += fabs(plane[at]);
        count++;
    }
    return rounded(p, value / divisor, magnitude / divisor, count);
}

/* Relative error of a power in OpenCL, 16 ulp, in roundoffs; and of a square root, 3 ulp. */
#define POWER_ROUNDINGS 32
#define ROOT_ROUNDINGS  6

/* Returns the relative error of |x|^p for a base with the relative error `base`: its own, that of
 * the rounded exponent, and that of the power. */
static double power_error(double x, double p, double base, double u)
{
    const double exponent = p * (base + u * fabs(log(fabs(x))));
    return expm1(exponent) + POWER_ROUNDINGS * u * exp(exponent);
}

/* Returns the norm of a window. */
static tn_bounded norm_of(const pool_problem *p, const double *plane, const int64_t *output)
{
    const double u = tn_roundoff((tenon_dtype)p->dtype) * (p->dtype == TENON_DTYPE_F64 ? 2 : 1);
    double sum = 0, error = 0, count = 0;
    taps t = taps_of(p, output);
    for (int64_t at = next_tap(&t); at >= 0; at = next_tap(&t)) {
        const double term = pow(fabs(plane[at]), p->p);
        sum += term;
        if (term > 0 && isfinite(term))
            error += term * (p->p == 1 ? 0 : p->p == 2 ? u : power_error(plane[at], p->p, 0, u));
        count++;
    }
    if (!isfinite(sum))
        return (tn_bounded){sum, 0};
    error += tn_gamma(count, u) * (sum + error) +
             (2 * count + 1) * tn_least_normal((tenon_dtype)p->dtype);
    const double value = pow(sum, 1 / p->p), above = pow(sum + error, 1 / p->p),
                 below = pow(sum > error ? sum - error : 0, 1 / p->p),
                 last = p->p == 1   ? 0
                        : p->p == 2 ? ROOT_ROUNDINGS * u * above
                                    : power_error(sum + error, 1 / p->p, 0, u) * above;
    return (tn_bounded){value, fmax(above - value, value - below) + last +
                                   tn_least_normal((tenon_dtype)p->dtype)};
}

/* Returns the share of a norm's gradient for an element x. */
static tn_bounded norm_share(const pool_problem *p, tn_bounded norm, double x, double dy)
{
    const double u = tn_roundoff((tenon_dtype)p->dtype) * (p->dtype == TENON_DTYPE_F64 ? 2 : 1);
    if (x == 0)
        return (tn_bounded){0, 0};
    const double least = norm.value - norm.bound, ratio = fabs(x) / norm.value,
                 value = copysign(pow(ratio, p->p - 1), x) * dy;
    if (least <= 0) /* it may be 0, or less than the element */
        return (tn_bounded){value, 4 * fabs(dy) + fabs(value)};
    if (p->p == 1)
        return (tn_bounded){value, u * fabs(value)};
    const double base = norm.bound / least + 6 * u,
                 error = p->p == 2 ? base : power_error(ratio, p->p - 1, base, 2 * u);
    return (tn_bounded){value, fabs(value) * (error + 2 * u * (1 + error)) +
                                   (1 + fabs(dy)) * tn_least_normal((tenon_dtype)p->dtype)};
}

/* Indices are exact. */
bool tn_pool_reference(const void *params, const tenon_tensor *const *v, tn_bounded *results)
{
    const tenon_tensor *x = v[POOL_X], *y = v[POOL_Y];
    const pool_views views = {"x", "y", x, y, NULL, NULL};
    tn_bounded *places = v[POOL_INDICES] != NULL ? results + tenon_tensor_elements(y) : NULL;
    pool_problem p;
    if (tn_pool_canonicalize("reference", params, &views, &p) != TENON_OK)
        return false;
    double *values = tn_host_read(x, x->rank, x->shape);
    int64_t plane = p.size[0] * p.size[1] * p.size[2], output[3] = {0};
    for (int64_t image = 0; image < p.n * p.c && values != NULL; image++)
        do {
            const double *at = values + image * plane;
            if (p.kind == TENON_POOL_MAX) {
                int64_t best = maximum_of(&p, at, output);
                *results++ = (tn_bounded){at[best], tn_least_normal((tenon_dtype)p.dtype)};
                if (places != NULL)
                    *places++ = (tn_bounded){(double)best, 0};
            } else if (p.kind == TENON_POOL_LP) {
                *results++ = tn_stored((tenon_dtype)p.dtype, norm_of(&p, at, output));
            } else {
                *results++ = average_of(&p, at, output);
            }
        } while (tn_next_index(output, p.out, 3));
    bool whole = values != NULL;
    free(values);
    return whole;
}

/* The gradient of all planes: dense operands, and the terms that each element has received. */
typedef struct gradient {
    double *dy, *x, *indices, *terms, *errors;
    tn_bounded *results; /* the bound is the sum of magnitudes until the end */
} gradient;

static void give(const gradient *g, int64_t at, tn_bounded share)
{
    g->results[at].value += share.value;
    g->results[at].bound += fabs(share.value) + share.bound;
    g->errors[at] += share.bound;
    g->terms[at]++;
}

/* Adds only to elements of the window, since indices may be arbitrary. */
static void scatter_window(const pool_problem *p, const gradient *g, int64_t image, int64_t number,
                           const int64_t *output)
{
    int64_t plane = p->size[0] * p->size[1] * p->size[2], first = image * plane;
    double dy = g->dy[number];
    double chosen = g->indices != NULL ? g->indices[number]
                    : g->x != NULL     ? (double)maximum_of(p, g->x + first, output)
                                       : 0;
    const bool is_norm = p->kind == TENON_POOL_LP && g->x != NULL;
    const tn_bounded norm = is_norm ? norm_of(p, g->x + first, output) : (tn_bounded){1, 0};
    double divisor = p->kind == TENON_POOL_MAX || is_norm ? 1 : divisor_of(p, output);
    taps t = taps_of(p, output);
    for (int64_t at = next_tap(&t); at >= 0; at = next_tap(&t))
        if (is_norm)
            give(g, first + at, norm_share(p, norm, g->x[first + at], dy));
        else if (p->kind != TENON_POOL_MAX || (double)at == chosen)
            give(g, first + at, (tn_bounded){dy / divisor, 0});
}

static void scatter(const pool_problem *p, const gradient *g)
{
    int64_t number = 0, output[3] = {0},
            elements = p->n * p->c * p->size[0] * p->size[1] * p->size[2];
    for (int64_t i = 0; i < elements; i++)
        g->results[i] = (tn_bounded){0, 0};
    for (int64_t image = 0; image < p->n * p->c; image++)
        do
            scatter_window(p, g, image, number++, output);
        while (tn_next_index(output, p->out, 3));
    for (int64_t i = 0; i < elements; i++)
        g->results[i] = rounded(p, g->results[i].value, g->results[i].bound, g->terms[i]);
    for (int64_t i = 0; i < elements && p->kind == TENON_POOL_LP; i++)
        g->results[i].bound += g->errors[i];
}

bool tn_pool_backward_reference(const void *params, const tenon_tensor *const *v,
                                tn_bounded *results)
{
    const tenon_tensor *x = v[POOL_BACKWARD_X], *dy = v[POOL_BACKWARD_DY],
                       *indices = v[POOL_BACKWARD_INDICES], *dx = v[POOL_BACKWARD_DX];
    const pool_views views = {"dx", "dy", dx, dy, indices, x};
    pool_problem p;
    if (tn_pool_canonicalize("reference", params, &views, &p) != TENON_OK)
        return false;
    bool reads_x = p.kind == TENON_POOL_LP || (p.kind == TENON_POOL_MAX && indices == NULL);
    const gradient g = {.dy = tn_host_read(dy, dy->rank, dy->shape),
                        .x = reads_x ? tn_host_read(x, x->rank, x->shape) : NULL,
                        .indices =
                            indices != NULL ? tn_host_read(indices, dy->rank, dy->shape) : NULL,
                        .terms = tn_array(tenon_tensor_elements(dx), sizeof(double)),
                        .errors = tn_array(tenon_tensor_elements(dx), sizeof(double)),
                        .results = results};
    bool whole = g.dy != NULL && g.terms != NULL && g.errors != NULL && (!reads_x || g.x != NULL) &&
                 (indices == NULL || g.indices != NULL);
    if (whole)
        scatter(&p, &g);
    free(g.dy);
    free(g.x);
    free(g.indices);
    free(g.terms);
    free(g.errors);
    return whole;
}

/* Returns the position of a random element of a window. */
static int64_t some_tap(const pool_problem *p, const int64_t *output, uint64_t *seed)
{
    taps t = taps_of(p, output);
    int64_t chosen = -1, count = 0;
    for (int64_t at = next_tap(&t); at >= 0; at = next_tap(&t))
        if ((tn_random(seed) + 1) / 2 * (double)++count < 1)
            chosen = at;
    return chosen;
}

/* Sets about half of the indices to positions in their windows, the others to any in the plane. */
void tn_pool_backward_fill_valid(const void *params, const tenon_tensor *const *v, uint64_t *seed)
{
    const tenon_tensor *dy = v[POOL_BACKWARD_DY], *indices = v[POOL_BACKWARD_INDICES],
                       *dx = v[POOL_BACKWARD_DX];
    const pool_views views = {"dx", "dy", dx, dy, indices, NULL};
    int64_t index[TENON_MAX_RANK] = {0}, output[3] = {0};
    pool_problem p;
    if (indices == NULL || tenon_tensor_elements(indices) == 0 ||
        tn_pool_canonicalize("reference", params, &views, &p) != TENON_OK)
        return;
    tn_case_integers(indices, 0, p.size[0] * p.size[1] * p.size[2] - 1, seed);
    for (int64_t image = 0; image < p.n * p.c; image++)
        do {
            if (tn_random(seed) < 0)
                tn_dtype_store(indices->dtype, tn_host_element(indices, index),
                               (double)some_tap(&p, output, seed));
            tn_next_index(index, indices->shape, indices->rank);
        } while (tn_next_index(output, p.out, 3));
}

#define AWKWARD_N 2
#define AWKWARD_C 35

/* Makes a case with different window parameters in the two dimensions, the given stride along w,
 * and the layout of the problem at hand. Fills in the views of x or dx, of y or dy, and of the
 * indices. */
static void make_awkward(const pool_problem *like, const tn_operation *operation, int64_t step,
                         tn_case *c, tenon_tensor *x, tenon_tensor *y, tenon_tensor *indices)
{
    static const int64_t size[] = {7, 37};
    const tenon_dtype dtype = (tenon_dtype)like->dtype;
    const bool channels_last = like->x[1] == 1 && like->x[4] != 1;
    tn_awkward_begin(c, operation);
    tenon_pool_params *params = (tenon_pool_params *)c->params.bytes;
    tenon_conv_geometry *g = &params->geometry;
    params->kind = like->kind;
    params->window[0] = 3;
    params->window[1] = 2;
    g->stride[0] = 2;
    g->stride[1] = step;
    g->dilation[1] = 2;
    g->pad_begin[0] = g->pad_end[1] = 1;
    g->pad_begin[1] = 2;
    const int64_t shape[] = {AWKWARD_N, AWKWARD_C, tenon_conv_output_size(g, 0, size[0], 3),
                             tenon_conv_output_size(g, 1, size[1], 2)};
    *x = tn_image_view(dtype, channels_last, AWKWARD_N, AWKWARD_C, size);
    *y = tn_image_view(dtype, channels_last, AWKWARD_N, AWKWARD_C, &shape[2]);
    *indices = tenon_tensor_view(TENON_DTYPE_I32, 4, shape);
}

/* Makes a case of pool/windows take the paths of the problem at hand. */
static void make_special(const pool_problem *like, tn_case *c, tenon_tensor *y,
                         tenon_tensor *indices)
{
    tenon_pool_params *params = (tenon_pool_params *)c->params.bytes;
    const bool channels_last = y->stride[1] == 1;
    int64_t shape[] = {y->shape[0], y->shape[1], 3, 16};
    params->p = like->p > 0 ? like->p : 2;
    if ((like->flags & POOL_ADAPTIVE) != 0) {
        params->flags = TENON_POOL_ADAPTIVE;
    } else {
        params->flags = TENON_POOL_CEIL;
        params->geometry.stride[1] = 4;
        shape[2] = tenon_pool_output_size(params, 0, 7);
        shape[3] = tenon_pool_output_size(params, 1, 37);
    }
    *y = tn_image_view(y->dtype, channels_last, shape[0], shape[1], &shape[2]);
    *indices = tenon_tensor_view(TENON_DTYPE_I32, 4, shape);
}

/* Makes the window of a case cover the whole image. */
static void make_global(tn_case *c)
{
    const bool channels_last = c->views[POOL_X].stride[1] == 1;
    const int64_t size[] = {1, 1};
    ((tenon_pool_params *)c->params.bytes)->flags = TENON_POOL_GLOBAL;
    c->views[POOL_Y] =
        tn_image_view(c->views[POOL_X].dtype, channels_last, AWKWARD_N, AWKWARD_C, size);
}

/* With indices if the problem at hand has them. pool/values has a different loop for each of the
 * strides 1 and 2 along w, one for all others, and a kernel for windows of whole rows. */
bool tn_pool_awkward(const tn_problem *problem, const tn_choice *choice, uint32_t number,
                     tn_case *c)
{
    const pool_problem *like = (const pool_problem *)problem;
    const uint32_t cases = tn_is_solver(choice->solver, &tn_pool_values) ? 4 : 1;
    tenon_tensor indices;
    if (number >= cases)
        return false;
    make_awkward(like, &tn_operation_pool, 1 + (int64_t)number % 3, c, &c->views[POOL_X],
                 &c->views[POOL_Y], &indices);
    if (tn_pool_is_special(like) != NULL)
        make_special(like, c, &c->views[POOL_Y], &indices);
    if ((like->flags & POOL_HAS_INDICES) != 0)
        c->views[POOL_INDICES] = indices;
    if (number == 3)
        make_global(c);
    return true;
}

/* A build finds the maximum by indices or by x, so both are checked. pool_backward/scatter has
 * different loads of x for the strides 1 and 2 along w. */
bool tn_pool_backward_awkward(const tn_problem *problem, const tn_choice *choice, uint32_t number,
                              tn_case *c)
{
    const pool_problem *like = (const pool_problem *)problem;
    tenon_tensor indices;
    const uint32_t strides = tn_is_solver(choice->solver, &tn_pool_backward_scatter) ? 2 : 1;
    if (number >= (like->kind == TENON_POOL_MAX ? 1 + strides : 1))
        return false;
    make_awkward(like, &tn_operation_pool_backward, number == 2 ? 2 : 1, c,
                 &c->views[POOL_BACKWARD_DX], &c->views[POOL_BACKWARD_DY], &indices);
    if (tn_pool_is_special(like) != NULL)
        make_special(like, c, &c->views[POOL_BACKWARD_DY], &indices);
    c->views[POOL_BACKWARD_X] = c->views[POOL_BACKWARD_DX];
    if (like->kind == TENON_POOL_MAX && number == 0)
        c->views[POOL_BACKWARD_INDICES] = indices;
    return true;
}
