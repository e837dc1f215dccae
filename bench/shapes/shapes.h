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

/* An activation of a vector. */
typedef struct bench_activation_shape {
    tenon_activation_kind kind;
    int64_t elements;
} bench_activation_shape;

/* A memory-bound operation on rows of 1024 elements. */
typedef enum bench_pass_kind {
    BENCH_PASS_COPY,
    BENCH_PASS_SCALE,
    BENCH_PASS_RELU,
    BENCH_PASS_ADD,
    BENCH_PASS_SAXPY,
    BENCH_PASS_BIAS_GELU,
    BENCH_PASS_TRANSPOSE,
    BENCH_PASS_SUM,
    BENCH_PASS_MAX,
    BENCH_PASS_ROW_SUMS,
    BENCH_PASS_SOFTMAX,
    BENCH_PASS_LAYER_NORM,
    BENCH_PASSES
} bench_pass_kind;

typedef struct bench_pass_shape {
    bench_pass_kind kind;
    int64_t elements;
} bench_pass_shape;

/* A call in the syntax of "tenon check" on images, in which `$` and a letter stand for a view
 * (image_calls.c). */
typedef struct bench_image_call {
    const char *name, *line;
    int64_t n, c, h, w;
} bench_image_call;

/* Pooling with square windows. */
typedef struct bench_pool_shape {
    int64_t n, c, h, w, window, stride, pad;
    bool is_average, channels_last;
} bench_pool_shape;

/* A recurrent layer in one direction, with as many inputs as hidden units. */
typedef enum bench_cell { BENCH_CELL_LSTM, BENCH_CELL_GRU, BENCH_CELL_TANH } bench_cell;
typedef struct bench_recurrent_shape {
    bench_cell cell;
    int64_t hidden, n, steps;
} bench_recurrent_shape;

typedef enum bench_collective_kind {
    BENCH_ALL_REDUCE,
    BENCH_ALL_GATHER,
    BENCH_REDUCE_SCATTER,
    BENCH_BROADCAST,
    BENCH_ALL_TO_ALL,
    BENCH_COLLECTIVES
} bench_collective_kind;

/* A collective of members that are contexts, or parts of a device. */
#define BENCH_MOST_MEMBERS 16
typedef struct bench_collective_shape {
    bench_collective_kind kind;
    int64_t bytes, members; /* bytes of the longest tensor of a member */
    bool are_parts;
} bench_collective_shape;

/* A data-parallel training step of dense layers with n rows, on parts of a device. */
#define BENCH_MOST_WIDTHS 16
typedef struct bench_scaling_shape {
    int64_t widths[BENCH_MOST_WIDTHS]; /* of the input, then of the output of each layer */
    size_t width_count;
    int64_t n, members; /* rows of the batch: a multiple of the members */
} bench_scaling_shape;

/* Inference, or a training step, of a network with n images. */
typedef struct bench_network_shape {
    const char *network;                /* the name */
    const struct bench_network *layers; /* networks/networks.h */
    int64_t n;
    bool trains;
} bench_network_shape;

/* The sizes of a training step of AlexNet, or of a belief network (networks/historic.c). */
typedef enum bench_workload { BENCH_ALEXNET, BENCH_BELIEF_NETWORK } bench_workload;
typedef struct bench_historic_shape {
    bench_workload workload;
    int64_t n, side, filters[5], connected[3]; /* of AlexNet; n of both */
    int64_t units[4];
} bench_historic_shape;

/* A case with its name, of the kind of its suite. */
typedef struct bench_shape_case {
    char name[BENCH_GEMM_NAME_SIZE];
    union {
        bench_activation_shape activation;
        bench_pass_shape pass;
        bench_image_call image_call;
        bench_pool_shape pool;
        bench_recurrent_shape recurrent;
        bench_collective_shape collective;
        bench_scaling_shape scaling;
        bench_network_shape network;
        bench_historic_shape historic;
    };
} bench_shape_case;

/* The libraries that a suite is compared with: those of the host, those of GPUs, or both. */
typedef enum bench_suite_peers {
    BENCH_PEERS_ALL,
    BENCH_PEERS_CPU,
    BENCH_PEERS_GPU
} bench_suite_peers;

/* A suite of a file. It has one of the four lists. */
typedef struct bench_shape_suite {
    const char *name, *about, *kind;
    double seconds; /* approximate time of a case */
    bench_suite_peers peers;
    bool is_users;    /* it is from a user's file */
    bool is_recorded; /* calls whose types are fixed */
    uint32_t count;
    bench_gemm_shape *gemm;
    bench_conv_shape *conv;
    bench_shape_case *cases; /* of all other kinds */
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

/* Writes a number of elements or bytes, for example "64 Ki" or "1 Mi"; numbers that are no multiple
 * of 1024 as they are, with a blank at the end. */
#define BENCH_SIZE_TEXT 32
void bench_size_text(int64_t size, char text[BENCH_SIZE_TEXT]);

/* Returns the number of rows, or of columns, of the result. */
int64_t bench_conv_output(const bench_conv_shape *shape, bool columns);

/* Returns the number of floating-point operations: two for each tap of each result, including those
 * in the padding. */
double bench_conv_operations(const bench_conv_shape *shape);

/* Writes the call on images N C H W that are stored as N H W C or as N C H W. Returns false if it
 * has an unknown letter after $, or if the size is too small. */
bool bench_image_call_line(const bench_image_call *call, bool channels_last, char *line,
                           size_t size);

tenon_conv_geometry bench_conv_geometry(const bench_conv_shape *shape);

/* Returns the product to which a convolution is lowered by im2col: for one image filters times
 * columns, for several images with channels last pixels times transposed filters. */
bench_gemm_shape bench_conv_product(const bench_conv_shape *shape);

#endif
