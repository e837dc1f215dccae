/* The shapes of the suites: convolutions of networks, and matrix products, of which many are those
 * convolutions as im2col makes them. */
#ifndef BENCH_SHAPES_H
#define BENCH_SHAPES_H

#include <tenon/tenon.h>

#include <stdbool.h>

#define BENCH_CONV_NAME_SIZE 64

/* N images of C H W, K filters of C/groups R S. */
typedef struct bench_conv_shape {
    const char *network;
    int64_t n, c, h, w, k, r, s, stride, pad, groups;
} bench_conv_shape;

typedef enum bench_conv_selection {
    BENCH_CONV_SHORT,     /* some of each kind */
    BENCH_CONV_NETWORKS,  /* each distinct one of the networks, with 1 and 8 images */
    BENCH_CONV_RESNET50,  /* the same of ResNet-50 alone */
    BENCH_CONV_DEPTHWISE, /* the same of those whose groups have one channel */
    BENCH_CONV_GPU        /* ResNet-50's with 32 images */
} bench_conv_selection;

/* A convolution by its number; false where there are not so many. */
bool bench_conv_shape_at(bench_conv_selection selection, uint32_t number, bench_conv_shape *shape);

/* How many rows, or columns, the result has. */
int64_t bench_conv_output(const bench_conv_shape *shape, bool columns);

/* Floating-point operations: two for each tap of each result, those in the padding included. */
double bench_conv_operations(const bench_conv_shape *shape);

/* "resnet50 512@28 k128 1x1 n1": channels, an image's size, filters and their size, and after a
 * slash the stride; "dw" for depthwise ones. */
void bench_conv_name(const bench_conv_shape *shape, char name[BENCH_CONV_NAME_SIZE]);

tenon_conv_geometry bench_conv_geometry(const bench_conv_shape *shape);

/* `batch` products of M×K and K×N; a transposed operand is stored with the other dimension first.
 */
typedef struct bench_gemm_shape {
    const char *what;
    int64_t batch, m, n, k;
    bool a_transposed, b_transposed;
} bench_gemm_shape;

typedef enum bench_gemm_selection {
    BENCH_GEMM_SHORT, /* some of each kind */
    BENCH_GEMM_CPU,   /* all that a processor's GEMM has to be good at */
    BENCH_GEMM_GPU    /* what tells how near a GPU's limits it comes */
} bench_gemm_selection;

/* A product by its number; false where there are not so many. */
bool bench_gemm_shape_at(bench_gemm_selection selection, uint32_t number, bench_gemm_shape *shape);

#endif
