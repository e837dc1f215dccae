/* The shapes of the suites: convolutions of networks, and matrix products, many of which are the
 * im2col products of these convolutions. */
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
    BENCH_CONV_SHORT,     /* a few of each kind */
    BENCH_CONV_NETWORKS,  /* each distinct one of the networks, with 1 and 8 images */
    BENCH_CONV_RESNET50,  /* those of ResNet-50 only, with 1 and 8 images */
    BENCH_CONV_DEPTHWISE, /* those with one channel per group, with 1 and 8 images */
    BENCH_CONV_GPU        /* those of ResNet-50 with 32 images */
} bench_conv_selection;

/* Returns a convolution by number; false beyond the last one. */
bool bench_conv_shape_at(bench_conv_selection selection, uint32_t number, bench_conv_shape *shape);

/* Returns the number of rows, or of columns, of the result. */
int64_t bench_conv_output(const bench_conv_shape *shape, bool columns);

/* Returns the number of floating-point operations: two for each tap of each result, including those
 * in the padding. */
double bench_conv_operations(const bench_conv_shape *shape);

/* Writes the name, for example "resnet50 512@28 k128 1x1 n1": channels, image size, filters and
 * their size, and the stride after a slash; "dw" for depthwise convolutions. */
void bench_conv_name(const bench_conv_shape *shape, char name[BENCH_CONV_NAME_SIZE]);

tenon_conv_geometry bench_conv_geometry(const bench_conv_shape *shape);

/* `batch` products of M×K and K×N; a transposed operand is stored with its other dimension first.
 */
typedef struct bench_gemm_shape {
    const char *what;
    int64_t batch, m, n, k;
    bool a_transposed, b_transposed;
} bench_gemm_shape;

typedef enum bench_gemm_selection {
    BENCH_GEMM_SHORT, /* a few of each kind */
    BENCH_GEMM_CPU,   /* the shapes that matter for a CPU's GEMM */
    BENCH_GEMM_GPU    /* shapes that show how close a GPU gets to its limits */
} bench_gemm_selection;

/* Returns a product by number; false beyond the last one. */
bool bench_gemm_shape_at(bench_gemm_selection selection, uint32_t number, bench_gemm_shape *shape);

#endif
