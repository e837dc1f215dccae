/* Test cases of normalization: a call described by a few numbers, which is created, filled and run
 * on every solver. */
#ifndef TEST_OPS_NORM_CASE_H
#define TEST_OPS_NORM_CASE_H

#include "fixture.h"

#include "ops/norm/internal.h"

#define NORM_CASE_OPERANDS NORM_FORWARD_OPERANDS /* the larger of both */

/* Layout of an operand: a test_layout, or the second dimension contiguous. */
#define NORM_CHANNELS_LAST TEST_LAYOUTS
#define NORM_LAYOUTS       (TEST_LAYOUTS + 1)

typedef struct norm_case {
    tenon_norm_params params;
    bool backward, given;
    uint32_t rank;
    int64_t shape[TENON_MAX_RANK]; /* of x */
    int layout[NORM_CASE_OPERANDS];
    bool gap;         /* also gaps before the last two dimensions */
    uint32_t absent;  /* bit i: operand i, in public order, is NULL */
    uint32_t repeats; /* bit d: x has stride 0 along dimension d */
    bool f32_parameters;
    int same;         /* 1 + the input that is also y or dx, or 0 */
    int64_t offset;   /* in elements */
    double low, high; /* range of x; both 0: -1 to 1 */
    test_judge judge;
} norm_case;

/* Returns a forward call of a kind, with a shape terminated by 0. */
norm_case norm_case_of(tenon_norm_kind kind, const int64_t *shape);

/* Creates the operands with values. x is the first, dy the second. */
void norm_make(test_fixture *f, const norm_case *p, tenon_dtype dtype, test_random *random);

/* Run all solvers on the case. */
void norm_check(const norm_case *p, tenon_dtype dtype, test_random *random);
void norm_check_types(const norm_case *p, test_random *random);
void norm_check_layouts(bool backward, test_random *random);

/* Returns a case with random kind, shape, layouts and operands. */
norm_case norm_random_case(test_random *random, bool backward);

#endif
