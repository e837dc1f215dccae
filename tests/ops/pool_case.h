/* What the tests of pooling share: cases, their data on host and device, and both directions run by
 * every solver. */
#ifndef TEST_OPS_POOL_CASE_H
#define TEST_OPS_POOL_CASE_H

#include "support.h"

#include "ops/pool/internal.h"

typedef enum pool_layout { NCHW, NHWC, GAPS, LAYOUTS } pool_layout;

typedef struct pool_case {
    uint32_t rank;
    int64_t x[POOL_RANK]; /* shape */
    tenon_pool_params params;
    pool_layout x_layout, y_layout;
    bool no_indices; /* the gradient finds the maxima in x; forward they are not written */
} pool_case;

typedef struct pool_data {
    pool_case problem;
    tenon_dtype dtype;
    test_tensor x, y, indices, dx;
    bool indexed;
    tn_bounded *expected;
    int64_t *places;
} pool_data;

/* N C and spatial sizes of size + 2, size + 3, …, under a window of one size. */
pool_case pool_plain(uint32_t rank, int64_t n, int64_t c, int64_t size, int64_t window);

void pool_make(pool_data *data, const pool_case *p, tenon_dtype dtype);
void pool_dismiss(pool_data *data);

/* Fills in what is expected of x as it is filled, and the places of its maxima. */
void pool_expect(pool_data *data);

/* The same, and runs all solvers. */
void pool_run_forward(pool_data *data, test_judge judge);

/* After it: the indices are the places of its maxima. dy goes where y was. */
void pool_run_backward(pool_data *data, test_judge judge, test_random *random);

/* Both, on random operands of one type, and of every type. */
void pool_check_type(const pool_case *p, tenon_dtype dtype, test_judge judge, test_random *random);
void pool_check(const pool_case *p, test_judge judge, test_random *random);

#endif
