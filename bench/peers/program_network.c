/* Networks in libraries for Python. */
#include "program.h"

#include "../environment.h"

#include <jansson.h>
#include <stdlib.h>

static const char *kind_of(const bench_layer *layer)
{
    return layer->kind == BENCH_LAYER_POOLING     ? "pooling"
           : layer->kind == BENCH_LAYER_SCALING   ? "scaling"
           : layer->kind == BENCH_LAYER_CONNECTED ? "connected"
                                                  : "convolution";
}

static json_t *activation_of(const bench_layer *layer)
{
    switch (layer->activation.kind) {
    case TENON_ACTIVATION_IDENTITY:
        return json_null();
    case TENON_ACTIVATION_RELU:
        return json_string("relu");
    case TENON_ACTIVATION_CLIPPED_RELU:
        return json_real(layer->activation.alpha);
    case TENON_ACTIVATION_HARD_SIGMOID:
        return json_string("hard sigmoid");
    default:
        return json_string("hard swish");
    }
}

/* Returns a layer; "inputs" are the channels of its filters. */
static json_t *describe_layer(const bench_network *network, const bench_layer *layer)
{
    int64_t w[4];
    bench_layer_filters(network, layer, w);
    return json_pack("{s:s, s:i, s:i, s:I, s:I, s:I, s:[I,I], s:I, s:I, s:o}", "kind",
                     kind_of(layer), "x", (int)layer->x, "other", (int)layer->other, "channels",
                     (json_int_t)w[0], "inputs", (json_int_t)w[1], "filter",
                     (json_int_t)layer->filter, "stride", (json_int_t)layer->stride[0],
                     (json_int_t)layer->stride[1], "padding", (json_int_t)layer->padding, "groups",
                     (json_int_t)layer->groups, "activation", activation_of(layer));
}

/* Returns a line of JSON: the images, the threads, and the layers. */
static char *describe(const bench_network *network, int64_t n)
{
    json_t *layers = json_array();
    for (uint32_t i = 0; i < network->layer_count; i++)
        json_array_append_new(layers, describe_layer(network, &network->layers[i]));
    const bench_image *x = &network->images[0];
    json_t *all =
        json_pack("{s:I, s:I, s:[I,I], s:i, s:o}", "n", (json_int_t)n, "channels",
                  (json_int_t)x->channels, "size", (json_int_t)x->size[0], (json_int_t)x->size[1],
                  "threads", bench_processors(), "layers", layers);
    char *line = json_dumps(all, JSON_COMPACT);
    json_decref(all);
    return line;
}

bool bench_program_network(const char *command, const char *library, const bench_network *network,
                           int64_t n, bench_way *way)
{
    char *line = describe(network, n);
    const bool started = bench_program_start(command, library, line, NULL, 0, way);
    free(line);
    return started;
}
