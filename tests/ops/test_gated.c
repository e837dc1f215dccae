/* tenon_gated_forward and _backward against their references: every kind of activation, shapes and
 * strides, halves of one tensor, in place; gradients against finite differences; refusals. */
#include "support.h"

#include "ops/gated/internal.h"
#include "ops/registry.h"

#include <math.h>

#define KINDS (TENON_ACTIVATION_SQUARE + 1)

/* `same` is the input that is the first output, or -1; `same_second` that which is db. */
typedef struct gated_case {
    tenon_activation activation;
    bool backward, gap;
    int same, same_second;
    uint32_t rank;
    int64_t shape[TENON_MAX_RANK];
    test_layout layout[GATED_BACKWARD_OPERANDS];
    uint32_t broadcast; /* bit i: input i repeats along the first dimension */
} gated_case;

typedef struct gated_data {
    gated_case problem;
    tenon_dtype dtype;
    uint32_t count;
    test_tensor operands[GATED_BACKWARD_OPERANDS];
} gated_data;

static const char *describe(const void *user)
{
    static char text[512];
    const gated_data *data = user;
    const gated_case *p = &data->problem;
    char shape[160];
    snprintf(text, sizeof text,
             "%s %s, activation %u, shape %s, layouts %d %d %d %d %d%s, broadcast %#x, same %d %d",
             tenon_dtype_string(data->dtype), p->backward ? "backward" : "forward",
             p->activation.kind, tn_shape_text(p->rank, p->shape, shape), (int)p->layout[0],
             (int)p->layout[1], (int)p->layout[2], (int)p->layout[3], (int)p->layout[4],
             p->gap ? " with gaps" : "", p->broadcast, p->same, p->same_second);
    return text;
}

/* An input may be one of the outputs. */
static const test_tensor *operand(const gated_data *data, uint32_t i)
{
    const gated_case *p = &data->problem;
    if ((int)i == p->same)
        return &data->operands[p->backward ? GATED_DA : GATED_Y];
    if (p->backward && (int)i == p->same_second)
        return &data->operands[GATED_DB];
    return &data->operands[i];
}

static tenon_status call(const void *user, const char *solver)
{
    const gated_data *data = user;
    tenon_gated_params params = TENON_GATED_PARAMS_INIT;
    const tenon_tensor *v[GATED_BACKWARD_OPERANDS] = {0};
    params.activation = data->problem.activation;
    params.solver = solver;
    for (uint32_t i = 0; i < data->count; i++)
        v[i] = &operand(data, i)->view;
    return data->problem.backward
               ? test_call(&tn_operation_gated_backward, &params, v[0], v[1], v[2], v[3], v[4])
               : test_call(&tn_operation_gated, &params, v[0], v[1], v[2]);
}

static void make(gated_data *data, const gated_case *p, tenon_dtype dtype)
{
    *data = (gated_data){.problem = *p,
                         .dtype = dtype,
                         .count = p->backward ? GATED_BACKWARD_OPERANDS : GATED_OPERANDS};
    for (uint32_t i = 0; i < data->count; i++) {
        int64_t stride[TENON_MAX_RANK];
        if (operand(data, i) != &data->operands[i])
            continue;
        test_strides(p->layout[i], p->gap, p->rank, p->shape, stride);
        if (p->rank > 0 && i < data->count - (p->backward ? 2 : 1) && (p->broadcast >> i & 1) != 0)
            stride[0] = 0;
        test_tensor_create(&data->operands[i], dtype, p->rank, p->shape, stride, i + 1);
    }
}

static void run(gated_data *data, test_judge judge, bool all)
{
    const gated_case *p = &data->problem;
    const uint32_t outputs = p->backward ? GATED_GRADIENTS : 1;
    tenon_gated_params params = TENON_GATED_PARAMS_INIT;
    const tenon_tensor *v[GATED_DY + 1];
    params.activation = p->activation;
    for (uint32_t i = 0; i < (p->backward ? 3 : 2); i++)
        v[i] = &operand(data, i)->host;
    size_t count = (size_t)tenon_tensor_elements(v[0]) * outputs;
    tn_bounded *expected = malloc((count + 1) * sizeof *expected);
    assert_non_null(expected);
    assert_true(
        (p->backward ? tn_gated_backward_reference : tn_gated_reference)(&params, v, expected));
    const test_subject subject = {.family =
                                      p->backward ? &tn_gated_backward_family : &tn_gated_family,
                                  .call = call,
                                  .describe = describe,
                                  .data = data,
                                  .operands = data->operands,
                                  .operand_count = data->count,
                                  .expected = expected,
                                  .judge = judge,
                                  .outputs = outputs};
    if (all)
        test_run_all(&subject);
    else
        test_run_once(&subject);
    for (uint32_t i = 0; i < data->count; i++)
        if (data->operands[i].image != NULL)
            test_tensor_destroy(&data->operands[i]);
    free(expected);
}

static void fill(gated_data *data, test_judge judge, test_random *random)
{
    for (uint32_t i = 0; i < (data->problem.backward ? 3 : 2); i++) {
        test_tensor *x = (test_tensor *)(uintptr_t)operand(data, i);
        if (judge == TEST_EXACT)
            test_fill_integers(x, random, 3);
        for (int64_t n = 0; judge == TEST_BOUND && n < tenon_tensor_elements(&x->view); n++)
            test_set(x, n, test_real(random, -6, 6));
    }
}

/* Forward and backward. Where an activation of integers is an integer, small ones bit for bit. */
static void check(gated_case p, test_random *random)
{
    const bool exact = p.activation.kind <= TENON_ACTIVATION_RELU;
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++)
        for (int n = 0; n < (exact ? 4 : 2); n++) {
            gated_data data;
            p.backward = n % 2 != 0;
            p.same = p.backward || p.same < GATED_DY ? p.same : -1;
            make(&data, &p, *type);
            fill(&data, n / 2 == 0 ? TEST_BOUND : TEST_EXACT, random);
            run(&data, n / 2 == 0 ? TEST_BOUND : TEST_EXACT, true);
        }
}

static gated_case dense(uint32_t kind, int64_t size)
{
    return (gated_case){.activation = {.kind = kind, .alpha = 0.25, .beta = 0.75},
                        .same = -1,
                        .same_second = -1,
                        .rank = 1,
                        .shape = {size}};
}

/* The gates that have names; tests of shapes need not compile more. */
static uint32_t usual(int64_t n)
{
    static const uint32_t kinds[] = {TENON_ACTIVATION_RELU, TENON_ACTIVATION_SIGMOID,
                                     TENON_ACTIVATION_SILU, TENON_ACTIVATION_IDENTITY};
    return kinds[n % 4];
}

static void every_activation(void **state)
{
    test_random random = test_random_for(701);
    (void)state;
    for (uint32_t kind = 0; kind < KINDS; kind++) {
        gated_case p = dense(kind, 1000);
        gated_data data;
        for (int n = 0; n < 2; n++) {
            p.backward = n != 0;
            make(&data, &p, TENON_DTYPE_F32);
            fill(&data, TEST_BOUND, &random);
            run(&data, TEST_BOUND, true);
        }
    }
}

static void sizes_around_vectors(void **state)
{
    static const int64_t sizes[] = {0,  1,  2,  3,  4,  5,   7,    8,    9,    15,   16,
                                    17, 31, 33, 64, 65, 127, 8191, 8192, 8193, 16385};
    test_random random = test_random_for(702);
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        gated_case p = dense(usual((int64_t)i), sizes[i]);
        p.same = (int)(i % 4) - 1;
        p.same_second = (int)(i % 3) == p.same ? -1 : (int)(i % 3);
        check(p, &random);
    }
}

static gated_case random_case(test_random *random)
{
    gated_case p = dense(usual(test_between(random, 0, 3)), 0);
    p.gap = test_one_in(random, 2);
    p.rank = (uint32_t)test_between(random, 0, TENON_MAX_RANK);
    for (uint32_t d = 0; d < p.rank; d++)
        p.shape[d] = test_between(random, 1, p.rank > 4 ? 3 : test_one_in(random, 3) ? 40 : 6);
    for (int i = 0; i < GATED_BACKWARD_OPERANDS; i++)
        p.layout[i] = (test_layout)test_between(random, 0, TEST_LAYOUTS - 1);
    p.broadcast = (uint32_t)test_between(random, 0, 7);
    if (test_one_in(random, 2))
        p.same = (int)test_between(random, 0, 2);
    if (test_one_in(random, 2) && p.same != 1)
        p.same_second = 1;
    return p;
}

static void random_problems(void **state)
{
    test_random random = test_random_for(703);
    (void)state;
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++)
        for (int n = 0; n < test_problems(40); n++) {
            gated_case p = random_case(&random);
            gated_data data;
            p.backward = n % 2 != 0;
            p.same = p.backward || p.same < GATED_DY ? p.same : -1;
            make(&data, &p, *type);
            fill(&data, TEST_BOUND, &random);
            run(&data, TEST_BOUND, false);
        }
}

/* Every pair of them. Cells where a function overflows are left to activation's own tests. */
static void special_values(void **state)
{
    static const double values[] = {0,       -0.0,    1,        -1,      NAN,  INFINITY, -INFINITY,
                                    0x1p-14, 0x1p-24, 1e-30,    0.1,     3,    -7,       50,
                                    -100,    1e-40,   0x1p-126, 60000.0, -1e30};
    const int64_t count = sizeof values / sizeof *values;
    (void)state;
    for (int n = 0; n < 8; n++)
        for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++) {
            gated_case p = dense(usual(n), count * count);
            gated_data data;
            p.backward = n >= 4;
            make(&data, &p, *type);
            for (int64_t i = 0; i < count * count; i++) {
                test_set(&data.operands[GATED_A], i, values[i / count]);
                test_set(&data.operands[GATED_B], i, values[i % count]);
                if (p.backward)
                    test_set(&data.operands[GATED_DY], i, i % 3 == 0 ? -2 : 0.5);
            }
            run(&data, TEST_BOUND, true);
        }
}

static void large(void **state)
{
    test_random random = test_random_for(704);
    gated_case p = dense(TENON_ACTIVATION_SILU, 0);
    gated_data data;
    (void)state;
    p.rank = 2;
    p.shape[0] = 517;
    p.shape[1] = 1021;
    for (int n = 0; n < 2; n++) {
        p.backward = n != 0;
        make(&data, &p, TENON_DTYPE_F32);
        fill(&data, TEST_BOUND, &random);
        run(&data, TEST_BOUND, true);
    }
}

/* GLU of the two halves of one tensor, as PyTorch has it, and the gradient into the two halves of
 * another; by plans, too. */
static void halves(void **state)
{
    static const float x[2][4] = {{1, -2, 0, 30}, {3, 0.5F, -200, 0}};
    static const float wanted[2][2] = {{0.5F, -2}, {0, 0.25F}};
    static const float gradient[2][4] = {{0.5F, 1, 0.25F, 0}, {0, 0.5F, 0, 0.125F}};
    const int64_t shape[] = {2, 4}, half[] = {2, 2};
    tenon_tensor tx, tdx, ty, tdy;
    float y[2][2], dx[2][4], ones[4] = {1, 1, 1, 1};
    tenon_plan *plan;
    (void)state;
    assert_ok(tenon_tensor_create(test_context, TENON_DTYPE_F32, 2, shape, &tx));
    assert_ok(tenon_tensor_create(test_context, TENON_DTYPE_F32, 2, shape, &tdx));
    assert_ok(tenon_tensor_create(test_context, TENON_DTYPE_F32, 2, half, &ty));
    assert_ok(tenon_tensor_create(test_context, TENON_DTYPE_F32, 2, half, &tdy));
    assert_ok(tenon_tensor_upload(test_stream, x, sizeof x, &tx, NULL));
    assert_ok(tenon_tensor_upload(test_stream, ones, sizeof ones, &tdy, NULL));
    const tenon_tensor a = tenon_tensor_slice(tx, 1, 0, 2), b = tenon_tensor_slice(tx, 1, 2, 2);
    const tenon_tensor da = tenon_tensor_slice(tdx, 1, 0, 2), db = tenon_tensor_slice(tdx, 1, 2, 2);
    for (int way = 0; way < 2; way++) {
        if (way == 0) {
            assert_ok(tenon_gated_forward(test_stream, NULL, &a, &b, &ty, NULL));
            assert_ok(tenon_gated_backward(test_stream, NULL, &a, &b, &tdy, &da, &db, NULL));
        } else {
            const tenon_memory forward[] = {tx.memory, tx.memory, ty.memory};
            const tenon_memory backward[] = {tx.memory, tx.memory, tdy.memory, tdx.memory,
                                             tdx.memory};
            assert_ok(tenon_gated_forward_plan(test_context, NULL, &a, &b, &ty, &plan));
            assert_ok(tenon_plan_run(test_stream, plan, forward, 3, NULL));
            tenon_plan_release(plan);
            assert_ok(tenon_gated_backward_plan(test_context, NULL, &a, &b, &tdy, &da, &db, &plan));
            assert_ok(tenon_plan_run(test_stream, plan, backward, 5, NULL));
            tenon_plan_release(plan);
        }
        assert_ok(tenon_tensor_download(test_stream, &ty, y, sizeof y, NULL));
        assert_ok(tenon_tensor_download(test_stream, &tdx, dx, sizeof dx, NULL));
        for (int i = 0; i < 4; i++)
            assert_true(fabs(y[i / 2][i % 2] - wanted[i / 2][i % 2]) < 1e-6);
        for (int i = 0; i < 8; i++)
            assert_true(fabs(dx[i / 4][i % 4] - gradient[i / 4][i % 4]) < 1e-6);
    }
    tenon_memory_destroy(&tx.memory);
    tenon_memory_destroy(&tdx.memory);
    tenon_memory_destroy(&ty.memory);
    tenon_memory_destroy(&tdy.memory);
}

static tenon_tensor on_host(int64_t count, double *values)
{
    tenon_tensor view = tenon_tensor_view(TENON_DTYPE_F64, 1, &count);
    view.memory = (tenon_memory){.kind = TENON_MEMORY_SVM, .u.svm = values};
    return view;
}

/* Of the sum of y·w, with respect to a and to b, away from the kinks. */
static void gradients(void **state)
{
    enum { COUNT = 12 };
    const double h = 1e-5;
    test_random random = test_random_for(705);
    double x[2][COUNT], w[COUNT];
    tn_bounded slopes[2][COUNT], above[COUNT], below[COUNT];
    const tenon_tensor a = on_host(COUNT, x[0]), b = on_host(COUNT, x[1]), dy = on_host(COUNT, w);
    const tenon_tensor *const views[] = {&a, &b, &dy};
    (void)state;
    for (uint32_t kind = 0; kind < KINDS; kind++) {
        tenon_gated_params params = TENON_GATED_PARAMS_INIT;
        params.activation = (tenon_activation){.kind = kind, .alpha = 0.3, .beta = 0.9};
        for (int i = 0; i < COUNT; i++) {
            x[0][i] = test_real(&random, -2, 2);
            x[1][i] = 0.31 * (i - 6) + 0.07;
            w[i] = test_real(&random, -2, 2);
        }
        assert_true(tn_gated_backward_reference(&params, views, slopes[0]));
        for (int way = 0; way < 2; way++)
            for (int i = 0; i < COUNT; i++) {
                const double at = x[way][i];
                x[way][i] = at + h;
                assert_true(tn_gated_reference(&params, views, above));
                x[way][i] = at - h;
                assert_true(tn_gated_reference(&params, views, below));
                x[way][i] = at;
                double slope = w[i] * (above[i].value - below[i].value) / (2 * h);
                if (fabs(slope - slopes[way][i].value) > 1e-7)
                    fail_msg(
                        "kind %u, element %d of %s: the gradient is %g, the difference says %g",
                        kind, i, way == 0 ? "a" : "b", slopes[way][i].value, slope);
            }
    }
}

/* What the tests of every operation do not try. */
static void bad_input(void **state)
{
    const int64_t shape[] = {4, 6};
    tenon_tensor v[5];
    tenon_gated_params params = tenon_gated_params_default();
    (void)state;
    for (int i = 0; i < 5; i++)
        assert_ok(tenon_tensor_create(test_context, TENON_DTYPE_F32, 2, shape, &v[i]));
    params.activation.kind = KINDS;
    assert_refused(tenon_gated_forward(test_stream, &params, &v[0], &v[1], &v[2], NULL),
                   TENON_ERROR_INVALID_ARGUMENT, "tenon_gated_forward", "activation kind is 21");
    params.activation.kind = TENON_ACTIVATION_CELU;
    assert_refused(
        tenon_gated_backward(test_stream, &params, &v[0], &v[1], &v[2], &v[3], &v[4], NULL),
        TENON_ERROR_INVALID_ARGUMENT, "tenon_gated_backward", "celu");
    assert_refused(tenon_gated_backward(test_stream, NULL, &v[0], &v[1], &v[2], &v[3], &v[3], NULL),
                   TENON_ERROR_INVALID_ARGUMENT, "tenon_gated_backward", "db");
    const tenon_tensor row = tenon_tensor_slice(v[1], 0, 0, 1);
    assert_refused(tenon_gated_forward(test_stream, NULL, &v[0], &row, &v[2], NULL),
                   TENON_ERROR_INVALID_ARGUMENT, "tenon_gated_forward", "b: shape is 1x6");
    for (int i = 0; i < 5; i++)
        tenon_memory_destroy(&v[i].memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(halves),
        cmocka_unit_test(gradients),
        cmocka_unit_test(bad_input),
        cmocka_unit_test(special_values),
        cmocka_unit_test(sizes_around_vectors),
        cmocka_unit_test(random_problems),
        cmocka_unit_test(large),
        cmocka_unit_test(every_activation),
    };
    return TEST_MAIN(tests);
}
