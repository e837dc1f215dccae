/* tenon_elementwise and tenon_copy: values, broadcasts, strides, aliasing, every pair of types. */
#include "support.h"

#include "base/dtype.h"
#include "ops/elementwise/internal.h"
#include "ops/registry.h"

#include <math.h>

#define KINDS (TENON_ELEMENTWISE_SCALE_ADD + 1)

/* Strides of 0 in a and b broadcast; `same` is the operand that is d, or -1. */
typedef struct elementwise_case {
    tenon_elementwise_params params;
    uint32_t rank;
    int64_t shape[TENON_MAX_RANK];
    int64_t stride[ELEMENTWISE_OPERANDS][TENON_MAX_RANK];
    int64_t offset;
    bool a_is_d, b_is_d;
} elementwise_case;

typedef struct elementwise_data {
    elementwise_case problem;
    tenon_dtype dtype;
    test_tensor operands[ELEMENTWISE_OPERANDS];
    bool once; /* the automatic choice alone */
} elementwise_data;

static const char *describe(const void *user)
{
    static char text[1024];
    const elementwise_data *data = user;
    const elementwise_case *p = &data->problem;
    char shape[160], a[160], b[160], d[160];
    snprintf(text, sizeof text,
             "%s kind %u (%g, %g), shape %s, strides a %s b %s d %s, offset %lld%s%s",
             tenon_dtype_string(data->dtype), p->params.kind, p->params.alpha, p->params.beta,
             tn_shape_text(p->rank, p->shape, shape), tn_shape_text(p->rank, p->stride[0], a),
             tn_shape_text(p->rank, p->stride[1], b), tn_shape_text(p->rank, p->stride[2], d),
             (long long)p->offset, p->a_is_d ? ", a is d" : "", p->b_is_d ? ", b is d" : "");
    return text;
}

static const test_tensor *operand(const elementwise_data *data, int number)
{
    bool is_d = number == ELEMENTWISE_A   ? data->problem.a_is_d
                : number == ELEMENTWISE_B ? data->problem.b_is_d
                                          : true;
    return &data->operands[is_d ? ELEMENTWISE_D : number];
}

static tenon_status call(const void *user, const char *solver)
{
    const elementwise_data *data = user;
    tenon_elementwise_params params = data->problem.params;
    params.solver = solver;
    return test_call(&tn_operation_elementwise, &params, &operand(data, ELEMENTWISE_A)->view,
                     &operand(data, ELEMENTWISE_B)->view, &data->operands[ELEMENTWISE_D].view);
}

static void make(elementwise_data *data, const elementwise_case *p, tenon_dtype dtype)
{
    const bool absent[] = {p->a_is_d, p->b_is_d, false};
    *data = (elementwise_data){.problem = *p, .dtype = dtype};
    for (int i = 0; i < ELEMENTWISE_OPERANDS; i++)
        if (!absent[i])
            test_tensor_create(&data->operands[i], dtype, p->rank, p->shape, p->stride[i],
                               p->offset);
}

static void run(elementwise_data *data, test_judge judge)
{
    const tenon_tensor *d = &data->operands[ELEMENTWISE_D].host,
                       *const v[] = {&operand(data, ELEMENTWISE_A)->host,
                                     &operand(data, ELEMENTWISE_B)->host, d};
    tn_bounded *expected = malloc(((size_t)tenon_tensor_elements(d) + 1) * sizeof *expected);
    assert_non_null(expected);
    assert_true(tn_elementwise_reference(&data->problem.params, v, expected));
    const test_subject subject = {&tn_elementwise_family, call,     describe, data, data->operands,
                                  ELEMENTWISE_OPERANDS,   expected, judge};
    (data->once ? test_run_once : test_run_all)(&subject);
    for (int i = 0; i < ELEMENTWISE_OPERANDS; i++)
        if (data->operands[i].image != NULL)
            test_tensor_destroy(&data->operands[i]);
    free(expected);
}

/* Reals within the bound, and small integers bit for bit, which a division may miss. */
static void check(const elementwise_case *p, test_random *random)
{
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++)
        for (int judge = TEST_BOUND; judge <= TEST_EXACT; judge++) {
            elementwise_data data;
            if (judge == TEST_EXACT && p->params.kind == TENON_ELEMENTWISE_DIVIDE)
                continue;
            make(&data, p, *type);
            for (int i = 0; i < ELEMENTWISE_OPERANDS; i++)
                if (data.operands[i].image != NULL &&
                    (i != ELEMENTWISE_D || p->a_is_d || p->b_is_d))
                    test_fill(&data.operands[i], (test_judge)judge, random);
            run(&data, (test_judge)judge);
        }
}

static elementwise_case dense(uint32_t kind, int64_t size)
{
    elementwise_case p = {.params = TENON_ELEMENTWISE_PARAMS_INIT,
                          .rank = 1,
                          .shape = {size},
                          .stride = {{1}, {1}, {1}}};
    p.params.kind = kind;
    p.params.alpha = 2;
    p.params.beta = -3;
    return p;
}

/* By the header's formulas, not by the reference; with the defaults and broadcasting shapes. */
static void known_values(void **state)
{
    static const float a[] = {6, -2, 0.5F, 8}, b[] = {2, -4};
    static const float d[KINDS][8] = {
        {8, 0, 2.5F, 10, 2, -6, -3.5F, 4}, {4, -4, -1.5F, 6, 10, 2, 4.5F, 12},
        {12, -4, 1, 16, -24, 8, -2, -32},  {3, -1, 0.25F, 4, -1.5F, 0.5F, -0.125F, -2},
        {6, 2, 2, 8, 6, -2, 0.5F, 8},      {2, -2, 0.5F, 2, -4, -4, -4, -4},
        {13, -3, 2, 17, 10, -6, -1, 14},
    };
    const int64_t a_shape[] = {4}, b_shape[] = {2, 1}, d_shape[] = {2, 4};
    tenon_tensor at, bt, dt;
    float got[8];
    (void)state;
    assert_ok(tenon_tensor_create(test_context, TENON_DTYPE_F32, 1, a_shape, &at));
    assert_ok(tenon_tensor_create(test_context, TENON_DTYPE_F32, 2, b_shape, &bt));
    assert_ok(tenon_tensor_create(test_context, TENON_DTYPE_F32, 2, d_shape, &dt));
    assert_ok(tenon_tensor_upload(test_stream, a, sizeof a, &at, NULL));
    assert_ok(tenon_tensor_upload(test_stream, b, sizeof b, &bt, NULL));
    for (uint32_t kind = 0; kind < KINDS; kind++) {
        tenon_elementwise_params params = tenon_elementwise_params_default();
        params.kind = kind;
        params.alpha = 2;
        params.beta = 0.5;
        assert_ok(tenon_elementwise(test_stream, kind == 0 ? NULL : &params, &at, &bt, &dt, NULL));
        assert_ok(tenon_tensor_download(test_stream, &dt, got, sizeof got, NULL));
        for (int i = 0; i < 8; i++)
            if (got[i] != d[kind][i])
                fail_msg("kind %u, element %d is %g, must be %g", kind, i, (double)got[i],
                         (double)d[kind][i]);
    }
    tenon_memory_destroy(&at.memory);
    tenon_memory_destroy(&bt.memory);
    tenon_memory_destroy(&dt.memory);
}

/* Every pair of them, so that each meets NaN and infinity on either side. */
static void special_values(void **state)
{
    static const double values[] = {0,         -0.0,    1,       -1,    NAN,  INFINITY,
                                    -INFINITY, 0x1p-14, 0x1p-24, 1e-30, 0.1,  0x1p-126,
                                    3,         -7,      60000,   -1e30, 1e38, 1e-40};
    const int64_t count = sizeof values / sizeof *values;
    (void)state;
    for (uint32_t kind = 0; kind < KINDS + 4; kind++)
        for (const tenon_dtype *type = test_float_types(); *type != 0; type++) {
            elementwise_case p = dense(kind < KINDS ? kind : KINDS - 1, 0);
            elementwise_data data;
            p.rank = 2;
            p.shape[0] = p.shape[1] = count;
            p.stride[0][0] = p.stride[2][0] = count;
            p.stride[0][1] = p.stride[2][1] = 1;
            p.stride[1][0] = count;
            p.stride[1][1] = 1;
            if (kind >= KINDS) { /* coefficients of 0, whose operand must not count */
                p.params.alpha = (kind - KINDS) % 2 == 0 ? 0 : 1.5;
                p.params.beta = (kind - KINDS) / 2 == 0 ? 0 : -0.25;
                p.offset = 3; /* constants stored where no vector is aligned */
            }
            make(&data, &p, *type);
            for (int64_t i = 0; i < count * count; i++) {
                test_set(&data.operands[ELEMENTWISE_A], i, values[i / count]);
                test_set(&data.operands[ELEMENTWISE_B], i, values[i % count]);
            }
            run(&data, TEST_BOUND);
        }
}

static void sizes_around_vectors(void **state)
{
    static const int64_t sizes[] = {0,  1,  2,  3,  4,  5,   7,    8,    9,    15,   16,   17,
                                    31, 33, 63, 64, 65, 127, 1025, 8191, 8192, 8193, 16385};
    test_random random = test_random_for(501);
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int same = 0; same < 4; same++) {
            elementwise_case p = dense((uint32_t)(i + (size_t)same) % KINDS, sizes[i]);
            p.a_is_d = (same & 1) != 0;
            p.b_is_d = (same & 2) != 0;
            p.offset = (int64_t)i % 5;
            if (sizes[i] < 1000 || same == 0)
                check(&p, &random);
        }
}

/* Every combination of strides of 0 in rows long and short. */
static void broadcasts(void **state)
{
    test_random random = test_random_for(502);
    (void)state;
    for (int mask = 0; mask < 64; mask++) {
        elementwise_case p = dense((uint32_t)mask % KINDS, 0);
        p.rank = 3;
        p.shape[0] = 3;
        p.shape[1] = mask % 4 == 0 ? 1 : 5;
        p.shape[2] = mask % 3 == 0 ? 37 : 6;
        for (int i = 0; i < ELEMENTWISE_OPERANDS; i++)
            test_strides(mask % 5 == 4 && i == 2 ? TEST_COL : TEST_ROW, false, 3, p.shape,
                         p.stride[i]);
        for (int d = 0; d < 3; d++) {
            p.stride[0][d] = (mask >> d & 1) != 0 ? 0 : p.stride[0][d];
            p.stride[1][d] = (mask >> (d + 3) & 1) != 0 ? 0 : p.stride[1][d];
        }
        check(&p, &random);
    }
}

static void every_rank(void **state)
{
    test_random random = test_random_for(503);
    (void)state;
    for (uint32_t rank = 0; rank <= TENON_MAX_RANK; rank++)
        for (int n = 0; n < 8; n++) {
            elementwise_case p = dense((uint32_t)test_between(&random, 0, KINDS - 1), 0);
            p.rank = rank;
            for (uint32_t d = 0; d < rank; d++)
                p.shape[d] = test_between(&random, 1, rank > 5 ? 3 : 5);
            for (int i = 0; i < ELEMENTWISE_OPERANDS; i++)
                test_strides((test_layout)test_between(&random, 0, TEST_LAYOUTS - 1), n % 2 == 0,
                             rank, p.shape, p.stride[i]);
            p.a_is_d = n % 4 == 0;
            check(&p, &random);
        }
}

static elementwise_case random_case(test_random *random)
{
    elementwise_case p = dense((uint32_t)test_between(random, 0, KINDS - 1), 0);
    p.offset = test_between(random, 0, 9);
    p.params.alpha = test_one_in(random, 4) ? 0 : test_real(random, -2, 2);
    p.params.beta = test_one_in(random, 4) ? 0 : test_real(random, -2, 2);
    p.rank = (uint32_t)test_between(random, 0, TENON_MAX_RANK);
    for (uint32_t d = 0; d < p.rank; d++)
        p.shape[d] = test_between(random, 1, p.rank > 4 ? 3 : test_one_in(random, 3) ? 70 : 6);
    for (int i = 0; i < ELEMENTWISE_OPERANDS; i++) {
        test_strides((test_layout)test_between(random, 0, TEST_LAYOUTS - 1), test_one_in(random, 2),
                     p.rank, p.shape, p.stride[i]);
        for (uint32_t d = 0; i != ELEMENTWISE_D && d < p.rank; d++)
            p.stride[i][d] = test_one_in(random, 4) ? 0 : p.stride[i][d];
    }
    p.a_is_d = test_one_in(random, 4);
    p.b_is_d = test_one_in(random, 4);
    return p;
}

static void random_problems(void **state)
{
    test_random random = test_random_for(505);
    (void)state;
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++)
        for (int n = 0; n < test_problems(40); n++) {
            elementwise_case p = random_case(&random);
            elementwise_data data;
            make(&data, &p, *type);
            data.once = true;
            for (int i = 0; i < ELEMENTWISE_OPERANDS; i++)
                if (data.operands[i].image != NULL)
                    test_fill_reals(&data.operands[i], &random);
            run(&data, TEST_BOUND);
        }
}

static void large(void **state)
{
    test_random random = test_random_for(504);
    elementwise_case p = dense(TENON_ELEMENTWISE_SCALE_ADD, (1 << 20) + 7);
    elementwise_data data;
    (void)state;
    for (int n = 0; n < 2; n++) {
        make(&data, &p, TENON_DTYPE_F32);
        test_fill_reals(&data.operands[ELEMENTWISE_A], &random);
        test_fill_reals(&data.operands[ELEMENTWISE_B], &random);
        run(&data, TEST_BOUND);
        p.rank = 2;
        p.shape[0] = 1031;
        p.shape[1] = 1021;
        test_strides(TEST_COL, false, 2, p.shape, p.stride[0]);
        test_strides(TEST_PITCH, false, 2, p.shape, p.stride[2]);
        p.stride[1][0] = 0;
    }
}

static void plans(void **state)
{
    static const float x[] = {1, 2, 3, 4, 5};
    const int64_t shape[] = {5};
    tenon_elementwise_params params = TENON_ELEMENTWISE_PARAMS_INIT;
    tenon_plan *plan;
    tenon_tensor none = tenon_tensor_view(TENON_DTYPE_F32, 1, shape), a, d;
    float got[5];
    (void)state;
    params.kind = TENON_ELEMENTWISE_SCALE_ADD;
    params.alpha = 3;
    assert_ok(tenon_tensor_create(test_context, TENON_DTYPE_F32, 1, shape, &a));
    assert_ok(tenon_tensor_create(test_context, TENON_DTYPE_F32, 1, shape, &d));
    assert_ok(tenon_tensor_upload(test_stream, x, sizeof x, &a, NULL));
    assert_ok(tenon_elementwise_plan(test_context, &params, &none, &none, &none, &plan));
    const tenon_memory memories[] = {a.memory, a.memory, d.memory};
    assert_ok(tenon_plan_run(test_stream, plan, memories, 3, NULL));
    tenon_plan_release(plan);
    assert_ok(tenon_tensor_download(test_stream, &d, got, sizeof got, NULL));
    for (int i = 0; i < 5; i++)
        assert_true(got[i] == 4 * x[i]);
    assert_ok(tenon_copy_plan(test_context, NULL, &none, &none, &plan));
    const tenon_memory pair[] = {a.memory, d.memory};
    assert_ok(tenon_plan_run(test_stream, plan, pair, 2, NULL));
    tenon_plan_release(plan);
    assert_ok(tenon_tensor_download(test_stream, &d, got, sizeof got, NULL));
    assert_memory_equal(got, x, sizeof x);
    tenon_memory_destroy(&a.memory);
    tenon_memory_destroy(&d.memory);
}

static void bad_input(void **state)
{
    static const char op[] = "tenon_elementwise";
    const tenon_status invalid = TENON_ERROR_INVALID_ARGUMENT;
    const int64_t shape[] = {4, 6}, strides[] = {6, 1};
    tenon_elementwise_params params = TENON_ELEMENTWISE_PARAMS_INIT, bad;
    test_tensor ta, td;
    (void)state;
    test_tensor_create(&ta, TENON_DTYPE_F32, 2, shape, strides, 0);
    test_tensor_create(&td, TENON_DTYPE_F32, 2, shape, strides, 0);
    test_upload(&td);
    const tenon_tensor a = ta.view, d = td.view;
    tenon_tensor v;
#define REFUSED(p, x, y, z, status, word)                                                          \
    assert_refused(tenon_elementwise(test_stream, p, x, y, z, NULL), status, op, word)
    assert_refused(tenon_elementwise(NULL, &params, &a, &a, &d, NULL), invalid, op, "stream");
    REFUSED(&params, NULL, &a, &d, invalid, "a ");
    REFUSED(&params, &a, NULL, &d, invalid, "b ");
    REFUSED(&params, &a, &a, NULL, invalid, "d ");
    bad = params, bad.struct_size = 8;
    REFUSED(&bad, &a, &a, &d, invalid, "struct_size");
    bad = params, bad.flags = 1;
    REFUSED(&bad, &a, &a, &d, invalid, "flags");
    bad = params, bad.kind = KINDS;
    REFUSED(&bad, &a, &a, &d, invalid, "kind is 7");
    bad = params, bad.reserved = 1;
    REFUSED(&bad, &a, &a, &d, invalid, "reserved");
    bad = params, bad.solver = "elementwise/none";
    REFUSED(&bad, &a, &a, &d, invalid, "elementwise/none");
    v = tenon_tensor_slice(a, 1, 0, 5);
    REFUSED(&params, &v, &a, &d, invalid, "a: ");
    REFUSED(&params, &a, &v, &d, invalid, "b: ");
    v = a, v.dtype = TENON_DTYPE_I32;
    REFUSED(&params, &v, &v, &v, TENON_ERROR_UNSUPPORTED, "i32");
    REFUSED(&params, &a, &v, &d, TENON_ERROR_UNSUPPORTED, "b is i32");
    REFUSED(&params, &a, &a, &v, TENON_ERROR_UNSUPPORTED, "d is i32");
    v = d, v.stride[0] = 0;
    REFUSED(&params, &a, &a, &v, invalid, "d");
    /* A row of d broadcast over d, and d by columns: neither is exactly d. */
    REFUSED(&params, &v, &a, &d, invalid, "a");
    v = tenon_tensor_slice(d, 0, 1, 1);
    REFUSED(&params, &a, &v, &d, invalid, "b");
    assert_untouched(&td);
    test_tensor_destroy(&ta);
    test_tensor_destroy(&td);
#undef REFUSED
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_values),
        cmocka_unit_test(special_values),
        cmocka_unit_test(sizes_around_vectors),
        cmocka_unit_test(broadcasts),
        cmocka_unit_test(every_rank),
        cmocka_unit_test(large),
        cmocka_unit_test(random_problems),
        cmocka_unit_test(plans),
        cmocka_unit_test(bad_input),
    };
    return TEST_MAIN(tests);
}
