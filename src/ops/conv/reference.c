/* The references of convolution and im2col, in plain C and double precision. */
#include "ops/common/host.h"
#include "ops/conv/internal.h"

#include <math.h>
#include <stdlib.h>

/* As GEMM's: roundings of the epilogue, and of adding up blocks. */
#define EPILOGUE_ROUNDINGS 8
#define LEAST_BLOCK        32

/* x[n, c, h, w] of dense data with the padding, or 0. */
static double pixel(const double *x, const conv_window *v, int64_t channel, int64_t p, int64_t q,
                    int64_t r, int64_t s)
{
    int64_t h = p * v->stride_h + v->h_start + r * v->dilation_h,
            w = q * v->stride_w + v->w_start + s * v->dilation_w;
    return h >= 0 && h < v->h && w >= 0 && w < v->w ? x[(channel * v->h + h) * v->w + w] : 0;
}

/* All operands in double. */
typedef struct dense_operands {
    double *x, *w, *c, *bias;
} dense_operands;

static tn_bounded element(const conv_problem *p, const tenon_epilogue *e, const dense_operands *o,
                          int64_t n, int64_t k, int64_t i, int64_t j)
{
    const conv_window *v = &p->window;
    int64_t channels = p->groups * p->c, filters = p->groups * p->k, first = k / p->k * p->c;
    double u = tn_roundoff((tenon_dtype)p->dtype), taps = (double)(p->c * v->r * v->s), value = 0,
           magnitude = 0;
    for (int64_t c = 0; c < p->c && e->alpha != 0; c++)
        for (int64_t r = 0; r < v->r; r++)
            for (int64_t s = 0; s < v->s; s++) {
                double term = pixel(o->x, v, n * channels + first + c, i, j, r, s) *
                              o->w[((k * p->c + c) * v->r + r) * v->s + s];
                value += term;
                magnitude += fabs(term);
            }
    value = e->alpha != 0 ? e->alpha * value : 0;
    magnitude *= fabs(e->alpha);
    if (o->c != NULL) {
        double residual = o->c[((n * filters + k) * v->p + i) * v->q + j];
        value += e->beta * residual;
        magnitude += fabs(e->beta * residual);
    }
    if (o->bias != NULL) {
        value += o->bias[k];
        magnitude += fabs(o->bias[k]);
    }
    double roundings = taps + taps / LEAST_BLOCK + EPILOGUE_ROUNDINGS;
    if (p->dtype == TENON_DTYPE_F64)
        roundings *= 2; /* this reference rounds as much as the device does */
    double lost = (taps + EPILOGUE_ROUNDINGS) * tn_least_normal((tenon_dtype)p->dtype);
    return tn_stored(
        (tenon_dtype)p->dtype,
        tn_activation_reference(&e->activation, (tenon_dtype)p->dtype,
                                (tn_bounded){value, tn_gamma(roundings, u) * magnitude + lost}));
}

bool tn_conv_reference(const tenon_conv_params *params, const tenon_tensor *x,
                       const tenon_tensor *w, const tenon_tensor *c, const tenon_tensor *bias,
                       const tenon_tensor *y, tn_bounded *results)
{
    conv_problem p;
    if (tn_conv_canonicalise("reference", params, x, w, c, bias, y, &p) != TENON_OK)
        return false;
    const dense_operands o = {.x = tn_host_read(x, 4, x->shape),
                              .w = tn_host_read(w, 4, w->shape),
                              .c = params->epilogue.beta != 0 ? tn_host_read(c, 4, y->shape) : NULL,
                              .bias = bias != NULL ? tn_host_read(bias, 1, bias->shape) : NULL};
    bool whole = o.x != NULL && o.w != NULL && (params->epilogue.beta == 0 || o.c != NULL) &&
                 (bias == NULL || o.bias != NULL);
    for (int64_t n = 0; n < y->shape[0] && whole; n++)
        for (int64_t k = 0; k < y->shape[1]; k++)
            for (int64_t i = 0; i < y->shape[2]; i++)
                for (int64_t j = 0; j < y->shape[3]; j++)
                    *results++ = element(&p, &params->epilogue, &o, n, k, i, j);
    free(o.x);
    free(o.w);
    free(o.c);
    free(o.bias);
    return whole;
}

bool tn_im2col_reference(const tenon_im2col_params *params, const tenon_tensor *x,
                         const tenon_tensor *col, tn_bounded *results)
{
    im2col_problem p;
    const conv_window *v = &p.window;
    if (tn_im2col_canonicalise("reference", params, x, col, &p) != TENON_OK)
        return false;
    double *dense = tn_host_read(x, 4, x->shape);
    for (int64_t n = 0; n < p.n && dense != NULL; n++)
        for (int64_t row = 0; row < col->shape[1]; row++)
            for (int64_t at = 0; at < col->shape[2]; at++) {
                int64_t s = row % v->s, r = row / v->s % v->r, c = row / (v->s * v->r);
                *results++ =
                    (tn_bounded){pixel(dense, v, n * p.c + c, at / v->q, at % v->q, r, s), 0};
            }
    bool whole = dense != NULL;
    free(dense);
    return whole;
}
