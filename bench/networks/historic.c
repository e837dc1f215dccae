/*
 * AlexNet (A. Krizhevsky, I. Sutskever and G. Hinton, "ImageNet classification with deep
 * convolutional neural networks", 2012): a step with momentum and weight decay, as in
 * examples/alexnet.c, but with larger initial weights.
 *
 * A deep belief network, as in examples/dbn.c: one step of contrastive divergence for each layer,
 * with the probabilities of the layer below (R. Raina, A. Madhavan and A. Ng, "Large-scale deep
 * unsupervised learning using graphics processors", 2009).
 */
#include "historic.h"

#include "ops/registry.h"

#include <math.h>
#include <string.h>

#define CONVOLUTIONS 5
#define CONNECTED    3
#define MACHINES     3 /* restricted Boltzmann machines of the belief network */

typedef struct convolution {
    int64_t size, stride, padding, groups;
    bool normalizes, pools;
} convolution;

static const convolution convolutions[CONVOLUTIONS] = {{11, 4, 0, 1, true, true},
                                                       {5, 1, 2, 2, true, true},
                                                       {3, 1, 1, 1, false, false},
                                                       {3, 1, 1, 2, false, false},
                                                       {3, 1, 1, 2, false, true}};

/* Numbers of a layer's values. */
typedef struct layer {
    int32_t x, w, bias, y, normalized, pooled, indices;
} layer;

static int32_t add_value(bench_historic *h, uint32_t rank, const int64_t *shape, double limit)
{
    bench_value value = {.dtype = TENON_DTYPE_F32, .rank = rank, .low = -limit, .high = limit};
    memcpy(value.shape, shape, rank * sizeof *shape);
    return bench_list_value(&h->training, value);
}

static int32_t add_matrix(bench_historic *h, int64_t rows, int64_t columns)
{
    return add_value(h, 2, (const int64_t[]){rows, columns}, 0);
}

/* Adds an image with the channels and size, in pixels a side. */
static int32_t add_image(bench_historic *h, int64_t channels, int64_t side)
{
    const int32_t image =
        add_value(h, 4, (const int64_t[]){h->training.n, channels, side, side}, 0);
    h->training.values[image].is_image = true;
    return image;
}

static int32_t add_parameter(bench_historic *h, uint32_t rank, const int64_t *shape, double limit)
{
    const int32_t parameter = add_value(h, rank, shape, limit);
    h->training.values[parameter].lasts = true;
    if (h->given_count < BENCH_MAX_RESULTS)
        h->given[h->given_count++] = parameter;
    return parameter;
}

static int32_t add_operand(bench_historic *h, bench_value value, bool is_result)
{
    const int32_t number = bench_list_value(&h->training, value);
    if (is_result && h->result_count < BENCH_MAX_RESULTS)
        h->results[h->result_count++] = number;
    if (!is_result && h->given_count < BENCH_MAX_RESULTS)
        h->given[h->given_count++] = number;
    return number;
}

/* Adds a step, and returns its parameters. */
#define ADD(operation, kind, ...) BENCH_LIST_STEP(&h->training, operation, kind, __VA_ARGS__)

static bench_step *last_step(bench_historic *h)
{
    return &h->training.steps[h->training.step_count - 1];
}

/* Adds d = activation(alpha · a·b + c + bias), where the bits of `transposed` mark a and b. */
static void multiply(bench_historic *h, bench_layer_kind kind, const int32_t operands[5],
                     uint32_t transposed, double alpha, tenon_activation_kind activation)
{
    bench_training *t = &h->training;
    tenon_gemm_params *gemm = bench_list_step(t, &tn_operation_gemm, kind, operands);
    const bench_value *a = &t->values[operands[0]], *d = &t->values[operands[4]];
    gemm->epilogue.alpha = alpha;
    gemm->epilogue.activation = tenon_activation_default(activation);
    last_step(h)->transposed = transposed;
    last_step(h)->flattened = (a->is_image ? 1u : 0) | (d->is_image ? 1u << 4 : 0);
    const double inputs =
        (double)(a->shape[1] * (a->is_image ? a->shape[2] * a->shape[3] : 1)) * (double)a->shape[0];
    const bench_value *b = &t->values[operands[1]];
    t->operations += 2 * inputs * (double)b->shape[transposed & 2 ? 0 : 1];
}
#define MULTIPLY(kind, transposed, alpha, activation, ...)                                         \
    multiply(h, kind, (const int32_t[]){__VA_ARGS__}, transposed, alpha, activation)

static void update(bench_historic *h, int32_t parameter, int32_t gradient)
{
    const int32_t velocity =
        bench_list_update(&h->training, parameter, gradient, 0.01, 0.9, 0.0005);
    if (h->result_count < BENCH_MAX_RESULTS)
        h->results[h->result_count++] = velocity;
}

static void rectify_gradient(bench_historic *h, int32_t y, int32_t dy)
{
    tenon_activation_params *relu =
        ADD(tn_operation_activation_backward, BENCH_LAYER_POINTWISE_FUNCTION, y, dy, dy);
    relu->activation.kind = TENON_ACTIVATION_RELU;
}

static void set_norm(tenon_lrn_params *norm)
{
    norm->size = 5;
    norm->alpha = 5e-4; /* the paper's is not divided by the size */
    norm->beta = 0.75;
    norm->k = 2;
}

static void set_pool(tenon_pool_params *pool)
{
    for (int d = 0; d < 2; d++) {
        pool->window[d] = 3;
        pool->geometry.stride[d] = 2;
    }
}

static void set_geometry(const convolution *c, tenon_conv_geometry *geometry)
{
    for (int d = 0; d < 2; d++) {
        geometry->stride[d] = c->stride;
        geometry->pad_begin[d] = geometry->pad_end[d] = c->padding;
    }
}

/* Adds a convolution. Returns its result after normalization and pooling. */
static int32_t convolve(bench_historic *h, const convolution *c, int64_t filters, layer *l)
{
    const bench_value *x = &h->training.values[l->x];
    const int64_t channels = x->shape[1] / c->groups,
                  side = (x->shape[2] + 2 * c->padding - c->size) / c->stride + 1,
                  pooled = (side - 3) / 2 + 1;
    const double inputs = (double)(channels * c->size * c->size);
    const bool is_first = x->name != NULL;
    l->w = add_parameter(h, 4, (const int64_t[]){filters, channels, c->size, c->size},
                         sqrt(6 / inputs));
    l->bias = add_parameter(h, 1, &filters, 0.1);
    l->y = l->normalized = add_image(h, filters, side);
    tenon_conv_params *conv =
        ADD(tn_operation_conv, is_first ? BENCH_LAYER_FIRST : BENCH_LAYER_SPATIAL, l->x, l->w, -1,
            l->bias, l->y);
    conv->groups = c->groups;
    conv->epilogue.activation.kind = TENON_ACTIVATION_RELU;
    set_geometry(c, &conv->geometry);
    h->training.operations +=
        (is_first ? 2 : 3) * 2 * inputs * (double)(filters * side * side) * (double)h->training.n;
    if (c->normalizes) {
        l->normalized = add_image(h, filters, side);
        set_norm(ADD(tn_operation_lrn, BENCH_LAYER_NORM, l->y, l->normalized));
    }
    if (!c->pools)
        return l->normalized;
    l->pooled = add_image(h, filters, pooled);
    l->indices = add_image(h, filters, pooled);
    h->training.values[l->indices].dtype = TENON_DTYPE_I32;
    set_pool(ADD(tn_operation_pool, BENCH_LAYER_POOLING, l->normalized, l->pooled, l->indices));
    return l->pooled;
}

/* Adds the gradients of a convolution from that of its result. Returns that of x. */
static int32_t convolve_backward(bench_historic *h, const convolution *c, const layer *l, int32_t d)
{
    const bench_value *y = &h->training.values[l->y], *x = &h->training.values[l->x];
    const int32_t dw = bench_list_gradient(&h->training, l->w),
                  db = bench_list_gradient(&h->training, l->bias);
    if (c->pools) {
        const int32_t dy = d;
        d = add_image(h, y->shape[1], y->shape[2]);
        set_pool(ADD(tn_operation_pool_backward, BENCH_LAYER_POOLING, -1, dy, l->indices, d));
    }
    if (c->normalizes) {
        const int32_t dy = d;
        d = add_image(h, y->shape[1], y->shape[2]);
        set_norm(ADD(tn_operation_lrn_backward, BENCH_LAYER_NORM, l->y, dy, d));
    }
    rectify_gradient(h, l->y, d);
    tenon_conv_backward_params *filters =
        ADD(tn_operation_conv_backward_filter, BENCH_LAYER_DW, l->x, d, dw);
    filters->groups = c->groups;
    set_geometry(c, &filters->geometry);
    ADD(tn_operation_conv_backward_bias, BENCH_LAYER_DW, d, db);
    int32_t dx = -1;
    if (x->name == NULL) {
        dx = add_image(h, x->shape[1], x->shape[2]);
        tenon_conv_backward_params *images =
            ADD(tn_operation_conv_backward_data, BENCH_LAYER_DX, d, l->w, dx);
        images->groups = c->groups;
        set_geometry(c, &images->geometry);
    }
    update(h, l->w, dw);
    update(h, l->bias, db);
    return dx;
}

static void drop(bench_historic *h, int number, int32_t x)
{
    tenon_dropout_params *dropout = ADD(tn_operation_dropout, BENCH_LAYER_RANDOM, x, x);
    dropout->seed = (uint64_t)number;
}

/* Adds fully connected layer `number`; dropout follows all but the last one. */
static int32_t connect(bench_historic *h, int number, int64_t outputs, layer *l)
{
    const bench_value *x = &h->training.values[l->x];
    const int64_t inputs = x->shape[1] * (x->is_image ? x->shape[2] * x->shape[3] : 1);
    const bool is_last = number == CONNECTED - 1;
    l->w = add_parameter(h, 2, (const int64_t[]){inputs, outputs}, sqrt(6 / (double)inputs));
    l->bias = add_parameter(h, 1, &outputs, 0.1);
    l->y = add_matrix(h, h->training.n, outputs);
    MULTIPLY(BENCH_LAYER_CONNECTED, 0, 1,
             is_last ? TENON_ACTIVATION_IDENTITY : TENON_ACTIVATION_RELU, l->x, l->w, -1, l->bias,
             l->y);
    if (!is_last)
        drop(h, number, l->y);
    return l->y;
}

/* Adds the gradients of a fully connected layer from that of its result, which is replaced. */
static int32_t connect_backward(bench_historic *h, int number, const layer *l, int32_t dy)
{
    const bench_value *x = &h->training.values[l->x];
    const int32_t dw = bench_list_gradient(&h->training, l->w),
                  db = bench_list_gradient(&h->training, l->bias),
                  dx = x->is_image ? add_image(h, x->shape[1], x->shape[2])
                                   : add_matrix(h, x->shape[0], x->shape[1]);
    if (number < CONNECTED - 1) {
        drop(h, number, dy);
        rectify_gradient(h, l->y, dy);
    }
    MULTIPLY(BENCH_LAYER_DW, 1, 1, TENON_ACTIVATION_IDENTITY, l->x, dy, -1, -1, dw);
    tenon_reduce_params *sum = ADD(tn_operation_reduce, BENCH_LAYER_DW, dy, db);
    sum->axis_count = 1;
    MULTIPLY(BENCH_LAYER_DX, 2, 1, TENON_ACTIVATION_IDENTITY, dy, l->w, -1, -1, dx);
    update(h, l->w, dw);
    update(h, l->bias, db);
    return dx;
}

/* Adds the loss, and returns the gradient of its mean over the images. */
static int32_t add_loss(bench_historic *h, int32_t logits, int64_t classes)
{
    const int64_t n = h->training.n;
    bench_value each = {.rank = 1, .shape = {n}, .name = "labels", .dtype = TENON_DTYPE_I32};
    each.high = (double)(classes - 1);
    const int32_t labels = add_operand(h, each, false);
    each.name = "loss";
    each.dtype = TENON_DTYPE_F32;
    const int32_t loss = add_operand(h, each, true), d = add_matrix(h, n, classes);
    ADD(tn_operation_cross_entropy, BENCH_LAYER_POINTWISE_FUNCTION, logits, labels, loss);
    tenon_cross_entropy_params *gradient = ADD(
        tn_operation_cross_entropy_backward, BENCH_LAYER_POINTWISE_FUNCTION, logits, labels, -1, d);
    gradient->scale = 1 / (double)n;
    return d;
}

static void list_alexnet(bench_historic *h, const bench_historic_shape *sizes)
{
    layer layers[CONVOLUTIONS + CONNECTED];
    h->workload = "alexnet";
    h->training.n = sizes->n;
    int32_t x = add_operand(h,
                            (bench_value){.dtype = TENON_DTYPE_F32,
                                          .rank = 4,
                                          .shape = {sizes->n, 3, sizes->side, sizes->side},
                                          .is_image = true,
                                          .name = "x",
                                          .low = -10, /* so that normalization matters */
                                          .high = 10},
                            false);
    for (int i = 0; i < CONVOLUTIONS; i++) {
        layers[i].x = x;
        x = convolve(h, &convolutions[i], sizes->filters[i], &layers[i]);
    }
    for (int i = 0; i < CONNECTED; i++) {
        layers[CONVOLUTIONS + i].x = x;
        x = connect(h, i, sizes->connected[i], &layers[CONVOLUTIONS + i]);
    }
    int32_t d = add_loss(h, x, sizes->connected[CONNECTED - 1]);
    for (int i = CONNECTED - 1; i >= 0; i--)
        d = connect_backward(h, i, &layers[CONVOLUTIONS + i], d);
    for (int i = CONVOLUTIONS - 1; i >= 0; i--)
        d = convolve_backward(h, &convolutions[i], &layers[i], d);
}

#define RATE 0.001 /* of learning, in the belief network: small, for many steps with one batch */

/* Adds the probabilities of units: sigmoid(x·w + bias), or of w transposed. */
static int32_t add_units(bench_historic *h, int32_t x, int32_t w, bool transposed, int32_t bias)
{
    const int32_t y = add_matrix(h, h->training.n, h->training.values[bias].shape[0]);
    MULTIPLY(BENCH_LAYER_CONNECTED, transposed ? 2 : 0, 1, TENON_ACTIVATION_SIGMOID, x, w, -1, bias,
             y);
    return y;
}

/* Adds bias += rate · the mean of data - model over the batch. */
static void update_units(bench_historic *h, int32_t data, int32_t model, int32_t bias)
{
    const bench_value *x = &h->training.values[data];
    const int32_t difference = add_matrix(h, x->shape[0], x->shape[1]),
                  gradient = bench_list_gradient(&h->training, bias);
    tenon_elementwise_params *subtract =
        ADD(tn_operation_elementwise, BENCH_LAYER_POINTWISE_FUNCTION, data, model, difference);
    subtract->kind = TENON_ELEMENTWISE_SUBTRACT;
    tenon_reduce_params *mean = ADD(tn_operation_reduce, BENCH_LAYER_DW, difference, gradient);
    mean->kind = TENON_REDUCE_MEAN;
    mean->axis_count = 1;
    tenon_sgd_params *sgd = ADD(tn_operation_sgd, BENCH_LAYER_UPDATE, gradient, bias, -1, -1);
    sgd->flags = TENON_SGD_MAXIMIZE;
    sgd->learning_rate = RATE;
}

/* Adds the contrastive divergence of a machine. Returns the hidden units' probabilities. */
static int32_t add_machine(bench_historic *h, int number, int32_t v, int64_t hidden)
{
    static const char *const errors[MACHINES] = {"error 1", "error 2", "error 3"};
    const int64_t n = h->training.n, visible = h->training.values[v].shape[1];
    const int32_t w = add_parameter(h, 2, (const int64_t[]){visible, hidden}, 0.01),
                  b = add_parameter(h, 1, &visible, 0.01), c = add_parameter(h, 1, &hidden, 0.01),
                  error = add_operand(h,
                                      (bench_value){.dtype = TENON_DTYPE_F32,
                                                    .rank = 2,
                                                    .shape = {1, 1},
                                                    .name = errors[number]},
                                      true);
    const int32_t p = add_units(h, v, w, false, c), drawn = add_matrix(h, n, hidden);
    tenon_bernoulli_params *draw = ADD(tn_operation_bernoulli, BENCH_LAYER_RANDOM, p, drawn);
    draw->seed = (uint64_t)number;
    const int32_t v1 = add_units(h, drawn, w, true, b), p1 = add_units(h, v1, w, false, c);
    ADD(tn_operation_mse, BENCH_LAYER_POINTWISE_FUNCTION, v1, v, error);
    MULTIPLY(BENCH_LAYER_DW, 1, RATE / (double)n, TENON_ACTIVATION_IDENTITY, v, p, w, -1, w);
    MULTIPLY(BENCH_LAYER_DW, 1, -RATE / (double)n, TENON_ACTIVATION_IDENTITY, v1, p1, w, -1, w);
    update_units(h, v, v1, b);
    update_units(h, p, p1, c);
    const int32_t parameters[] = {w, b, c};
    for (int i = 0; i < 3 && h->result_count < BENCH_MAX_RESULTS; i++)
        h->results[h->result_count++] = parameters[i];
    return p;
}

static void list_dbn(bench_historic *h, const bench_historic_shape *sizes)
{
    h->workload = "dbn";
    h->training.n = sizes->n;
    int32_t v = add_operand(h,
                            (bench_value){.dtype = TENON_DTYPE_F32,
                                          .rank = 2,
                                          .shape = {sizes->n, sizes->units[0]},
                                          .name = "x",
                                          .high = 1},
                            false);
    for (int i = 0; i < MACHINES; i++)
        v = add_machine(h, i, v, sizes->units[i + 1]);
}

bool bench_historic_list(const bench_historic_shape *shape, bench_historic *h)
{
    if (shape->workload == BENCH_ALEXNET)
        list_alexnet(h, shape);
    else
        list_dbn(h, shape);
    return !h->training.is_full;
}
