/* Plain loops: the performance without a library. */
#ifndef BENCH_PEERS_LOOP_H
#define BENCH_PEERS_LOOP_H

#include "operands.h"

typedef enum bench_loop_kind {
    BENCH_LOOP_COPY,       /* y = x */
    BENCH_LOOP_SCALE,      /* y = 1.5·x */
    BENCH_LOOP_RELU,       /* y = max(x, 0) */
    BENCH_LOOP_SIGMOID,    /* y = 1 / (1 + exp(-x)) */
    BENCH_LOOP_TANH,       /* y = tanh(x) */
    BENCH_LOOP_ADD,        /* y = x0 + x1 */
    BENCH_LOOP_SAXPY,      /* y = 2.5·x0 + x1 */
    BENCH_LOOP_BIAS_GELU,  /* y = gelu(x0 + x1) in its tanh approximation; x1 is a row */
    BENCH_LOOP_SOFTMAX,    /* softmax of rows */
    BENCH_LOOP_LAYER_NORM, /* layer normalization of rows; x1 is gamma and x2 beta */
    BENCH_LOOP_TRANSPOSE,  /* y has cols × rows */
    BENCH_LOOP_ROW_SUM,    /* y has `rows` elements */
    BENCH_LOOP_SUM,        /* y is one number */
    BENCH_LOOP_MAX
} bench_loop_kind;

/* A loop on an f32 array of rows × BENCH_LOOP_COLS. The operands are x (as many as the kind has)
 * and y. */
#define BENCH_LOOP_COLS 1024
typedef struct bench_loop {
    bench_loop_kind kind;
    int64_t rows;
    tenon_dtype dtype;
    const bench_operands *operands;
    uint32_t x[3], y;
} bench_loop;

/* Sets up the fastest variant by measurement: with one thread or one per processor, and with
 * ordinary or non-temporal stores. */
bool bench_loop_way(const bench_loop *loop, bench_way *way);

#endif
