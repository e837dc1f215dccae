/* The layers of convolutional networks, as in inference: batch norm is folded into the filters.
 * They are read from files of shapes (shapes/networks.c). */
#ifndef BENCH_NETWORKS_H
#define BENCH_NETWORKS_H

#include <tenon/conv.h>

#include <stdbool.h>
#include <stdint.h>

#define BENCH_MAX_LAYERS 80

typedef enum bench_layer_kind {
    BENCH_LAYER_FIRST,
    BENCH_LAYER_POINTWISE, /* filters of one element */
    BENCH_LAYER_SPATIAL,   /* larger filters */
    BENCH_LAYER_STRIDED,   /* larger filters with strides */
    BENCH_LAYER_DEPTHWISE,
    BENCH_LAYER_POOLING,
    BENCH_LAYER_CONNECTED, /* fully connected: a convolution of an image of one pixel */
    BENCH_LAYER_SCALING,   /* multiplies each channel by a factor, the pixel of `other` */
    /* Only in training: */
    BENCH_LAYER_DX, /* gradients of the images of convolutions */
    BENCH_LAYER_DW, /* gradients of their filters */
    BENCH_LAYER_NORM,
    BENCH_LAYER_POINTWISE_FUNCTION, /* activations, sums and the loss, with their gradients */
    BENCH_LAYER_UPDATE,
    BENCH_LAYER_RANDOM, /* dropout and random numbers */
    BENCH_LAYER_KINDS
} bench_layer_kind;

extern const char *const bench_layer_kinds[BENCH_LAYER_KINDS];

/* The images between two layers. Image 0 is the input of the network. */
typedef struct bench_image {
    int64_t channels, size[2]; /* height and width */
} bench_image;

typedef struct bench_layer {
    bench_layer_kind kind;
    uint32_t x, y; /* numbers of images */
    int32_t other; /* number of the image that is added before the activation, or of the factors
                    * of scaling; -1: none */
    int64_t filter, stride[2], padding, groups; /* filter is 0 in global average pooling */
    tenon_activation activation;
} bench_layer;

typedef struct bench_network {
    bench_image images[BENCH_MAX_LAYERS + 1];
    bench_layer layers[BENCH_MAX_LAYERS];
    uint32_t layer_count;
    struct bench_network *before; /* the network that was read before it */
} bench_network;

/* Returns the shape of a layer's filters: K C R S. */
void bench_layer_filters(const bench_network *network, const bench_layer *layer, int64_t w[4]);

/* Returns the strides and padding of a layer with windows. */
tenon_conv_geometry bench_layer_geometry(const bench_layer *layer);

#endif
