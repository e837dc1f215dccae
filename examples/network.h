/* Dense layers with ReLU that learn a linear function of random inputs, and their training on one
 * device: for the examples of parallel training. */
#ifndef EXAMPLES_NETWORK_H
#define EXAMPLES_NETWORK_H

#include "try.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#define MOST_LAYERS     8
#define MOST_PARAMETERS (2 * MOST_LAYERS) /* the weights and the bias of each layer */

/* Some layers, and what is computed of a part of a batch. */
typedef struct network {
    tenon_stream *stream;
    int layers;
    bool is_end; /* these are the last layers: no ReLU in the last one */
    tenon_tensor values[MOST_LAYERS + 1], slopes[MOST_LAYERS + 1]; /* slopes: gradients of values */
    tenon_tensor teacher, target;
} network;

static inline tenon_tensor network_tensor(tenon_stream *stream, const tenon_tensor *like)
{
    tenon_tensor made;
    TRY(tenon_tensor_create(tenon_stream_context(stream), TENON_DTYPE_F32, like->rank, like->shape,
                            &made));
    TRY(tenon_tensor_fill(stream, &made, 0, NULL));
    return made;
}

/* Makes tensors of zeros, of the shapes of `views`. */
static inline void network_tensors(tenon_stream *stream, uint32_t count, const tenon_tensor *views,
                                   tenon_tensor *made)
{
    for (uint32_t i = 0; i < count; i++)
        made[i] = network_tensor(stream, &views[i]);
}

static inline void network_destroy(uint32_t count, tenon_tensor *tensors)
{
    for (uint32_t i = 0; i < count; i++)
        tenon_tensor_destroy(&tensors[i]);
}

static inline tenon_tensor network_matrix(tenon_stream *stream, int64_t rows, int64_t columns)
{
    const tenon_tensor like = tenon_tensor_view(TENON_DTYPE_F32, 2, (int64_t[]){rows, columns});
    return network_tensor(stream, &like);
}

static inline void network_normal(tenon_stream *stream, const tenon_tensor *y, uint64_t seed,
                                  uint64_t sequence, double deviation)
{
    TRY(tenon_random(stream,
                     &tenon_random_params(.kind = TENON_RANDOM_NORMAL, .seed = seed,
                                          .sequence = sequence, .deviation = deviation),
                     y, NULL));
}

/* Layers `first` to `first` + `layers` - 1 of a network with these widths: `all` layers. */
static inline network network_open(tenon_stream *stream, const int64_t *widths, int all, int first,
                                   int layers, int64_t rows)
{
    network n = {.stream = stream, .layers = layers, .is_end = first + layers == all};
    for (int i = 0; i <= layers; i++) {
        n.values[i] = network_matrix(stream, rows, widths[first + i]);
        n.slopes[i] = network_matrix(stream, rows, widths[first + i]);
    }
    n.teacher = network_matrix(stream, widths[0], widths[all]);
    n.target = network_matrix(stream, rows, widths[all]);
    network_normal(stream, &n.teacher, 3, 0, 1);
    return n;
}

static inline void network_close(network *n)
{
    for (int i = 0; i <= n->layers; i++) {
        tenon_tensor_destroy(&n->values[i]);
        tenon_tensor_destroy(&n->slopes[i]);
    }
    tenon_tensor_destroy(&n->teacher);
    tenon_tensor_destroy(&n->target);
}

/* Returns the network for a batch of fewer rows, in the same memory. */
static inline network network_rows(const network *n, int64_t rows)
{
    network fewer = *n;
    for (int i = 0; i <= n->layers; i++) {
        fewer.values[i] = tenon_tensor_slice(n->values[i], 0, 0, rows);
        fewer.slopes[i] = tenon_tensor_slice(n->slopes[i], 0, 0, rows);
    }
    fewer.target = tenon_tensor_slice(n->target, 0, 0, rows);
    return fewer;
}

/* Writes views, without memory, of the parameters of layers. Returns their number. */
static inline uint32_t network_views(const int64_t *widths, int layers, tenon_tensor *views)
{
    for (int i = 0; i < layers; i++) {
        views[2 * i] = tenon_tensor_view(TENON_DTYPE_F32, 2, &widths[i]);
        views[2 * i + 1] = tenon_tensor_view(TENON_DTYPE_F32, 1, &widths[i + 1]);
    }
    return 2 * (uint32_t)layers;
}

/* Gives a layer its initial parameters: the same for all members. */
static inline void network_initial(tenon_stream *stream, int layer, const tenon_tensor *parameters)
{
    const double deviation = sqrt(2 / (double)parameters[0].shape[0]);
    network_normal(stream, &parameters[0], 1, (uint64_t)layer, deviation);
    TRY(tenon_tensor_fill(stream, &parameters[1], 0, NULL));
}

/* The same for `layers` layers from number `first` on. */
static inline void network_initials(tenon_stream *stream, int first, int layers,
                                    const tenon_tensor *parameters)
{
    for (int i = 0; i < layers; i++)
        network_initial(stream, first + i, &parameters[2 * i]);
}

/* Draws part `part` of `parts` of the batch of a step: the inputs `x`, and the target. */
static inline void network_draw(network *n, const tenon_tensor *x, uint64_t step, uint32_t parts,
                                uint32_t part)
{
    network_normal(n->stream, x, 2, step * parts + part, 1);
    TRY(tenon_gemm(n->stream, NULL, x, &n->teacher, NULL, NULL, &n->target, NULL));
}

/* Computes the values of a layer with its parameters. */
static inline void network_forward(network *n, int layer, const tenon_tensor *parameters)
{
    tenon_gemm_params params = TENON_GEMM_PARAMS_INIT;
    if (!n->is_end || layer < n->layers - 1)
        params.epilogue.activation.kind = TENON_ACTIVATION_RELU;
    TRY(tenon_gemm(n->stream, &params, &n->values[layer], &parameters[0], NULL, &parameters[1],
                   &n->values[layer + 1], NULL));
}

/* Computes the gradient of the loss, which is half of the mean square. `share`: of these rows in
 * the batch. */
static inline void network_loss(network *n, double share)
{
    TRY(tenon_mse_backward(n->stream, &tenon_mse_params(.scale = 0.5 * share),
                           &n->values[n->layers], &n->target, NULL, &n->slopes[n->layers], NULL));
}

/* Computes the gradients of a layer's parameters, and of its input. */
static inline void network_backward(network *n, int layer, const tenon_tensor *parameters,
                                    const tenon_tensor *gradients)
{
    const tenon_tensor *y = &n->values[layer + 1], *dy = &n->slopes[layer + 1];
    const tenon_tensor x_t = tenon_tensor_transpose(n->values[layer], 0, 1),
                       w_t = tenon_tensor_transpose(parameters[0], 0, 1);
    if (!n->is_end || layer < n->layers - 1)
        TRY(tenon_activation_backward(
            n->stream, &tenon_activation_params(.activation.kind = TENON_ACTIVATION_RELU), y, dy,
            dy, NULL));
    TRY(tenon_gemm(n->stream, NULL, &x_t, dy, NULL, NULL, &gradients[0], NULL));
    TRY(tenon_reduce(n->stream,
                     &tenon_reduce_params(.kind = TENON_REDUCE_SUM, .axis_count = 1, .axes = {0}),
                     dy, &gradients[1], NULL));
    TRY(tenon_gemm(n->stream, NULL, dy, &w_t, NULL, NULL, &n->slopes[layer], NULL));
}

/* Returns how many elements of two tensors of f32 have other bits. */
static inline int64_t network_differences(tenon_stream *a_stream, const tenon_tensor *a,
                                          tenon_stream *b_stream, const tenon_tensor *b)
{
    const int64_t elements = tenon_tensor_elements(a);
    const size_t bytes = (size_t)elements * sizeof(float);
    uint32_t *a_bits = malloc(bytes), *b_bits = malloc(bytes);
    int64_t different = 0;
    if (a_bits == NULL || b_bits == NULL)
        abort();
    TRY(tenon_tensor_download(a_stream, a, a_bits, bytes, NULL));
    TRY(tenon_tensor_download(b_stream, b, b_bits, bytes, NULL));
    for (int64_t e = 0; e < elements; e++)
        different += a_bits[e] != b_bits[e];
    free(a_bits);
    free(b_bits);
    return different;
}

/* Returns the mean square of the differences between results and their target. */
static inline float network_mean_square(tenon_stream *stream, const tenon_tensor *y,
                                        const tenon_tensor *target)
{
    float error;
    tenon_tensor loss;
    TRY(tenon_tensor_create(tenon_stream_context(stream), TENON_DTYPE_F32, 0, NULL, &loss));
    TRY(tenon_mse_forward(stream, NULL, y, target, &loss, NULL));
    TRY(tenon_tensor_download(stream, &loss, &error, sizeof error, NULL));
    tenon_tensor_destroy(&loss);
    return error;
}

static inline float network_error(network *n)
{
    return network_mean_square(n->stream, &n->values[n->layers], &n->target);
}

#endif
