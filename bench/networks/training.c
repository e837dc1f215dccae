/* The values and steps of a training step. */
#include "training.h"

#include "ops/registry.h"

#include <math.h>
#include <string.h>

#define LEARNING_RATE 0.01
#define MOMENTUM      0.9

/* Values of the forward pass that the gradients of a layer read. */
typedef struct forward_layer {
    int32_t sums, gamma, mean, rstd; /* of batch norm, whose input are the sums; -1: none */
    int32_t w, bias, indices;
} forward_layer;

typedef struct builder {
    bench_training *training;
    forward_layer layers[BENCH_MAX_LAYERS];
    int32_t images[BENCH_MAX_LAYERS + 1], gradients[BENCH_MAX_LAYERS + 1]; /* -1: none yet */
} builder;

static int32_t add_image(builder *b, uint32_t image)
{
    const bench_image *i = &b->training->network.images[image];
    return bench_list_value(
        b->training, (bench_value){.dtype = TENON_DTYPE_F32,
                                   .rank = 4,
                                   .shape = {b->training->n, i->channels, i->size[0], i->size[1]},
                                   .is_image = true,
                                   .low = -1,
                                   .high = 1});
}

static int32_t add_vector(builder *b, int64_t size, bool lasts, double initial)
{
    return bench_list_value(b->training, (bench_value){.dtype = TENON_DTYPE_F32,
                                                       .rank = 1,
                                                       .shape = {size},
                                                       .lasts = lasts,
                                                       .low = initial,
                                                       .high = initial});
}

#define ADD(operation, kind, ...) BENCH_LIST_STEP(b->training, operation, kind, __VA_ARGS__)

static void update(builder *b, int32_t parameter, int32_t gradient)
{
    bench_list_update(b->training, parameter, gradient, LEARNING_RATE, MOMENTUM, 0);
}

static void normalize(builder *b, forward_layer *f, int32_t y, int64_t channels)
{
    f->gamma = add_vector(b, channels, true, 1);
    f->mean = add_vector(b, channels, false, 0);
    f->rstd = add_vector(b, channels, false, 0);
    const int32_t beta = add_vector(b, channels, true, 0),
                  running_mean = add_vector(b, channels, true, 0),
                  running_variance = add_vector(b, channels, true, 1);
    tenon_norm_params *norm = ADD(tn_operation_norm, BENCH_LAYER_NORM, f->sums, f->gamma, beta, y,
                                  f->mean, f->rstd, running_mean, running_variance);
    norm->kind = TENON_NORM_BATCH;
    f->bias = beta;
}

/* Adds the image of a shortcut and applies ReLU, in place. */
static void activate(builder *b, const bench_layer *layer, int32_t y)
{
    const bool is_relu = layer->activation.kind == TENON_ACTIVATION_RELU;
    if (layer->other >= 0) {
        tenon_elementwise_chain_params *chain =
            ADD(tn_operation_elementwise_chain, BENCH_LAYER_POINTWISE_FUNCTION, y,
                b->images[layer->other], -1, -1, y);
        chain->step_count = is_relu ? 2 : 1;
        chain->steps[0] = (tenon_chain_step){.op = TENON_CHAIN_ADD, .operand = TENON_CHAIN_X1};
        chain->steps[1] =
            (tenon_chain_step){.op = TENON_CHAIN_ACTIVATE, .activation = TENON_ACTIVATION_RELU};
    } else if (is_relu) {
        tenon_activation_params *relu =
            ADD(tn_operation_activation, BENCH_LAYER_POINTWISE_FUNCTION, y, y);
        relu->activation.kind = TENON_ACTIVATION_RELU;
    }
}

static void convolve(builder *b, const bench_layer *layer, forward_layer *f)
{
    bench_training *t = b->training;
    const bool has_norm = layer->kind != BENCH_LAYER_CONNECTED;
    const bench_image *size = &t->network.images[layer->y];
    bench_value w = {.dtype = TENON_DTYPE_F32, .rank = 4, .lasts = true};
    bench_layer_filters(&t->network, layer, w.shape);
    const double inputs = (double)(w.shape[1] * w.shape[2] * w.shape[3]);
    w.high = sqrt(6 / inputs);
    w.low = -w.high;
    f->w = bench_list_value(b->training, w);
    f->sums = has_norm ? add_image(b, layer->y) : -1;
    if (!has_norm)
        f->bias = add_vector(b, w.shape[0], true, 0);
    const int32_t y = b->images[layer->y];
    tenon_conv_params *conv = ADD(tn_operation_conv, layer->kind, b->images[layer->x], f->w, -1,
                                  has_norm ? -1 : f->bias, has_norm ? f->sums : y);
    conv->groups = layer->groups;
    conv->geometry = bench_layer_geometry(layer);
    const double forward = 2 * (double)(t->n * size->size[0] * size->size[1] * w.shape[0]) * inputs;
    t->operations += layer->x > 0 ? 3 * forward : 2 * forward; /* no gradient of the input */
    if (has_norm)
        normalize(b, f, y, w.shape[0]);
    activate(b, layer, y);
}

static void set_pool(const bench_layer *layer, tenon_pool_params *pool)
{
    pool->kind = layer->filter > 0 ? TENON_POOL_MAX : TENON_POOL_AVERAGE;
    pool->flags = layer->filter > 0 ? 0 : TENON_POOL_GLOBAL;
    if (layer->filter == 0)
        return;
    pool->window[0] = pool->window[1] = layer->filter;
    pool->geometry = bench_layer_geometry(layer);
}

static void add_pooling(builder *b, const bench_layer *layer, forward_layer *f)
{
    f->indices = layer->filter > 0 ? add_image(b, layer->y) : -1;
    if (f->indices >= 0)
        b->training->values[f->indices].dtype = TENON_DTYPE_I32;
    set_pool(layer, ADD(tn_operation_pool, BENCH_LAYER_POOLING, b->images[layer->x],
                        b->images[layer->y], f->indices));
}

/* Adds the gradient of the loss, which is the mean over the images. */
static void add_loss(builder *b, uint32_t last)
{
    bench_training *t = b->training;
    const int64_t classes = t->network.images[last].channels;
    bench_value each = {.rank = 3, .shape = {t->n, 1, 1}};
    each.name = "labels";
    each.dtype = TENON_DTYPE_I32;
    each.high = (double)(classes - 1);
    const int32_t labels = bench_list_value(b->training, each);
    each.name = "loss";
    each.dtype = TENON_DTYPE_F32;
    const int32_t loss = bench_list_value(b->training, each), logits = b->images[last];
    b->gradients[last] = add_image(b, last);
    tenon_cross_entropy_params *forward =
        ADD(tn_operation_cross_entropy, BENCH_LAYER_POINTWISE_FUNCTION, logits, labels, loss);
    forward->axis = 1;
    tenon_cross_entropy_params *backward =
        ADD(tn_operation_cross_entropy_backward, BENCH_LAYER_POINTWISE_FUNCTION, logits, labels, -1,
            b->gradients[last]);
    backward->axis = 1;
    backward->scale = 1 / (double)t->n;
}

/* Adds the gradients of batch norm. Returns that of its input. */
static int32_t unnormalize(builder *b, const bench_layer *layer, const forward_layer *f, int32_t dy)
{
    const int32_t dx = add_image(b, layer->y), dgamma = bench_list_gradient(b->training, f->gamma),
                  dbeta = bench_list_gradient(b->training, f->bias);
    tenon_norm_params *norm = ADD(tn_operation_norm_backward, BENCH_LAYER_NORM, f->sums, dy,
                                  f->gamma, f->mean, f->rstd, dx, dgamma, dbeta);
    norm->kind = TENON_NORM_BATCH;
    update(b, f->gamma, dgamma);
    update(b, f->bias, dbeta);
    return dx;
}

/* Adds the gradients of a convolution's input and filters. That of the input is added to the
 * gradient by way of other layers. */
static void add_conv_gradients(builder *b, const bench_layer *layer, const forward_layer *f,
                               int32_t dy)
{
    const int32_t dw = bench_list_gradient(b->training, f->w);
    tenon_conv_backward_params *filters =
        ADD(tn_operation_conv_backward_filter, BENCH_LAYER_DW, b->images[layer->x], dy, dw);
    filters->groups = layer->groups;
    filters->geometry = bench_layer_geometry(layer);
    if (layer->x > 0) {
        const bool adds = b->gradients[layer->x] >= 0;
        if (!adds)
            b->gradients[layer->x] = add_image(b, layer->x);
        tenon_conv_backward_params *images =
            ADD(tn_operation_conv_backward_data, BENCH_LAYER_DX, dy, f->w, b->gradients[layer->x]);
        images->groups = layer->groups;
        images->geometry = bench_layer_geometry(layer);
        images->beta = adds ? 1 : 0;
    }
    update(b, f->w, dw);
}

static void add_gradients(builder *b, const bench_layer *layer, const forward_layer *f)
{
    int32_t dy = b->gradients[layer->y];
    if (layer->activation.kind == TENON_ACTIVATION_RELU) { /* y > 0 where the sum is */
        tenon_activation_params *relu =
            ADD(tn_operation_activation_backward, BENCH_LAYER_POINTWISE_FUNCTION,
                b->images[layer->y], dy, dy);
        relu->activation.kind = TENON_ACTIVATION_RELU;
    }
    if (layer->kind == BENCH_LAYER_POOLING) {
        b->gradients[layer->x] = add_image(b, layer->x);
        set_pool(layer, ADD(tn_operation_pool_backward, BENCH_LAYER_POOLING, -1, dy, f->indices,
                            b->gradients[layer->x]));
        return;
    }
    if (layer->other >= 0)
        b->gradients[layer->other] = dy; /* later layers do not read it */
    if (f->sums >= 0) {
        dy = unnormalize(b, layer, f, dy);
    } else {
        const int32_t db = bench_list_gradient(b->training, f->bias);
        ADD(tn_operation_conv_backward_bias, BENCH_LAYER_DW, dy, db);
        update(b, f->bias, db);
    }
    add_conv_gradients(b, layer, f, dy);
}

/* Returns the number of layers, from `first` on, that read the image or add it. */
static uint32_t readers_from(const bench_network *network, uint32_t first, uint32_t image)
{
    uint32_t readers = 0;
    for (uint32_t i = first; i < network->layer_count; i++)
        readers += (network->layers[i].x == image) + (network->layers[i].other == (int32_t)image);
    return readers;
}

/* Returns whether the gradients of the layer can be listed: an image that is added must have no
 * later reader, and one that is pooled no other. */
static bool is_supported(const bench_network *network, uint32_t number)
{
    const bench_layer *layer = &network->layers[number];
    const uint32_t kind = layer->activation.kind;
    const bench_image *x = &network->images[layer->x];
    const bool is_last_to_add =
        layer->other < 0 || readers_from(network, number + 1, (uint32_t)layer->other) == 0;
    const bool pools_alone =
        layer->kind != BENCH_LAYER_POOLING || readers_from(network, 0, layer->x) == 1;
    return is_last_to_add && pools_alone && layer->kind != BENCH_LAYER_SCALING &&
           (kind == TENON_ACTIVATION_IDENTITY || kind == TENON_ACTIVATION_RELU) &&
           (layer->kind != BENCH_LAYER_CONNECTED || x->size[0] * x->size[1] == 1);
}

bool bench_training_list(bench_training *t)
{
    builder b = {.training = t};
    const uint32_t last = t->network.layer_count;
    bool well = true;
    for (uint32_t i = 0; i <= last; i++) {
        b.images[i] = add_image(&b, i);
        b.gradients[i] = -1;
    }
    t->values[b.images[0]].name = "x";
    for (uint32_t i = 0; i < last; i++) {
        const bench_layer *layer = &t->network.layers[i];
        b.layers[i] = (forward_layer){-1, -1, -1, -1, -1, -1, -1};
        well = well && is_supported(&t->network, i);
        if (layer->kind == BENCH_LAYER_POOLING)
            add_pooling(&b, layer, &b.layers[i]);
        else
            convolve(&b, layer, &b.layers[i]);
    }
    add_loss(&b, last);
    for (uint32_t i = last; i-- > 0;)
        add_gradients(&b, &t->network.layers[i], &b.layers[i]);
    return well && !t->is_full;
}
