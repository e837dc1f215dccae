/* Tests tenon_cross_entropy_forward and _backward against their references: any axis and strides,
 * out-of-range and ignored labels, in place; gradients by finite differences; refusals. */
#include "fixture.h"

#include "ops/loss/internal.h"
#include "ops/registry.h"

#include <math.h>

typedef struct loss_case {
    bool backward, ignores, without_dloss, in_place;
    uint32_t rank;
    int32_t axis;
    int64_t shape[TENON_MAX_RANK];
    test_layout layout;
    bool gap;
    double scale;
} loss_case;

static uint32_t axis_of(const loss_case *p)
{
    return (uint32_t)(p->axis < 0 ? p->axis + (int32_t)p->rank : p->axis);
}

static void begin(test_fixture *f, const loss_case *p, tenon_dtype dtype)
{
    int64_t rows[TENON_MAX_RANK];
    uint32_t rank = 0;
    test_begin(f, p->backward ? &tn_operation_cross_entropy_backward : &tn_operation_cross_entropy);
    tenon_cross_entropy_params *params = test_params(f, tenon_cross_entropy_params);
    params->axis = p->axis;
    params->flags = p->ignores ? TENON_CROSS_ENTROPY_IGNORE : 0;
    params->ignore_label = -7;
    params->scale = p->scale;
    for (uint32_t d = 0; d < p->rank; d++)
        if (d != axis_of(p))
            rows[rank++] = p->shape[d];
    for (uint32_t i = 0; i < f->c.operation->operand_count; i++)
        f->c.views[i] = i == CROSS_ENTROPY_LOGITS || i == CROSS_ENTROPY_DLOGITS
                            ? test_view(dtype, p->layout, p->gap, p->rank, p->shape, 2)
                            : test_view(i == CROSS_ENTROPY_LABELS ? TENON_DTYPE_I32 : dtype,
                                        p->layout, p->gap, rank, rows, 2);
    if (p->backward && p->without_dloss)
        f->c.views[CROSS_ENTROPY_DLOSS].dtype = TENON_DTYPE_INVALID;
    if (p->backward && p->in_place)
        f->c.same[CROSS_ENTROPY_LOGITS] = 1 + CROSS_ENTROPY_DLOGITS;
}

/* Runs a case. Some labels are out of range or ignored. */
static void run(const loss_case *p, tenon_dtype dtype, test_extent extent, test_random *random)
{
    static const double wrong[] = {-1, -7, INT32_MAX, INT32_MIN};
    const int64_t classes = p->shape[axis_of(p)];
    test_fixture f;
    begin(&f, p, dtype);
    test_make(&f);
    test_fill_inputs(&f, TEST_BOUND, random);
    test_tensor *x = test_operand(&f, CROSS_ENTROPY_LOGITS),
                *labels = test_operand(&f, CROSS_ENTROPY_LABELS);
    for (int64_t i = 0; i < tenon_tensor_elements(&x->view); i++)
        test_set(x, i, test_real(random, -10, 10));
    for (int64_t i = 0; i < tenon_tensor_elements(&labels->view); i++) {
        double label = (double)test_between(random, 0, classes - 1);
        if (test_one_in(random, 6))
            label = test_one_in(random, 5) ? (double)classes : wrong[test_between(random, 0, 3)];
        test_set(labels, i, label);
    }
    test_finish(&f, extent);
}

static void check(loss_case p, test_random *random)
{
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++)
        for (int way = 0; way < 2; way++) {
            p.backward = way == 1;
            run(&p, *type, TEST_ALL, random);
        }
}

TEST(shapes)
{
    static const int64_t sizes[] = {1, 2, 3, 7, 8, 9, 16, 17, 33};
    test_random random = test_random_for(511);
    for (int n = 0; n < 36; n++) {
        loss_case p = {.rank = (uint32_t)test_between(&random, 1, 4),
                       .ignores = n % 2 != 0,
                       .without_dloss = n % 3 == 0,
                       .in_place = n % 4 == 1,
                       .layout = (test_layout)(n % TEST_LAYOUTS),
                       .gap = n % 5 == 2,
                       .scale = n % 3 == 1 ? 1 : 0.1};
        p.axis = (int32_t)test_between(&random, -(int64_t)p.rank, (int64_t)p.rank - 1);
        for (uint32_t d = 0; d < p.rank; d++)
            p.shape[d] = d < 2 ? sizes[test_between(&random, 0, 8)] : test_between(&random, 1, 4);
        check(p, &random);
    }
}

static loss_case random_case(test_random *random)
{
    loss_case p = {.backward = test_one_in(random, 2),
                   .ignores = test_one_in(random, 2),
                   .without_dloss = test_one_in(random, 2),
                   .in_place = test_one_in(random, 2),
                   .rank = (uint32_t)test_between(random, 1, 6),
                   .layout = (test_layout)test_between(random, 0, TEST_LAYOUTS - 1),
                   .gap = test_one_in(random, 2),
                   .scale = test_real(random, -2, 2)};
    p.axis = (int32_t)test_between(random, -(int64_t)p.rank, (int64_t)p.rank - 1);
    for (uint32_t d = 0; d < p.rank; d++)
        p.shape[d] = test_between(random, 1, p.rank > 4 ? 3 : test_one_in(random, 3) ? 70 : 6);
    return p;
}

TEST(random_problems)
{
    test_random random = test_random_for(514);
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++)
        for (int n = 0; n < test_problems(40); n++) {
            const loss_case p = random_case(&random);
            run(&p, *type, TEST_ONCE, &random);
        }
}

TEST(large)
{
    test_random random = test_random_for(512);
    loss_case p = {.rank = 2, .axis = 1, .shape = {131, 1000}, .scale = 1};
    check(p, &random);
    p = (loss_case){.rank = 3, .axis = 1, .shape = {2, 21, 4001}, .scale = 1, .ignores = true};
    check(p, &random);
}

/* Values by the header: uniform logits give log 3, a label out of range NaN, an ignored one 0. */
TEST(known_values)
{
    static const float x[4][3] = {{5, 5, 5}, {5, 5, 5}, {NAN, 5, 5}, {0, -INFINITY, 0}};
    static const int32_t labels[4] = {2, 3, -100, 1};
    const int64_t shape[] = {4, 3};
    float y[4], dx[4][3];
    tenon_cross_entropy_params params =
        tenon_cross_entropy_params(.flags = TENON_CROSS_ENTROPY_IGNORE, .ignore_label = -100);
    tenon_tensor tx = test_dense(TENON_DTYPE_F32, 2, shape, x);
    tenon_tensor tdx = test_dense(TENON_DTYPE_F32, 2, shape, NULL);
    tenon_tensor tl = test_dense(TENON_DTYPE_I32, 1, shape, labels);
    tenon_tensor ty = test_dense(TENON_DTYPE_F32, 1, shape, NULL);
    assert_ok(tenon_cross_entropy_forward(test_stream, &params, &tx, &tl, &ty, NULL));
    assert_ok(tenon_cross_entropy_backward(test_stream, &params, &tx, &tl, NULL, &tdx, NULL));
    assert_ok(tenon_tensor_download(test_stream, &ty, y, sizeof y, NULL));
    assert_ok(tenon_tensor_download(test_stream, &tdx, dx, sizeof dx, NULL));
    assert_true(fabs(y[0] - log(3)) < 1e-6 && isnan(y[1]) && y[2] == 0 && isinf(y[3]) && y[3] > 0);
    assert_true(fabs(dx[0][0] - 1. / 3) < 1e-6 && fabs(dx[0][2] + 2. / 3) < 1e-6);
    for (int i = 0; i < 3; i++)
        assert_true(isnan(dx[1][i]) && dx[2][i] == 0);
    tenon_tensor inside = ty;
    inside.memory = tx.memory;
    assert_invalid(tenon_cross_entropy_forward(test_stream, NULL, &tx, &tl, &inside, NULL),
                   "overlap");
    test_destroy(&tx, &tdx, &tl, &ty);
}

TEST(wrong_calls)
{
    static const test_refusal refusals[] = {
        {"cross_entropy logits=T:4x3 labels=i32:4 loss=T:4 axis=2", "axis"},
        {"cross_entropy logits=T:4x3 labels=i32:4 loss=T:4 axis=0", "labels"},
        {"cross_entropy logits=T:4x3 labels=T:4 loss=T:4", "labels", TENON_ERROR_UNSUPPORTED},
        {"cross_entropy_backward logits=T:4x3 labels=i32:4 dloss=T:4x3 dlogits=T:4x3", "dloss"},
        {"cross_entropy logits=T:4x0 labels=i32:4 loss=T:4", "class"},
    };
    TEST_REFUSE(refusals);
}

/* A plan without dloss, run in place, gives the same bits as the immediate call. */
TEST(plans)
{
    static const float x[2][3] = {{1, 2, 3}, {-1, 0, 4}};
    static const int32_t labels[2] = {1, 2};
    const int64_t shape[] = {2, 3};
    float dx[2][3], again[2][3];
    tenon_plan *plan;
    tenon_tensor tx = test_dense(TENON_DTYPE_F32, 2, shape, x);
    tenon_tensor tdx = test_dense(TENON_DTYPE_F32, 2, shape, NULL);
    tenon_tensor tl = test_dense(TENON_DTYPE_I32, 1, shape, labels);
    assert_ok(tenon_cross_entropy_backward(test_stream, NULL, &tx, &tl, NULL, &tdx, NULL));
    assert_ok(tenon_tensor_download(test_stream, &tdx, dx, sizeof dx, NULL));
    assert_ok(tenon_cross_entropy_backward_plan(test_context, NULL, &tx, &tl, NULL, &tdx, &plan));
    const tenon_memory memories[] = {tx.memory, tl.memory, {0}, tx.memory};
    assert_ok(tenon_plan_run(test_stream, plan, memories, 4, NULL));
    assert_ok(tenon_tensor_download(test_stream, &tx, again, sizeof again, NULL));
    assert_memory_equal(dx, again, sizeof dx);
    tenon_plan_release(plan);
    test_destroy(&tx, &tdx, &tl);
}

TEST(gradients)
{
    static const int32_t labels[3] = {4, 0, 2};
    test_random random = test_random_for(513);
    test_fixture loss, dx;
    test_begin_line(&loss, "cross_entropy logits=T:3x5 labels=i32:3 loss=T:3", TENON_DTYPE_F64);
    test_begin_line(&dx, "cross_entropy_backward logits=T:3x5 labels=i32:3 dloss=T:3 dlogits=T:3x5",
                    TENON_DTYPE_F64);
    test_fill_gradients(&loss, &dx, &random);
    for (int i = 0; i < 3; i++)
        test_set(&loss.operands[CROSS_ENTROPY_LABELS], i, labels[i]);
    test_check_gradients(&loss, &dx, 1e-8, 0);
}
