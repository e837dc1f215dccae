/* Test cases of pooling in both directions; the gradient uses the maxima found by the forward
 * call. */
#ifndef TEST_OPS_POOL_CASE_H
#define TEST_OPS_POOL_CASE_H

#include "fixture.h"

#include "ops/pool/internal.h"

typedef enum pool_layout { NCHW, NHWC, GAPS, LAYOUTS } pool_layout;

typedef struct pool_case {
    uint32_t rank;
    int64_t x[POOL_RANK]; /* shape of x */
    int64_t y[POOL_RANK]; /* spatial sizes of y, from entry 2 on, for TENON_POOL_ADAPTIVE */
    tenon_pool_params params;
    pool_layout x_layout, y_layout;
    bool no_indices; /* the forward call does not store indices, and the gradient finds the maxima
                        in x */
} pool_case;

typedef struct pool_pair {
    test_fixture forward, backward;
} pool_pair;

/* Returns a case with N, C, spatial sizes size + 2, size + 3, …, and a window of the same size in
 * each dimension. */
pool_case pool_plain(uint32_t rank, int64_t n, int64_t c, int64_t size, int64_t window);

/* Begin calls of both directions; allocate memory with random values of x and dy. */
void pool_begin(pool_pair *pair, const pool_case *p, tenon_dtype dtype);
void pool_fill(pool_pair *pair, test_judge judge, test_random *random);

/* Gives the gradient the forward call's x, or the indices of its maxima. */
void pool_link(pool_pair *pair);

/* Links both calls, runs them on all solvers, and frees the memory. */
void pool_finish(pool_pair *pair);

/* Frees the memory only. */
void pool_dismiss(pool_pair *pair);

/* Begin, fill and finish a pair: in one type, or in every type. */
void pool_check_type(const pool_case *p, tenon_dtype dtype, test_judge judge, test_random *random);
void pool_check(const pool_case *p, test_judge judge, test_random *random);

#endif
