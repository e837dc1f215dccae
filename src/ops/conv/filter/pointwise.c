/* conv_backward_filter/pointwise: a matrix product, for 1x1 filters that visit every pixel of the
 * image once, so the image is its own columns. It is one product over all images if their pixels
 * have a single stride, otherwise one product per image, added in order. */
#include "ops/conv/problem/gradient.h"
#include "ops/conv/problem/product.h"

#include <string.h>

/* Returns true if the pixels of `images` images have a single stride. */
static bool merges(const conv_problem *p, int64_t images, const int64_t stride[CONV_RANK],
                   int64_t *joined)
{
    const int64_t *out = p->window.out;
    const int64_t shape[] = {images, out[0], out[1], out[2]};
    const int64_t strides[] = {stride[0], stride[2], stride[3], stride[4]};
    return tn_conv_one_dimension(shape, strides, joined);
}

static bool merges_both(const conv_problem *p, int64_t images, int64_t *x, int64_t *y)
{
    return merges(p, images, p->x, x) && merges(p, images, p->y, y);
}

/* Images per product, and the strides between pixels. */
typedef struct layout {
    int64_t images, x, y;
} layout;

static const char *conv_filter_pointwise_lay_out(const conv_problem *p, layout *l)
{
    const conv_window *v = &p->window;
    if (tn_window_taps(v) != 1)
        return "the filter is not 1x1";
    for (int d = 0; d < 3; d++)
        if (v->start[d] != 0 || v->stride[d] != 1 || v->out[d] != v->size[d])
            return "the filter does not visit every pixel exactly once";
    if (p->n == 0 || tn_window_pixels(v) == 0)
        return "there is nothing to multiply";
    l->images = p->n;
    if (merges_both(p, p->n, &l->x, &l->y))
        return NULL;
    l->images = 1;
    if (!merges_both(p, 1, &l->x, &l->y))
        return "the pixels do not have a single stride";
    return tn_conv_is_converted(p->dtype) ? "dw would round the sum of each image" : NULL;
}

static tenon_tensor conv_filter_pointwise_make_view(const conv_problem *p, const int64_t shape[3],
                                                    const int64_t stride[3])
{
    tenon_tensor view = {.dtype = (tenon_dtype)p->dtype, .rank = 3};
    memcpy(view.shape, shape, 3 * sizeof *shape);
    memcpy(view.stride, stride, 3 * sizeof *stride);
    return view;
}

/* Makes the product: dw [group, filters, channels] = dy · transposed x. All products but the first
 * add to dw. */
static tenon_status product(const char *caller, const conv_problem *p, const layout *l,
                            int64_t image, conv_product *product)
{
    tenon_gemm_params params = TENON_GEMM_PARAMS_INIT;
    int64_t length = l->images * tn_window_pixels(&p->window);
    bool empty = false, adds = image > 0 || (p->flags & CONV_HAS_C) != 0;
    const int64_t y_shape[] = {p->groups, p->k, length}, x_shape[] = {p->groups, length, p->c},
                  w_shape[] = {p->groups, p->k, p->c};
    const int64_t y_stride[] = {p->k * p->y[1], p->y[1], l->y},
                  x_stride[] = {p->c * p->x[1], l->x, p->x[1]},
                  w_stride[] = {p->k * p->w[0], p->w[0], p->w[1]};
    const tenon_tensor y = conv_filter_pointwise_make_view(p, y_shape, y_stride),
                       x = conv_filter_pointwise_make_view(p, x_shape, x_stride),
                       w = conv_filter_pointwise_make_view(p, w_shape, w_stride);
    params.epilogue.beta = adds;
    TN_TRY(tn_gemm_canonicalize(caller, &params, &y, &x, adds ? &w : NULL, NULL, &w, &product->gemm,
                                &empty));
    const int64_t size = (int64_t)tenon_dtype_size((tenon_dtype)p->dtype);
    tn_frame *frame = &product->frame;
    tn_conv_product_after(p, 0, product);
    tn_frame_operand(frame, GEMM_A, p->operand[CONV_Y], image * p->y[0] * size);
    tn_frame_operand(frame, GEMM_B, p->operand[CONV_X], image * p->x[0] * size);
    for (uint32_t operand = GEMM_C; operand < GEMM_OPERANDS; operand++)
        tn_frame_operand(frame, operand, p->operand[CONV_W], 0);
    if (image > 0)
        tn_conv_product_sums(product);
    return TENON_OK;
}

static const char *conv_filter_pointwise_configure(tenon_context *context,
                                                   const tn_problem *problem, tn_choice *choice)
{
    const conv_problem *p = (const conv_problem *)problem;
    const double filters = (double)p->groups * (double)p->k * (double)p->c;
    layout *l = TN_LAYOUT(layout, choice);
    conv_product g;
    const char *why = conv_filter_pointwise_lay_out(p, l);
    if (why != NULL)
        return why;
    if (product("configure", p, l, 0, &g) != TENON_OK)
        return "GEMM does not support the product";
    const int64_t products = p->n / l->images;
    const tn_work adding = {.single_elements = (double)(products - 1) * filters};
    choice->time = (double)products * tn_conv_product_time(context, &g);
    tn_choice_add(context, choice, &adding);
    tn_conv_product_options(p, choice->options);
    return NULL;
}

static tenon_status conv_filter_pointwise_launch(const char *caller, tn_recording *recording,
                                                 const tn_problem *problem, const tn_choice *choice)
{
    const conv_problem *p = (const conv_problem *)problem;
    const layout *l = TN_LAYOUT(const layout, choice);
    conv_product g;
    for (int64_t image = 0; image < p->n; image += l->images) {
        TN_TRY(product(caller, p, l, image, &g));
        TN_TRY(tn_conv_product_record(caller, recording, &g));
    }
    return TENON_OK;
}

const tn_solver tn_conv_backward_filter_pointwise = {
    .name = "pointwise",
    .serves = "filters of one element that visit every pixel exactly once, if the pixels have a "
              "single stride",
    .awkward = "n=1 t=1 r=1 s=1 stride_w=1 dense_images=1",
    .configure = conv_filter_pointwise_configure,
    .launch = conv_filter_pointwise_launch};
