/* conv/pointwise: a 1×1 filter that stays within the image is a matrix product over the image as it
 * lies. */
#include "ops/conv/product.h"

#include <stdio.h>

static const char *refuses(tenon_context *context, const tn_problem *problem)
{
    const conv_problem *p = (const conv_problem *)problem;
    const conv_window *v = &p->window;
    (void)context;
    if (v->r != 1 || v->s != 1)
        return "the filter is not 1x1";
    if (v->h_start != 0 || v->w_start != 0 || (v->p - 1) * v->stride_h >= v->h ||
        (v->q - 1) * v->stride_w >= v->w)
        return "the filter reaches into the padding";
    return NULL;
}

static tenon_status product(const char *operation, const conv_problem *p, gemm_problem *product)
{
    const conv_window *v = &p->window;
    const conv_block all = {.images = p->n, .rows = v->p};
    const conv_factors factors = {
        .w_filter = p->w[0],
        .w_tap = p->w[1],
        .col = {p->x[0], p->c * p->x[1], v->stride_h * p->x[2], p->x[1], v->stride_w * p->x[3]},
        .w_operand = CONV_W,
        .col_operand = CONV_X,
        .taps = p->c};
    return tn_conv_product(operation, p, &all, &factors, product);
}

static double estimate(tenon_context *context, const tn_problem *problem, const int32_t *values)
{
    gemm_problem g;
    (void)values;
    if (product("estimate", (const conv_problem *)problem, &g) != TENON_OK)
        return 1e300;
    return tn_gemm_estimate(context, &g);
}

/* It has no kernel of its own; GEMM checks its variants by itself. */
static void options(tenon_context *context, const tn_problem *problem, const int32_t *values,
                    char text[TN_OPTIONS_SIZE])
{
    (void)context;
    (void)values;
    snprintf(text, TN_OPTIONS_SIZE, "dtype %u", ((const conv_problem *)problem)->dtype);
}

static tenon_status record(const char *operation, tn_recording *recording,
                           const tn_problem *problem, const int32_t *values)
{
    gemm_problem g;
    (void)values;
    TN_TRY(product(operation, (const conv_problem *)problem, &g));
    return tn_gemm_record(operation, recording, &g);
}

const tn_solver tn_conv_pointwise = {.name = "pointwise",
                                     .refuses = refuses,
                                     .estimate = estimate,
                                     .options = options,
                                     .record = record};
