/* Verification of a network and measurement of its parts, layer by layer. */
#include "model.h"

#include "../judge.h"
#include "../runner.h"
#include "../timing.h"

#include "ops/conv/problem/problem.h"
#include "ops/elementwise/internal.h"
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
    bench_operands operands; /* in the order of the operation's arguments */
} layer_values;

/* Returns the number of the operand with the result. */
static uint32_t result_of(const bench_layer *layer)
{
    return bench_layer_is_conv(layer)           ? CONV_Y
           : layer->kind == BENCH_LAYER_POOLING ? POOL_Y
                                                : ELEMENTWISE_D;
}

/* Restricts dimension d of an image, and the padding, to the window of one pixel. */
static tenon_tensor cut_window(const bench_layer *layer, tenon_tensor x, uint32_t d, int64_t at,
                               tenon_conv_geometry *geometry, int64_t *taps)
{
    const int64_t size = x.shape[d], filter = layer->filter > 0 ? layer->filter : size;
    int64_t begin = at * layer->stride[d - 1] - layer->padding, end = begin + filter;
    geometry->pad_begin[d - 1] = begin < 0 ? -begin : 0;
    geometry->pad_end[d - 1] = end > size ? end - size : 0;
    geometry->stride[d - 1] = 1;
    begin = begin < 0 ? 0 : begin;
    end = end > size ? size : end;
    *taps = filter;
    return tenon_tensor_slice(x, d, begin, end - begin);
}

/* Returns a pixel of an image. */
static tenon_tensor cut_pixel(tenon_tensor image, const int64_t at[3])
{
    for (uint32_t d = 0; d < 3; d++)
        image = tenon_tensor_slice(image, d, image.shape[d] > 1 ? at[d] : 0, 1);
    return tenon_tensor_nhwc(image);
}

/* Cuts out the image that is added to a pixel of the result, or multiplied by it. */
static void cut_other(const layer_values *v, uint32_t operand, const int64_t at[3],
                      bench_part *part)
{
    const tenon_tensor *host = &v->operands.operand[operand].host;
    if (host->dtype != TENON_DTYPE_INVALID)
        part->views[operand] = cut_pixel(*host, at);
}

/* Cuts out the window of a pixel of the result. */
static void cut_x(const layer_values *v, const int64_t at[3], tenon_conv_geometry *geometry,
                  bench_part *part)
{
    tenon_tensor x = tenon_tensor_slice(v->operands.operand[0].host, 0, at[0], 1);
    int64_t taps = 0;
    for (uint32_t d = 1; d < 3; d++)
        x = cut_window(v->layer, x, d, at[d], geometry, &taps);
    part->views[0] = tenon_tensor_nhwc(x);
}

/* Cuts out a pixel of the result. */
static void cut(const void *data, int64_t number, bench_part *part)
{
    const layer_values *v = data;
    const bench_operand *o = v->operands.operand;
    const bench_image *y = &v->model->network.images[v->layer->y];
    const int64_t row = number / y->size[1],
                  at[] = {row / y->size[0], row % y->size[0], number % y->size[1]},
                  pixel[] = {1, y->channels, 1, 1};
    part->views[result_of(v->layer)] = tenon_tensor_view(TENON_DTYPE_F32, 4, pixel);
    part->first = number * y->channels;
    if (v->layer->kind == BENCH_LAYER_SCALING) {
        part->views[ELEMENTWISE_A] = cut_pixel(o[ELEMENTWISE_A].host, at);
        cut_other(v, ELEMENTWISE_B, at, part);
    } else if (v->layer->kind == BENCH_LAYER_POOLING) {
        cut_x(v, at, &((tenon_pool_params *)(void *)part->params.bytes)->geometry, part);
    } else {
        cut_x(v, at, &((tenon_conv_params *)(void *)part->params.bytes)->geometry, part);
        part->views[CONV_W] = o[CONV_W].host;
        part->views[CONV_BIAS] = o[CONV_BIAS].host;
        cut_other(v, CONV_C, at, part);
    }
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

/* Returns the multiply-adds of a pixel of the result. */
static double work_of(const layer_values *v)
{
    const bench_image *x = &v->model->network.images[v->layer->x];
    int64_t w[4];
    bench_layer_filters(&v->model->network, v->layer, w);
    if (v->layer->kind == BENCH_LAYER_SCALING)
        return 8.0 * (double)x->channels;
    return 8.0 * (double)(w[0] * (bench_layer_is_conv(v->layer) ? w[1] : 1)) *
           (double)(v->layer->filter > 0 ? w[2] * w[3] : x->size[0] * x->size[1]);
}

static bool compare(const layer_values *v, tenon_stream *stream, double *error_over_bound,
                    char why[256])
{
    const bench_image *y = &v->model->network.images[v->layer->y];
    const bench_parts parts = {
        v->layer->kind == BENCH_LAYER_SCALING   ? &tn_operation_elementwise
        : v->layer->kind == BENCH_LAYER_POOLING ? &tn_operation_pool
                                                : &tn_operation_conv,
        v->layer->kind == BENCH_LAYER_SCALING   ? (const void *)&v->weights->scale
        : v->layer->kind == BENCH_LAYER_POOLING ? (const void *)&v->weights->pool
                                                : &v->weights->conv,
        NULL,
        &v->operands,
        result_of(v->layer),
        v->model->n * y->size[0] * y->size[1],
        work_of(v),
        cut,
        v};
    return bench_verify(stream, &parts, error_over_bound, why);
}

static bool verify_layer(bench_model *model, tenon_stream *stream, uint32_t number,
                         double *error_over_bound, char why[256])
{
    const bench_layer *layer = &model->network.layers[number];
    const bench_model_layer *l = &model->layers[number];
    const uint32_t result = result_of(layer);
    const tenon_tensor *x = &model->own[layer->x];
    const tenon_tensor read = bench_layer_input(layer, *x);
    layer_values v = {model, layer, l, {.copies = 1}};
    bench_operand *o = v.operands.operand;
    float *x_values = NULL, *other_values = NULL;
    int64_t w[4];
    bench_layer_filters(&model->network, layer, w);
    bool well = read_image(stream, &o[0], x, &read, &x_values);
    if (bench_layer_is_conv(layer)) {
        set_host(&o[CONV_W], tenon_tensor_view(TENON_DTYPE_F32, 4, w), l->w);
        set_host(&o[CONV_BIAS], tenon_tensor_view(TENON_DTYPE_F32, 1, w), l->bias);
    }
    if (well && layer->other >= 0) {
        const tenon_tensor *other = &model->own[layer->other];
        const uint32_t operand = bench_layer_is_conv(layer) ? CONV_C : ELEMENTWISE_B;
        well = read_image(stream, &o[operand], other, other, &other_values);
    }
    o[result].view = model->own[layer->y];
    v.operands.memory[0][result] = model->own[layer->y].memory;
    well = well && compare(&v, stream, error_over_bound, why);
    free(x_values);
    free(other_values);
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
    float *sequence = NULL;
    bool well = bench_model_allocate(model) && bench_model_result(model, stream, &sequence);
    for (uint32_t i = 0; well && i < model->network.layer_count && !bench_interrupted; i++) {
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
