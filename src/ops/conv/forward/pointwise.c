/* conv/pointwise: a matrix product over the image in place, for 1x1 filters that stay within the
 * image. */
#include "ops/conv/problem/product.h"

static const char *conv_pointwise_refuses(const conv_problem *p)
{
    const conv_window *v = &p->window;
    if (tn_window_taps(v) != 1)
        return "the filter is not 1x1";
    for (int d = 0; d < 3; d++)
        if (v->start[d] != 0 || (v->out[d] - 1) * v->stride[d] >= v->size[d])
            return "the filter reaches into the padding";
    return NULL;
}

static tenon_status product(const char *caller, const conv_problem *p, conv_product *product)
{
    const conv_window *v = &p->window;
    const conv_block all = {.images = p->n, .count = {v->out[0], v->out[1], v->out[2]}};
    const conv_factors factors = {
        .w_group = p->k * p->w[0],
        .w_filter = p->w[0],
        .w_tap = p->w[1],
        .image = p->x[0],
        .group = p->c * p->x[1],
        .tap = p->x[1],
        .pixel = {v->stride[0] * p->x[2], v->stride[1] * p->x[3], v->stride[2] * p->x[4]},
        .taps = p->c};
    return tn_conv_product(caller, p, &all, &factors, 0, product);
}

static const char *conv_pointwise_configure(tenon_context *context, const tn_problem *problem,
                                            tn_choice *choice)
{
    const conv_problem *p = (const conv_problem *)problem;
    const char *why = conv_pointwise_refuses(p);
    return why != NULL ? why : tn_conv_product_configure(context, p, product, choice);
}

const tn_solver tn_conv_pointwise = {.name = "pointwise",
                                     .serves = "filters of one element that stay within the image",
                                     .awkward = "t=1 r=1 s=1 stride_w=1; t=1 r=1 s=1 stride_w=2",
                                     .configure = conv_pointwise_configure,
                                     .launch = tn_conv_product_launch};
