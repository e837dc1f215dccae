/* Tests tenon_prelu_forward and _backward against their references: slopes of every broadcast
 * shape, strides, long sums, in place, without workspace; gradients by finite differences;
 * refusals. */
#include "fixture.h"

#include "ops/prelu/internal.h"
#include "ops/registry.h"

#include <math.h>

/* Bit d of `kept`: slope has dimension d of x, from dimension `lead` on. `same` is the input that
 * is also dx (or y), or -1. */
typedef struct prelu_case {
    bool backward, gap, lead;
    int same;
    uint32_t rank, kept;
    int64_t shape[TENON_MAX_RANK];
    test_layout layout[PRELU_BACKWARD_OPERANDS];
} prelu_case;

/* Derives the shape of slope; returns its rank. */
static uint32_t slope_shape(const prelu_case *p, int64_t *shape)
{
    uint32_t rank = 0;
    for (uint32_t d = 0; d < p->rank; d++)
        if ((p->kept >> d & 1) != 0)
            shape[rank++] = p->shape[d];
        else if (!p->lead || rank > 0)
            shape[rank++] = 1;
    return rank;
}

static void begin(test_fixture *f, const prelu_case *p, tenon_dtype dtype)
{
    const uint32_t count = p->backward ? PRELU_BACKWARD_OPERANDS : PRELU_OPERANDS;
    int64_t shape[TENON_MAX_RANK] = {0};
    const uint32_t rank = slope_shape(p, shape);
    test_begin(f, p->backward ? &tn_operation_prelu_backward : &tn_operation_prelu);
    for (uint32_t i = 0; i < count; i++)
        f->c.views[i] = i == PRELU_SLOPE || i == PRELU_DSLOPE
                            ? test_view(dtype, p->layout[i], p->gap, rank, shape, i + 1)
                            : test_view(dtype, p->layout[i], p->gap, p->rank, p->shape, i + 1);
    if (p->same >= 0 && p->same < (int)count)
        f->c.same[p->same] = 1 + (p->backward ? PRELU_DX : PRELU_Y);
}

/* Checks forward and backward, on reals and on integers. */
static void check(prelu_case p, test_random *random)
{
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++)
        for (int n = 0; n < 4; n++) {
            test_fixture f;
            prelu_case now = p;
            now.backward = n % 2 != 0;
            now.same = now.backward || p.same < PRELU_DY ? p.same : -1;
            begin(&f, &now, *type);
            test_run_fixture(&f, n / 2 == 0 ? TEST_BOUND : TEST_EXACT, TEST_ALL, random);
        }
}

/* Slopes with each subset of the dimensions N C H W; sizes around vectors, groups of vectors and
 * segments. */
TEST(slopes_of_every_shape)
{
    static const prelu_case cases[] = {
        {.rank = 4, .kept = 2, .shape = {2, 5, 7, 9}},
        {.rank = 4, .kept = 2, .lead = true, .shape = {3, 17, 4, 4}},
        {.rank = 2, .kept = 2, .lead = true, .shape = {33, 65}},
        {.rank = 2, .kept = 2, .lead = true, .shape = {7, 15}},
        {.rank = 2, .kept = 1, .shape = {16, 31}},
        {.rank = 2, .kept = 3, .shape = {5, 129}},
        {.rank = 2, .kept = 0, .shape = {9, 63}},
        {.rank = 3, .kept = 0, .lead = true, .shape = {3, 8, 33}},
        {.rank = 3, .kept = 5, .shape = {4, 9, 64}},
        {.rank = 3, .kept = 2, .shape = {1, 3, 1}},
        {.rank = 0, .kept = 0, .shape = {0}},
        {.rank = 1, .kept = 1, .shape = {1}},
        {.rank = 1, .kept = 0, .shape = {17}},
        {.rank = 8, .kept = 0xff, .shape = {2, 2, 2, 2, 2, 2, 2, 2}, .gap = true},
        {.rank = 8, .kept = 0, .shape = {2, 2, 2, 2, 2, 2, 2, 2}, .gap = true},
        {.rank = 8, .kept = 0xaa, .shape = {2, 3, 2, 1, 2, 3, 2, 2}, .gap = true},
    };
    test_random random = test_random_for(711);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        prelu_case p = cases[i];
        p.same = (int)(i % 4) - 1;
        p.same = p.same == PRELU_SLOPE ? -1 : p.same;
        check(p, &random);
        for (int v = 0; v < PRELU_BACKWARD_OPERANDS; v++)
            p.layout[v] = (test_layout)((i + (size_t)v) % TEST_LAYOUTS);
        p.same = -1;
        check(p, &random);
    }
}

/* Several segments along and across the sum, their edges, and partial vectors. */
TEST(long_sums)
{
    static const prelu_case cases[] = {
        {.rank = 1, .kept = 0, .shape = {16385}},
        {.rank = 1, .kept = 0, .shape = {3 * 16384 + 5}},
        {.rank = 2, .kept = 1, .shape = {3, 20001}},
        {.rank = 2, .kept = 2, .lead = true, .shape = {2053, 67}},
        {.rank = 2, .kept = 2, .lead = true, .shape = {24001, 3}},
        {.rank = 2, .kept = 2, .lead = true, .shape = {35, 4099}},
        {.rank = 3, .kept = 5, .shape = {2, 1100, 65}},
        {.rank = 3, .kept = 2, .shape = {5, 3, 4097}},
    };
    test_random random = test_random_for(712);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        prelu_case p = cases[i];
        p.same = (int)(i % 2) - 1;
        check(p, &random);
    }
}

/* slope may be an output if it has the size of x, and dslope an input. */
TEST(slope_in_place)
{
    test_random random = test_random_for(713);
    prelu_case p = {.rank = 2, .kept = 3, .shape = {11, 21}, .same = PRELU_SLOPE};
    check(p, &random);
}

static prelu_case random_case(test_random *random)
{
    prelu_case p = {.gap = test_one_in(random, 2), .lead = test_one_in(random, 2), .same = -1};
    p.rank = test_random_shape(random, p.shape);
    p.kept = (uint32_t)test_between(random, 0, 255) & ((1U << p.rank) - 1);
    for (int i = 0; i < PRELU_BACKWARD_OPERANDS; i++)
        p.layout[i] = (test_layout)test_between(random, 0, TEST_LAYOUTS - 1);
    if (test_one_in(random, 3))
        p.same = test_one_in(random, 2) ? PRELU_X : PRELU_DY;
    return p;
}

TEST(random_problems)
{
    test_random random = test_random_for(714);
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++)
        for (int n = 0; n < test_problems(40); n++) {
            prelu_case p = random_case(&random);
            test_fixture f;
            p.backward = n % 2 != 0;
            p.same = p.backward || p.same < PRELU_DY ? p.same : -1;
            begin(&f, &p, *type);
            test_run_fixture(&f, TEST_BOUND, TEST_ONCE, &random);
        }
}

/* Every pair of x and slope; for the sums of columns each x meets every dy. */
TEST(special_values)
{
    static const double values[] = {0,       -0.0,  1,       -1,       NAN,   INFINITY, -INFINITY,
                                    0x1p-14, -1e30, 0x1p-24, 0x1p-126, 1e-40, -1e-40,   -7};
    const int64_t count = sizeof values / sizeof *values;
    for (int n = 0; n < 4; n++)
        for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++) {
            test_fixture f;
            prelu_case p = {.rank = 2, .same = -1, .shape = {count, count}};
            p.kept = n / 2 == 0 ? 1 : 3;
            p.backward = n % 2 != 0;
            begin(&f, &p, *type);
            test_make(&f);
            for (int64_t i = 0; i < count * count; i++) {
                test_set(&f.operands[PRELU_X], i, values[i % count]);
                if (p.backward)
                    test_set(&f.operands[PRELU_DY], i, i % 5 == 0 ? -0.5 : 2);
            }
            for (int64_t i = 0; i < (p.kept == 1 ? count : count * count); i++)
                test_set(&f.operands[PRELU_SLOPE], i, values[p.kept == 1 ? i : i / count]);
            test_finish(&f, TEST_ALL);
        }
}

/* Without workspace the sums are still computed. */
TEST(without_workspace)
{
    test_random random = test_random_for(715);
    prelu_case p = {.rank = 1, .shape = {100003}, .same = -1, .backward = true};
    tenon_stream *usual = test_stream;
    tenon_memory little;
    test_fixture f;
    assert_ok(tenon_memory_create(test_context, 16, &little));
    test_stream = test_new_stream(test_context);
    assert_ok(tenon_stream_set_workspace(test_stream, &little, 0, 16));
    begin(&f, &p, TENON_DTYPE_F32);
    test_run_fixture(&f, TEST_BOUND, TEST_ONCE, &random);
    tenon_stream_destroy(test_stream);
    test_stream = usual;
    tenon_memory_destroy(&little);
}

/* Values by the header's formulas; sums over an empty x are 0. */
TEST(known_values)
{
    static const float x[2][3] = {{1, -2, 0}, {-3, 4, -5}}, slope[3] = {0.5F, 2, -1};
    static const float y[2][3] = {{1, -4, 0}, {-1.5F, 4, 5}}, dslope[3] = {-3, -2, -5};
    static const float dx[2][3] = {{1, 2, -1}, {0.5F, 1, -1}};
    const float ones[6] = {1, 1, 1, 1, 1, 1};
    const int64_t shape[] = {2, 3};
    float got[6], sums[3];
    tenon_plan *plan;
    tenon_tensor tx = test_dense(TENON_DTYPE_F32, 2, shape, x);
    tenon_tensor ty = test_dense(TENON_DTYPE_F32, 2, shape, NULL);
    tenon_tensor tg = test_dense(TENON_DTYPE_F32, 2, shape, ones);
    tenon_tensor ts = test_dense(TENON_DTYPE_F32, 1, shape + 1, slope);
    tenon_tensor td = test_dense(TENON_DTYPE_F32, 1, shape + 1, NULL);
    assert_ok(tenon_prelu_forward(test_stream, NULL, &tx, &ts, &ty, NULL));
    assert_ok(tenon_tensor_download(test_stream, &ty, got, sizeof got, NULL));
    for (int i = 0; i < 6; i++)
        assert_true(got[i] == y[i / 3][i % 3]);
    assert_ok(tenon_prelu_backward_plan(test_context, NULL, &tx, &ts, &tg, &ty, &td, &plan));
    const tenon_memory memories[] = {tx.memory, ts.memory, tg.memory, ty.memory, td.memory};
    assert_ok(tenon_plan_run(test_stream, plan, memories, 5, NULL));
    tenon_plan_release(plan);
    assert_ok(tenon_tensor_download(test_stream, &ty, got, sizeof got, NULL));
    assert_ok(tenon_tensor_download(test_stream, &td, sums, sizeof sums, NULL));
    for (int i = 0; i < 6; i++)
        assert_true(got[i] == dx[i / 3][i % 3]);
    for (int i = 0; i < 3; i++)
        assert_true(sums[i] == dslope[i]);
    tx.shape[0] = ty.shape[0] = tg.shape[0] = 0;
    assert_ok(tenon_prelu_backward(test_stream, NULL, &tx, &ts, &tg, &ty, &td, NULL));
    assert_ok(tenon_tensor_download(test_stream, &td, sums, sizeof sums, NULL));
    for (int i = 0; i < 3; i++)
        assert_true(sums[i] == 0);
    tx.shape[0] = ty.shape[0] = 2;
    assert_invalid(tenon_prelu_forward(test_stream, NULL, &tx, &tg, &ty, NULL), "slope");
    tg.shape[0] = 2;
    assert_invalid(tenon_prelu_backward(test_stream, NULL, &tx, &ts, &tg, &ty, &ty, NULL),
                   "dslope");
    test_destroy(&tx, &ts, &tg, &ty, &td);
}

/* The gradient of the sum of y·dy with respect to x and the slopes, away from the kink. */
TEST(gradients)
{
    test_random random = test_random_for(716);
    test_fixture y, dx;
    test_begin_line(&y, "prelu x=T:5x3 slope=T:3 y=T:5x3", TENON_DTYPE_F64);
    test_begin_line(&dx, "prelu_backward x=T:5x3 slope=T:3 dy=T:5x3 dx=T:5x3 dslope=T:3",
                    TENON_DTYPE_F64);
    test_fill_gradients(&y, &dx, &random);
    for (int i = 0; i < 15; i++)
        test_set(&y.operands[PRELU_X], i, test_real(&random, 0.1, 2) * (i % 2 == 0 ? 1 : -1));
    test_check_gradients(&y, &dx, 1e-8, 0);
}
