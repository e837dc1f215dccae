/* Tests arithmetic that reports overflow. */
#include "common/testing.h"

#include "base/checked.h"

TEST(signed_addition)
{
    int64_t r;
    assert_true(tn_add_i64(INT64_MAX - 1, 1, &r) && r == INT64_MAX);
    assert_true(tn_add_i64(INT64_MIN, INT64_MAX, &r) && r == -1);
    assert_false(tn_add_i64(INT64_MAX, 1, &r));
    assert_false(tn_add_i64(INT64_MIN, -1, &r));
}

TEST(signed_product)
{
    int64_t r;
    assert_true(tn_mul_i64(INT64_C(3037000499), INT64_C(3037000499), &r) &&
                r == INT64_C(9223372030926249001));
    assert_true(tn_mul_i64(INT64_MIN, 1, &r) && r == INT64_MIN);
    assert_true(tn_mul_i64(INT64_MIN, 0, &r) && r == 0);
    assert_false(tn_mul_i64(INT64_MIN, -1, &r));
    assert_false(tn_mul_i64(INT64_C(3037000500), INT64_C(3037000500), &r));
}

TEST(unsigned_arithmetic)
{
    uint64_t r;
    assert_true(tn_add_u64(UINT64_MAX - 1, 1, &r) && r == UINT64_MAX);
    assert_false(tn_add_u64(UINT64_MAX, 1, &r));
    assert_true(tn_mul_u64(UINT64_MAX, 1, &r) && r == UINT64_MAX);
    assert_true(tn_mul_u64(UINT64_C(1) << 32, UINT32_MAX, &r) && r == (uint64_t)UINT32_MAX << 32);
    assert_false(tn_mul_u64(UINT64_C(1) << 32, UINT64_C(1) << 32, &r));
}

TEST(rounding)
{
    for (int64_t unit = 1; unit <= 9; unit++)
        for (int64_t value = 0; value <= 40; value++) {
            int64_t up = tn_round_up(value, unit);
            assert_true(up >= value && up < value + unit && up % unit == 0);
            assert_int_equal(tn_ceil_div(value, unit), up / unit);
        }
}

TEST(least_and_greatest)
{
    assert_int_equal(tn_min_i64(INT64_MIN, INT64_MAX), INT64_MIN);
    assert_int_equal(tn_max_i64(INT64_MIN, INT64_MAX), INT64_MAX);
    assert_int_equal(tn_min_i64(3, 3), 3);
}
