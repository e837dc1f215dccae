/* The references of pooling, in plain C and double precision. The gradient is written as the
 * scatter that its definition is; the kernels gather. */
#include "base/shape.h"
#include "check/host.h"
#include "ops/pool/internal.h"
#include "pool/args.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Roundings beside those of the sum: 5 of the division (2.5 ulp, an ulp being at most two
 * roundoffs), and one for the products of errors. */
#define DIVISION_ROUNDINGS 6

/* The taps of one window that lie within the plane. */
typedef struct taps {
    const pool_problem *p;
    int64_t window_index[3];
    const int64_t *output; /* o_d, o_h, o_w */
} taps;

/* Steps to the next tap within the plane and gives its position; -1 after the last. Starts with
 * window_index {0, 0, -1}. */
static int64_t next_tap(taps *t)
{
    const pool_problem *p = t->p;
    for (;;) {
        int d = 2;
        while (d >= 0 && ++t->window_index[d] >= p->window[d])
            t->window_index[d--] = 0;
        if (d < 0)
            return -1;
        int64_t position = 0;
        bool within = true;
        for (int i = 0; i < 3; i++) {
            int64_t at =
                t->output[i] * p->step[i] + p->start[i] + t->window_index[i] * p->dilation[i];
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

/* The first position of the greatest value, or of the first NaN. */
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
    if (p->kind == TENON_POOL_AVERAGE)
        return (double)p->window[0] * (double)p->window[1] * (double)p->window[2];
    int64_t count = 0;
    for (taps t = taps_of(p, output); next_tap(&t) >= 0;)
        count++;
    return (double)count;
}

/* A sum of `count` terms whose magnitudes add up to `magnitude`, divided. */
static tn_bounded rounded(const pool_problem *p, double value, double magnitude, double count)
{
    tenon_dtype dtype = (tenon_dtype)p->dtype;
    double roundings = count + DIVISION_ROUNDINGS;
    if (p->dtype == TENON_DTYPE_F64)
        roundings *= 2; /* this reference rounds as much as the device does */
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

static bool describe(const tenon_pool_params *params, const pool_views *views, pool_problem *p)
{
    return tn_pool_canonicalise("reference", params, views, p) == TENON_OK;
}

bool tn_pool_forward_reference(const tenon_pool_params *params, const tenon_tensor *x,
                               const tenon_tensor *y, tn_bounded *results, int64_t *indices)
{
    const pool_views views = {"x", "y", x, y, NULL, NULL};
    pool_problem p;
    if (!describe(params, &views, &p))
        return false;
    double *values = tn_host_read(x, x->rank, x->shape);
    int64_t plane = p.size[0] * p.size[1] * p.size[2], output[3] = {0};
    for (int64_t image = 0; image < p.n * p.c && values != NULL; image++)
        do {
            const double *at = values + image * plane;
            if (p.kind == TENON_POOL_MAX) {
                int64_t best = maximum_of(&p, at, output);
                *results++ = (tn_bounded){at[best], tn_least_normal((tenon_dtype)p.dtype)};
                if (indices != NULL)
                    *indices++ = best;
            } else {
                *results++ = average_of(&p, at, output);
            }
        } while (tn_next_index(output, p.out, 3));
    bool whole = values != NULL;
    free(values);
    return whole;
}

/* What the gradient of one plane is made of: dense operands, and what each element has received. */
typedef struct gradient {
    double *dy, *x, *indices, *terms;
    tn_bounded *results; /* the bound is the sum of magnitudes until the end */
} gradient;

static void give(const gradient *g, int64_t at, double value)
{
    g->results[at].value += value;
    g->results[at].bound += fabs(value);
    g->terms[at]++;
}

/* Only to an element of the window: an index may be anything. */
static void scatter_window(const pool_problem *p, const gradient *g, int64_t image, int64_t number,
                           const int64_t *output)
{
    int64_t plane = p->size[0] * p->size[1] * p->size[2], first = image * plane;
    double dy = g->dy[number];
    double chosen = g->indices != NULL ? g->indices[number]
                    : g->x != NULL     ? (double)maximum_of(p, g->x + first, output)
                                       : 0;
    double divisor = p->kind == TENON_POOL_MAX ? 1 : divisor_of(p, output);
    taps t = taps_of(p, output);
    for (int64_t at = next_tap(&t); at >= 0; at = next_tap(&t))
        if (p->kind != TENON_POOL_MAX || (double)at == chosen)
            give(g, first + at, dy / divisor);
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
}

bool tn_pool_backward_reference(const tenon_pool_params *params, const tenon_tensor *x,
                                const tenon_tensor *dy, const tenon_tensor *indices,
                                const tenon_tensor *dx, tn_bounded *results)
{
    const pool_views views = {"dx", "dy", dx, dy, indices, x};
    pool_problem p;
    if (!describe(params, &views, &p))
        return false;
    bool reads_x = p.kind == TENON_POOL_MAX && indices == NULL;
    const gradient g = {.dy = tn_host_read(dy, dy->rank, dy->shape),
                        .x = reads_x ? tn_host_read(x, x->rank, x->shape) : NULL,
                        .indices =
                            indices != NULL ? tn_host_read(indices, dy->rank, dy->shape) : NULL,
                        .terms = calloc((size_t)tenon_tensor_elements(dx) + 1, sizeof(double)),
                        .results = results};
    bool whole = g.dy != NULL && g.terms != NULL && (!reads_x || g.x != NULL) &&
                 (indices == NULL || g.indices != NULL);
    if (whole)
        scatter(&p, &g);
    free(g.dy);
    free(g.x);
    free(g.indices);
    free(g.terms);
    return whole;
}
