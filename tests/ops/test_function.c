/* Tests tenon_function: known values, all functions on special values and over all floats, views,
 * messages. */
#include "fixture.h"

#include "ops/function/internal.h"
#include "ops/registry.h"

#include <float.h>
#include <math.h>

/* The 16-bit types compute in f32: functions with builds of their own take turns at them. */
static bool takes_turn(uint32_t kind, tenon_dtype dtype)
{
    return !tn_function_is_build(kind) || dtype == TENON_DTYPE_F32 || dtype == TENON_DTYPE_F64 ||
           (dtype == TENON_DTYPE_F16) == (kind % 2 == 0);
}

static void begin(test_fixture *f, uint32_t kind, tenon_dtype dtype, int64_t count)
{
    test_begin(f, &tn_operation_function);
    test_params(f, tenon_function_params)->kind = kind;
    f->c.views[FUNCTION_X] = test_view(dtype, TEST_ROW, false, 1, &count, 1);
    f->c.views[FUNCTION_Y] = test_view(dtype, TEST_ROW, false, 1, &count, 3);
    test_make(f);
}

/* Values by the header's formulas, not by the reference. */
TEST(known_values)
{
    static const struct {
        uint32_t kind;
        double x, y;
    } known[] = {
        {TENON_FUNCTION_ABS, -2.5, 2.5},
        {TENON_FUNCTION_NEG, 3, -3},
        {TENON_FUNCTION_SIGN, -7, -1},
        {TENON_FUNCTION_SQRT, 2, 1.4142135623730951},
        {TENON_FUNCTION_RSQRT, 4, 0.5},
        {TENON_FUNCTION_RECIPROCAL, -8, -0.125},
        {TENON_FUNCTION_FLOOR, -1.5, -2},
        {TENON_FUNCTION_CEIL, -1.5, -1},
        {TENON_FUNCTION_ROUND, 2.5, 2},
        {TENON_FUNCTION_TRUNC, -1.75, -1},
        {TENON_FUNCTION_EXP, 1, 2.718281828459045},
        {TENON_FUNCTION_EXP2, 10, 1024},
        {TENON_FUNCTION_EXPM1, 1e-4, 1.0000500016667083e-4},
        {TENON_FUNCTION_LOG, 10, 2.302585092994046},
        {TENON_FUNCTION_LOG2, 8, 3},
        {TENON_FUNCTION_LOG10, 1000, 3},
        {TENON_FUNCTION_LOG1P, 1e-4, 9.9995000333308335e-5},
        {TENON_FUNCTION_SIN, 1, 0.8414709848078965},
        {TENON_FUNCTION_COS, 1, 0.5403023058681398},
        {TENON_FUNCTION_TAN, 1, 1.5574077246549023},
        {TENON_FUNCTION_ASIN, 0.5, 0.5235987755982989},
        {TENON_FUNCTION_ACOS, 0.5, 1.0471975511965979},
        {TENON_FUNCTION_ATAN, 1, 0.7853981633974483},
        {TENON_FUNCTION_SINH, 1, 1.1752011936438014},
        {TENON_FUNCTION_COSH, 1, 1.5430806348152437},
        {TENON_FUNCTION_TANH, 1, 0.7615941559557649},
        {TENON_FUNCTION_ASINH, 1, 0.881373587019543},
        {TENON_FUNCTION_ACOSH, 2, 1.3169578969248166},
        {TENON_FUNCTION_ATANH, 0.5, 0.5493061443340548},
        {TENON_FUNCTION_ERF, 1, 0.8427007929497149},
    };
    _Static_assert(sizeof known / sizeof *known == TN_FUNCTION_KINDS, "every function is here");
    const int64_t shape[] = {1};
    tenon_tensor tx = test_dense(TENON_DTYPE_F32, 1, shape, NULL);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const tenon_function_params params = tenon_function_params(.kind = known[i].kind);
        float got;
        assert_int_equal(known[i].kind, i);
        assert_ok(tenon_tensor_fill(test_stream, &tx, known[i].x, NULL));
        assert_ok(tenon_function(test_stream, &params, &tx, &tx, NULL));
        test_read(&tx, &got);
        if (!(fabs((double)got - known[i].y) <= 1e-6 * fabs(known[i].y)))
            fail_msg("%s(%g) is %.9g, must be %.9g", tn_function_words[i], known[i].x, (double)got,
                     known[i].y);
    }
    test_destroy(&tx);
}

/* Limits of the functions' domains and ranges, ties and large integers of the roundings, numbers
 * near multiples of pi / 2, denormals, NaN and infinities. */
static const double specials[] = {
    0,          -0.0,      1,           -1,        NAN,     INFINITY,  -INFINITY, 0.5,
    -0.5,       1.5,       -1.5,        2.5,       -2.5,    0.75,      0x1p-126,  0x1p-149,
    -1e-40,     1e-30,     -1e-30,      0x1p23,    -0x1p23, 8388607.5, 4194303.5, 0x1p24,
    3.1415927,  1.5707964, -4.712389,   6.2831855, 11,      355,       1e5,       -1e5,
    33554432,   1e10,      -1e22,       1e30,      3e38,    -3e38,     88.7,      88.73,
    -87.4,      -103.9,    -104,        89.4,      128,     127.99999, -126,      -149.5,
    0.99999994, 1.0000001, -0.99999994, 2,         4,       -2,        700,       710,
    60000,      0.1,       -0.1,        1e-4,      10,      20,        -20,       0x1p-24};

TEST(special_values)
{
    const int64_t count = sizeof specials / sizeof *specials;
    for (uint32_t kind = 0; kind < TN_FUNCTION_KINDS; kind++)
        for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++) {
            test_fixture f;
            if (!takes_turn(kind, *type))
                continue;
            begin(&f, kind, *type, count);
            for (int64_t i = 0; i < count; i++)
                test_set(&f.operands[FUNCTION_X], i, specials[i]);
            test_finish(&f, TEST_ALL);
        }
}

/* Every 8191st float, and as many doubles. */
TEST(number_line)
{
    const int64_t floats = ((int64_t)1 << 32) / 8191, doubles = 100003;
    for (uint32_t kind = 0; kind < TN_FUNCTION_KINDS; kind++)
        for (int is_double = 0; is_double < 1 + (int)test_has(TENON_CAPABILITY_F64); is_double++) {
            const int64_t count = is_double ? doubles : floats;
            test_fixture f;
            begin(&f, kind, is_double ? TENON_DTYPE_F64 : TENON_DTYPE_F32, count);
            for (int64_t i = 0; i < count; i++) {
                const uint32_t bits = (uint32_t)(i * 8191);
                const uint64_t wide = (uint64_t)i * (UINT64_MAX / (uint64_t)(count - 1));
                float value;
                double number;
                memcpy(&value, &bits, sizeof value);
                memcpy(&number, &wide, sizeof number);
                test_set(&f.operands[FUNCTION_X], i, is_double ? number : (double)value);
            }
            test_finish(&f, TEST_ALL);
        }
}

/* Vectors of sin, cos and tan that have numbers on either side of the limit of Tenon's own
 * reduction, and multiples of a quarter of a turn, next to each other. */
TEST(waves_of_mixed_sizes)
{
    static const float some[] = {131072.0F, -131072.0F, 131071.992F, 1e30F,       -3e38F, 1e-3F,
                                 0.0F,      -0.0F,      1e-40F,      105032.867F, 1.5F,   NAN};
    static const uint32_t kinds[] = {TENON_FUNCTION_SIN, TENON_FUNCTION_COS, TENON_FUNCTION_TAN};
    const int count = (int)(sizeof some / sizeof *some);
    test_random random = test_random_for(967);
    for (size_t kind = 0; kind < 3; kind++) {
        test_fixture f;
        begin(&f, kinds[kind], TENON_DTYPE_F32, 3001);
        for (int64_t i = 0; i < 3001; i++) {
            const int64_t quarters = test_between(&random, -80000, 80000);
            const float near = (float)(quarters * 1.5707963267948966);
            test_set(&f.operands[FUNCTION_X], i,
                     i < 2000 || test_one_in(&random, 2)
                         ? (double)near
                         : (double)some[test_between(&random, 0, count - 1)]);
        }
        test_finish(&f, TEST_ALL);
    }
}

/* Returns the error of y in units in the last place of a double of the size of `expected`. */
static double ulps_of(double y, long double expected)
{
    int exponent;
    (void)frexpl(expected, &exponent);
    return (double)(fabsl((long double)y - expected) * ldexpl(1, 53 - exponent));
}

/* sin, cos and tan of doubles near multiples of a quarter of a turn, and of others, compared with
 * long doubles, which have a longer significand on some processors. */
TEST(ulps_of_double_waves)
{
    static const struct {
        uint32_t kind;
        long double (*function)(long double);
        double ulps;
    } waves[] = {{TENON_FUNCTION_SIN, sinl, 4},
                 {TENON_FUNCTION_COS, cosl, 4},
                 {TENON_FUNCTION_TAN, tanl, 5}};
    enum { COUNT = 20011 };
    const int64_t shape[] = {COUNT};
    test_random random = test_random_for(971);
    double x[COUNT], y[COUNT];
    if (LDBL_MANT_DIG < 64 || !test_has(TENON_CAPABILITY_F64)) {
        print_message("no f64, or long double has no longer significand than double\n");
        skip();
    }
    for (int64_t i = 0; i < COUNT; i++) {
        const double scale = ldexp(1, (int)test_between(&random, -40, 34));
        const double any = scale * (double)test_between(&random, -1000000007, 1000000007) / 1e9;
        const double quarter = rint(any) * 1.5707963267948966;
        const double nudge = ldexp((double)test_between(&random, -3, 3), -52);
        x[i] = test_one_in(&random, 2) ? any : quarter + quarter * nudge;
    }
    tenon_tensor tx = test_dense(TENON_DTYPE_F64, 1, shape, x),
                 ty = test_dense(TENON_DTYPE_F64, 1, shape, NULL);
    for (size_t w = 0; w < sizeof waves / sizeof *waves; w++) {
        const tenon_function_params params = tenon_function_params(.kind = waves[w].kind);
        assert_ok(tenon_function(test_stream, &params, &tx, &ty, NULL));
        test_read(&ty, y);
        for (int64_t i = 0; i < COUNT; i++) {
            const double ulps = ulps_of(y[i], waves[w].function(x[i]));
            if (x[i] != 0 && !(ulps <= waves[w].ulps))
                fail_msg("%s(%.17g) is %.17g, %.3g ulp off", tn_function_words[waves[w].kind], x[i],
                         y[i], ulps);
        }
    }
    test_destroy(&tx, &ty);
}

/* abs, neg and sign of integers, at the ends of their ranges too. */
TEST(integers)
{
    static const tenon_dtype types[] = {TENON_DTYPE_I8,  TENON_DTYPE_U8,  TENON_DTYPE_I16,
                                        TENON_DTYPE_U16, TENON_DTYPE_I32, TENON_DTYPE_U32,
                                        TENON_DTYPE_I64};
    const int64_t count = 67;
    test_random random = test_random_for(963);
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (uint32_t kind = 0; kind <= TENON_FUNCTION_SIGN; kind++) {
            test_fixture f;
            begin(&f, kind, types[t], count);
            f.judge = TEST_EXACT;
            for (int64_t i = 0; i < count; i++)
                test_set_whole(&f.operands[FUNCTION_X], i,
                               i < 64 ? (int64_t)(UINT64_C(1) << i) : test_between(&random, -2, 2));
            test_finish(&f, TEST_ALL);
        }
}

/* Values by the header's formulas. */
TEST(known_integers)
{
    static const int64_t x[] = {-5, 0, 7, INT64_MIN};
    static const int64_t y[][4] = {{5, 0, 7, INT64_MIN}, {5, 0, -7, INT64_MIN}, {-1, 0, 1, -1}};
    const int64_t four = 4;
    int64_t got[4];
    tenon_tensor xt = test_dense(TENON_DTYPE_I64, 1, &four, x),
                 yt = test_dense(TENON_DTYPE_I64, 1, &four, NULL);
    for (uint32_t kind = 0; kind <= TENON_FUNCTION_SIGN; kind++) {
        const tenon_function_params params = tenon_function_params(.kind = kind);
        assert_ok(tenon_function(test_stream, &params, &xt, &yt, NULL));
        assert_ok(tenon_tensor_download(test_stream, &yt, got, sizeof got, NULL));
        assert_memory_equal(got, y[kind], sizeof got);
    }
    test_destroy(&xt, &yt);
}

/* Random shapes and strides, in place and not. */
TEST(random_problems)
{
    test_random random = test_random_for(727);
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++)
        for (int n = 0; n < test_problems(20); n++) {
            int64_t shape[TENON_MAX_RANK];
            const uint32_t rank = test_random_shape(&random, shape);
            test_fixture f;
            test_begin(&f, &tn_operation_function);
            tenon_function_params *params = test_params(&f, tenon_function_params);
            do
                params->kind = (uint32_t)test_between(&random, 0, TN_FUNCTION_KINDS - 1);
            while (!takes_turn(params->kind, *type));
            for (uint32_t v = 0; v < FUNCTION_OPERANDS; v++)
                f.c.views[v] = test_random_view(&random, *type, rank, shape);
            if (test_one_in(&random, 3))
                f.c.same[FUNCTION_X] = 1 + FUNCTION_Y;
            else if (rank > 0 && test_one_in(&random, 4))
                f.c.views[FUNCTION_X].stride[test_between(&random, 0, rank - 1)] = 0;
            test_run_fixture(&f, TEST_BOUND, TEST_ALL, &random);
        }
}

TEST(wrong_calls)
{
    static const test_refusal refusals[] = {
        {"function x=T:4x5 y=T:4x5 kind=30", "kind is 30"},
        {"function x=T:4x5 y=T:4", "shape is 4, must be that of x, 4x5"},
        {"function x=f32:4 y=f16:4", "y is f16", TENON_ERROR_UNSUPPORTED},
        {"function x=i32:4 y=i32:4 kind=exp", "i32", TENON_ERROR_UNSUPPORTED},
        {"function x=T:4x5/5,1 y=T:4x5/0,1", "y"},
    };
    test_fixture f;
    TEST_REFUSE(refusals);
    test_begin_line(&f, "function x=T:4 y=T:4", TENON_DTYPE_F32);
    test_params(&f, tenon_function_params)->reserved = 1;
    test_refuse_fixture(&f, TENON_ERROR_INVALID_ARGUMENT, "reserved");
}

/* Bounds of arguments with an error: the result may be on either side of a pole or a jump. */
TEST(bounds_of_inexact_arguments)
{
    const tn_bounded zero = {1e-9, 1e-8}, half = {0.5, 1e-3}, far = {1e9, 10};
    const tenon_dtype f32 = TENON_DTYPE_F32;
    assert_true(tn_function_reference(TENON_FUNCTION_LOG, f32, zero).bound == TN_ANYTHING);
    assert_true(isinf(tn_function_reference(TENON_FUNCTION_RECIPROCAL, f32, zero).bound));
    assert_true(tn_function_reference(TENON_FUNCTION_SIGN, f32, zero).bound >= 2);
    assert_true(tn_function_reference(TENON_FUNCTION_ROUND, f32, half).bound >= 1);
    assert_true(isinf(tn_function_reference(TENON_FUNCTION_TAN, f32, far).bound));
    assert_true(tn_function_reference(TENON_FUNCTION_SIN, f32, far).bound >= 2);
    const double cosine = tn_function_reference(TENON_FUNCTION_COSH, f32, half).bound;
    assert_true(cosine > 5e-4 && cosine < 6e-4);
    assert_true(tn_function2_reference(8, f32, (tn_bounded){2, 1e-6}, 1).bound >= 1);
    assert_true(tn_function2_reference(7, f32, zero, 0.5).bound == TN_ANYTHING);
}
