/* Reads networks: the images that they read, and their layers. */
#include "reader.h"

#include "../networks/networks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_WIDTH 65536 /* channels, height, width, windows */

/* The activations that all libraries for comparison of networks have. */
static const struct {
    const char *name;
    tenon_activation_kind kind;
} activations[] = {
    {"identity", TENON_ACTIVATION_IDENTITY},
    {"relu", TENON_ACTIVATION_RELU},
    {"clipped_relu", TENON_ACTIVATION_CLIPPED_RELU},
    {"hard_sigmoid", TENON_ACTIVATION_HARD_SIGMOID},
    {"hard_swish", TENON_ACTIVATION_HARD_SWISH},
};
#define ACTIVATIONS (sizeof activations / sizeof *activations)

typedef enum layer_word { CONV, DEPTHWISE, CONNECTED, POOL, GLOBAL_POOL, SCALE, WORDS } layer_word;

static const char *const words[WORDS] = {
    [CONV] = "conv", [DEPTHWISE] = "depthwise",     [CONNECTED] = "connected",
    [POOL] = "pool", [GLOBAL_POOL] = "global pool", [SCALE] = "scale",
};

/* The members of each kind of layer, besides "layer" and "x". */
static const char *const members[WORDS][6] = {
    [CONV] = {"channels", "filter", "stride", "activation", "add"},
    [DEPTHWISE] = {"filter", "stride", "activation"},
    [CONNECTED] = {"channels", "activation"},
    [POOL] = {"filter", "stride"},
    [SCALE] = {"by"},
};

static bool has_known_members(const bench_reader *reader, const json_t *from, layer_word word)
{
    const char *known[10] = {"layer", "x"};
    size_t count = 2;
    for (size_t i = 0; members[word][i] != NULL; i++)
        known[count++] = members[word][i];
    known[count] = NULL;
    return bench_only_known(reader, from, known);
}

static bool read_activation(const bench_reader *reader, const json_t *from, bench_layer *layer)
{
    const char *names[ACTIVATIONS];
    uint32_t chosen = 1;
    for (size_t i = 0; i < ACTIVATIONS; i++)
        names[i] = activations[i].name;
    if (!bench_read_choice(reader, from, "activation", false, names, ACTIVATIONS, &chosen))
        return false;
    layer->activation = tenon_activation_default(activations[chosen].kind);
    return true;
}

/* Reads the windows of a layer, and sets the size of its result. */
static bool read_windows(const bench_reader *reader, const json_t *from, bench_network *n,
                         bench_layer *layer)
{
    bench_integers stride = {{1}, 1};
    if (!bench_read_integer(reader, from, "filter", false, 1, MOST_WIDTH, &layer->filter) ||
        !bench_read_integers(reader, from, "stride", 1, MOST_WIDTH, &stride))
        return false;
    if (stride.count > 2)
        return bench_refuse(reader, "\"stride\" must be one integer or two");
    layer->padding = (layer->filter - 1) / 2;
    for (size_t d = 0; d < 2; d++) {
        const int64_t size = n->images[layer->x].size[d] + 2 * layer->padding;
        layer->stride[d] = stride.values[d < stride.count ? d : 0];
        if (layer->filter > size)
            return bench_refuse(reader, "the windows are larger than the padded images: %" PRId64,
                                layer->filter);
        n->images[layer->y].size[d] = (size - layer->filter) / layer->stride[d] + 1;
    }
    return true;
}

/* Reads the number of another image that the layer reads, which must have the height, width and
 * channels. */
static bool read_other(const bench_reader *reader, const json_t *from, const char *name,
                       bool is_required, const bench_network *n, const bench_image *wanted,
                       bench_layer *layer)
{
    int64_t number = -1;
    if (!bench_read_integer(reader, from, name, is_required, 0, layer->y - 1, &number))
        return false;
    layer->other = (int32_t)number;
    const bench_image *other = &n->images[number >= 0 ? number : 0];
    return number < 0 ||
           (other->channels == wanted->channels && other->size[0] == wanted->size[0] &&
            other->size[1] == wanted->size[1]) ||
           bench_refuse(reader,
                        "\"%s\": image %" PRId64 " is %" PRId64 "@%" PRId64 "x%" PRId64
                        ", must be %" PRId64 "@%" PRId64 "x%" PRId64,
                        name, number, other->channels, other->size[0], other->size[1],
                        wanted->channels, wanted->size[0], wanted->size[1]);
}

static bench_layer_kind kind_of(layer_word word, const bench_layer *layer)
{
    switch (word) {
    case CONV:
        return layer->x == 0                                    ? BENCH_LAYER_FIRST
               : layer->filter == 1                             ? BENCH_LAYER_POINTWISE
               : layer->stride[0] == 1 && layer->stride[1] == 1 ? BENCH_LAYER_SPATIAL
                                                                : BENCH_LAYER_STRIDED;
    case DEPTHWISE:
        return BENCH_LAYER_DEPTHWISE;
    case CONNECTED:
        return BENCH_LAYER_CONNECTED;
    case SCALE:
        return BENCH_LAYER_SCALING;
    default:
        return BENCH_LAYER_POOLING;
    }
}

/* Reads the members of a kind of layer. The image of its result has those of x. */
static bool read_members(const bench_reader *reader, const json_t *from, layer_word word,
                         bench_network *n, bench_layer *layer)
{
    bench_image *y = &n->images[layer->y];
    const bool has_activation = word == CONV || word == DEPTHWISE || word == CONNECTED;
    layer->activation = tenon_activation_default(TENON_ACTIVATION_IDENTITY);
    if (has_activation && !read_activation(reader, from, layer))
        return false;
    if (word == CONV || word == CONNECTED) {
        if (!bench_read_integer(reader, from, "channels", true, 1, MOST_WIDTH, &y->channels))
            return false;
    }
    if (word == GLOBAL_POOL || word == CONNECTED)
        y->size[0] = y->size[1] = 1;
    if (word == GLOBAL_POOL)
        layer->filter = 0;
    if (word == DEPTHWISE)
        layer->groups = y->channels;
    if ((word == CONV || word == DEPTHWISE || word == POOL) &&
        !read_windows(reader, from, n, layer))
        return false;
    if (word == CONV)
        return read_other(reader, from, "add", false, n, y, layer);
    const bench_image factors = {y->channels, {1, 1}};
    return word != SCALE || read_other(reader, from, "by", true, n, &factors, layer);
}

/* Checks that the sizes of a layer's weights and result fit. */
static bool layer_fits(const bench_reader *reader, const bench_network *n, const bench_layer *layer)
{
    const bench_image *y = &n->images[layer->y];
    int64_t w[4];
    bench_layer_filters(n, layer, w);
    return bench_tensor_fits(reader, "the result", y->channels, y->size[0], y->size[1]) &&
           bench_tensor_fits(reader, "the weights", w[0], w[1], w[2] * w[3]);
}

static bool read_layer(const bench_reader *reader, const json_t *from, bench_network *n)
{
    const uint32_t number = n->layer_count;
    bench_layer *layer = &n->layers[number];
    int64_t x = number;
    uint32_t word = 0;
    if (!json_is_object(from))
        return bench_refuse(reader, "it must be a JSON object");
    if (!bench_read_choice(reader, from, "layer", true, words, WORDS, &word) ||
        !has_known_members(reader, from, (layer_word)word) ||
        !bench_read_integer(reader, from, "x", false, 0, number, &x))
        return false;
    *layer = (bench_layer){
        .x = (uint32_t)x, .y = number + 1, .other = -1, .filter = 1, .stride = {1, 1}, .groups = 1};
    n->images[number + 1] = n->images[x];
    if (!read_members(reader, from, (layer_word)word, n, layer))
        return false;
    layer->kind = kind_of((layer_word)word, layer);
    n->layer_count++;
    return layer_fits(reader, n, layer);
}

static bool reads(const bench_layer *layer, uint32_t image)
{
    return layer->x == image || layer->other == (int32_t)image;
}

/* Checks that each image except the last one is read by a later layer. */
static bool is_connected(const bench_reader *reader, const bench_network *n)
{
    for (uint32_t image = 0; image < n->layer_count; image++) {
        bool is_read = false;
        for (uint32_t i = image; i < n->layer_count && !is_read; i++)
            is_read = reads(&n->layers[i], image);
        if (!is_read)
            return bench_refuse(reader, "no layer reads image %u", image);
    }
    return true;
}

/* Sets the place to a layer of a case. */
static void set_layer(bench_reader *reader, const char *suite, size_t number, size_t layer)
{
    snprintf(reader->place, sizeof reader->place, "%.40s cases[%zu].layers[%zu]", suite, number,
             layer);
}

static bool read_network(bench_reader *reader, const char *suite, size_t number, const json_t *from,
                         bench_network *n)
{
    static const char *const known[] = {"channels", "height", "width", NULL};
    const json_t *input = json_object_get(from, "input"), *layers = json_object_get(from, "layers"),
                 *each;
    size_t i;
    bench_image *image = &n->images[0];
    if (input == NULL)
        return bench_refuse(reader, "the member \"input\" is missing");
    if (!bench_only_known(reader, input, known) ||
        !bench_read_integer(reader, input, "channels", true, 1, MOST_WIDTH, &image->channels) ||
        !bench_read_integer(reader, input, "height", true, 1, MOST_WIDTH, &image->size[0]) ||
        !bench_read_integer(reader, input, "width", true, 1, MOST_WIDTH, &image->size[1]))
        return false;
    if (!json_is_array(layers) || json_array_size(layers) == 0 ||
        json_array_size(layers) > BENCH_MAX_LAYERS)
        return bench_refuse(reader, "\"layers\" must be an array of 1 to %d layers",
                            BENCH_MAX_LAYERS);
    json_array_foreach(layers, i, each)
    {
        set_layer(reader, suite, number, i);
        if (!read_layer(reader, each, n))
            return false;
    }
    bench_set_case(reader, suite, number);
    return is_connected(reader, n);
}

/* Returns the layers of an earlier case; NULL if there is none. */
static const bench_network *layers_of(const bench_shape_suite *suite, const char *name)
{
    for (uint32_t i = 0; i < suite->count; i++)
        if (strcmp(suite->cases[i].network.network, name) == 0)
            return suite->cases[i].network.layers;
    return NULL;
}

/* The network that was read last. All are used until the program ends. */
static bench_network *last_network;

/* Reads the layers of a case, or finds those of the earlier case that it names. */
static bool find_layers(bench_reader *reader, const json_t *from, size_t number,
                        const bench_shape_suite *to, const bench_network **layers)
{
    const char *other = NULL;
    if (!bench_read_text(reader, from, "layers_of", false, &other))
        return false;
    if (other != NULL) {
        *layers = layers_of(to, other);
        return *layers != NULL ||
               bench_refuse(reader, "\"layers_of\": there is no earlier case \"%.40s\"", other);
    }
    bench_network *made = calloc(1, sizeof *made);
    if (made == NULL)
        return bench_refuse(reader, "out of memory");
    made->before = last_network;
    last_network = made;
    *layers = made;
    return read_network(reader, to->name, number, from, made);
}

static bool read_case(bench_reader *reader, const json_t *from, size_t number,
                      bench_shape_suite *to)
{
    static const char *const known[] = {"name",   "source",    "n",      "input",
                                        "layers", "layers_of", "trains", NULL};
    bench_network_shape network = {.network = NULL};
    bench_integers images = {{1}, 1};
    if (!bench_only_known(reader, from, known) || !bench_read_source(reader, from) ||
        !bench_read_text(reader, from, "name", true, &network.network) ||
        !bench_read_integers(reader, from, "n", 1, BENCH_MOST_IMAGES, &images) ||
        !bench_read_flag(reader, from, "trains", &network.trains) ||
        !find_layers(reader, from, number, to, &network.layers))
        return false;
    for (size_t i = 0; i < images.count; i++) {
        bench_shape_case shape = {.name = ""};
        network.n = images.values[i];
        shape.network = network;
        snprintf(shape.name, sizeof shape.name, "%.40s n%" PRId64, network.network, network.n);
        if (!bench_add_case(reader, &shape, to))
            return false;
    }
    return true;
}

bool bench_read_networks(bench_reader *reader, const json_t *suite, bench_shape_suite *to)
{
    const json_t *each;
    size_t number;
    json_array_foreach(json_object_get(suite, "cases"), number, each)
    {
        bench_set_case(reader, to->name, number);
        if (!read_case(reader, each, number, to))
            return false;
    }
    return true;
}
