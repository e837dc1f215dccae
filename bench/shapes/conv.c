/* Convolutions of networks as defined by torchvision: ResNet-50 with the stride in its 3×3
 * convolutions, VGG-16, AlexNet and MobileNet-v2, with images of 224×224. Duplicates are listed
 * once. */
#include "shapes.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* All images and filters are square. */
static const struct {
    const char *network;
    int64_t c, size, k, filter, stride, pad, groups;
    int in_short; /* in the short suite; bit 0: with one image; bit 1: with eight */
} table[] = {
    {"resnet50", 3, 224, 64, 7, 2, 3, 1, 1},       {"resnet50", 64, 56, 64, 1, 1, 0, 1, 0},
    {"resnet50", 64, 56, 64, 3, 1, 1, 1, 3},       {"resnet50", 64, 56, 256, 1, 1, 0, 1, 1},
    {"resnet50", 256, 56, 64, 1, 1, 0, 1, 0},      {"resnet50", 256, 56, 128, 1, 1, 0, 1, 0},
    {"resnet50", 128, 56, 128, 3, 2, 1, 1, 1},     {"resnet50", 128, 28, 512, 1, 1, 0, 1, 0},
    {"resnet50", 256, 56, 512, 1, 2, 0, 1, 0},     {"resnet50", 512, 28, 128, 1, 1, 0, 1, 0},
    {"resnet50", 128, 28, 128, 3, 1, 1, 1, 1},     {"resnet50", 512, 28, 256, 1, 1, 0, 1, 0},
    {"resnet50", 256, 28, 256, 3, 2, 1, 1, 0},     {"resnet50", 256, 14, 1024, 1, 1, 0, 1, 0},
    {"resnet50", 512, 28, 1024, 1, 2, 0, 1, 1},    {"resnet50", 1024, 14, 256, 1, 1, 0, 1, 0},
    {"resnet50", 256, 14, 256, 3, 1, 1, 1, 3},     {"resnet50", 1024, 14, 512, 1, 1, 0, 1, 0},
    {"resnet50", 512, 14, 512, 3, 2, 1, 1, 0},     {"resnet50", 512, 7, 2048, 1, 1, 0, 1, 1},
    {"resnet50", 1024, 14, 2048, 1, 2, 0, 1, 0},   {"resnet50", 2048, 7, 512, 1, 1, 0, 1, 0},
    {"resnet50", 512, 7, 512, 3, 1, 1, 1, 1},      {"vgg16", 3, 224, 64, 3, 1, 1, 1, 0},
    {"vgg16", 64, 224, 64, 3, 1, 1, 1, 1},         {"vgg16", 64, 112, 128, 3, 1, 1, 1, 0},
    {"vgg16", 128, 112, 128, 3, 1, 1, 1, 0},       {"vgg16", 128, 56, 256, 3, 1, 1, 1, 0},
    {"vgg16", 256, 56, 256, 3, 1, 1, 1, 1},        {"vgg16", 256, 28, 512, 3, 1, 1, 1, 0},
    {"vgg16", 512, 28, 512, 3, 1, 1, 1, 0},        {"vgg16", 512, 14, 512, 3, 1, 1, 1, 1},
    {"alexnet", 3, 224, 64, 11, 4, 2, 1, 0},       {"alexnet", 64, 27, 192, 5, 1, 2, 1, 1},
    {"alexnet", 192, 13, 384, 3, 1, 1, 1, 0},      {"alexnet", 384, 13, 256, 3, 1, 1, 1, 0},
    {"alexnet", 256, 13, 256, 3, 1, 1, 1, 0},      {"mobilenet2", 3, 224, 32, 3, 2, 1, 1, 1},
    {"mobilenet2", 32, 112, 32, 3, 1, 1, 32, 0},   {"mobilenet2", 32, 112, 16, 1, 1, 0, 1, 0},
    {"mobilenet2", 16, 112, 96, 1, 1, 0, 1, 0},    {"mobilenet2", 96, 112, 96, 3, 2, 1, 96, 1},
    {"mobilenet2", 96, 56, 24, 1, 1, 0, 1, 0},     {"mobilenet2", 24, 56, 144, 1, 1, 0, 1, 1},
    {"mobilenet2", 144, 56, 144, 3, 1, 1, 144, 1}, {"mobilenet2", 144, 56, 24, 1, 1, 0, 1, 0},
    {"mobilenet2", 144, 56, 144, 3, 2, 1, 144, 0}, {"mobilenet2", 144, 28, 32, 1, 1, 0, 1, 0},
    {"mobilenet2", 32, 28, 192, 1, 1, 0, 1, 0},    {"mobilenet2", 192, 28, 192, 3, 1, 1, 192, 0},
    {"mobilenet2", 192, 28, 32, 1, 1, 0, 1, 0},    {"mobilenet2", 192, 28, 192, 3, 2, 1, 192, 0},
    {"mobilenet2", 192, 14, 64, 1, 1, 0, 1, 0},    {"mobilenet2", 64, 14, 384, 1, 1, 0, 1, 0},
    {"mobilenet2", 384, 14, 384, 3, 1, 1, 384, 0}, {"mobilenet2", 384, 14, 64, 1, 1, 0, 1, 0},
    {"mobilenet2", 384, 14, 96, 1, 1, 0, 1, 0},    {"mobilenet2", 96, 14, 576, 1, 1, 0, 1, 0},
    {"mobilenet2", 576, 14, 576, 3, 1, 1, 576, 0}, {"mobilenet2", 576, 14, 96, 1, 1, 0, 1, 0},
    {"mobilenet2", 576, 14, 576, 3, 2, 1, 576, 0}, {"mobilenet2", 576, 7, 160, 1, 1, 0, 1, 0},
    {"mobilenet2", 160, 7, 960, 1, 1, 0, 1, 0},    {"mobilenet2", 960, 7, 960, 3, 1, 1, 960, 0},
    {"mobilenet2", 960, 7, 160, 1, 1, 0, 1, 0},    {"mobilenet2", 960, 7, 320, 1, 1, 0, 1, 0},
    {"mobilenet2", 320, 7, 1280, 1, 1, 0, 1, 0},
};

#define ROWS (sizeof table / sizeof *table)

/* Returns true if a selection includes a row with one image, or with eight. */
static bool selected(bench_conv_selection selection, size_t row, int eight)
{
    if (selection == BENCH_CONV_GPU)
        return eight == 0 && strcmp(table[row].network, "resnet50") == 0;
    if (selection == BENCH_CONV_SHORT)
        return (table[row].in_short >> eight & 1) != 0;
    if (selection == BENCH_CONV_DEPTHWISE)
        return table[row].groups > 1;
    return selection == BENCH_CONV_NETWORKS || strcmp(table[row].network, "resnet50") == 0;
}

bool bench_conv_shape_at(bench_conv_selection selection, uint32_t number, bench_conv_shape *shape)
{
    const int64_t images = selection == BENCH_CONV_GPU ? 32 : 1;
    for (int eight = 0; eight < 2; eight++)
        for (size_t i = 0; i < ROWS; i++)
            if (selected(selection, i, eight) && number-- == 0) {
                *shape = (bench_conv_shape){table[i].network, eight ? 8 : images, table[i].c,
                                            table[i].size,    table[i].size,      table[i].k,
                                            table[i].filter,  table[i].filter,    table[i].stride,
                                            table[i].pad,     table[i].groups};
                return true;
            }
    return false;
}

int64_t bench_conv_output(const bench_conv_shape *s, bool columns)
{
    return ((columns ? s->w - s->s : s->h - s->r) + 2 * s->pad) / s->stride + 1;
}

double bench_conv_operations(const bench_conv_shape *s)
{
    const int64_t results = s->n * s->k * bench_conv_output(s, false) * bench_conv_output(s, true);
    const int64_t taps = s->c / s->groups * s->r * s->s;
    return 2.0 * (double)results * (double)taps;
}

void bench_conv_name(const bench_conv_shape *s, char name[BENCH_CONV_NAME_SIZE])
{
    char filters[24] = "dw", stride[24] = "";
    if (s->groups != s->c)
        snprintf(filters, sizeof filters, "k%d", (int)s->k);
    if (s->stride > 1)
        snprintf(stride, sizeof stride, "/%d", (int)s->stride);
    snprintf(name, BENCH_CONV_NAME_SIZE, "%.16s %d@%d %s %dx%d%s n%d", s->network, (int)s->c,
             (int)s->h, filters, (int)s->r, (int)s->s, stride, (int)s->n);
}

tenon_conv_geometry bench_conv_geometry(const bench_conv_shape *s)
{
    return (tenon_conv_geometry){.stride = {s->stride, s->stride, 1},
                                 .dilation = {1, 1, 1},
                                 .pad_begin = {s->pad, s->pad, 0},
                                 .pad_end = {s->pad, s->pad, 0}};
}
