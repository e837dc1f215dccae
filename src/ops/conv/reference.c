/* References of convolution and im2col, in plain C and double precision. */
#include "base/checked.h"
#include "base/shape.h"
#include "check/host.h"
#include "ops/conv/forward/winograd.h"

#include <math.h>
#include <stdlib.h>

/* Roundings of the epilogue, and the minimum length of blocks that are summed separately, as in
 * GEMM's reference. */
#define EPILOGUE_ROUNDINGS 8
#define LEAST_BLOCK        32

/* The part of an image, in dense data, that a row of taps reads: element `at` of `row`, or 0
 * outside. */
typedef struct image_row {
    const double *row; /* NULL if all of it is padding */
    int64_t length;
} image_row;

/* Returns the row under taps (t, r) of outputs (o, p). */
static image_row row_under(const double *x, const conv_window *v, int64_t channel,
                           const int64_t out[2], int64_t t, int64_t r)
{
    int64_t d = out[0] * v->stride[0] + v->start[0] + t * v->dilation[0];
    int64_t h = out[1] * v->stride[1] + v->start[1] + r * v->dilation[1];
    bool within = d >= 0 && d < v->size[0] && h >= 0 && h < v->size[1];
    int64_t number = (channel * v->size[0] + d) * v->size[1] + h;
    return (image_row){within ? x + number * v->size[2] : NULL, v->size[2]};
}

static double pixel(image_row row, int64_t w)
{
    return row.row != NULL && w >= 0 && w < row.length ? row.row[w] : 0;
}

/* All operands in double precision. */
typedef struct dense_operands {
    double *x, *w, *c, *bias;
    tn_bounded *sums; /* sums computed by Winograd transforms, or NULL */
    double roundings; /* roundings of the transforms */
} dense_operands;

/* Buffers for a row of outputs: the elements under the taps of all channels of a group, one padded
 * line per row of taps, and the sums of one filter's products and of their magnitudes. */
typedef struct row_sums {
    double *lines, *value, *magnitude;
    int64_t line;
} row_sums;

static bool make_room(const conv_problem *p, row_sums *sums)
{
    const conv_window *v = &p->window;
    const int64_t width = v->out[2], lines = p->c * v->filter[0] * v->filter[1];
    sums->line = (width - 1) * v->stride[2] + (v->filter[2] - 1) * v->dilation[2] + 1;
    sums->value = tn_array(2 * width + lines * sums->line, sizeof *sums->value);
    sums->magnitude = sums->value + width;
    sums->lines = sums->value + 2 * width;
    return sums->value != NULL;
}

/* Loads the lines under row (o, p) of the outputs; `x` starts at the first channel of the group. */
static void take_lines(const conv_problem *p, const double *x, const int64_t out[2],
                       const row_sums *sums)
{
    const conv_window *v = &p->window;
    double *to = sums->lines;
    for (int64_t c = 0; c < p->c; c++)
        for (int64_t t = 0; t < v->filter[0]; t++)
            for (int64_t r = 0; r < v->filter[1]; r++) {
                const image_row row = row_under(x, v, c, out, t, r);
                for (int64_t i = 0; i < sums->line; i++)
                    *to++ = pixel(row, i + v->start[2]);
            }
}

/* Computes the sums of a filter. Each element is summed in the order of channels and taps; the loop
 * over the row is innermost, so compilers can vectorize it. */
static void sum_row(const conv_problem *p, const double *w, const row_sums *sums)
{
    const conv_window *v = &p->window;
    const int64_t width = v->out[2], lines = p->c * v->filter[0] * v->filter[1];
    const int64_t stride = v->stride[2];
    double *restrict value = sums->value, *restrict magnitude = sums->magnitude;
    for (int64_t q = 0; q < width; q++)
        value[q] = magnitude[q] = 0;
    for (int64_t l = 0; l < lines; l++)
        for (int64_t s = 0; s < v->filter[2]; s++) {
            const double *pixels = sums->lines + l * sums->line + s * v->dilation[2];
            const double tap = *w++;
            for (int64_t q = 0; q < width; q++) {
                const double term = pixels[q * stride] * tap;
                value[q] += term;
                magnitude[q] += fabs(term);
            }
        }
}

tn_bounded tn_conv_element(uint32_t dtype, const tenon_epilogue *e, tn_bounded sum, double count,
                           double added, double bias)
{
    double value = e->alpha != 0 ? e->alpha * sum.value : 0;
    double magnitude = e->alpha != 0 ? fabs(e->alpha) * sum.bound : 0;
    double roundings = count + count / LEAST_BLOCK + EPILOGUE_ROUNDINGS;
    value += added;
    magnitude += fabs(added);
    value += bias;
    magnitude += fabs(bias);
    if (dtype == TENON_DTYPE_F64)
        roundings *= 2; /* this reference has the same roundoff as the device */
    double lost = (count + EPILOGUE_ROUNDINGS) * tn_least_normal((tenon_dtype)dtype);
    double bound = tn_gamma(roundings, tn_roundoff((tenon_dtype)dtype)) * magnitude + lost;
    return tn_stored((tenon_dtype)dtype, tn_activation_reference(&e->activation, (tenon_dtype)dtype,
                                                                 (tn_bounded){value, bound}));
}

/* Returns element `number` of y, of filter k, the q-th of its row. */
static tn_bounded element(const conv_problem *p, const tenon_epilogue *e, const dense_operands *o,
                          const row_sums *sums, int64_t number, int64_t k, int64_t q)
{
    tn_bounded sum = {0, 0};
    double roundings = (double)(p->c * tn_window_taps(&p->window));
    if (e->alpha != 0)
        sum = (tn_bounded){sums->value[q], sums->magnitude[q]};
    if (o->sums != NULL) {
        const tn_bounded *other = &o->sums[number];
        sum = (tn_bounded){isfinite(other->value) ? sum.value : other->value, other->bound};
        roundings = (double)p->c + o->roundings;
    }
    return tn_conv_element(p->dtype, e, sum, roundings, o->c != NULL ? e->beta * o->c[number] : 0,
                           o->bias != NULL ? o->bias[k] : 0);
}

/* Computes row (o, p) of an image's outputs, for all filters of a group. */
static void row_results(const conv_problem *p, const tenon_epilogue *e, const dense_operands *o,
                        const row_sums *sums, const int64_t at[4], tn_bounded *expected)
{
    const conv_window *v = &p->window;
    const int64_t n = at[0], g = at[1], image = v->size[0] * v->size[1] * v->size[2];
    if (e->alpha != 0)
        take_lines(p, o->x + (n * p->groups + g) * p->c * image, at + 2, sums);
    for (int64_t k = g * p->k; k < (g + 1) * p->k; k++) {
        const int64_t row = ((n * p->groups * p->k + k) * v->out[0] + at[2]) * v->out[1] + at[3];
        if (e->alpha != 0)
            sum_row(p, o->w + k * p->c * tn_window_taps(v), sums);
        for (int64_t q = 0; q < v->out[2]; q++)
            expected[row * v->out[2] + q] = element(p, e, o, sums, row * v->out[2] + q, k, q);
    }
}

/* Computes all of y, which must not be empty. Returns false if memory is exhausted. */
static bool all_results(const conv_problem *p, const tenon_epilogue *e, const dense_operands *o,
                        tn_bounded *expected)
{
    const int64_t shape[] = {p->n, p->groups, p->window.out[0], p->window.out[1]};
    int64_t at[4] = {0};
    row_sums sums;
    if (!make_room(p, &sums))
        return false;
    do
        row_results(p, e, o, &sums, at, expected);
    while (tn_next_index(at, shape, 4));
    free(sums.value);
    return true;
}

/* Computes the sums of a forced solver if they differ from the usual ones. Returns false if memory
 * is exhausted. */
static bool take_sums(const conv_problem *p, const char *solver, int64_t count, dense_operands *o)
{
    int64_t tile = tn_winograd_tile(tn_solver_named(&tn_conv_family, solver));
    if (tile == 0 || tn_winograd_refuses(p) != NULL)
        return true;
    o->sums = tn_array(count, sizeof *o->sums);
    o->roundings = tn_winograd_roundings(tile);
    return o->sums != NULL && tn_winograd_sums(p, tile, o->x, o->w, o->sums);
}

bool tn_conv_problem_reference(const conv_problem *p, const tenon_epilogue *epilogue,
                               const char *solver, const tenon_tensor *const views[CONV_OPERANDS],
                               tn_bounded *expected)
{
    const tenon_tensor *x = views[CONV_X], *w = views[CONV_W], *bias = views[CONV_BIAS],
                       *y = views[CONV_Y];
    bool adds = tn_epilogue_adds(epilogue, views[CONV_C]);
    dense_operands o = {.x = tn_host_read(x, x->rank, x->shape),
                        .w = tn_host_read(w, w->rank, w->shape),
                        .c = adds ? tn_host_read(views[CONV_C], y->rank, y->shape) : NULL,
                        .bias = bias != NULL ? tn_host_read(bias, 1, bias->shape) : NULL};
    bool whole =
        o.x != NULL && o.w != NULL && (!adds || o.c != NULL) && (bias == NULL || o.bias != NULL);
    const int64_t count = tenon_tensor_elements(y);
    whole = whole && take_sums(p, solver, count, &o) &&
            (count == 0 || all_results(p, epilogue, &o, expected));
    free(o.x);
    free(o.w);
    free(o.c);
    free(o.bias);
    free(o.sums);
    return whole;
}

bool tn_conv_reference(const void *given, const tenon_tensor *const *v, tn_bounded *expected)
{
    const tenon_conv_params *params = given;
    conv_problem p;
    return tn_conv_canonicalize("reference", params, v[CONV_X], v[CONV_W], v[CONV_C], v[CONV_BIAS],
                                v[CONV_Y], &p) == TENON_OK &&
           tn_conv_problem_reference(&p, &params->epilogue, params->solver, v, expected);
}

bool tn_conv_apply_post(const tenon_tensor *output, const tenon_tensor *const term[POST_TERMS],
                        tn_bounded *expected)
{
    const tenon_tensor *views[POST_TERMS] = {NULL, NULL, term[POST_RESIDUAL]};
    tenon_tensor wide[POST_TERMS];
    for (int t = POST_SCALE; t <= POST_SHIFT; t++) {
        if (term[t] == NULL)
            continue;
        wide[t] = *term[t]; /* K, 1, 1 … */
        wide[t].rank = output->rank - 1;
        for (uint32_t d = 1; d < wide[t].rank; d++) {
            wide[t].shape[d] = 1;
            wide[t].stride[d] = 1;
        }
        views[t] = &wide[t];
    }
    return tn_post_reference(output, views, expected);
}

/* The convolution of conv_post/two_steps may be computed by conv/winograd4, whose bound is the
 * largest of all solvers. */
bool tn_conv_post_reference(const void *given, const tenon_tensor *const *v, tn_bounded *expected)
{
    tenon_conv_params params = *(const tenon_conv_params *)given;
    const tn_solver *named = tn_solver_named(&tn_conv_post_family, params.solver);
    const bool transforms = named != NULL && tn_is_solver(named, &tn_conv_two_steps) &&
                            (params.flags & TENON_CONV_EXACT) == 0;
    params.solver = transforms ? "conv/winograd4" : NULL;
    return tn_conv_reference(&params, v, expected) &&
           tn_conv_apply_post(v[CONV_Y], v + CONV_POST, expected);
}

bool tn_im2col_reference(const void *params, const tenon_tensor *const *views, tn_bounded *expected)
{
    const tenon_tensor *x = views[IM2COL_X], *col = views[IM2COL_COL];
    im2col_problem p;
    const conv_window *v = &p.window;
    if (tn_im2col_canonicalize("reference", params, x, col, &p) != TENON_OK)
        return false;
    double *dense = tn_host_read(x, x->rank, x->shape);
    const int64_t shape[] = {p.n,          p.c,       v->filter[0], v->filter[1],
                             v->filter[2], v->out[0], v->out[1],    v->out[2]};
    int64_t i[8] = {0}; /* n, c, t, r, s, o, p, q */
    for (int64_t left = tenon_tensor_elements(col); left > 0 && dense != NULL; left--) {
        image_row row = row_under(dense, v, i[0] * p.c + i[1], i + 5, i[2], i[3]);
        const int64_t w = i[7] * v->stride[2] + v->start[2] + i[4] * v->dilation[2];
        *expected++ = (tn_bounded){pixel(row, w), 0};
        tn_next_index(i, shape, 8);
    }
    bool whole = dense != NULL;
    free(dense);
    return whole;
}
