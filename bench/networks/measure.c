/* Verification of a network and measurement of its parts, layer by layer. */
#include "model.h"

#include "../judge.h"
#include "../timing.h"

#include "ops/conv/problem/problem.h"
#include "ops/registry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PASSES 7

enum { POOL_X, POOL_Y };

/* A layer beside the values that it has read and written. */
typedef struct layer_values {
    const bench_model *model;
    const bench_layer *layer;
    const bench_model_layer *weights;
    bench_operands operands; /* in the order of the convolution's or of pooling's arguments */
} layer_values;

/* Restricts dimension d of an image, and the padding, to the window of one pixel. */
static tenon_tensor cut_window(const bench_layer *layer, tenon_tensor x, uint32_t d, int64_t at,
                               tenon_conv_geometry *geometry, int64_t *taps)
{
    const int64_t size = x.shape[d], filter = layer->filter > 0 ? layer->filter : size;
    int64_t begin = at * layer->stride - layer->padding, end = begin + filter;
    geometry->pad_begin[d - 1] = begin < 0 ? -begin : 0;
    geometry->pad_end[d - 1] = end > size ? end - size : 0;
    geometry->stride[d - 1] = 1;
    begin = begin < 0 ? 0 : begin;
    end = end > size ? size : end;
    *taps = filter;
    return tenon_tensor_slice(x, d, begin, end - begin);
}

/* Cuts out a pixel of the result. */
static void cut(const void *data, int64_t number, bench_part *part)
{
    const layer_values *v = data;
    const bool is_conv = bench_layer_is_conv(v->layer);
    const uint32_t result = is_conv ? CONV_Y : POOL_Y;
    const bench_operand *o = v->operands.operand;
    const bench_image *y = &v->model->network.images[v->layer->y];
    const int64_t at[] = {number / y->size / y->size, number / y->size % y->size, number % y->size},
                  pixel[] = {1, y->channels, 1, 1};
    tenon_conv_geometry *geometry =
        is_conv ? &((tenon_conv_params *)(void *)part->params.bytes)->geometry
                : &((tenon_pool_params *)(void *)part->params.bytes)->geometry;
    tenon_tensor x = tenon_tensor_slice(o[0].host, 0, at[0], 1);
    int64_t taps = 0;
    for (uint32_t d = 1; d < 3; d++)
        x = cut_window(v->layer, x, d, at[d], geometry, &taps);
    part->views[0] = tenon_tensor_nhwc(x);
    part->views[result] = tenon_tensor_view(TENON_DTYPE_F32, 4, pixel);
    part->first = number * y->channels;
    if (!is_conv)
        return;
    part->views[CONV_W] = o[CONV_W].host;
    part->views[CONV_BIAS] = o[CONV_BIAS].host;
    if (o[CONV_C].host.dtype == TENON_DTYPE_INVALID)
        return;
    tenon_tensor c = o[CONV_C].host;
    for (uint32_t d = 0; d < 3; d++)
        c = tenon_tensor_slice(c, d, at[d], 1);
    part->views[CONV_C] = tenon_tensor_nhwc(c);
}

static void set_host(bench_operand *o, tenon_tensor view, float *values)
{
    o->host = view;
    o->host.memory = (tenon_memory){0};
    o->host.memory.kind = TENON_MEMORY_SVM;
    o->host.memory.u.svm = values;
}

/* Reads an image into memory of the host, which the caller frees. */
static bool read_image(tenon_stream *stream, bench_operand *o, const tenon_tensor *image,
                       const tenon_tensor *view, float **values)
{
    const uint64_t bytes = (uint64_t)tenon_tensor_elements(image) * sizeof **values;
    *values = malloc(bytes + 1);
    if (*values == NULL || !BENCH_WELL(tenon_tensor_download(stream, image, *values, bytes, NULL)))
        return false;
    set_host(o, *view, *values);
    return true;
}

static bool compare(const layer_values *v, tenon_stream *stream, double *error_over_bound,
                    char why[256])
{
    const bench_network *network = &v->model->network;
    const bool is_conv = bench_layer_is_conv(v->layer);
    const bench_image *x = &network->images[v->layer->x], *y = &network->images[v->layer->y];
    int64_t w[4];
    bench_layer_filters(network, v->layer, w);
    const double taps = v->layer->filter > 0 ? (double)(w[2] * w[3]) : (double)(x->size * x->size);
    const bench_parts parts = {is_conv ? &tn_operation_conv : &tn_operation_pool,
                               is_conv ? (const void *)&v->weights->conv : &v->weights->pool,
                               NULL,
                               &v->operands,
                               is_conv ? CONV_Y : POOL_Y,
                               v->model->n * y->size * y->size,
                               taps * (double)w[0] * (double)(is_conv ? w[1] : 1) * 8,
                               cut,
                               v};
    return bench_verify(stream, &parts, error_over_bound, why);
}

static bool verify_layer(bench_model *model, tenon_stream *stream, uint32_t number,
                         double *error_over_bound, char why[256])
{
    const bench_layer *layer = &model->network.layers[number];
    const bench_model_layer *l = &model->layers[number];
    const bool is_conv = bench_layer_is_conv(layer);
    const uint32_t result = is_conv ? CONV_Y : POOL_Y;
    const tenon_tensor *x = &model->own[layer->x];
    const tenon_tensor read = bench_layer_input(layer, *x);
    layer_values v = {model, layer, l, {.copies = 1}};
    bench_operand *o = v.operands.operand;
    float *x_values = NULL, *c_values = NULL;
    int64_t w[4];
    bench_layer_filters(&model->network, layer, w);
    bool well = read_image(stream, &o[0], x, &read, &x_values);
    if (is_conv) {
        set_host(&o[CONV_W], tenon_tensor_view(TENON_DTYPE_F32, 4, w), l->w);
        set_host(&o[CONV_BIAS], tenon_tensor_view(TENON_DTYPE_F32, 1, w), l->bias);
    }
    if (well && layer->residual >= 0) {
        const tenon_tensor *c = &model->own[layer->residual];
        well = read_image(stream, &o[CONV_C], c, c, &c_values);
    }
    o[result].view = model->own[layer->y];
    v.operands.memory[0][result] = model->own[layer->y].memory;
    well = well && compare(&v, stream, error_over_bound, why);
    free(x_values);
    free(c_values);
    return well;
}

/* Compares the result of the sequence with that of the layers that ran one after another; they must
 * have the same bits. */
static bool compare_ends(tenon_stream *stream, const tenon_tensor *y, const float *sequence,
                         char why[256])
{
    const uint64_t bytes = (uint64_t)tenon_tensor_elements(y) * sizeof *sequence;
    float *layers = malloc(bytes + 1);
    const bool read = layers != NULL &&
                      BENCH_WELL(tenon_tensor_download(stream, y, layers, bytes, NULL)),
               well = read && memcmp(layers, sequence, bytes) == 0;
    if (read && !well)
        snprintf(why, 256, "the sequence's result differs from that of its layers run alone");
    free(layers);
    return well;
}

bool bench_model_verify(bench_model *model, tenon_stream *stream, double *error_over_bound,
                        char why[256])
{
    const tenon_tensor *y = &model->own[model->network.layer_count];
    const uint64_t bytes = (uint64_t)tenon_tensor_elements(y) * sizeof(float);
    float *sequence = malloc(bytes + 1);
    bool well = sequence != NULL && bench_model_allocate(model) && bench_model_run(model, stream) &&
                BENCH_WELL(tenon_tensor_download(stream, y, sequence, bytes, NULL));
    for (uint32_t i = 0; well && i < model->network.layer_count; i++) {
        char what[256] = "";
        well = bench_model_run_layer(model, stream, i) &&
               verify_layer(model, stream, i, error_over_bound, what);
        if (!well)
            snprintf(why, 256, "layer %u: %.200s", i, what);
    }
    well = well && compare_ends(stream, y, sequence, why);
    free(sequence);
    return well;
}

bool bench_model_shares(bench_model *model, tenon_stream *stream,
                        double nanoseconds[BENCH_LAYER_KINDS])
{
    static double times[BENCH_MAX_LAYERS][PASSES];
    if (!bench_model_allocate(model))
        return false;
    for (int pass = 0; pass < PASSES; pass++)
        for (uint32_t i = 0; i < model->network.layer_count; i++) {
            const double start = bench_now();
            if (!bench_model_run_layer(model, stream, i) ||
                !BENCH_WELL(tenon_stream_finish(stream)))
                return false;
            times[i][pass] = 1e9 * (bench_now() - start);
        }
    memset(nanoseconds, 0, BENCH_LAYER_KINDS * sizeof *nanoseconds);
    for (uint32_t i = 0; i < model->network.layer_count; i++)
        nanoseconds[model->network.layers[i].kind] += bench_median(times[i], PASSES);
    return true;
}
