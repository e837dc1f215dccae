/* The shapes of the suites, which are data: files in this folder, which are embedded in the
 * program, and files of users. docs/benchmarks.md describes the format. */
#ifndef BENCH_SHAPES_H
#define BENCH_SHAPES_H

#include <tenon/tenon.h>

#include <stdbool.h>

#define BENCH_CONV_NAME_SIZE 64
#define BENCH_GEMM_NAME_SIZE 96

/* N images of C H W, K filters of C/groups R S. */
typedef struct bench_conv_shape {
    const char *network;
    int64_t n, c, h, w, k, r, s, stride, pad, groups;
} bench_conv_shape;

/* `batch` products of M×K and K×N; a transposed operand is stored with its other dimension first.
 */
typedef struct bench_gemm_shape {
    const char *what;
    int64_t batch, m, n, k;
    bool a_transposed, b_transposed;
} bench_gemm_shape;

/* A call in the syntax of "tenon check". $N stands for the number of elements and $R for that of
 * rows of 1024, T for the type. */
typedef struct bench_listed_call {
    const char *name, *line;
    const char *numpy;  /* the same in NumPy (bench_call); NULL: none */
    bool by_rows;       /* as in bench_call */
    const char *picked; /* operand of which only as many elements are read as the result has */
    const char *limit;  /* limit of the operand "indices": N, R or a number; NULL: none */
} bench_listed_call;

/* The libraries that a suite is compared with: those of the host, those of GPUs, or both. */
typedef enum bench_suite_peers {
    BENCH_PEERS_ALL,
    BENCH_PEERS_CPU,
    BENCH_PEERS_GPU
} bench_suite_peers;

/* A suite of a file. It has one of the three lists. */
typedef struct bench_shape_suite {
    const char *name, *about, *kind;
    double seconds; /* approximate time of a case */
    bench_suite_peers peers;
    bool is_users;    /* it is from a user's file */
    bool is_recorded; /* calls whose types are fixed */
    uint32_t count;
    bench_gemm_shape *gemm;
    bench_conv_shape *conv;
    bench_listed_call *calls;
    int64_t *sizes; /* of calls: numbers of elements; 0: the lines have their sizes */
    uint32_t size_count;
} bench_shape_suite;

/* The suites of all files that were read. They remain until the program ends. */
extern bench_shape_suite *bench_shape_suites;
extern uint32_t bench_shape_suite_count;

/* Reads the embedded files. On failure, prints the reason to stderr and returns false. */
bool bench_shapes_read_built_in(void);

/* Reads a user's file: a JSON document with suites, or lines of recorded calls, which become the
 * suite "recorded". On failure, prints the file, the place and the reason to stderr and returns
 * false. */
bool bench_shapes_read(const char *path);

/* Returns the suite, or NULL. */
const bench_shape_suite *bench_shape_suite_named(const char *name);

/* Adds an empty suite, and returns it; NULL if memory is short. */
bench_shape_suite *bench_shape_suite_add(const char *name, const char *kind);

/* Writes the name, for example "resnet50 512@28 k128 1x1 n1": channels, image size, filters and
 * their size, and the stride after a slash; "dw" for depthwise convolutions. */
void bench_conv_name(const bench_conv_shape *shape, char name[BENCH_CONV_NAME_SIZE]);

/* Writes the name, for example "square 512x512x512 b'": M x N x K, and which operands are stored
 * transposed. */
void bench_gemm_name(const bench_gemm_shape *shape, char name[BENCH_GEMM_NAME_SIZE]);

/* Returns the number of rows, or of columns, of the result. */
int64_t bench_conv_output(const bench_conv_shape *shape, bool columns);

/* Returns the number of floating-point operations: two for each tap of each result, including those
 * in the padding. */
double bench_conv_operations(const bench_conv_shape *shape);

tenon_conv_geometry bench_conv_geometry(const bench_conv_shape *shape);

/* Returns the product to which a convolution is lowered by im2col: for one image filters times
 * columns, for several images with channels last pixels times transposed filters. */
bench_gemm_shape bench_conv_product(const bench_conv_shape *shape);

#endif
