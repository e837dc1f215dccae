/* References of convolution's gradients, of the transposed convolution and of col2im, in plain C
 * and double precision. They iterate over the products of the convolution. */
#include "base/checked.h"
#include "check/host.h"
#include "ops/conv/problem/gradient.h"

#include <math.h>
#include <stdlib.h>

static int64_t plane_of(const conv_window *v)
{
    return v->size[0] * v->size[1] * v->size[2];
}

/* Returns the element of an image plane that tap i reads for output j, at [i · pixels + j], or -1
 * in the padding. Returns NULL if memory is exhausted; the caller frees the array. */
static int64_t *make_places(const conv_window *v)
{
    int64_t taps = tn_window_taps(v), pixels = tn_window_pixels(v), tap[3] = {0}, out[3] = {0};
    int64_t *places = tn_array(taps * pixels, sizeof *places), *place = places;
    for (int64_t i = 0; i < taps && places != NULL; i++) {
        for (int64_t j = 0; j < pixels; j++) {
            int64_t at = 0;
            for (int d = 0; d < 3; d++) {
                int64_t x = out[d] * v->stride[d] + v->start[d] + tap[d] * v->dilation[d];
                at = at < 0 || x < 0 || x >= v->size[d] ? -1 : at * v->size[d] + x;
            }
            *place++ = at;
            tn_next_index(out, v->out, 3);
        }
        tn_next_index(tap, v->filter, 3);
    }
    return places;
}

/* Adds a product of an element of dy and one of w or x to its sum. */
static void add_term(tn_bounded *sum, double term)
{
    sum->value += term;
    sum->bound += fabs(term);
}

/* The operands in double precision; the gradients of x and of w each use some of them. */
typedef struct dense_operands {
    double *x, *y, *w, *c, *bias;
    int64_t *places;
    double *counts; /* number of products that are summed for each element of x */
} dense_operands;

/* Adds the products of filter k and image n of y, in channel c of its group. */
static void scatter(const conv_problem *p, const dense_operands *o, int64_t n, int64_t k, int64_t c,
                    tn_bounded *sums)
{
    int64_t pixels = tn_window_pixels(&p->window), taps = tn_window_taps(&p->window);
    const double *y = o->y + (n * p->groups * p->k + k) * pixels;
    const double *w = o->w + (k * p->c + c) * taps;
    int64_t first = (n * p->groups * p->c + k / p->k * p->c + c) * plane_of(&p->window);
    for (int64_t i = 0; i < taps; i++)
        for (int64_t j = 0; j < pixels; j++) {
            int64_t at = o->places[i * pixels + j];
            if (at >= 0) {
                add_term(&sums[first + at], y[j] * w[i]);
                o->counts[first + at]++;
            }
        }
}

/* Returns element i of an image from the sum of its products. */
static tn_bounded finish(uint32_t dtype, const tenon_epilogue *e, const dense_operands *o,
                         int64_t i, int64_t plane, int64_t channels, tn_bounded sum)
{
    return tn_conv_element(dtype, e, sum, o->counts[i], o->c != NULL ? e->beta * o->c[i] : 0,
                           o->bias != NULL ? o->bias[i / plane % channels] : 0);
}

static void sum_image(const conv_problem *p, const tenon_epilogue *e, const dense_operands *o,
                      tn_bounded *results)
{
    int64_t plane = plane_of(&p->window), channels = p->groups * p->c;
    for (int64_t i = 0; i < p->n * channels * plane; i++)
        results[i] = (tn_bounded){0, 0};
    for (int64_t n = 0; n < p->n && e->alpha != 0; n++)
        for (int64_t k = 0; k < p->groups * p->k; k++)
            for (int64_t c = 0; c < p->c; c++)
                scatter(p, o, n, k, c, results);
    for (int64_t i = 0; i < p->n * channels * plane; i++)
        results[i] = finish(p->dtype, e, o, i, plane, channels, results[i]);
}

static void free_operands(const dense_operands *o)
{
    free(o->x);
    free(o->y);
    free(o->w);
    free(o->c);
    free(o->bias);
    free(o->places);
    free(o->counts);
}

/* Computes the gradient of the image; `image` is the tensor that is written. */
static bool image_reference(const conv_problem *p, const tenon_epilogue *e, const tenon_tensor *y,
                            const tenon_tensor *w, const tenon_tensor *c, const tenon_tensor *bias,
                            const tenon_tensor *image, tn_bounded *results)
{
    bool adds = tn_epilogue_adds(e, c);
    const dense_operands o = {.y = tn_host_read(y, y->rank, y->shape),
                              .w = tn_host_read(w, w->rank, w->shape),
                              .c = adds ? tn_host_read(c, image->rank, image->shape) : NULL,
                              .bias = bias != NULL ? tn_host_read(bias, 1, bias->shape) : NULL,
                              .places = make_places(&p->window),
                              .counts = tn_array(tenon_tensor_elements(image), sizeof(double))};
    bool whole = o.y != NULL && o.w != NULL && (!adds || o.c != NULL) &&
                 (bias == NULL || o.bias != NULL) && o.places != NULL && o.counts != NULL;
    if (whole)
        sum_image(p, e, &o, results);
    free_operands(&o);
    return whole;
}

bool tn_conv_transpose_reference(const void *given, const tenon_tensor *const *v,
                                 tn_bounded *expected)
{
    const tenon_conv_transpose_params *params = given;
    conv_problem p;
    if (tn_conv_transpose_canonicalize("reference", params, v[CONV_X], v[CONV_W], v[CONV_C],
                                       v[CONV_BIAS], v[CONV_Y], &p) != TENON_OK)
        return false;
    return tn_tensor_empty(v[CONV_Y]) ||
           image_reference(&p, &params->epilogue, v[CONV_X], v[CONV_W], v[CONV_C], v[CONV_BIAS],
                           v[CONV_Y], expected);
}

bool tn_conv_transpose_post_reference(const void *params, const tenon_tensor *const *v,
                                      tn_bounded *expected)
{
    return tn_conv_transpose_reference(params, v, expected) &&
           tn_conv_apply_post(v[CONV_Y], v + CONV_POST, expected);
}

/* Fills in the problem of a gradient and its epilogue. Returns false if the arguments are invalid.
 */
static bool take_gradient(const conv_gradient *gradient, const tenon_conv_backward_params *params,
                          const tenon_tensor *const *views, conv_problem *p,
                          tenon_epilogue *epilogue)
{
    *epilogue = (tenon_epilogue)TENON_EPILOGUE_INIT;
    epilogue->beta = params->beta;
    return tn_conv_gradient_canonicalize("reference", gradient, params, views, p) == TENON_OK;
}

bool tn_conv_backward_data_reference(const void *params, const tenon_tensor *const *v,
                                     tn_bounded *expected)
{
    tenon_epilogue epilogue;
    conv_problem p;
    return take_gradient(&tn_conv_gradient_of_image, params, v, &p, &epilogue) &&
           image_reference(&p, &epilogue, v[0], v[1], v[2], NULL, v[2], expected);
}

bool tn_conv_transpose_backward_data_reference(const void *params, const tenon_tensor *const *v,
                                               tn_bounded *expected)
{
    const char *solver = ((const tenon_conv_backward_params *)params)->solver;
    const tenon_tensor *const views[CONV_OPERANDS] = {v[0], v[1], v[2], NULL, v[2]};
    tenon_epilogue epilogue;
    conv_problem p;
    return take_gradient(&tn_conv_transpose_gradient_of_x, params, v, &p, &epilogue) &&
           tn_conv_problem_reference(&p, &epilogue, solver, views, expected);
}

/* Returns the sum for tap i of filter k and channel c of its group. */
static tn_bounded sum_tap(const conv_problem *p, const dense_operands *o, int64_t k, int64_t c,
                          int64_t i)
{
    int64_t pixels = tn_window_pixels(&p->window), plane = plane_of(&p->window);
    tn_bounded sum = {0, 0};
    for (int64_t n = 0; n < p->n; n++) {
        const double *y = o->y + (n * p->groups * p->k + k) * pixels;
        const double *x = o->x + (n * p->groups * p->c + k / p->k * p->c + c) * plane;
        for (int64_t j = 0; j < pixels; j++) {
            int64_t at = o->places[i * pixels + j];
            add_term(&sum, y[j] * (at >= 0 ? x[at] : 0));
        }
    }
    return sum;
}

/* Computes the gradient of the filters; `image` and `result` are the convolution's x and y. */
static bool filter_reference(const conv_gradient *gradient, const void *params,
                             const tenon_tensor *const *v, const tenon_tensor *image,
                             const tenon_tensor *result, tn_bounded *expected)
{
    const tenon_epilogue none = TENON_EPILOGUE_INIT;
    const tenon_tensor *dw = v[2];
    tenon_epilogue epilogue;
    conv_problem p;
    if (!take_gradient(gradient, params, v, &p, &epilogue))
        return false;
    bool adds = epilogue.beta != 0;
    const dense_operands o = {.x = tn_host_read(image, image->rank, image->shape),
                              .y = tn_host_read(result, result->rank, result->shape),
                              .c = adds ? tn_host_read(dw, dw->rank, dw->shape) : NULL,
                              .places = make_places(&p.window)};
    bool whole = o.x != NULL && o.y != NULL && (!adds || o.c != NULL) && o.places != NULL;
    int64_t taps = tn_window_taps(&p.window);
    double count = (double)p.n * (double)tn_window_pixels(&p.window);
    for (int64_t i = 0; i < tenon_tensor_elements(dw) && whole; i++)
        expected[i] = tn_conv_element(p.dtype, &none,
                                      sum_tap(&p, &o, i / taps / p.c, i / taps % p.c, i % taps),
                                      count, adds ? epilogue.beta * o.c[i] : 0, 0);
    free_operands(&o);
    return whole;
}

bool tn_conv_backward_filter_reference(const void *params, const tenon_tensor *const *v,
                                       tn_bounded *expected)
{
    return filter_reference(&tn_conv_gradient_of_filter, params, v, v[0], v[1], expected);
}

bool tn_conv_transpose_backward_filter_reference(const void *params, const tenon_tensor *const *v,
                                                 tn_bounded *expected)
{
    return filter_reference(&tn_conv_transpose_gradient_of_filter, params, v, v[1], v[0], expected);
}

bool tn_conv_backward_bias_reference(const void *given, const tenon_tensor *const *v,
                                     tn_bounded *expected)
{
    const tenon_conv_backward_params *params = given;
    const tenon_tensor *dy = v[0], *db = v[1];
    const tenon_epilogue epilogue = TENON_EPILOGUE_INIT;
    bool adds = params->beta != 0;
    double *y = tn_host_read(dy, dy->rank, dy->shape);
    double *b = adds ? tn_host_read(db, 1, db->shape) : NULL;
    bool whole = y != NULL && (!adds || b != NULL);
    int64_t n = dy->shape[0], k = dy->shape[1], pixels = 1;
    for (uint32_t d = 2; d < dy->rank; d++)
        pixels *= dy->shape[d];
    for (int64_t i = 0; i < k && whole; i++) {
        tn_bounded sum = {0, 0};
        for (int64_t j = 0; j < n * pixels; j++)
            add_term(&sum, y[(j / pixels * k + i) * pixels + j % pixels]);
        expected[i] = tn_conv_element(db->dtype, &epilogue, sum, (double)(n * pixels),
                                      adds ? params->beta * b[i] : 0, 0);
    }
    free(y);
    free(b);
    return whole;
}

/* Computes col2im; c and bias may be NULL. */
static bool fold_reference(const tenon_im2col_params *params, const tenon_epilogue *epilogue,
                           const tenon_tensor *col, const tenon_tensor *c, const tenon_tensor *bias,
                           const tenon_tensor *x, tn_bounded *expected)
{
    col2im_problem p;
    if (tn_col2im_canonicalize("reference", params, col, x, &p) != TENON_OK)
        return false;
    double *dense = tn_host_read(col, 3, col->shape);
    const dense_operands o = {.y = dense,
                              .c = c != NULL ? tn_host_read(c, x->rank, x->shape) : NULL,
                              .bias = bias != NULL ? tn_host_read(bias, 1, bias->shape) : NULL,
                              .places = make_places(&p.window),
                              .counts = tn_array(tenon_tensor_elements(x), sizeof(double))};
    bool whole = dense != NULL && (c == NULL || o.c != NULL) && (bias == NULL || o.bias != NULL) &&
                 o.counts != NULL && o.places != NULL;
    const int64_t plane = plane_of(&p.window), count = p.n * p.c * plane;
    const int64_t columns = tn_window_taps(&p.window) * tn_window_pixels(&p.window);
    for (int64_t i = 0; i < count && whole; i++)
        expected[i] = (tn_bounded){0, 0};
    for (int64_t i = 0; i < p.n * p.c * columns && whole; i++)
        if (o.places[i % columns] >= 0) {
            int64_t at = i / columns * plane + o.places[i % columns];
            add_term(&expected[at], dense[i]);
            o.counts[at]++;
        }
    for (int64_t i = 0; i < count && whole; i++)
        expected[i] = finish(p.dtype, epilogue, &o, i, plane, p.c, expected[i]);
    free_operands(&o);
    return whole;
}

bool tn_col2im_reference(const void *params, const tenon_tensor *const *v, tn_bounded *expected)
{
    const tenon_epilogue epilogue = TENON_EPILOGUE_INIT;
    return fold_reference(params, &epilogue, v[0], NULL, NULL, v[1], expected);
}

bool tn_conv_folding_reference(const void *given, const tenon_tensor *const *v,
                               tn_bounded *expected)
{
    const conv_folding_params *params = given;
    return fold_reference(&params->columns, &params->epilogue, v[COL2IM_COL], v[COL2IM_RES],
                          v[COL2IM_BIAS], v[COL2IM_X], expected);
}
