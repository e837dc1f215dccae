#include "model.h"

#include "../runner.h"
#include "../timing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool bench_layer_is_conv(const bench_layer *layer)
{
    return layer->kind != BENCH_LAYER_POOLING && layer->kind != BENCH_LAYER_SCALING;
}

tenon_tensor bench_layer_input(const bench_layer *layer, tenon_tensor image)
{
    if (layer->kind != BENCH_LAYER_CONNECTED)
        return image;
    const int64_t pixel[] = {image.shape[0], 1, 1,
                             image.shape[1] * image.shape[2] * image.shape[3]};
    tenon_tensor flat = tenon_tensor_view(image.dtype, 4, pixel);
    flat.memory = image.memory;
    flat.offset = image.offset;
    return flat;
}

double bench_model_operations(const bench_model *model)
{
    double operations = 0;
    for (uint32_t i = 0; i < model->network.layer_count; i++) {
        const bench_layer *layer = &model->network.layers[i];
        const bench_image *y = &model->network.images[layer->y];
        int64_t w[4];
        bench_layer_filters(&model->network, layer, w);
        if (bench_layer_is_conv(layer))
            operations += 2.0 * (double)(model->n * y->size[0] * y->size[1] * w[0]) *
                          (double)(w[1] * w[2] * w[3]);
    }
    return operations;
}

/* Returns random values in [-limit, limit]. */
static float *random_values(bench_model *model, int64_t count, double limit)
{
    static uint64_t seed = 1; /* Knuth's MMIX generator */
    const double start = bench_now();
    float *values = malloc(((size_t)count + 1) * sizeof *values);
    for (int64_t i = 0; values != NULL && i < count; i++) {
        seed = seed * 6364136223846793005U + 1442695040888963407U;
        values[i] = (float)((double)(int64_t)seed / 9223372036854775808.0 * limit);
    }
    model->drawing += bench_now() - start;
    return values;
}

static bool upload(bench_session *session, const float *values, uint32_t rank, const int64_t *shape,
                   tenon_tensor *tensor)
{
    if (values == NULL ||
        !BENCH_WELL(tenon_tensor_create(session->context, TENON_DTYPE_F32, rank, shape, tensor)))
        return false;
    const uint64_t bytes = (uint64_t)tenon_tensor_elements(tensor) * sizeof *values;
    return BENCH_WELL(tenon_tensor_upload(session->stream, values, bytes, tensor, NULL));
}

/* Makes weights that keep the size of values about the same, and packs the filters. */
static bool make_weights(bench_session *session, bench_model *model, uint32_t number)
{
    const bench_layer *layer = &model->network.layers[number];
    bench_model_layer *l = &model->layers[number];
    tenon_tensor w = {0};
    int64_t shape[4];
    bench_layer_filters(&model->network, layer, shape);
    const int64_t inputs = shape[1] * shape[2] * shape[3];
    const double limit = sqrt((layer->other < 0 ? 6.0 : 0.6) / (double)inputs);
    l->w = random_values(model, shape[0] * inputs, limit);
    l->bias = random_values(model, shape[0], 0.1);
    const bool well =
        upload(session, l->w, 4, shape, &w) &&
        upload(session, l->bias, 1, shape, &l->bias_tensor) &&
        BENCH_WELL(tenon_conv_pack_filter(session->stream, NULL, &w, &l->packed, NULL)) &&
        BENCH_WELL(tenon_stream_finish(session->stream));
    tenon_memory_destroy(&w.memory);
    return well;
}

static void set_conv(const bench_layer *layer, tenon_conv_params *conv)
{
    *conv = (tenon_conv_params)TENON_CONV_PARAMS_INIT;
    conv->groups = layer->groups;
    conv->geometry = bench_layer_geometry(layer);
    conv->epilogue.activation = layer->activation;
}

static void set_pool(const bench_layer *layer, tenon_pool_params *pool)
{
    *pool = (tenon_pool_params)TENON_POOL_PARAMS_INIT;
    if (layer->filter == 0) {
        pool->kind = TENON_POOL_AVERAGE;
        pool->flags = TENON_POOL_GLOBAL;
        return;
    }
    pool->kind = TENON_POOL_MAX;
    pool->window[0] = pool->window[1] = layer->filter;
    pool->geometry = bench_layer_geometry(layer);
}

/* The views of a layer's operands, in the order of its plan. */
typedef struct views {
    tenon_tensor x, other, bias, y;
    const tenon_tensor *list[4];
    uint32_t count;
} views;

static void set_operands(const bench_model *model, uint32_t number, const tenon_tensor *images,
                         views *o)
{
    const bench_layer *layer = &model->network.layers[number];
    memset(o, 0, sizeof *o);
    o->x = tenon_tensor_nhwc(bench_layer_input(layer, images[layer->x]));
    o->y = tenon_tensor_nhwc(images[layer->y]);
    o->bias = model->layers[number].bias_tensor;
    o->list[0] = &o->x;
    if (layer->other >= 0) {
        o->other = tenon_tensor_nhwc(images[layer->other]);
        o->list[1] = &o->other;
    }
    o->count = bench_layer_is_conv(layer) ? 4 : 3;
    if (bench_layer_is_conv(layer))
        o->list[2] = &o->bias;
    o->list[layer->kind == BENCH_LAYER_POOLING ? 1 : o->count - 1] = &o->y;
}

/* Makes the plan of a layer, whose packed weights exist. */
static tenon_status plan_layer(tenon_context *context, const bench_layer *layer,
                               bench_model_layer *l, const views *o)
{
    if (layer->kind == BENCH_LAYER_POOLING) {
        set_pool(layer, &l->pool);
        return tenon_pool_forward_plan(context, &l->pool, o->list[0], o->list[1], NULL, &l->plan);
    }
    if (layer->kind == BENCH_LAYER_SCALING) {
        l->scale = (tenon_elementwise_params)TENON_ELEMENTWISE_PARAMS_INIT;
        l->scale.kind = TENON_ELEMENTWISE_MULTIPLY;
        return tenon_elementwise_plan(context, &l->scale, o->list[0], o->list[1], o->list[2],
                                      &l->plan);
    }
    set_conv(layer, &l->conv);
    return tenon_conv_forward_packed_plan(context, &l->conv, o->list[0], l->packed, o->list[1],
                                          o->list[2], o->list[3], &l->plan);
}

static bool add_layer(bench_session *session, bench_model *model, uint32_t number)
{
    const bench_layer *layer = &model->network.layers[number];
    bench_model_layer *l = &model->layers[number];
    views o;
    if (bench_layer_is_conv(layer) && !make_weights(session, model, number))
        return false;
    set_operands(model, number, model->placed, &o);
    const tenon_status made = plan_layer(session->context, layer, l, &o);
    return bench_went_well(made, "plan of a layer") &&
           BENCH_WELL(tenon_sequence_add(model->sequence, NULL, l->plan, o.list, o.count, NULL, 0));
}

static void shape_of(const bench_model *model, uint32_t number, int64_t shape[4])
{
    const bench_image *image = &model->network.images[number];
    shape[0] = model->n;
    shape[1] = image->size[0];
    shape[2] = image->size[1];
    shape[3] = image->channels;
}

static bool place_images(bench_model *model)
{
    const uint32_t last = model->network.layer_count;
    for (uint32_t i = 0; i <= last; i++) {
        int64_t shape[4];
        shape_of(model, i, shape);
        if (!BENCH_WELL(tenon_sequence_tensor(model->sequence,
                                              i == 0      ? "x"
                                              : i == last ? "y"
                                                          : NULL,
                                              TENON_DTYPE_F32, 4, shape, &model->placed[i])))
            return false;
    }
    return true;
}

static bool make_ends(bench_session *session, bench_model *model)
{
    const uint32_t last = model->network.layer_count;
    int64_t x[4], y[4];
    shape_of(model, 0, x);
    shape_of(model, last, y);
    model->input = random_values(model, x[0] * x[1] * x[2] * x[3], 1);
    return upload(session, model->input, 4, x, &model->own[0]) &&
           BENCH_WELL(
               tenon_tensor_create(session->context, TENON_DTYPE_F32, 4, y, &model->own[last]));
}

bool bench_model_create(bench_session *session, const bench_network *network, int64_t n,
                        bench_model *model)
{
    model->n = n;
    model->context = session->context;
    model->network = *network;
    if (!BENCH_WELL(tenon_sequence_create(session->context, &model->sequence)) ||
        !place_images(model) || !make_ends(session, model))
        return false;
    for (uint32_t i = 0; i < model->network.layer_count; i++)
        if (bench_interrupted || !add_layer(session, model, i))
            return false;
    return BENCH_WELL(tenon_sequence_finish(model->sequence));
}

void bench_model_destroy(bench_model *model)
{
    tenon_sequence_release(model->sequence);
    for (uint32_t i = 0; i < model->network.layer_count; i++) {
        bench_model_layer *l = &model->layers[i];
        tenon_plan_release(l->plan);
        tenon_packed_release(l->packed);
        tenon_memory_destroy(&l->bias_tensor.memory);
        free(l->w);
        free(l->bias);
    }
    for (uint32_t i = 0; i <= model->network.layer_count; i++)
        tenon_memory_destroy(&model->own[i].memory);
    free(model->input);
}

bool bench_model_run(bench_model *model, tenon_stream *stream)
{
    const tenon_operand operands[] = {{"x", model->own[0].memory, 0},
                                      {"y", model->own[model->network.layer_count].memory, 0}};
    return BENCH_WELL(tenon_sequence_run(stream, model->sequence, operands, 2, NULL, 0, NULL));
}

bool bench_model_result(bench_model *model, tenon_stream *stream, float **result)
{
    const tenon_tensor *y = &model->own[model->network.layer_count];
    const uint64_t bytes = (uint64_t)tenon_tensor_elements(y) * sizeof **result;
    *result = malloc(bytes + 1);
    return *result != NULL && bench_model_run(model, stream) &&
           BENCH_WELL(tenon_tensor_download(stream, y, *result, bytes, NULL));
}

bool bench_model_allocate(bench_model *model)
{
    for (uint32_t i = 1; i < model->network.layer_count; i++) {
        int64_t shape[4];
        shape_of(model, i, shape);
        if (model->own[i].memory.kind == TENON_MEMORY_NONE &&
            !BENCH_WELL(
                tenon_tensor_create(model->context, TENON_DTYPE_F32, 4, shape, &model->own[i])))
            return false;
    }
    return true;
}

bool bench_model_run_layer(bench_model *model, tenon_stream *stream, uint32_t number)
{
    tenon_memory memories[4];
    views o;
    set_operands(model, number, model->own, &o);
    memset(memories, 0, sizeof memories);
    for (uint32_t i = 0; i < o.count; i++)
        if (o.list[i] != NULL)
            memories[i] = o.list[i]->memory;
    return BENCH_WELL(tenon_plan_run(stream, model->layers[number].plan, memories, o.count, NULL));
}
