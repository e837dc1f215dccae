/* The layers of alexnet.c with their gradients: convolutions with ReLU, local response
 * normalization and pooling; dense layers with ReLU and dropout. */
#ifndef EXAMPLES_LAYERS_H
#define EXAMPLES_LAYERS_H

#include "training.h"

#define RATE 0.001 /* of learning: a tenth of the paper's, because the same images are repeated */

typedef struct layer {
    int64_t outputs;                       /* filters of a convolution, columns of a dense layer */
    int64_t size, stride, padding, groups; /* of filters */
    bool normalizes, pools;                /* after a convolution */
    bool is_last;                          /* a dense layer without ReLU and dropout */
    double start;                          /* of all elements of the bias */
    tenon_conv_geometry geometry;
    tenon_tensor x, w, bias, y, normalized, pooled, places;
} layer;

/* Parameters shared by several calls. Both directions drop the same elements. */
#define RELU       &tenon_activation_params(.activation.kind = TENON_ACTIVATION_RELU)
#define NORMALIZE  &tenon_lrn_params(.size = 5, .alpha = 5e-4, .beta = 0.75, .k = 2)
#define POOL       &tenon_pool_params(.window = {3, 3, 1}, .geometry.stride = {2, 2, 1})
#define DROPOUT(l) &tenon_dropout_params(.seed = (uint64_t)(l)->w.shape[0])

/* Adds the update of a parameter by momentum. */
static inline void update(training *t, const tenon_tensor *gradient, const tenon_tensor *value)
{
    const tenon_tensor velocity = training_constant(t, value->rank, value->shape, 0);
    ADD(t, NULL, tenon_sgd,
        &tenon_sgd_params(.learning_rate = RATE, .momentum = 0.9, .weight_decay = 0.0005), gradient,
        value, &velocity, NULL);
}

/* Makes an image N C H W that exists only during a step and is stored as N H W C. */
static inline tenon_tensor image(training *t, tenon_dtype dtype, int64_t n, int64_t channels,
                                 int64_t side)
{
    const int64_t shape[] = {n, side, side, channels};
    return tenon_tensor_nhwc(training_intermediate(t, dtype, 4, shape));
}

/* Adds a convolution of x. Returns its result after normalization and pooling. */
static inline tenon_tensor convolve(training *t, layer *l, tenon_tensor x)
{
    const int64_t n = x.shape[0], w[] = {l->outputs, x.shape[1] / l->groups, l->size, l->size};
    l->geometry = (tenon_conv_geometry)TENON_CONV_GEOMETRY_INIT;
    for (int d = 0; d < 2; d++) {
        l->geometry.stride[d] = l->stride;
        l->geometry.pad_begin[d] = l->geometry.pad_end[d] = l->padding;
    }
    const int64_t side = tenon_conv_output_size(&l->geometry, 0, x.shape[2], l->size);
    l->x = x;
    l->w = training_normal(t, 4, w, 0.01);
    l->bias = training_constant(t, 1, w, l->start);
    l->y = l->normalized = image(t, TENON_DTYPE_F32, n, l->outputs, side);
    ADD(t, NULL, tenon_conv_forward,
        &tenon_conv_params(.groups = l->groups, .geometry = l->geometry,
                           .epilogue.activation.kind = TENON_ACTIVATION_RELU),
        &l->x, &l->w, NULL, &l->bias, &l->y);
    if (l->normalizes) {
        l->normalized = image(t, TENON_DTYPE_F32, n, l->outputs, side);
        ADD(t, NULL, tenon_lrn_forward, NORMALIZE, &l->y, &l->normalized);
    }
    if (!l->pools)
        return l->normalized;
    l->pooled = image(t, TENON_DTYPE_F32, n, l->outputs, (side - 3) / 2 + 1);
    l->places = image(t, TENON_DTYPE_I32, n, l->outputs, (side - 3) / 2 + 1);
    ADD(t, NULL, tenon_pool_forward, POOL, &l->normalized, &l->pooled, &l->places);
    return l->pooled;
}

/* Adds the gradients of a convolution. Returns that of x, which the first layer does not need. */
static inline tenon_tensor convolve_backward(training *t, const layer *l, tenon_tensor dy,
                                             bool is_first)
{
    const int64_t n = l->x.shape[0], side = l->y.shape[2];
    const tenon_conv_backward_params params =
        tenon_conv_backward_params(.groups = l->groups, .geometry = l->geometry);
    const tenon_tensor dw = training_like(t, &l->w), db = training_like(t, &l->bias);
    tenon_tensor d = dy;
    if (l->pools) {
        d = image(t, TENON_DTYPE_F32, n, l->outputs, side);
        ADD(t, NULL, tenon_pool_backward, POOL, NULL, &dy, &l->places, &d);
        dy = d;
    }
    if (l->normalizes) {
        d = image(t, TENON_DTYPE_F32, n, l->outputs, side);
        ADD(t, NULL, tenon_lrn_backward, NORMALIZE, &l->y, &dy, &d);
    }
    ADD(t, NULL, tenon_activation_backward, RELU, &l->y, &d, &d); /* y > 0 where the sum is */
    ADD(t, NULL, tenon_conv_backward_filter, &params, &l->x, &d, &dw);
    ADD(t, NULL, tenon_conv_backward_bias, NULL, &d, &db);
    update(t, &db, &l->bias);
    dy = d;
    if (!is_first) {
        d = image(t, TENON_DTYPE_F32, n, l->x.shape[1], l->x.shape[2]);
        ADD(t, NULL, tenon_conv_backward_data, &params, &dy, &l->w, &d);
    }
    update(t, &dw, &l->w);
    return d;
}

/* Adds a dense layer. Returns its result after dropout. */
static inline tenon_tensor connect(training *t, layer *l, tenon_tensor x)
{
    const int64_t w[] = {x.shape[1], l->outputs}, y[] = {x.shape[0], l->outputs};
    l->x = x;
    l->w = training_normal(t, 2, w, 0.01);
    l->bias = training_constant(t, 1, &w[1], l->start);
    l->y = training_intermediate(t, TENON_DTYPE_F32, 2, y);
    ADD(t, NULL, tenon_gemm,
        &tenon_gemm_params(.epilogue.activation.kind =
                               l->is_last ? TENON_ACTIVATION_IDENTITY : TENON_ACTIVATION_RELU),
        &l->x, &l->w, NULL, &l->bias, &l->y);
    if (!l->is_last)
        ADD(t, "random", tenon_dropout, DROPOUT(l), &l->y, &l->y);
    return l->y;
}

/* Adds the gradients of a dense layer: that of x is written to dx. Replaces dy. */
static inline void connect_backward(training *t, const layer *l, const tenon_tensor *dy,
                                    const tenon_tensor *dx)
{
    const tenon_tensor x = tenon_tensor_transpose(l->x, 0, 1),
                       w = tenon_tensor_transpose(l->w, 0, 1), dw = training_like(t, &l->w),
                       db = training_like(t, &l->bias);
    if (!l->is_last) {
        ADD(t, "random", tenon_dropout, DROPOUT(l), dy, dy);
        ADD(t, NULL, tenon_activation_backward, RELU, &l->y, dy, dy);
    }
    ADD(t, NULL, tenon_gemm, NULL, &x, dy, NULL, NULL, &dw);
    ADD(t, NULL, tenon_reduce, &tenon_reduce_params(.axis_count = 1, .axes = {0}), dy, &db);
    ADD(t, NULL, tenon_gemm, NULL, dy, &w, NULL, NULL, dx);
    update(t, &dw, &l->w);
    update(t, &db, &l->bias);
}

#endif
