/* Half of AlexNet (A. Krizhevsky, I. Sutskever and G. Hinton, 2012), as on one of the two devices
 * of its authors. Used by alexnet_halves.c, which moves maps between the devices. */
#ifndef EXAMPLES_HALF_H
#define EXAMPLES_HALF_H

#include "try.h"

#include <math.h>
#include <stdbool.h>

enum { CONVOLUTIONS = 5, LAYERS = 8, SIDE = 227, CLASSES = 1000, MOST_TENSORS = 200 };
#define RATE 0.001

/* Filters of both halves (columns of dense layers). A layer that `joins` reads the maps of both. */
typedef struct layer_kind {
    int64_t outputs, size, stride, padding;
    bool joins, normalizes, pools;
    double start; /* of the bias */
} layer_kind;

/* clang-format off */
static const layer_kind kinds[LAYERS] = {
    {.outputs = 96, .size = 11, .stride = 4, .normalizes = true, .pools = true},
    {.outputs = 256, .size = 5, .stride = 1, .padding = 2, .normalizes = true, .pools = true,
     .start = 1},
    {.outputs = 384, .size = 3, .stride = 1, .padding = 1, .joins = true},
    {.outputs = 384, .size = 3, .stride = 1, .padding = 1, .start = 1},
    {.outputs = 256, .size = 3, .stride = 1, .padding = 1, .pools = true, .start = 1},
    {.outputs = 4096, .joins = true, .start = 1},
    {.outputs = 4096, .joins = true, .start = 1},
    {.outputs = CLASSES, .joins = true}};
/* clang-format on */

/* A layer. `result` is that of its last operation; gradients begin with d. Tensors of layers that
 * do not normalize or pool are the same ones. */
typedef struct half_layer {
    tenon_conv_geometry geometry;
    tenon_tensor x, dx, y, dy, normalized, d_normalized, result, d_result, places;
    tenon_tensor parameters[2], gradients[2], velocities[2]; /* weights and bias */
} half_layer;

typedef struct half {
    uint32_t rank;
    tenon_stream *stream;
    half_layer layers[LAYERS];
    tenon_tensor images, labels, logits, d_logits, losses; /* logits: of both halves */
    tenon_tensor made[MOST_TENSORS];                       /* all of these */
    int count;
} half;

#define RELU      &tenon_activation_params(.activation.kind = TENON_ACTIVATION_RELU)
#define NORMALIZE &tenon_lrn_params(.size = 5, .alpha = 5e-4, .beta = 0.75, .k = 2)
#define POOL      &tenon_pool_params(.window = {3, 3, 1}, .geometry.stride = {2, 2, 1})

static inline tenon_tensor half_tensor(half *h, tenon_dtype dtype, uint32_t rank,
                                       const int64_t *shape)
{
    tenon_tensor *made = &h->made[h->count++];
    if (h->count == MOST_TENSORS)
        abort();
    TRY(tenon_tensor_create(tenon_stream_context(h->stream), dtype, rank, shape, made));
    TRY(tenon_tensor_fill(h->stream, made, 0, NULL));
    return *made;
}

static inline tenon_tensor half_maps(half *h, int64_t n, int64_t channels, int64_t side)
{
    return half_tensor(h, TENON_DTYPE_F32, 4, (int64_t[]){n, channels, side, side});
}

static inline tenon_tensor half_matrix(half *h, int64_t rows, int64_t columns)
{
    return half_tensor(h, TENON_DTYPE_F32, 2, (int64_t[]){rows, columns});
}

/* Makes the parameters of layer i, with weights of this shape. */
static inline void half_parameters(half *h, int i, uint32_t rank, const int64_t *shape,
                                   int64_t outputs, double deviation)
{
    half_layer *l = &h->layers[i];
    tenon_tensor *const sets[] = {l->parameters, l->gradients, l->velocities};
    for (int s = 0; s < 3; s++) {
        sets[s][0] = half_tensor(h, TENON_DTYPE_F32, rank, shape);
        sets[s][1] = half_tensor(h, TENON_DTYPE_F32, 1, &outputs);
    }
    TRY(tenon_random(h->stream,
                     &tenon_random_params(.kind = TENON_RANDOM_NORMAL, .deviation = deviation,
                                          .seed = 1, .sequence = 2 * (uint64_t)i + h->rank),
                     &l->parameters[0], NULL));
    TRY(tenon_tensor_fill(h->stream, &l->parameters[1], kinds[i].start, NULL));
}

/* Creates the parameters of convolution i, which has `outputs` filters, and its result. */
static inline void half_convolution(half *h, int i, int64_t outputs, double deviation)
{
    half_layer *l = &h->layers[i];
    const layer_kind *k = &kinds[i];
    const int64_t n = l->x.shape[0], w[] = {outputs, l->x.shape[1], k->size, k->size};
    l->geometry = (tenon_conv_geometry)TENON_CONV_GEOMETRY_INIT;
    for (int d = 0; d < 2; d++) {
        l->geometry.stride[d] = k->stride;
        l->geometry.pad_begin[d] = l->geometry.pad_end[d] = k->padding;
    }
    const int64_t side = tenon_conv_output_size(&l->geometry, 0, l->x.shape[2], k->size),
                  half_side = (side - 3) / 2 + 1;
    half_parameters(h, i, 4, w, outputs, deviation);
    l->y = l->normalized = l->result = half_maps(h, n, outputs, side);
    l->dy = l->d_normalized = l->d_result = half_maps(h, n, outputs, side);
    if (k->normalizes) {
        l->normalized = l->result = half_maps(h, n, outputs, side);
        l->d_normalized = l->d_result = half_maps(h, n, outputs, side);
    }
    if (k->pools) {
        l->result = half_maps(h, n, outputs, half_side);
        l->d_result = half_maps(h, n, outputs, half_side);
        l->places = half_tensor(h, TENON_DTYPE_I32, 4, l->result.shape);
    }
}

/* Returns the result of a layer, or its gradient, as it is joined: dense layers read rows. */
static inline tenon_tensor half_joinable(const tenon_tensor *tensor, int next)
{
    tenon_tensor view = *tensor;
    if (next == CONVOLUTIONS)
        TRY(tenon_tensor_reshape(tensor, 2, (int64_t[]){tensor->shape[0], -1}, &view));
    return view;
}

/* Makes the half of number `rank`, whose layers are divided by `part`. */
static inline void half_open(half *h, tenon_stream *stream, uint32_t rank, int64_t n, int64_t part)
{
    *h = (half){.rank = rank, .stream = stream};
    h->images = half_maps(h, n, 3, SIDE);
    h->labels = half_tensor(h, TENON_DTYPE_I32, 1, &n);
    h->losses = half_tensor(h, TENON_DTYPE_F32, 1, &n);
    for (int i = 0; i < LAYERS; i++) {
        half_layer *l = &h->layers[i];
        const int64_t outputs = kinds[i].outputs / part / 2;
        const double deviation = 0.01 * sqrt((double)part);
        l->x = i > 0 ? l[-1].result : h->images;
        l->dx = i > 0 ? l[-1].d_result : h->images; /* that of the images is not computed */
        if (kinds[i].joins) {
            tenon_tensor like = half_joinable(&l->x, i);
            like.shape[1] *= 2;
            l->x = half_tensor(h, TENON_DTYPE_F32, like.rank, like.shape);
            l->dx = half_tensor(h, TENON_DTYPE_F32, like.rank, like.shape);
        }
        if (i < CONVOLUTIONS) {
            half_convolution(h, i, outputs, deviation);
            continue;
        }
        half_parameters(h, i, 2, (int64_t[]){l->x.shape[1], outputs}, outputs, deviation);
        l->y = l->result = half_matrix(h, n, outputs);
        l->dy = l->d_result = half_matrix(h, n, outputs);
    }
    const int64_t classes = 2 * h->layers[LAYERS - 1].y.shape[1];
    h->logits = half_matrix(h, n, classes);
    h->d_logits = half_matrix(h, n, classes);
}

static inline void half_close(half *h)
{
    while (h->count > 0)
        tenon_tensor_destroy(&h->made[--h->count]);
}

static inline tenon_dropout_params half_dropout(const half *h, int i, uint64_t step)
{
    return tenon_dropout_params(.seed = 2 * (uint64_t)i + h->rank, .sequence = step);
}

/* Computes the result of layer i. */
static inline void half_forward(half *h, int i, uint64_t step)
{
    half_layer *l = &h->layers[i];
    const tenon_tensor *w = &l->parameters[0], *bias = &l->parameters[1];
    const tenon_dropout_params dropout = half_dropout(h, i, step);
    tenon_gemm_params dense = TENON_GEMM_PARAMS_INIT;
    if (i >= CONVOLUTIONS) {
        if (i < LAYERS - 1)
            dense.epilogue.activation.kind = TENON_ACTIVATION_RELU;
        TRY(tenon_gemm(h->stream, &dense, &l->x, w, NULL, bias, &l->y, NULL));
        if (i < LAYERS - 1)
            TRY(tenon_dropout(h->stream, &dropout, &l->y, &l->y, NULL));
        return;
    }
    TRY(tenon_conv_forward(h->stream,
                           &tenon_conv_params(.geometry = l->geometry,
                                              .epilogue.activation.kind = TENON_ACTIVATION_RELU),
                           &l->x, w, NULL, bias, &l->y, NULL));
    if (kinds[i].normalizes)
        TRY(tenon_lrn_forward(h->stream, NORMALIZE, &l->y, &l->normalized, NULL));
    if (kinds[i].pools)
        TRY(tenon_pool_forward(h->stream, POOL, &l->normalized, &l->result, &l->places, NULL));
}

/* Computes the gradients of a convolution from that of its result. */
static inline void half_convolution_backward(half *h, int i)
{
    half_layer *l = &h->layers[i];
    const tenon_conv_backward_params params = tenon_conv_backward_params(.geometry = l->geometry);
    if (kinds[i].pools)
        TRY(tenon_pool_backward(h->stream, POOL, NULL, &l->d_result, &l->places, &l->d_normalized,
                                NULL));
    if (kinds[i].normalizes)
        TRY(tenon_lrn_backward(h->stream, NORMALIZE, &l->y, &l->d_normalized, &l->dy, NULL));
    TRY(tenon_activation_backward(h->stream, RELU, &l->y, &l->dy, &l->dy, NULL));
    TRY(tenon_conv_backward_filter(h->stream, &params, &l->x, &l->dy, &l->gradients[0], NULL));
    TRY(tenon_conv_backward_bias(h->stream, NULL, &l->dy, &l->gradients[1], NULL));
    if (i > 0)
        TRY(tenon_conv_backward_data(h->stream, &params, &l->dy, &l->parameters[0], &l->dx, NULL));
}

/* Computes the gradients of layer i from that of its result, and updates the parameters. */
static inline void half_backward(half *h, int i, uint64_t step)
{
    half_layer *l = &h->layers[i];
    const tenon_dropout_params dropout = half_dropout(h, i, step); /* the same elements */
    if (i >= CONVOLUTIONS) {
        const tenon_tensor x_t = tenon_tensor_transpose(l->x, 0, 1),
                           w_t = tenon_tensor_transpose(l->parameters[0], 0, 1);
        if (i < LAYERS - 1) {
            TRY(tenon_dropout(h->stream, &dropout, &l->dy, &l->dy, NULL));
            TRY(tenon_activation_backward(h->stream, RELU, &l->y, &l->dy, &l->dy, NULL));
        }
        TRY(tenon_gemm(h->stream, NULL, &x_t, &l->dy, NULL, NULL, &l->gradients[0], NULL));
        TRY(tenon_reduce(h->stream, &tenon_reduce_params(.axis_count = 1, .axes = {0}), &l->dy,
                         &l->gradients[1], NULL));
        TRY(tenon_gemm(h->stream, NULL, &l->dy, &w_t, NULL, NULL, &l->dx, NULL));
    } else {
        half_convolution_backward(h, i);
    }
    for (int p = 0; p < 2; p++)
        TRY(tenon_sgd(
            h->stream,
            &tenon_sgd_params(.learning_rate = RATE, .momentum = 0.9, .weight_decay = 0.0005),
            &l->gradients[p], &l->parameters[p], &l->velocities[p], NULL, NULL));
}

#endif
