/* Arithmetic that says when it overflows. */
#include "common/testing.h"

#include "base/checked.h"

static void signed_addition(void **state)
{
    int64_t r;
    (void)state;
    assert_true(tn_add_i64(INT64_MAX - 1, 1, &r) && r == INT64_MAX);
    assert_true(tn_add_i64(INT64_MIN, INT64_MAX, &r) && r == -1);
    assert_false(tn_add_i64(INT64_MAX, 1, &r));
    assert_false(tn_add_i64(INT64_MIN, -1, &r));
}

static void signed_product(void **state)
{
    int64_t r;
    (void)state;
    assert_true(tn_mul_i64(INT64_C(3037000499), INT64_C(3037000499), &r) &&
                r == INT64_C(9223372030926249001));
    assert_true(tn_mul_i64(INT64_MIN, 1, &r) && r == INT64_MIN);
    assert_true(tn_mul_i64(INT64_MIN, 0, &r) && r == 0);
    assert_false(tn_mul_i64(INT64_MIN, -1, &r));
    assert_false(tn_mul_i64(INT64_C(3037000500), INT64_C(3037000500), &r));
}

static void unsigned_arithmetic(void **state)
{
    uint64_t r;
    (void)state;
    assert_true(tn_add_u64(UINT64_MAX - 1, 1, &r) && r == UINT64_MAX);
    assert_false(tn_add_u64(UINT64_MAX, 1, &r));
    assert_true(tn_mul_u64(UINT64_MAX, 1, &r) && r == UINT64_MAX);
    assert_true(tn_mul_u64(UINT64_C(1) << 32, UINT32_MAX, &r) && r == (uint64_t)UINT32_MAX << 32);
    assert_false(tn_mul_u64(UINT64_C(1) << 32, UINT64_C(1) << 32, &r));
}

static void rounding(void **state)
{
    (void)state;
    for (int64_t unit = 1; unit <= 9; unit++)
        for (int64_t value = 0; value <= 40; value++) {
            int64_t up = tn_round_up(value, unit);
            assert_true(up >= value && up < value + unit && up % unit == 0);
            assert_int_equal(tn_ceil_div(value, unit), up / unit);
        }
}

static void least_and_greatest(void **state)
{
    (void)state;
    assert_int_equal(tn_min_i64(INT64_MIN, INT64_MAX), INT64_MIN);
    assert_int_equal(tn_max_i64(INT64_MIN, INT64_MAX), INT64_MAX);
    assert_int_equal(tn_min_i64(3, 3), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signed_addition),     cmocka_unit_test(signed_product),
        cmocka_unit_test(unsigned_arithmetic), cmocka_unit_test(rounding),
        cmocka_unit_test(least_and_greatest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
