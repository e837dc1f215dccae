/* Matrix products. Convolutions have the shapes of im2col: one image as filters times columns,
 * eight channels-last images as rows of pixels times transposed filters. */
#include "shapes.h"

#include <stddef.h>
#include <string.h>

#define COUNT(table) (sizeof(table) / sizeof *(table))

static const bench_gemm_shape few[] = {
    {"square", 1, 64, 64, 64},
    {"square", 1, 128, 128, 128},
    {"square", 1, 256, 256, 256},
    {"square", 1, 512, 512, 512},
    {"square", 1, 1024, 1024, 1024},
    {"square", 1, 2048, 2048, 2048},
    {"square", 1, 512, 512, 512, true, false},
    {"square", 1, 512, 512, 512, false, true},
    {"square", 1, 512, 512, 512, true, true},
    {"odd", 1, 333, 555, 777},
    {"prime", 1, 1009, 1013, 1019},
    {"few rows", 1, 8, 4096, 4096},
    {"few columns", 1, 4096, 8, 4096},
    {"long sum", 1, 64, 64, 65536},
    {"short sum", 1, 2048, 2048, 16},
    {"gemv", 1, 4096, 1, 4096},
    {"gemv", 1, 4096, 1, 4096, true, false},
    {"resnet50 conv2 1x1", 1, 64, 3136, 256},
    {"resnet50 conv3 3x3", 1, 128, 784, 1152},
    {"resnet50 conv4 3x3", 1, 256, 196, 2304},
    {"resnet50 conv5 3x3", 1, 512, 49, 4608},
    {"resnet50 fc batch 8", 1, 8, 1000, 2048, false, true},
    {"vgg16 conv3 3x3", 1, 256, 3136, 2304},
    {"vgg16 fc6 batch 1", 1, 1, 4096, 25088, false, true},
    {"bert qkv, 128 tokens", 1, 128, 2304, 768},
    {"bert ffn, 128 tokens", 1, 128, 3072, 768},
    {"bert attention head", 1, 128, 128, 64, false, true},
};

/* The transformer has 8 heads of 64, a feed-forward layer of 2048, and sequences of 128. */
static const bench_gemm_shape many[] = {
    {"square", 1, 64, 64, 64},
    {"square", 1, 128, 128, 128},
    {"square", 1, 256, 256, 256},
    {"square", 1, 512, 512, 512},
    {"square", 1, 1024, 1024, 1024},
    {"square", 1, 2048, 2048, 2048},
    {"square", 1, 512, 512, 512, true, false},
    {"square", 1, 512, 512, 512, false, true},
    {"square", 1, 512, 512, 512, true, true},
    {"prime", 1, 127, 127, 127},
    {"prime", 1, 251, 509, 383},
    {"odd", 1, 1000, 777, 333},
    {"prime", 1, 1009, 1013, 1019},
    {"rows", 1, 2, 4096, 4096},
    {"rows", 1, 4, 1024, 1024},
    {"rows", 1, 8, 4096, 4096, false, true},
    {"rows", 1, 16, 2048, 2048},
    {"rows", 1, 32, 1024, 1024, false, true},
    {"rows", 1, 32, 4096, 4096},
    {"columns", 1, 4096, 2, 4096},
    {"columns", 1, 1024, 4, 1024},
    {"columns", 1, 4096, 8, 4096, true, false},
    {"columns", 1, 2048, 16, 2048},
    {"columns", 1, 1024, 32, 1024, true, false},
    {"columns", 1, 4096, 32, 4096},
    {"gemv", 1, 1024, 1, 1024},
    {"gemv", 1, 1024, 1, 1024, true, false},
    {"gemv", 1, 4096, 1, 4096},
    {"gemv", 1, 4096, 1, 4096, true, false},
    {"gemv", 1, 1, 4096, 4096},
    {"gemv", 1, 1, 4096, 4096, false, true},
    {"resnet50 fc", 1, 1, 1000, 2048, false, true},
    {"resnet50 fc", 1, 8, 1000, 2048, false, true},
    {"vgg16 fc6", 1, 1, 4096, 25088, false, true},
    {"vgg16 fc6", 1, 8, 4096, 25088, false, true},
    {"vgg16 fc7", 1, 1, 4096, 4096, false, true},
    {"vgg16 fc7", 1, 8, 4096, 4096, false, true},
    {"vgg16 fc8", 1, 1, 1000, 4096, false, true},
    {"vgg16 fc8", 1, 8, 1000, 4096, false, true},
    {"former qkv", 1, 128, 1536, 512, false, true},
    {"former qkv", 1, 1024, 1536, 512, false, true},
    {"former scores", 8, 128, 128, 64, false, true},
    {"former scores", 64, 128, 128, 64, false, true},
    {"former values", 8, 128, 64, 128},
    {"former values", 64, 128, 64, 128},
    {"former out", 1, 128, 512, 512, false, true},
    {"former out", 1, 1024, 512, 512, false, true},
    {"former ffn1", 1, 128, 2048, 512, false, true},
    {"former ffn1", 1, 1024, 2048, 512, false, true},
    {"former ffn2", 1, 128, 512, 2048, false, true},
    {"former ffn2", 1, 1024, 512, 2048, false, true},
    {"former ffn2 dx", 1, 1024, 2048, 512},
    {"former ffn2 dw", 1, 512, 2048, 1024, true, false},
};

/* Products for GPUs: squares, with b row-major and transposed; those of a transformer of width 1024
 * with 4096 tokens; and three with little work per element. */
static const bench_gemm_shape of_gpu[] = {
    {"square", 1, 1024, 1024, 1024},
    {"square", 1, 2048, 2048, 2048},
    {"square", 1, 4096, 4096, 4096},
    {"square", 1, 4096, 4096, 4096, false, true},
    {"square", 1, 4096, 4096, 4096, true, false},
    {"former ffn1", 1, 4096, 4096, 1024, false, true},
    {"former scores", 128, 512, 512, 64, false, true},
    {"prime", 1, 2039, 2053, 2063},
    {"rows", 1, 16, 4096, 4096, false, true},
    {"long sum", 1, 128, 128, 65536},
    {"gemv", 1, 4096, 1, 4096},
    {"square", 1, 8192, 8192, 8192},
};

static bool is_resnet(const bench_conv_shape *s)
{
    return strcmp(s->network, "resnet50") == 0;
}

/* Returns true if a convolution is included. With eight images VGG's are enormous and add nothing
 * new, except for the last one. */
static bool is_taken(const bench_conv_shape *s)
{
    return is_resnet(s) || (strcmp(s->network, "vgg16") == 0 && (s->n == 1 || s->h == 14));
}

static bench_gemm_shape product_of(const bench_conv_shape *s)
{
    const int64_t pixels = bench_conv_output(s, false) * bench_conv_output(s, true),
                  taps = s->c * s->r * s->s;
    if (s->n == 1)
        return (bench_gemm_shape){s->network, 1, s->k, pixels, taps, false, false};
    return (bench_gemm_shape){s->network, 1, s->n * pixels, s->k, taps, false, true};
}

/* Returns true if no earlier convolution gives the same product. */
static bool is_first(uint32_t number, const bench_gemm_shape *product)
{
    bench_conv_shape s;
    for (uint32_t i = 0; i < number && bench_conv_shape_at(BENCH_CONV_NETWORKS, i, &s); i++) {
        const bench_gemm_shape other = product_of(&s);
        if (is_taken(&s) && strcmp(other.what, product->what) == 0 && other.m == product->m &&
            other.n == product->n && other.k == product->k)
            return false;
    }
    return true;
}

static bool of_convolution(uint32_t number, bench_gemm_shape *shape)
{
    bench_conv_shape s;
    for (uint32_t i = 0; bench_conv_shape_at(BENCH_CONV_NETWORKS, i, &s); i++) {
        *shape = product_of(&s);
        if (is_taken(&s) && is_first(i, shape) && number-- == 0)
            return true;
    }
    return false;
}

bool bench_gemm_shape_at(bench_gemm_selection selection, uint32_t number, bench_gemm_shape *shape)
{
    static const struct {
        const bench_gemm_shape *shapes;
        size_t count;
    } lists[] = {[BENCH_GEMM_SHORT] = {few, COUNT(few)},
                 [BENCH_GEMM_CPU] = {many, COUNT(many)},
                 [BENCH_GEMM_GPU] = {of_gpu, COUNT(of_gpu)}};
    const size_t listed = lists[selection].count;
    if (number < listed) {
        *shape = lists[selection].shapes[number];
        return true;
    }
    return selection == BENCH_GEMM_CPU && of_convolution(number - (uint32_t)listed, shape);
}
