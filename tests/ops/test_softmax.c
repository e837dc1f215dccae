/* Tests tenon_softmax_forward and _backward against their references: special values, any axis and
 * strides, in place, large tensors. */
#include "fixture.h"

#include "ops/softmax/internal.h"
#include "ops/registry.h"

#include <math.h>

#define MOST SOFTMAX_BACKWARD_OPERANDS

typedef struct softmax_case {
    bool backward, log;
    int32_t axis;
    uint32_t rank;
    int64_t shape[TENON_MAX_RANK];
    int64_t stride[MOST][TENON_MAX_RANK]; /* the last one used is the output's */
    int64_t offset;
    int same; /* 1 + the operand that is the output, or 0 */
    test_judge judge;
} softmax_case;

static void begin(test_fixture *f, const softmax_case *p, tenon_dtype dtype)
{
    test_begin(f, p->backward ? &tn_operation_softmax_backward : &tn_operation_softmax);
    test_params(f, tenon_softmax_params)->axis = p->axis;
    test_params(f, tenon_softmax_params)->flags = p->log ? TENON_SOFTMAX_LOG : 0;
    for (uint32_t i = 0; i < f->c.operation->operand_count; i++) {
        f->c.views[i] = test_view(dtype, TEST_ROW, false, p->rank, p->shape, p->offset);
        memcpy(f->c.views[i].stride, p->stride[i], sizeof p->stride[i]);
    }
    if (p->same != 0)
        f->c.same[p->same - 1] = f->c.operation->operand_count;
    f->judge = p->judge;
    test_make(f);
}

static void fill_range(test_tensor *t, double low, double high, test_random *random)
{
    for (int64_t e = 0; e < tenon_tensor_elements(&t->view); e++)
        test_set(t, e, test_real(random, low, high));
}

static void fill(test_fixture *f, const softmax_case *p, test_random *random)
{
    test_fill_inputs(f, p->judge, random);
    if (p->judge == TEST_EXACT)
        return;
    if (!p->backward)
        fill_range(test_operand(f, SOFTMAX_X), -20, 20, random);
    else if (p->log)
        fill_range(test_operand(f, SOFTMAX_BACKWARD_Y), -8, 0, random);
}

static void check_type(const softmax_case *p, tenon_dtype dtype, test_random *random)
{
    test_fixture f;
    begin(&f, p, dtype);
    fill(&f, p, random);
    test_finish(&f, TEST_ALL);
}

/* Checks a case in every type, forward and backward, with and without logarithm; backward also on
 * integers, whose products and sums are exact. */
static void check(softmax_case p, test_random *random)
{
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++)
        for (int way = 0; way < 5; way++) {
            p.backward = way >= 2;
            p.log = way % 2 == 1;
            p.judge = way == 4 ? TEST_EXACT : TEST_BOUND;
            softmax_case q = p;
            if (!p.backward && p.same == 2)
                q.same = 0;
            check_type(&q, *type, random);
        }
}

static void lay_out(softmax_case *p, test_layout layout, bool gap)
{
    for (int i = 0; i < MOST; i++)
        test_strides(layout, gap, p->rank, p->shape, p->stride[i]);
}

TEST(sizes_around_vectors)
{
    static const int64_t sizes[] = {1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 33, 64};
    static const int64_t others[] = {1, 3, 8, 17};
    test_random random = test_random_for(501);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int axis = -2; axis < 0; axis++) {
            int64_t other = others[(i + (size_t)(axis + 2)) % 4];
            softmax_case p = {
                .axis = axis, .rank = 2, .same = (int)i % 3, .offset = (int64_t)i % 5};
            p.shape[axis + 2] = sizes[i];
            p.shape[-1 - axis] = other;
            lay_out(&p, TEST_ROW, false);
            check(p, &random);
        }
}

TEST(every_rank_and_axis)
{
    test_random random = test_random_for(502);
    for (uint32_t rank = 1; rank <= TENON_MAX_RANK; rank++)
        for (int n = 0; n < 4; n++) {
            softmax_case p = {.rank = rank};
            p.axis = (int32_t)test_between(&random, -(int64_t)rank, (int64_t)rank - 1);
            for (uint32_t d = 0; d < rank; d++)
                p.shape[d] = test_between(&random, 1, rank > 5 ? 3 : 6);
            for (int i = 0; i < MOST; i++)
                test_strides((test_layout)test_between(&random, 0, TEST_LAYOUTS - 1), n % 2 == 0,
                             rank, p.shape, p.stride[i]);
            check(p, &random);
            p.same = 1 + n % 2;
            check(p, &random);
        }
}

TEST(broadcast_inputs)
{
    test_random random = test_random_for(503);
    for (int mask = 1; mask < 8; mask++) {
        softmax_case p = {.rank = 3, .shape = {3, 9, 10}, .axis = mask % 3};
        lay_out(&p, mask % 2 == 0 ? TEST_COL : TEST_ROW, false);
        for (int d = 0; d < 3; d++)
            if ((mask >> d & 1) != 0)
                p.stride[0][d] = 0;
        p.backward = false;
        check_type(&p, TENON_DTYPE_F32, &random);
        test_strides(TEST_ROW, false, 3, p.shape, p.stride[1]);
        test_strides(TEST_ROW, false, 3, p.shape, p.stride[2]);
        p.backward = true;
        check_type(&p, TENON_DTYPE_F32, &random);
    }
}

static softmax_case random_case(test_random *random)
{
    softmax_case p = {.backward = test_one_in(random, 2),
                      .log = test_one_in(random, 2),
                      .rank = (uint32_t)test_between(random, 1, TENON_MAX_RANK),
                      .offset = test_between(random, 0, 9),
                      .judge = TEST_BOUND};
    p.axis = (int32_t)test_between(random, -(int64_t)p.rank, (int64_t)p.rank - 1);
    for (uint32_t d = 0; d < p.rank; d++)
        p.shape[d] = test_between(random, 1, p.rank > 4 ? 3 : test_one_in(random, 3) ? 70 : 6);
    for (int i = 0; i < MOST; i++)
        test_strides((test_layout)test_between(random, 0, TEST_LAYOUTS - 1), test_one_in(random, 2),
                     p.rank, p.shape, p.stride[i]);
    p.same = (int)test_between(random, 0, p.backward ? 2 : 1);
    return p;
}

TEST(random_problems)
{
    test_random random = test_random_for(505);
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++)
        for (int n = 0; n < test_problems(40); n++) {
            softmax_case p = random_case(&random);
            test_fixture f;
            begin(&f, &p, *type);
            fill(&f, &p, &random);
            test_finish(&f, TEST_ONCE);
        }
}

TEST(large)
{
    static const int64_t shapes[][3] = {
        {2, 3, 30011}, {2, 1000, 61}, {1, 3, 70001}, {1, 40, 1531}, {3001, 2, 7}};
    test_random random = test_random_for(504);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int way = 0; way < 4; way++) {
            softmax_case p = {.rank = 3, .axis = i % 2 == 0 ? 1 : 2, .log = way % 2 != 0};
            memcpy(p.shape, shapes[i], sizeof shapes[i]);
            p.backward = way >= 2;
            lay_out(&p, TEST_ROW, false);
            check_type(&p, TENON_DTYPE_F32, &random);
        }
    softmax_case p = {.rank = 1, .shape = {100003}};
    lay_out(&p, TEST_ROW, false);
    check_type(&p, TENON_DTYPE_F32, &random);
}

/* Each special value in every position of a row of 11. */
TEST(special_values)
{
    static const double specials[] = {NAN,  INFINITY, -INFINITY, 6e4,       -6e4, 0,
                                      -0.0, 1e-30,    -103,      -0x1p-126, 3e38, -3e38};
    const int64_t values = sizeof specials / sizeof *specials, size = 11;
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++)
        for (int way = 0; way < 4; way++) {
            softmax_case p = {.rank = 2, .shape = {values * size, size}, .log = way % 2 != 0};
            p.axis = 1;
            lay_out(&p, way >= 2 ? TEST_COL : TEST_ROW, false);
            test_fixture f;
            begin(&f, &p, *type);
            for (int64_t i = 0; i < values * size * size; i++)
                test_set(&f.operands[0], i, (double)(i % 7) / 4);
            for (int64_t v = 0; v < values; v++)
                for (int64_t i = 0; i < size; i++)
                    test_set(&f.operands[0], (v * size + i) * size + i, specials[v]);
            for (int64_t i = 0; i < size; i++) { /* a row of only -inf */
                test_set(&f.operands[0], (2 * size + 3) * size + i, -INFINITY);
                test_set(&f.operands[0], (2 * size + 4) * size + i, i == 5 ? 2 : -INFINITY);
            }
            test_finish(&f, TEST_ALL);
        }
}

TEST(nan_in_a_gradient)
{
    test_random random = test_random_for(505);
    for (int way = 0; way < 8; way++) {
        softmax_case p = {.backward = true, .log = way % 2 != 0, .rank = 2, .shape = {9, 11}};
        test_fixture f;
        p.axis = way / 2 % 2;
        lay_out(&p, TEST_ROW, false);
        begin(&f, &p, TENON_DTYPE_F32);
        fill(&f, &p, &random);
        test_set(&f.operands[way / 4], 25, NAN);
        test_finish(&f, TEST_ALL);
    }
}
