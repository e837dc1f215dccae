/* Tests divide_iteratively, the division in kernels for Intel's GPUs, against C's division. */
#include "common/testing.h"

#include "common/divide.h"

#define MOST (INT64_C(1) << 62)

static void assert_divides(int64_t a, int64_t b)
{
    if (divide_iteratively(a, b) != a / b)
        fail_msg("%lld / %lld gives %lld", (long long)a, (long long)b,
                 (long long)divide_iteratively(a, b));
}

/* Tests dividends around a multiple of the divisor, where an off-by-one quotient shows. */
static void assert_around(int64_t quotient, int64_t b)
{
    const int64_t most = (MOST - 2) / b, whole = (quotient < most ? quotient : most) * b;
    for (int64_t off = whole > 0 ? -1 : 0; off <= 1; off++)
        assert_divides(whole + off, b);
}

TEST(powers_of_two_and_their_neighbors)
{
    for (int q = 0; q < 62; q++)
        for (int d = 0; d < 62; d++)
            for (int64_t off = -1; off <= 1; off++) {
                assert_around((INT64_C(1) << q) + off, INT64_C(1) << d);
                if (d > 1)
                    assert_around(INT64_C(1) << q, (INT64_C(1) << d) + off);
            }
}

TEST(numbers_of_all_lengths)
{
    test_random random = {test_seed()};
    for (int i = 0; i < 2000000; i++) {
        const int64_t quotient = (int64_t)(test_next(&random) >> (2 + i % 62));
        const int64_t b = (int64_t)(test_next(&random) >> (2 + i / 62 % 62));
        assert_around(quotient, b > 0 ? b : 1);
    }
}
