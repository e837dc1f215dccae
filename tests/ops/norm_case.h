/* What the tests of normalization share: a call described by a few numbers, made, filled and tried
 * on every solver. */
#ifndef TEST_OPS_NORM_CASE_H
#define TEST_OPS_NORM_CASE_H

#include "fixture.h"

#include "ops/norm/internal.h"

#define NORM_CASE_OPERANDS NORM_FORWARD_OPERANDS /* the most */

/* How an operand lies: a test_layout, or with its second dimension contiguous. */
#define NORM_CHANNELS_LAST TEST_LAYOUTS
#define NORM_LAYOUTS       (TEST_LAYOUTS + 1)

typedef struct norm_case {
    tenon_norm_params params;
    bool backward, given;
    uint32_t rank;
    int64_t shape[TENON_MAX_RANK]; /* of x */
    int layout[NORM_CASE_OPERANDS];
    bool gap;         /* also before the last two dimensions */
    uint32_t absent;  /* bit i: operand i, in the public order, is NULL */
    uint32_t repeats; /* bit d: x has stride 0 along dimension d */
    bool f32_parameters;
    int same;         /* 1 + the input that y or dx is, or 0 */
    int64_t offset;   /* elements */
    double low, high; /* of x; both 0: -1 to 1 */
    test_judge judge;
} norm_case;

/* A forward call of a kind, over a shape that ends with 0. */
norm_case norm_case_of(tenon_norm_kind kind, const int64_t *shape);

/* Makes the operands, with values. x is the first of them, dy the second. */
void norm_make(test_fixture *f, const norm_case *p, tenon_dtype dtype, test_random *random);

/* Tries every solver as well. */
void norm_check(const norm_case *p, tenon_dtype dtype, test_random *random);
void norm_check_types(const norm_case *p, test_random *random);
void norm_check_layouts(bool backward, test_random *random);

/* A random kind, shape, layout and choice of operands. */
norm_case norm_random_case(test_random *random, bool backward);

#endif
