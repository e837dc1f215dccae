/* Two layers whose hidden units are divided among devices: by the columns of the first product and
 * the rows of the second. Used by three_kinds.c. */
#ifndef EXAMPLES_DIVIDED_H
#define EXAMPLES_DIVIDED_H

#include "network.h"

enum { MOST_FLIGHTS = 4, DIVIDED_PARAMETERS = 4 };
enum { W1, B1, W2, B2 };

/* A device's part: its parameters, and the micro-batches in flight, which take turns in `flights`
 * places. The sums of y and dx must be added to those of the other parts. */
typedef struct divided {
    tenon_stream *stream;
    bool is_end; /* the last layers: no ReLU after the second one */
    uint32_t flights;
    tenon_tensor values[DIVIDED_PARAMETERS], sums[DIVIDED_PARAMETERS],
        gradients[DIVIDED_PARAMETERS], totals[DIVIDED_PARAMETERS], firsts[DIVIDED_PARAMETERS],
        seconds[DIVIDED_PARAMETERS];
    tenon_tensor x[MOST_FLIGHTS], h[MOST_FLIGHTS], y[MOST_FLIGHTS];
    tenon_tensor dx, dh, dy;
} divided;

/* Draws a matrix of the whole layers, and copies this part of dimension `dim`. */
static inline void divided_initial(divided *d, const tenon_tensor *part, uint32_t dim,
                                   uint32_t number, uint64_t layer)
{
    tenon_tensor view = *part, whole;
    view.shape[dim] *= 2;
    whole = network_tensor(d->stream, &view);
    network_normal(d->stream, &whole, 1, layer, sqrt(2. / (double)whole.shape[0]));
    view = tenon_tensor_slice(whole, dim, number * part->shape[dim], part->shape[dim]);
    TRY(tenon_copy(d->stream, NULL, &view, part, NULL));
    tenon_tensor_destroy(&whole);
}

/* Opens half `number`, 0 or 1, of layers `first` and `first` + 1 of a network with these widths. */
static inline divided divided_open(tenon_stream *stream, const int64_t *widths, int first,
                                   bool is_end, uint32_t number, uint32_t flights, int64_t rows)
{
    divided d = {.stream = stream, .is_end = is_end, .flights = flights};
    const int64_t in = widths[first], half = widths[first + 1] / 2, out = widths[first + 2];
    const tenon_tensor views[DIVIDED_PARAMETERS] = {
        tenon_tensor_view(TENON_DTYPE_F32, 2, (int64_t[]){in, half}),
        tenon_tensor_view(TENON_DTYPE_F32, 1, (int64_t[]){half}),
        tenon_tensor_view(TENON_DTYPE_F32, 2, (int64_t[]){half, out}),
        tenon_tensor_view(TENON_DTYPE_F32, 1, (int64_t[]){out})};
    tenon_tensor *const sets[] = {d.values, d.sums, d.gradients, d.totals, d.firsts, d.seconds};
    for (size_t set = 0; set < sizeof sets / sizeof *sets; set++)
        for (int i = 0; i < DIVIDED_PARAMETERS; i++)
            sets[set][i] = network_tensor(stream, &views[i]);
    divided_initial(&d, &d.values[W1], 1, number, (uint64_t)first);
    divided_initial(&d, &d.values[W2], 0, number, (uint64_t)first + 1);
    for (uint32_t f = 0; f < flights; f++) {
        d.x[f] = network_matrix(stream, rows, in);
        d.h[f] = network_matrix(stream, rows, half);
        d.y[f] = network_matrix(stream, rows, out);
    }
    d.dx = network_matrix(stream, rows, in);
    d.dh = network_matrix(stream, rows, half);
    d.dy = network_matrix(stream, rows, out);
    return d;
}

static inline void divided_close(divided *d)
{
    tenon_tensor *const sets[] = {d->values, d->sums,   d->gradients,
                                  d->totals, d->firsts, d->seconds};
    for (size_t set = 0; set < sizeof sets / sizeof *sets; set++)
        for (int i = 0; i < DIVIDED_PARAMETERS; i++)
            tenon_tensor_destroy(&sets[set][i]);
    for (uint32_t f = 0; f < d->flights; f++) {
        tenon_tensor_destroy(&d->x[f]);
        tenon_tensor_destroy(&d->h[f]);
        tenon_tensor_destroy(&d->y[f]);
    }
    tenon_tensor_destroy(&d->dx);
    tenon_tensor_destroy(&d->dh);
    tenon_tensor_destroy(&d->dy);
}

/* Computes this part's sums of y from x. */
static inline void divided_forward(divided *d, uint32_t f)
{
    tenon_gemm_params relu = TENON_GEMM_PARAMS_INIT;
    relu.epilogue.activation.kind = TENON_ACTIVATION_RELU;
    TRY(tenon_gemm(d->stream, &relu, &d->x[f], &d->values[W1], NULL, &d->values[B1], &d->h[f],
                   NULL));
    TRY(tenon_gemm(d->stream, NULL, &d->h[f], &d->values[W2], NULL, NULL, &d->y[f], NULL));
}

/* Completes y, the sums of all parts. */
static inline void divided_end_forward(divided *d, uint32_t f)
{
    const tenon_tensor bias = tenon_tensor_broadcast(d->values[B2], 2, d->y[f].shape);
    TRY(tenon_elementwise(d->stream, NULL, &d->y[f], &bias, &d->y[f], NULL));
    if (!d->is_end)
        TRY(tenon_activation_forward(
            d->stream, &tenon_activation_params(.activation.kind = TENON_ACTIVATION_RELU), &d->y[f],
            &d->y[f], NULL));
}

/* Computes gradients of the parameters and this part's sums of dx, from dy. */
static inline void divided_backward(divided *d, uint32_t f, const tenon_tensor *gradients)
{
    const tenon_activation_params relu =
        tenon_activation_params(.activation.kind = TENON_ACTIVATION_RELU);
    const tenon_reduce_params rows = tenon_reduce_params(.axis_count = 1, .axes = {0});
    const tenon_tensor x_t = tenon_tensor_transpose(d->x[f], 0, 1),
                       h_t = tenon_tensor_transpose(d->h[f], 0, 1),
                       w1_t = tenon_tensor_transpose(d->values[W1], 0, 1),
                       w2_t = tenon_tensor_transpose(d->values[W2], 0, 1);
    if (!d->is_end)
        TRY(tenon_activation_backward(d->stream, &relu, &d->y[f], &d->dy, &d->dy, NULL));
    TRY(tenon_gemm(d->stream, NULL, &h_t, &d->dy, NULL, NULL, &gradients[W2], NULL));
    TRY(tenon_reduce(d->stream, &rows, &d->dy, &gradients[B2], NULL));
    TRY(tenon_gemm(d->stream, NULL, &d->dy, &w2_t, NULL, NULL, &d->dh, NULL));
    TRY(tenon_activation_backward(d->stream, &relu, &d->h[f], &d->dh, &d->dh, NULL));
    TRY(tenon_gemm(d->stream, NULL, &x_t, &d->dh, NULL, NULL, &gradients[W1], NULL));
    TRY(tenon_reduce(d->stream, &rows, &d->dh, &gradients[B1], NULL));
    TRY(tenon_gemm(d->stream, NULL, &d->dh, &w1_t, NULL, NULL, &d->dx, NULL));
}

/* Adds `count` tensors to others, in place. */
static inline void divided_add(tenon_stream *stream, int count, const tenon_tensor *sums,
                               const tenon_tensor *others)
{
    for (int i = 0; i < count; i++)
        TRY(tenon_elementwise(stream, NULL, &sums[i], &others[i], &sums[i], NULL));
}

static inline void divided_update(divided *d, uint64_t step, double rate)
{
    for (int i = 0; i < DIVIDED_PARAMETERS; i++)
        TRY(tenon_adam(d->stream, &tenon_adam_params(.learning_rate = rate, .step = step),
                       &d->sums[i], &d->values[i], &d->firsts[i], &d->seconds[i], NULL, NULL));
}

/* Adds the sums of gradients to those of earlier copies of the network. */
static inline void divided_keep(divided *d, bool is_first)
{
    if (!is_first)
        divided_add(d->stream, DIVIDED_PARAMETERS, d->sums, d->totals);
    for (int i = 0; i < DIVIDED_PARAMETERS; i++)
        TRY(tenon_copy(d->stream, NULL, &d->sums[i], &d->totals[i], NULL));
}

/* Returns how many parameters differ from those of another part. */
static inline int64_t divided_differences(const divided *d, const divided *other)
{
    int64_t different = 0;
    for (int i = 0; i < DIVIDED_PARAMETERS; i++)
        different +=
            network_differences(d->stream, &d->values[i], other->stream, &other->values[i]);
    return different;
}

#endif
