/* Tests tenon_compare, tenon_classify, tenon_logic and tenon_where: values by the header, special
 * values of every type, random problems, refusals. */
#include "fixture.h"

#include "base/dtype.h"
#include "ops/registry.h"
#include "ops/select/internal.h"

#include <math.h>

#define COMPARISONS (TENON_COMPARE_GREATER_EQUAL + 1)
#define TESTS       (TENON_CLASSIFY_FINITE + 1)

TEST(known_comparisons)
{
    static const float a[] = {1, 2, 3, -0.0F, NAN, NAN, INFINITY, -INFINITY},
                       b[] = {2, 2, 2, 0, 0, NAN, INFINITY, INFINITY};
    static const unsigned char d[COMPARISONS][8] = {
        {0, 1, 0, 1, 0, 0, 1, 0}, {1, 0, 1, 0, 1, 1, 0, 1}, {1, 0, 0, 0, 0, 0, 0, 1},
        {1, 1, 0, 1, 0, 0, 1, 1}, {0, 0, 1, 0, 0, 0, 0, 0}, {0, 1, 1, 1, 0, 0, 1, 0}};
    const int64_t eight = 8;
    unsigned char got[8];
    tenon_tensor at = test_dense(TENON_DTYPE_F32, 1, &eight, a),
                 bt = test_dense(TENON_DTYPE_F32, 1, &eight, b),
                 dt = test_dense(TENON_DTYPE_BOOL, 1, &eight, NULL);
    for (uint32_t kind = 0; kind < COMPARISONS; kind++) {
        const tenon_compare_params params = tenon_compare_params(.kind = kind);
        assert_ok(tenon_compare(test_stream, &params, &at, &bt, &dt, NULL));
        assert_ok(tenon_tensor_download(test_stream, &dt, got, sizeof got, NULL));
        assert_memory_equal(got, d[kind], sizeof got);
    }
    test_destroy(&at, &bt, &dt);
}

/* Integers that differ in their last bit only, of which a float would be equal. */
TEST(comparisons_are_exact)
{
    static const int64_t a[] = {INT64_MAX, INT64_MIN, (INT64_C(1) << 53) + 1, -1},
                         b[] = {INT64_MAX - 1, INT64_MIN + 1, INT64_C(1) << 53, -1};
    static const unsigned char greater[] = {1, 0, 1, 0};
    const int64_t four = 4;
    unsigned char got[4];
    tenon_tensor at = test_dense(TENON_DTYPE_I64, 1, &four, a),
                 bt = test_dense(TENON_DTYPE_I64, 1, &four, b),
                 dt = test_dense(TENON_DTYPE_BOOL, 1, &four, NULL);
    const tenon_compare_params params = tenon_compare_params(.kind = TENON_COMPARE_GREATER);
    assert_ok(tenon_compare(test_stream, &params, &at, &bt, &dt, NULL));
    assert_ok(tenon_tensor_download(test_stream, &dt, got, sizeof got, NULL));
    assert_memory_equal(got, greater, sizeof got);
    test_destroy(&at, &bt, &dt);
}

TEST(known_tests)
{
    static const float x[] = {0, NAN, INFINITY, -INFINITY, 3e38F};
    static const unsigned char y[TESTS][5] = {
        {0, 1, 0, 0, 0}, {0, 0, 1, 1, 0}, {0, 0, 1, 0, 0}, {0, 0, 0, 1, 0}, {1, 0, 0, 0, 1}};
    const int64_t five = 5;
    unsigned char got[5];
    tenon_tensor xt = test_dense(TENON_DTYPE_F32, 1, &five, x),
                 yt = test_dense(TENON_DTYPE_BOOL, 1, &five, NULL);
    for (uint32_t kind = 0; kind < TESTS; kind++) {
        const tenon_classify_params params = tenon_classify_params(.kind = kind);
        assert_ok(tenon_classify(test_stream, &params, &xt, &yt, NULL));
        assert_ok(tenon_tensor_download(test_stream, &yt, got, sizeof got, NULL));
        assert_memory_equal(got, y[kind], sizeof got);
    }
    test_destroy(&xt, &yt);
}

/* Truth values other than 1, and bits. */
TEST(known_logic)
{
    static const unsigned char a[] = {0, 0, 1, 4}, b[] = {0, 2, 0, 1};
    static const unsigned char d[][4] = {{0, 0, 0, 1}, {0, 1, 1, 1}, {0, 1, 1, 0}, {1, 1, 0, 0}};
    static const int32_t x[] = {12, -1, -16, 5}, shift[] = {2, 31, 40, -1};
    static const int32_t left[] = {48, INT32_MIN, 0, 0}, right[] = {3, -1, -1, 0};
    const int64_t four = 4;
    unsigned char got[4];
    int32_t whole[4];
    tenon_tensor at = test_dense(TENON_DTYPE_BOOL, 1, &four, a),
                 bt = test_dense(TENON_DTYPE_BOOL, 1, &four, b),
                 dt = test_dense(TENON_DTYPE_BOOL, 1, &four, NULL),
                 xt = test_dense(TENON_DTYPE_I32, 1, &four, x),
                 st = test_dense(TENON_DTYPE_I32, 1, &four, shift),
                 yt = test_dense(TENON_DTYPE_I32, 1, &four, NULL);
    for (uint32_t kind = 0; kind <= TENON_LOGIC_NOT; kind++) {
        const tenon_logic_params params = tenon_logic_params(.kind = kind);
        assert_ok(tenon_logic(test_stream, &params, &at, kind == TENON_LOGIC_NOT ? NULL : &bt, &dt,
                              NULL));
        assert_ok(tenon_tensor_download(test_stream, &dt, got, sizeof got, NULL));
        assert_memory_equal(got, d[kind], sizeof got);
    }
    for (uint32_t kind = TENON_LOGIC_SHIFT_LEFT; kind <= TENON_LOGIC_SHIFT_RIGHT; kind++) {
        const tenon_logic_params params = tenon_logic_params(.kind = kind);
        assert_ok(tenon_logic(test_stream, &params, &xt, &st, &yt, NULL));
        assert_ok(tenon_tensor_download(test_stream, &yt, whole, sizeof whole, NULL));
        assert_memory_equal(whole, kind == TENON_LOGIC_SHIFT_LEFT ? left : right, sizeof whole);
    }
    test_destroy(&at, &bt, &dt, &xt, &st, &yt);
}

/* Keeps the bits of NaNs. */
TEST(known_selection)
{
    static const unsigned char condition[] = {1, 0, 255};
    static const uint32_t a[] = {0x7fc12345, 1, 2}, b[] = {3, 0xffc54321, 4};
    static const uint32_t expected[] = {0x7fc12345, 0xffc54321, 2};
    const int64_t three = 3;
    uint32_t got[3];
    tenon_tensor ct = test_dense(TENON_DTYPE_BOOL, 1, &three, condition),
                 at = test_dense(TENON_DTYPE_F32, 1, &three, a),
                 bt = test_dense(TENON_DTYPE_F32, 1, &three, b),
                 dt = test_dense(TENON_DTYPE_F32, 1, &three, NULL);
    assert_ok(tenon_where(test_stream, NULL, &ct, &at, &bt, &dt, NULL));
    assert_ok(tenon_tensor_download(test_stream, &dt, got, sizeof got, NULL));
    assert_memory_equal(got, expected, sizeof got);
    test_destroy(&ct, &at, &bt, &dt);
}

/* Gives an operand values of which many are equal, NaN, infinite or at the end of a range. */
static void fill(test_tensor *tensor, test_random *random)
{
    static const double reals[] = {0, -0.0, 1, -1, NAN, INFINITY, -INFINITY, 0x1p-24, 60000, 1e30};
    const tenon_dtype dtype = tensor->view.dtype;
    for (int64_t i = 0; i < tenon_tensor_elements(&tensor->view); i++)
        if (tn_dtype_is_float(dtype))
            test_set(tensor, i, reals[test_between(random, 0, 9)]);
        else if (test_one_in(random, 2))
            test_set_whole(tensor, i, test_between(random, -2, 66));
        else
            test_set_whole(tensor, i, (int64_t)test_next(random) >> test_between(random, 0, 63));
}

static bool has(tenon_dtype dtype)
{
    return dtype != TENON_DTYPE_F64 || test_has(TENON_CAPABILITY_F64);
}

static tenon_dtype random_type(test_random *random, bool (*is_allowed)(tenon_dtype))
{
    tenon_dtype type;
    do
        type = (tenon_dtype)test_between(random, TENON_DTYPE_F64, TENON_DTYPE_BOOL);
    while (!is_allowed(type) || !has(type));
    return type;
}

static bool is_moved(tenon_dtype type)
{
    return tn_dtype_is_float(type) || tn_dtype_is_integer(type) || type == TENON_DTYPE_BOOL;
}

static bool is_whole(tenon_dtype type)
{
    return tn_dtype_is_integer(type) || type == TENON_DTYPE_BOOL;
}

/* Sets the kind and the types of a random call. */
static void draw_call(test_fixture *f, const tn_operation *operation, test_random *random,
                      tenon_dtype type[TN_MAX_OPERANDS])
{
    test_begin(f, operation);
    for (uint32_t i = 0; i < operation->operand_count; i++)
        type[i] = TENON_DTYPE_BOOL;
    if (operation == &tn_operation_compare) {
        type[COMPARE_A] = type[COMPARE_B] = random_type(random, is_moved);
        test_params(f, tenon_compare_params)->kind =
            (uint32_t)test_between(random, 0, COMPARISONS - 1);
    } else if (operation == &tn_operation_classify) {
        type[CLASSIFY_X] = random_type(random, tn_dtype_is_float);
        test_params(f, tenon_classify_params)->kind = (uint32_t)test_between(random, 0, TESTS - 1);
    } else if (operation == &tn_operation_logic) {
        type[LOGIC_A] = type[LOGIC_B] = type[LOGIC_D] = random_type(random, is_whole);
        const bool shifts = type[LOGIC_A] != TENON_DTYPE_BOOL;
        const uint32_t kind =
            (uint32_t)test_between(random, 0, shifts ? TENON_LOGIC_SHIFT_RIGHT : TENON_LOGIC_NOT);
        test_params(f, tenon_logic_params)->kind = kind;
        if (kind == TENON_LOGIC_NOT)
            type[LOGIC_B] = TENON_DTYPE_INVALID;
    } else {
        type[WHERE_A] = type[WHERE_B] = type[WHERE_D] = random_type(random, is_moved);
    }
}

static void random_problem(const tn_operation *operation, test_random *random)
{
    const uint32_t output = operation->operand_count - 1;
    tenon_dtype type[TN_MAX_OPERANDS] = {TENON_DTYPE_INVALID};
    int64_t shape[TENON_MAX_RANK];
    const uint32_t rank = test_random_shape(random, shape);
    test_fixture f;
    draw_call(&f, operation, random, type);
    for (uint32_t i = 0; i <= output; i++)
        if (type[i] != TENON_DTYPE_INVALID) {
            f.c.views[i] = test_random_view(random, type[i], rank, shape);
            for (uint32_t d = 0; d < rank && i < output; d++)
                if (test_one_in(random, 5))
                    f.c.views[i].stride[d] = 0;
        }
    if (operation != &tn_operation_classify && output > 0 && type[output - 1] == type[output] &&
        test_one_in(random, 3))
        f.c.same[output - 1] = 1 + output;
    test_make(&f);
    f.judge = TEST_EXACT;
    for (uint32_t i = 0; i < output; i++)
        if (type[i] != TENON_DTYPE_INVALID)
            fill(test_operand(&f, i), random);
    test_finish(&f, TEST_ONCE);
}

TEST(random_problems)
{
    static const tn_operation *const operations[] = {&tn_operation_compare, &tn_operation_classify,
                                                     &tn_operation_logic, &tn_operation_where};
    test_random random = test_random_for(571);
    for (int n = 0; n < 8 * test_problems(30); n++)
        random_problem(operations[n % 4], &random);
}

TEST(bad_comparisons)
{
    const int64_t shape[] = {4, 6};
    const tenon_compare_params params = TENON_COMPARE_PARAMS_INIT;
    tenon_compare_params bad;
    tenon_tensor a = test_dense(TENON_DTYPE_F32, 2, shape, NULL),
                 d = test_dense(TENON_DTYPE_BOOL, 2, shape, NULL), v;
#define REFUSED(p, x, y, z, status, word)                                                          \
    assert_refused(tenon_compare(test_stream, p, x, y, z, NULL), status, "tenon_compare", word)
    bad = params, bad.kind = COMPARISONS;
    REFUSED(&bad, &a, &a, &d, TENON_ERROR_INVALID_ARGUMENT, "kind is 6");
    bad = params, bad.reserved = 1;
    REFUSED(&bad, &a, &a, &d, TENON_ERROR_INVALID_ARGUMENT, "reserved");
    REFUSED(&params, &a, NULL, &d, TENON_ERROR_INVALID_ARGUMENT, "b ");
    REFUSED(&params, &a, &a, &a, TENON_ERROR_UNSUPPORTED, "d: type is f32, must be bool");
    REFUSED(&params, &a, &d, &d, TENON_ERROR_UNSUPPORTED, "b is bool and a is f32");
    v = a, v.dtype = TENON_DTYPE_F8_E4M3;
    REFUSED(&params, &v, &v, &d, TENON_ERROR_UNSUPPORTED, "a: type f8_e4m3");
    v = tenon_tensor_slice(a, 1, 0, 5);
    REFUSED(&params, &a, &v, &d, TENON_ERROR_INVALID_ARGUMENT, "b: ");
    v = a, v.memory = d.memory, v.offset = 0, v.rank = 0;
    REFUSED(&params, &a, &v, &d, TENON_ERROR_INVALID_ARGUMENT, "b");
#undef REFUSED
    test_destroy(&a, &d);
}

TEST(bad_tests_and_logic)
{
    const int64_t shape[] = {4, 6};
    tenon_tensor real = test_dense(TENON_DTYPE_F32, 2, shape, NULL),
                 whole = test_dense(TENON_DTYPE_I32, 2, shape, NULL),
                 truth = test_dense(TENON_DTYPE_BOOL, 2, shape, NULL),
                 row = tenon_tensor_slice(real, 0, 0, 1);
    assert_refused(tenon_classify(test_stream, NULL, &whole, &truth, NULL), TENON_ERROR_UNSUPPORTED,
                   "tenon_classify", "x: type i32");
    assert_refused(tenon_classify(test_stream, NULL, &real, &real, NULL), TENON_ERROR_UNSUPPORTED,
                   "tenon_classify", "y: type is f32, must be bool");
    assert_refused(tenon_classify(test_stream, NULL, &row, &truth, NULL),
                   TENON_ERROR_INVALID_ARGUMENT, "tenon_classify", "y: shape");
#define REFUSED(k, a, b, d, status, word)                                                          \
    assert_refused(tenon_logic(test_stream, &tenon_logic_params(.kind = k), a, b, d, NULL),        \
                   status, "tenon_logic", word)
    REFUSED(6, &truth, &truth, &truth, TENON_ERROR_INVALID_ARGUMENT, "kind is 6");
    REFUSED(TENON_LOGIC_AND, &real, &real, &real, TENON_ERROR_UNSUPPORTED, "a: type f32");
    REFUSED(TENON_LOGIC_AND, &truth, NULL, &truth, TENON_ERROR_INVALID_ARGUMENT, "b is NULL");
    REFUSED(TENON_LOGIC_NOT, &truth, &truth, &truth, TENON_ERROR_INVALID_ARGUMENT,
            "b is not NULL, must be NULL");
    REFUSED(TENON_LOGIC_SHIFT_LEFT, &truth, &truth, &truth, TENON_ERROR_UNSUPPORTED,
            "a shift needs an integer type");
    REFUSED(TENON_LOGIC_OR, &whole, &truth, &whole, TENON_ERROR_UNSUPPORTED, "b is bool");
    REFUSED(TENON_LOGIC_OR, &whole, &whole, &truth, TENON_ERROR_UNSUPPORTED, "d is bool");
#undef REFUSED
    test_destroy(&real, &whole, &truth);
}

TEST(bad_selection)
{
    const int64_t shape[] = {4, 6};
    tenon_tensor a = test_dense(TENON_DTYPE_F32, 2, shape, NULL),
                 c = test_dense(TENON_DTYPE_BOOL, 2, shape, NULL),
                 d = test_dense(TENON_DTYPE_F32, 2, shape, NULL), v;
#define REFUSED(c, a, b, d, status, word)                                                          \
    assert_refused(tenon_where(test_stream, NULL, c, a, b, d, NULL), status, "tenon_where", word)
    REFUSED(&a, &a, &a, &d, TENON_ERROR_UNSUPPORTED, "condition: type is f32, must be bool");
    REFUSED(&c, &a, &c, &d, TENON_ERROR_UNSUPPORTED, "b is bool and a is f32");
    REFUSED(&c, &c, &c, &d, TENON_ERROR_UNSUPPORTED, "d is f32 and a is bool");
    v = tenon_tensor_slice(c, 0, 0, 3);
    REFUSED(&v, &a, &a, &d, TENON_ERROR_INVALID_ARGUMENT, "condition: ");
    v = d, v.stride[0] = 0;
    REFUSED(&c, &v, &a, &d, TENON_ERROR_INVALID_ARGUMENT, "a");
#undef REFUSED
    test_destroy(&a, &c, &d);
}
