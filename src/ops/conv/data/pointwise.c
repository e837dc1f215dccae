/* conv_backward_data/pointwise: a matrix product, for 1x1 filters that visit every pixel of the
 * image once; x and y exchange roles. */
#include "ops/conv/problem/product.h"
#include "ops/conv/problem/gradient.h"

#include <string.h>

static const char *conv_data_pointwise_refuses(const conv_problem *p)
{
    const conv_window *v = &p->window;
    if (tn_window_taps(v) != 1)
        return "the filter is not 1x1";
    for (int d = 0; d < 3; d++)
        if (v->start[d] != 0 || v->stride[d] != 1 || v->out[d] != v->size[d])
            return "the filter does not visit every pixel exactly once";
    return tn_window_pixels(v) == 0 ? "there is nothing to multiply" : NULL;
}

/* Returns the convolution of y with the same result. */
static conv_problem exchanged(const conv_problem *p)
{
    conv_problem e = *p;
    e.c = p->k;
    e.k = p->c;
    memcpy(e.x, p->y, sizeof e.x);
    memcpy(e.y, p->x, sizeof e.y);
    e.operand[CONV_X] = p->operand[CONV_Y];
    e.operand[CONV_Y] = p->operand[CONV_X];
    return e;
}

static tenon_status product(const char *caller, const conv_problem *p, conv_product *product)
{
    const conv_problem e = exchanged(p);
    const conv_window *v = &p->window;
    const conv_block all = {.images = p->n, .count = {v->out[0], v->out[1], v->out[2]}};
    const conv_factors factors = {.w_group = p->k * p->w[0],
                                  .w_filter = p->w[1],
                                  .w_tap = p->w[0],
                                  .image = e.x[0],
                                  .group = e.c * e.x[1],
                                  .tap = e.x[1],
                                  .pixel = {e.x[2], e.x[3], e.x[4]},
                                  .taps = e.c};
    return tn_conv_product(caller, &e, &all, &factors, 0, product);
}

static const char *conv_data_pointwise_configure(tenon_context *context, const tn_problem *problem,
                                                 tn_choice *choice)
{
    const conv_problem *p = (const conv_problem *)problem;
    const char *why = conv_data_pointwise_refuses(p);
    return why != NULL ? why : tn_conv_product_configure(context, p, product, choice);
}

const tn_solver tn_conv_backward_data_pointwise = {
    .name = "pointwise",
    .serves = "filters of one element that visit every pixel exactly once",
    .awkward = "t=1 r=1 s=1 stride_w=1 dilation_h=1",
    .configure = conv_data_pointwise_configure,
    .launch = tn_conv_product_launch};
