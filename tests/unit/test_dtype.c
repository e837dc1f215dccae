/* Tests element types and their conversions against an independent method: choosing the nearer of
 * two neighbors. */
#include "common/testing.h"

#include "base/dtype.h"

#include <float.h>
#include <math.h>

typedef struct format {
    uint16_t (*encode)(double value);
    double (*decode)(uint16_t bits);
    int mantissa, bias;
} format;

static const format formats[] = {
    {tn_f16_from_double, tn_f16_to_double, 10, 15},
    {tn_bf16_from_double, tn_bf16_to_double, 7, 127},
};

static uint16_t infinity_of(const format *f)
{
    return (uint16_t)((2 * f->bias + 1) << f->mantissa);
}

/* Computes the value from its definition: an integer multiple of the format's smallest subnormal.
 * For infinity's bit pattern, returns the next number that the format would have, which decides
 * rounding to infinity. */
static double magnitude_of(const format *f, uint16_t bits)
{
    int exponent = bits >> f->mantissa;
    double fraction = bits & ((1 << f->mantissa) - 1), hidden = 1 << f->mantissa;
    double units = exponent == 0 ? fraction : (hidden + fraction) * pow(2, exponent - 1);
    return units * pow(2, 1 - f->bias - f->mantissa);
}

TEST(decodes_every_pattern)
{
    for (int i = 0; i < 2; i++) {
        const format *f = &formats[i];
        for (uint32_t bits = 0; bits < 65536; bits++) {
            double value = f->decode((uint16_t)bits);
            uint16_t magnitude = bits & 0x7fff;
            assert_int_equal(signbit(value) != 0, bits >> 15);
            if (magnitude > infinity_of(f))
                assert_true(isnan(value));
            else if (magnitude == infinity_of(f))
                assert_true(isinf(value));
            else
                assert_true(fabs(value) == magnitude_of(f, magnitude));
        }
    }
}

TEST(bf16_is_the_upper_half_of_a_float)
{
    for (uint32_t bits = 0; bits < 65536; bits++) {
        uint32_t wide = bits << 16;
        float value;
        memcpy(&value, &wide, sizeof value);
        if (!isnan(value))
            assert_true((double)value == tn_bf16_to_double((uint16_t)bits));
    }
}

TEST(every_pattern_survives_a_round_trip)
{
    for (int i = 0; i < 2; i++)
        for (uint32_t bits = 0; bits < 65536; bits++) {
            double value = formats[i].decode((uint16_t)bits);
            uint16_t back = formats[i].encode(value);
            if (isnan(value))
                assert_true(isnan(formats[i].decode(back)));
            else
                assert_int_equal(back, bits);
        }
}

static void check_encode(const format *f, double value, uint16_t expected)
{
    if (f->encode(value) != expected)
        fail_msg("%a gives %04x, expected %04x (%d mantissa bits)", value, f->encode(value),
                 expected, f->mantissa);
    if (f->encode(-value) != (expected | 0x8000))
        fail_msg("%a gives %04x (%d mantissa bits)", -value, f->encode(-value), f->mantissa);
}

/* Between every two neighbors, the midpoint rounds to the even one and the values next to it to the
 * nearer one. */
TEST(rounds_to_nearest_even)
{
    for (int i = 0; i < 2; i++) {
        const format *f = &formats[i];
        for (uint16_t low = 0; low < infinity_of(f); low++) {
            uint16_t high = low + 1;
            double middle = (magnitude_of(f, low) + magnitude_of(f, high)) / 2;
            check_encode(f, middle, (low & 1) == 0 ? low : high);
            check_encode(f, nextafter(middle, 0), low);
            check_encode(f, nextafter(middle, INFINITY), high);
        }
    }
}

TEST(rounds_random_values_to_the_nearer_neighbor)
{
    test_random random = test_random_for(1);
    for (int n = 0; n < 200000; n++) {
        const format *f = &formats[n % 2];
        double value = test_real(&random, 1, 2) * pow(2, (double)test_between(&random, -160, 130));
        uint16_t low = 0, high = infinity_of(f);
        if (value >= magnitude_of(f, high)) {
            check_encode(f, value, high);
            continue;
        }
        while (high - low > 1) {
            uint16_t middle = (uint16_t)((low + high) / 2);
            *(value < magnitude_of(f, middle) ? &high : &low) = middle;
        }
        double below = value - magnitude_of(f, low), above = magnitude_of(f, high) - value;
        if (below != above)
            check_encode(f, value, below < above ? low : high);
    }
}

TEST(special_values)
{
    for (int i = 0; i < 2; i++) {
        const format *f = &formats[i];
        check_encode(f, 0.0, 0);
        check_encode(f, INFINITY, infinity_of(f));
        check_encode(f, DBL_MAX, infinity_of(f));
        check_encode(f, DBL_MIN, 0);
        check_encode(f, DBL_TRUE_MIN, 0);
        assert_true(isnan(f->decode(f->encode(NAN))));
        assert_true(isnan(f->decode(f->encode(-NAN))));
    }
    check_encode(&formats[0], 65504, 0x7bff);
    check_encode(&formats[0], 65519.99, 0x7bff);
    check_encode(&formats[0], 65520, 0x7c00);
    check_encode(&formats[0], 1.0, 0x3c00);
    check_encode(&formats[0], 0x1p-24, 0x0001);
    check_encode(&formats[0], 0x1p-25, 0x0000);
    check_encode(&formats[1], 1.0, 0x3f80);
}

static double stored(tenon_dtype dtype, double value)
{
    unsigned char bytes[9];
    memset(bytes, 0xa5, sizeof bytes);
    tn_dtype_store(dtype, bytes, value);
    for (size_t i = tenon_dtype_size(dtype); i < sizeof bytes; i++)
        assert_int_equal(bytes[i], 0xa5);
    return tn_dtype_load(dtype, bytes);
}

TEST(integers_saturate_and_round_to_even)
{
    static const struct {
        tenon_dtype dtype;
        double low, high;
    } types[] = {{TENON_DTYPE_I8, INT8_MIN, INT8_MAX},    {TENON_DTYPE_U8, 0, UINT8_MAX},
                 {TENON_DTYPE_I16, INT16_MIN, INT16_MAX}, {TENON_DTYPE_U16, 0, UINT16_MAX},
                 {TENON_DTYPE_I32, INT32_MIN, INT32_MAX}, {TENON_DTYPE_U32, 0, UINT32_MAX}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        tenon_dtype t = types[i].dtype;
        assert_true(stored(t, types[i].high) == types[i].high);
        assert_true(stored(t, types[i].high + 0.5) == types[i].high);
        assert_true(stored(t, 1e300) == types[i].high);
        assert_true(stored(t, INFINITY) == types[i].high);
        assert_true(stored(t, types[i].low) == types[i].low);
        assert_true(stored(t, types[i].low - 0.5) == types[i].low);
        assert_true(stored(t, -INFINITY) == types[i].low);
        assert_true(stored(t, NAN) == 0);
        assert_true(stored(t, 2.5) == 2 && stored(t, 3.5) == 4 && stored(t, 2.51) == 3);
    }
    assert_true(stored(TENON_DTYPE_I8, -2.5) == -2 && stored(TENON_DTYPE_I32, -3.5) == -4);
}

static int64_t stored_whole(tenon_dtype dtype, int64_t value)
{
    unsigned char bytes[8];
    tn_dtype_store_whole(dtype, bytes, value);
    return tn_dtype_load_whole(dtype, bytes);
}

TEST(integers_of_64_bits_are_exact)
{
    unsigned char bytes[8];
    tn_dtype_store(TENON_DTYPE_I64, bytes, 1e300);
    assert_int_equal(tn_dtype_load_whole(TENON_DTYPE_I64, bytes), INT64_MAX);
    tn_dtype_store(TENON_DTYPE_I64, bytes, -1e300);
    assert_int_equal(tn_dtype_load_whole(TENON_DTYPE_I64, bytes), INT64_MIN);
    assert_true(stored(TENON_DTYPE_I64, -2.5) == -2 && stored(TENON_DTYPE_I64, NAN) == 0);
    assert_int_equal(stored_whole(TENON_DTYPE_I64, INT64_MAX - 1), INT64_MAX - 1);
    assert_int_equal(stored_whole(TENON_DTYPE_I64, INT64_MIN + 1), INT64_MIN + 1);
}

TEST(integers_keep_their_lowest_bits)
{
    assert_int_equal(stored_whole(TENON_DTYPE_I8, 0x1280), -128);
    assert_int_equal(stored_whole(TENON_DTYPE_U8, -1), 255);
    assert_int_equal(stored_whole(TENON_DTYPE_I16, 0x18000), INT16_MIN);
    assert_int_equal(stored_whole(TENON_DTYPE_U16, -2), 65534);
    assert_int_equal(stored_whole(TENON_DTYPE_I32, INT64_C(0x180000001)), INT32_MIN + 1);
    assert_int_equal(stored_whole(TENON_DTYPE_U32, -1), UINT32_MAX);
    assert_int_equal(stored_whole(TENON_DTYPE_I8, -5), -5);
    assert_int_equal(stored_whole(TENON_DTYPE_BOOL, 256), 1);
}

TEST(truth_values)
{
    const unsigned char other = 4;
    assert_true(stored(TENON_DTYPE_BOOL, 0.25) == 1 && stored(TENON_DTYPE_BOOL, -0.0) == 0);
    assert_true(stored(TENON_DTYPE_BOOL, NAN) == 1 && stored(TENON_DTYPE_BOOL, -INFINITY) == 1);
    assert_true(tn_dtype_load(TENON_DTYPE_BOOL, &other) == 1);
}

TEST(kinds_of_types)
{
    for (tenon_dtype t = TENON_DTYPE_INVALID; t <= TENON_DTYPE_BOOL + 1; t = (tenon_dtype)(t + 1)) {
        const char letter = tenon_dtype_string(t)[0];
        const bool is_f8 = t == TENON_DTYPE_F8_E4M3 || t == TENON_DTYPE_F8_E5M2;
        assert_int_equal(tn_dtype_is_float(t), (letter == 'f' || t == TENON_DTYPE_BF16) && !is_f8);
        assert_int_equal(tn_dtype_is_integer(t),
                         tn_dtype_valid(t) && (letter == 'i' || letter == 'u'));
        assert_int_equal(tn_dtype_is_unsigned(t), letter == 'u' || t == TENON_DTYPE_BOOL);
    }
}

TEST(floats_are_stored)
{
    assert_true(stored(TENON_DTYPE_F64, 0.1) == 0.1);
    assert_true(stored(TENON_DTYPE_F32, 0.1) == (double)0.1f);
    assert_true(stored(TENON_DTYPE_F32, 1e300) == INFINITY);
    assert_true(stored(TENON_DTYPE_F16, 0.1) == tn_f16_to_double(tn_f16_from_double(0.1)));
    assert_true(stored(TENON_DTYPE_BF16, 0.1) == tn_bf16_to_double(tn_bf16_from_double(0.1)));
    assert_true(isnan(stored(TENON_DTYPE_F32, NAN)) && isnan(stored(TENON_DTYPE_F64, NAN)));
}

TEST(names_and_sizes)
{
    static const struct {
        tenon_dtype dtype;
        const char *name;
        size_t size;
    } types[] = {
        {TENON_DTYPE_F64, "f64", 8},         {TENON_DTYPE_F32, "f32", 4},
        {TENON_DTYPE_F16, "f16", 2},         {TENON_DTYPE_BF16, "bf16", 2},
        {TENON_DTYPE_I8, "i8", 1},           {TENON_DTYPE_U8, "u8", 1},
        {TENON_DTYPE_I32, "i32", 4},         {TENON_DTYPE_F8_E4M3, "f8_e4m3", 1},
        {TENON_DTYPE_F8_E5M2, "f8_e5m2", 1}, {TENON_DTYPE_INVALID, "invalid", 0},
        {TENON_DTYPE_I64, "i64", 8},         {TENON_DTYPE_I16, "i16", 2},
        {TENON_DTYPE_U16, "u16", 2},         {TENON_DTYPE_U32, "u32", 4},
        {TENON_DTYPE_BOOL, "bool", 1},       {(tenon_dtype)15, "invalid", 0},
        {(tenon_dtype)-1, "invalid", 0},     {(tenon_dtype)INT32_MAX, "invalid", 0},
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        assert_string_equal(tenon_dtype_string(types[i].dtype), types[i].name);
        assert_int_equal(tenon_dtype_size(types[i].dtype), types[i].size);
        assert_int_equal(tn_dtype_valid(types[i].dtype), types[i].size > 0);
    }
}
