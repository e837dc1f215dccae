#include "networks.h"

const char *const bench_layer_kinds[BENCH_LAYER_KINDS] = {
    "first",   "1x1", "kxk", "strided", "depthwise", "pooling", "connected",
    "scaling", "dx",  "dw",  "norm",    "pointwise", "update",  "random"};

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
