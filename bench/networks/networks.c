#include "networks.h"

#include <string.h>

const char *const bench_layer_kinds[BENCH_LAYER_KINDS] = {
    "first",   "1x1", "kxk", "strided", "depthwise", "pooling", "connected",
    "scaling", "dx",  "dw",  "norm",    "pointwise", "update",  "random"};

/* Adds a layer that reads image x, with windows of one element and ReLU. */
static bench_layer *add(bench_network *n, bench_layer_kind kind, uint32_t x, int64_t channels)
{
    const uint32_t number = n->layer_count++;
    n->layers[number] =
        (bench_layer){kind, x, number + 1, -1, 1, {1, 1}, 0, 1, {TENON_ACTIVATION_RELU, 0, 0, 0}};
    n->images[number + 1] = n->images[x];
    n->images[number + 1].channels = channels;
    return &n->layers[number];
}

static void activate(bench_network *n, uint32_t y, tenon_activation_kind kind)
{
    n->layers[y - 1].activation = tenon_activation_default(kind);
}

/* Sets the size of a layer's windows, and with it that of its result. */
static uint32_t set_windows(bench_network *n, bench_layer *layer, int64_t filter,
                            const int64_t stride[2])
{
    layer->filter = filter;
    layer->padding = (filter - 1) / 2;
    for (int d = 0; d < 2; d++) {
        const int64_t size = n->images[layer->x].size[d] + 2 * layer->padding;
        layer->stride[d] = stride[d];
        n->images[layer->y].size[d] = (size - filter) / stride[d] + 1;
    }
    return layer->y;
}

static uint32_t set_window(bench_network *n, bench_layer *layer, int64_t filter, int64_t stride)
{
    return set_windows(n, layer, filter, (const int64_t[]){stride, stride});
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
    activate(n, layer->y, TENON_ACTIVATION_IDENTITY);
    return set_window(n, layer, window, stride);
}

static uint32_t make_pixel(bench_network *n, uint32_t image)
{
    n->images[image].size[0] = n->images[image].size[1] = 1;
    return image;
}

static uint32_t pool_globally(bench_network *n, uint32_t x)
{
    bench_layer *layer = add(n, BENCH_LAYER_POOLING, x, n->images[x].channels);
    activate(n, layer->y, TENON_ACTIVATION_IDENTITY);
    layer->filter = 0;
    return make_pixel(n, layer->y);
}

static uint32_t connect(bench_network *n, uint32_t x, int64_t channels)
{
    return make_pixel(n, add(n, BENCH_LAYER_CONNECTED, x, channels)->y);
}

/* Adds the last layer, which has no activation. */
static void classify(bench_network *n, uint32_t x, int64_t classes)
{
    activate(n, connect(n, x, classes), TENON_ACTIVATION_IDENTITY);
}

static uint32_t add_bottleneck(bench_network *n, uint32_t x, int64_t channels, int64_t stride)
{
    uint32_t shortcut = x;
    if (n->images[x].channels != 4 * channels) {
        shortcut = convolve(n, x, 4 * channels, 1, stride);
        activate(n, shortcut, TENON_ACTIVATION_IDENTITY);
    }
    const uint32_t narrow = convolve(n, x, channels, 1, 1),
                   wide = convolve(n, narrow, channels, 3, stride),
                   y = convolve(n, wide, 4 * channels, 1, 1);
    n->layers[y - 1].other = (int32_t)shortcut;
    return y;
}

/* He et al., "Deep residual learning for image recognition", 2016, with the stride in the 3x3
 * convolutions. */
static void build_resnet50(bench_network *n)
{
    static const int blocks[] = {3, 4, 6, 3};
    n->images[0] = (bench_image){3, {224, 224}};
    uint32_t x = pool(n, convolve(n, 0, 64, 7, 2), 3, 2);
    for (int stage = 0; stage < 4; stage++)
        for (int block = 0; block < blocks[stage]; block++)
            x = add_bottleneck(n, x, (int64_t)64 << stage, stage > 0 && block == 0 ? 2 : 1);
    classify(n, pool_globally(n, x), 1000);
}

/* Adds a depthwise convolution. */
static uint32_t filter_each(bench_network *n, uint32_t x, int64_t filter, const int64_t stride[2])
{
    bench_layer *layer = add(n, BENCH_LAYER_DEPTHWISE, x, n->images[x].channels);
    layer->groups = n->images[x].channels;
    return set_windows(n, layer, filter, stride);
}

static uint32_t add_inverted(bench_network *n, uint32_t x, int64_t expansion, int64_t channels,
                             int64_t stride)
{
    const int64_t inner = expansion * n->images[x].channels;
    const bool has_shortcut = stride == 1 && n->images[x].channels == channels;
    const uint32_t wide = expansion > 1 ? convolve(n, x, inner, 1, 1) : x,
                   y = convolve(n, filter_each(n, wide, 3, (const int64_t[]){stride, stride}),
                                channels, 1, 1);
    activate(n, y, TENON_ACTIVATION_IDENTITY);
    n->layers[y - 1].other = has_shortcut ? (int32_t)x : -1;
    return y;
}

/* Sandler et al., "MobileNetV2: inverted residuals and linear bottlenecks", 2018, table 2. */
static void build_mobilenet(bench_network *n)
{
    static const int rows[][4] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                                  {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
    n->images[0] = (bench_image){3, {224, 224}};
    uint32_t x = convolve(n, 0, 32, 3, 2);
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++)
        for (int block = 0; block < rows[row][2]; block++)
            x = add_inverted(n, x, rows[row][0], rows[row][1], block == 0 ? rows[row][3] : 1);
    classify(n, pool_globally(n, convolve(n, x, 1280, 1, 1)), 1000);
    for (uint32_t i = 0; i < n->layer_count; i++)
        if (n->layers[i].activation.kind == TENON_ACTIVATION_RELU)
            activate(n, n->layers[i].y, TENON_ACTIVATION_CLIPPED_RELU);
}

/* Simonyan and Zisserman, "Very deep convolutional networks for large-scale image recognition",
 * 2015, configuration D. */
static void build_vgg16(bench_network *n)
{
    static const int channels[] = {64, 128, 256, 512, 512}, convolutions[] = {2, 2, 3, 3, 3};
    uint32_t x = 0;
    n->images[0] = (bench_image){3, {224, 224}};
    for (int stage = 0; stage < 5; stage++) {
        for (int i = 0; i < convolutions[stage]; i++)
            x = convolve(n, x, channels[stage], 3, 1);
        x = pool(n, x, 2, 2);
    }
    classify(n, connect(n, connect(n, x, 4096), 4096), 1000);
}

/* Adds squeeze and excitation: factors of the channels, from their averages. */
static uint32_t excite(bench_network *n, uint32_t x)
{
    const int64_t channels = n->images[x].channels;
    const uint32_t factors = connect(n, connect(n, pool_globally(n, x), channels / 4), channels);
    activate(n, factors, TENON_ACTIVATION_HARD_SIGMOID);
    bench_layer *layer = add(n, BENCH_LAYER_SCALING, x, channels);
    layer->other = (int32_t)factors;
    activate(n, layer->y, TENON_ACTIVATION_IDENTITY);
    return layer->y;
}

/* A block of MobileNetV3: Howard et al., "Searching for MobileNetV3", 2019. */
typedef struct mobile_block {
    int64_t filter, inner, channels;
    bool is_excited, is_swish; /* hard swish instead of ReLU */
    int64_t stride;            /* of the height */
} mobile_block;

static uint32_t add_mobile_block(bench_network *n, uint32_t x, const mobile_block *b)
{
    const bool has_shortcut = b->stride == 1 && n->images[x].channels == b->channels;
    const tenon_activation_kind activation =
        b->is_swish ? TENON_ACTIVATION_HARD_SWISH : TENON_ACTIVATION_RELU;
    const uint32_t wide = convolve(n, x, b->inner, 1, 1);
    activate(n, wide, activation);
    uint32_t y = filter_each(n, wide, b->filter, (const int64_t[]){b->stride, 1});
    activate(n, y, activation);
    y = convolve(n, b->is_excited ? excite(n, y) : y, b->channels, 1, 1);
    activate(n, y, TENON_ACTIVATION_IDENTITY);
    n->layers[y - 1].other = has_shortcut ? (int32_t)x : -1;
    return y;
}

/* Returns a number of channels times 0.35, as a multiple of 8 that is not much smaller. */
static int64_t narrow(int64_t channels)
{
    const int64_t wanted = 35 * channels, eights = (wanted + 400) / 800 * 8;
    const int64_t narrowed = eights > 8 ? eights : 8;
    return 1000 * narrowed < 9 * wanted ? narrowed + 8 : narrowed;
}

/* The classifier of the direction of text in PaddleOCR (configs/cls/cls_mv3.yml: MobileNetV3 small
 * by 0.35, of ppocr/modeling/backbones/rec_mobilenet_v3.py), without the last softmax of two
 * numbers. */
static void build_ppocr_cls(bench_network *n)
{
    static const mobile_block blocks[] = {
        {3, 16, 16, true, false, 2}, {3, 72, 24, false, false, 2}, {3, 88, 24, false, false, 1},
        {5, 96, 40, true, true, 2},  {5, 240, 40, true, true, 1},  {5, 240, 40, true, true, 1},
        {5, 120, 48, true, true, 1}, {5, 144, 48, true, true, 1},  {5, 288, 96, true, true, 2},
        {5, 576, 96, true, true, 1}, {5, 576, 96, true, true, 1}};
    n->images[0] = (bench_image){3, {48, 192}};
    uint32_t x = convolve(n, 0, narrow(16), 3, 2);
    activate(n, x, TENON_ACTIVATION_HARD_SWISH);
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        mobile_block block = blocks[i];
        block.inner = narrow(block.inner);
        block.channels = narrow(block.channels);
        x = add_mobile_block(n, x, &block);
    }
    x = convolve(n, x, narrow(576), 1, 1);
    activate(n, x, TENON_ACTIVATION_HARD_SWISH);
    classify(n, pool_globally(n, pool(n, x, 2, 2)), 2);
}

/* A few small layers of each kind, to test the suite. */
static void build_tiny(bench_network *n)
{
    n->images[0] = (bench_image){3, {20, 20}};
    uint32_t x = pool(n, convolve(n, 0, 8, 3, 2), 3, 2);
    x = add_bottleneck(n, x, 8, 1);
    x = add_inverted(n, add_inverted(n, x, 2, 16, 1), 2, 16, 1);
    x = add_mobile_block(n, x, &(mobile_block){5, 24, 16, true, true, 1});
    x = convolve(n, x, 16, 3, 2);
    classify(n, pool_globally(n, connect(n, x, 24)), 10);
}

static const struct {
    const char *name;
    void (*build)(bench_network *network);
} networks[] = {{"resnet50", build_resnet50},
                {"mobilenet-v2", build_mobilenet},
                {"vgg16", build_vgg16},
                {"ppocr-cls", build_ppocr_cls},
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

/* The layers of a small network with shortcuts. */
static void build_tiny_residual(bench_network *n)
{
    n->images[0] = (bench_image){3, {20, 20}};
    uint32_t x = pool(n, convolve(n, 0, 8, 3, 2), 3, 2);
    x = add_bottleneck(n, add_bottleneck(n, x, 8, 1), 8, 1);
    classify(n, pool_globally(n, add_bottleneck(n, x, 16, 2)), 10);
}

static const struct {
    const char *name;
    int64_t n;
    void (*build)(bench_network *network);
} trained[] = {{"resnet50-train", 8, build_resnet50}, {"tiny-train", 2, build_tiny_residual}};

uint32_t bench_trained_count(void)
{
    return sizeof trained / sizeof *trained;
}

const char *bench_trained_name(uint32_t number, int64_t *n)
{
    *n = trained[number].n;
    return trained[number].name;
}

void bench_trained_build(uint32_t number, bench_network *network)
{
    memset(network, 0, sizeof *network);
    trained[number].build(network);
}

void bench_layer_filters(const bench_network *network, const bench_layer *layer, int64_t w[4])
{
    const bench_image *x = &network->images[layer->x];
    const bool is_connected = layer->kind == BENCH_LAYER_CONNECTED;
    w[0] = network->images[layer->y].channels;
    w[1] = x->channels * (is_connected ? x->size[0] * x->size[1] : 1) / layer->groups;
    w[2] = w[3] = layer->filter;
}

tenon_conv_geometry bench_layer_geometry(const bench_layer *layer)
{
    tenon_conv_geometry geometry = TENON_CONV_GEOMETRY_INIT;
    for (int d = 0; d < 2; d++) {
        geometry.stride[d] = layer->stride[d];
        geometry.pad_begin[d] = geometry.pad_end[d] = layer->padding;
    }
    return geometry;
}
