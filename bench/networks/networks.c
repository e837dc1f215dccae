#include "networks.h"

#include <math.h>
#include <string.h>

const char *const bench_layer_kinds[BENCH_LAYER_KINDS] = {
    "first", "1x1", "kxk", "strided", "depthwise", "pooling", "connected"};

/* Adds a layer that reads image x, with windows of one element and ReLU. */
static bench_layer *add(bench_network *n, bench_layer_kind kind, uint32_t x, int64_t channels)
{
    const uint32_t number = n->layer_count++;
    n->layers[number] = (bench_layer){kind, x, number + 1, -1, 1, 1, 0, 1, INFINITY};
    n->images[number + 1] = (bench_image){channels, n->images[x].size};
    return &n->layers[number];
}

/* Sets the size of a layer's windows, and with it that of its result. */
static uint32_t set_window(bench_network *n, bench_layer *layer, int64_t filter, int64_t stride)
{
    const int64_t size = n->images[layer->x].size;
    layer->filter = filter;
    layer->stride = stride;
    layer->padding = (filter - 1) / 2;
    n->images[layer->y].size = (size + 2 * layer->padding - filter) / stride + 1;
    return layer->y;
}

static uint32_t convolve(bench_network *n, uint32_t x, int64_t channels, int64_t filter,
                         int64_t stride)
{
    const bench_layer_kind kind = x == 0        ? BENCH_LAYER_FIRST
                                  : filter == 1 ? BENCH_LAYER_POINTWISE
                                  : stride == 1 ? BENCH_LAYER_SPATIAL
                                                : BENCH_LAYER_STRIDED;
    return set_window(n, add(n, kind, x, channels), filter, stride);
}

static uint32_t pool(bench_network *n, uint32_t x, int64_t window, int64_t stride)
{
    bench_layer *layer = add(n, BENCH_LAYER_POOLING, x, n->images[x].channels);
    layer->limit = 0;
    return set_window(n, layer, window, stride);
}

static uint32_t pool_globally(bench_network *n, uint32_t x)
{
    bench_layer *layer = add(n, BENCH_LAYER_POOLING, x, n->images[x].channels);
    layer->limit = 0;
    layer->filter = 0;
    n->images[layer->y].size = 1;
    return layer->y;
}

static uint32_t connect(bench_network *n, uint32_t x, int64_t channels)
{
    const bench_layer *layer = add(n, BENCH_LAYER_CONNECTED, x, channels);
    n->images[layer->y].size = 1;
    return layer->y;
}

/* Adds the last layer, which has no activation. */
static void classify(bench_network *n, uint32_t x, int64_t classes)
{
    n->layers[connect(n, x, classes) - 1].limit = 0;
}

static uint32_t add_bottleneck(bench_network *n, uint32_t x, int64_t channels, int64_t stride)
{
    uint32_t shortcut = x;
    if (n->images[x].channels != 4 * channels) {
        shortcut = convolve(n, x, 4 * channels, 1, stride);
        n->layers[shortcut - 1].limit = 0;
    }
    const uint32_t narrow = convolve(n, x, channels, 1, 1),
                   wide = convolve(n, narrow, channels, 3, stride),
                   y = convolve(n, wide, 4 * channels, 1, 1);
    n->layers[y - 1].residual = (int32_t)shortcut;
    return y;
}

/* He et al., "Deep residual learning for image recognition", 2016, with the stride in the 3x3
 * convolutions. */
static void build_resnet50(bench_network *n)
{
    static const int blocks[] = {3, 4, 6, 3};
    n->images[0] = (bench_image){3, 224};
    uint32_t x = pool(n, convolve(n, 0, 64, 7, 2), 3, 2);
    for (int stage = 0; stage < 4; stage++)
        for (int block = 0; block < blocks[stage]; block++)
            x = add_bottleneck(n, x, (int64_t)64 << stage, stage > 0 && block == 0 ? 2 : 1);
    classify(n, pool_globally(n, x), 1000);
}

static uint32_t add_inverted(bench_network *n, uint32_t x, int64_t expansion, int64_t channels,
                             int64_t stride)
{
    const int64_t inner = expansion * n->images[x].channels;
    const bool has_shortcut = stride == 1 && n->images[x].channels == channels;
    const uint32_t wide = expansion > 1 ? convolve(n, x, inner, 1, 1) : x;
    bench_layer *depthwise = add(n, BENCH_LAYER_DEPTHWISE, wide, inner);
    depthwise->groups = inner;
    const uint32_t y = convolve(n, set_window(n, depthwise, 3, stride), channels, 1, 1);
    n->layers[y - 1].limit = 0;
    n->layers[y - 1].residual = has_shortcut ? (int32_t)x : -1;
    return y;
}

/* Sandler et al., "MobileNetV2: inverted residuals and linear bottlenecks", 2018, table 2. */
static void build_mobilenet(bench_network *n)
{
    static const int rows[][4] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                                  {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
    n->images[0] = (bench_image){3, 224};
    uint32_t x = convolve(n, 0, 32, 3, 2);
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++)
        for (int block = 0; block < rows[row][2]; block++)
            x = add_inverted(n, x, rows[row][0], rows[row][1], block == 0 ? rows[row][3] : 1);
    classify(n, pool_globally(n, convolve(n, x, 1280, 1, 1)), 1000);
    for (uint32_t i = 0; i < n->layer_count; i++)
        n->layers[i].limit = isinf(n->layers[i].limit) ? 6 : n->layers[i].limit;
}

/* Simonyan and Zisserman, "Very deep convolutional networks for large-scale image recognition",
 * 2015, configuration D. */
static void build_vgg16(bench_network *n)
{
    static const int channels[] = {64, 128, 256, 512, 512}, convolutions[] = {2, 2, 3, 3, 3};
    uint32_t x = 0;
    n->images[0] = (bench_image){3, 224};
    for (int stage = 0; stage < 5; stage++) {
        for (int i = 0; i < convolutions[stage]; i++)
            x = convolve(n, x, channels[stage], 3, 1);
        x = pool(n, x, 2, 2);
    }
    classify(n, connect(n, connect(n, x, 4096), 4096), 1000);
}

/* A few small layers of each kind, to test the suite. */
static void build_tiny(bench_network *n)
{
    n->images[0] = (bench_image){3, 20};
    uint32_t x = pool(n, convolve(n, 0, 8, 3, 2), 3, 2);
    x = add_bottleneck(n, x, 8, 1);
    x = add_inverted(n, add_inverted(n, x, 2, 16, 1), 2, 16, 1);
    x = convolve(n, x, 16, 3, 2);
    classify(n, pool_globally(n, connect(n, x, 24)), 10);
}

static const struct {
    const char *name;
    void (*build)(bench_network *network);
} networks[] = {{"resnet50", build_resnet50},
                {"mobilenet-v2", build_mobilenet},
                {"vgg16", build_vgg16},
                {"tiny", build_tiny}};

uint32_t bench_network_count(void)
{
    return sizeof networks / sizeof *networks;
}

const char *bench_network_name(uint32_t number)
{
    return networks[number].name;
}

void bench_network_build(uint32_t number, bench_network *network)
{
    memset(network, 0, sizeof *network);
    networks[number].build(network);
}

void bench_layer_filters(const bench_network *network, const bench_layer *layer, int64_t w[4])
{
    const bench_image *x = &network->images[layer->x];
    const bool is_connected = layer->kind == BENCH_LAYER_CONNECTED;
    w[0] = network->images[layer->y].channels;
    w[1] = x->channels * (is_connected ? x->size * x->size : 1) / layer->groups;
    w[2] = w[3] = layer->filter;
}
