/* What the tests of pooling share: cases of both directions, the gradient's at what the forward one
 * found. */
#ifndef TEST_OPS_POOL_CASE_H
#define TEST_OPS_POOL_CASE_H

#include "fixture.h"

#include "ops/pool/internal.h"

typedef enum pool_layout { NCHW, NHWC, GAPS, LAYOUTS } pool_layout;

typedef struct pool_case {
    uint32_t rank;
    int64_t x[POOL_RANK]; /* shape */
    tenon_pool_params params;
    pool_layout x_layout, y_layout;
    bool no_indices; /* the gradient finds the maxima in x; forward they are not written */
} pool_case;

typedef struct pool_pair {
    test_fixture forward, backward;
} pool_pair;

/* N C and spatial sizes of size + 2, size + 3, …, under a window of one size. */
pool_case pool_plain(uint32_t rank, int64_t n, int64_t c, int64_t size, int64_t window);

/* Calls of both directions; then their memory, and random values of x and dy. */
void pool_begin(pool_pair *pair, const pool_case *p, tenon_dtype dtype);
void pool_fill(pool_pair *pair, test_judge judge, test_random *random);

/* Gives the gradient the forward call's x, or the places of its maxima. */
void pool_link(pool_pair *pair);

/* Links both, runs them by all solvers, and lets go of the memory. */
void pool_finish(pool_pair *pair);

/* Lets go of the memory alone. */
void pool_dismiss(pool_pair *pair);

/* Begins, fills and finishes, on operands of one type, and of every type. */
void pool_check_type(const pool_case *p, tenon_dtype dtype, test_judge judge, test_random *random);
void pool_check(const pool_case *p, test_judge judge, test_random *random);

#endif
