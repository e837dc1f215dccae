/* Tests of the shares of a batch by measured speed, with devices that need any given time. */
#include "support.h"

#include <tenon/parallel.h>

#include <math.h>
#include <string.h>

enum { MOST = 6 };

/* Gives times until the shares are fixed; returns the number of steps. A member needs its samples /
 * speed, and ten times as long in the first step with another number of samples. */
static int measure(tenon_shares *shares, uint32_t members, const double *speeds)
{
    int64_t before[MOST] = {0};
    int steps = 0;
    for (; !tenon_shares_is_fixed(shares); steps++) {
        const int64_t *counts = tenon_shares_counts(shares);
        double seconds[MOST];
        for (uint32_t m = 0; m < members; m++) {
            seconds[m] = (double)counts[m] / speeds[m] * (counts[m] == before[m] ? 1 : 10);
            before[m] = counts[m];
        }
        if (steps == 200)
            fail_msg("not fixed after %d steps", steps);
        assert_ok(tenon_shares_record(shares, seconds));
    }
    return steps;
}

static double longest_time(uint32_t members, const int64_t *counts, const double *speeds)
{
    double longest = 0;
    for (uint32_t m = 0; m < members; m++)
        longest = fmax(longest, (double)counts[m] / speeds[m]);
    return longest;
}

/* If the measured times are exact, a step takes as long as with the shares that follow from the
 * true speeds. */
TEST(exact_times)
{
    test_random random = test_random_for(3641);
    for (int i = 0; i < 200; i++) {
        const uint32_t members = (uint32_t)test_between(&random, 1, MOST);
        const int64_t batch = test_between(&random, 1, 200);
        double speeds[MOST];
        int64_t expected[MOST];
        tenon_shares *shares;
        for (uint32_t m = 0; m < members; m++) /* equal products and quotients have equal bits */
            speeds[m] = ldexp(1, (int)test_between(&random, -6, 6));
        assert_ok(tenon_divide_batch(batch, members, speeds, expected));
        assert_ok(tenon_shares_create(batch, members, NULL, &shares));
        const int steps = measure(shares, members, speeds);
        if (longest_time(members, tenon_shares_counts(shares), speeds) !=
            longest_time(members, expected, speeds))
            fail_msg("case %d: %u members, batch %d", i, (unsigned)members, (int)batch);
        if (members == 1)
            assert_int_equal(steps, 0);
        else if (batch >= members)
            assert_true(steps == 2 || steps == 4);
        else
            assert_true(steps <= 2 * ((int)members + 2));
        tenon_shares_destroy(shares);
    }
}

/* A division by speeds that turns out to be slower than equal shares is not kept. */
TEST(shortest_step_is_kept)
{
    tenon_shares *shares;
    const int64_t *counts;
    assert_ok(tenon_shares_create(100, 2, NULL, &shares));
    counts = tenon_shares_counts(shares);
    assert_true(counts[0] == 50 && counts[1] == 50);
    for (int i = 0; i < 2; i++)
        assert_ok(tenon_shares_record(shares, (const double[]){1, 3}));
    assert_true(counts[0] == 75 && counts[1] == 25);
    int steps = 2;
    for (; !tenon_shares_is_fixed(shares) && steps < 20; steps++) { /* each division is slower */
        const int pairs = steps / 2;
        const double seconds[] = {4 + pairs, 4};
        assert_ok(tenon_shares_record(shares, seconds));
    }
    assert_int_equal(steps, 8);
    assert_true(counts[0] == 50 && counts[1] == 50);
    assert_ok(tenon_shares_record(shares, (const double[]){1, 100})); /* changes nothing */
    assert_true(counts[0] == 50 && counts[1] == 50);
    tenon_shares_destroy(shares);
}

/* A member that needs longer for one sample than the other for all gets none. */
TEST(slow_member)
{
    tenon_shares *shares;
    assert_ok(tenon_shares_create(40, 2, NULL, &shares));
    measure(shares, 2, (const double[]){1, 64});
    assert_true(tenon_shares_counts(shares)[0] == 0 && tenon_shares_counts(shares)[1] == 40);
    tenon_shares_destroy(shares);
}

TEST(given_counts)
{
    const int64_t given[] = {7, 0, 3};
    tenon_shares *shares;
    assert_ok(tenon_shares_create(10, 3, given, &shares));
    assert_int_equal(tenon_shares_is_fixed(shares), 1);
    assert_ok(tenon_shares_record(shares, (const double[]){1, NAN, 100}));
    assert_memory_equal(tenon_shares_counts(shares), given, sizeof given);
    tenon_shares_destroy(shares);
}

TEST(refused_calls)
{
    tenon_shares *shares;
    assert_invalid(tenon_shares_create(1, 1, NULL, NULL), "out is NULL");
    assert_invalid(tenon_shares_create(0, 1, NULL, &shares), "batch is 0");
    assert_invalid(tenon_shares_create((int64_t)INT32_MAX + 1, 1, NULL, &shares),
                   "batch is 2147483648");
    assert_invalid(tenon_shares_create(1, 0, NULL, &shares), "members is 0");
    assert_invalid(tenon_shares_create(1, TENON_GROUP_MAX_MEMBERS + 1, NULL, &shares),
                   "members is 65");
    assert_invalid(tenon_shares_create(5, 2, (const int64_t[]){6, -1}, &shares), "counts[0] is 6");
    assert_invalid(tenon_shares_create(5, 2, (const int64_t[]){5, -1}, &shares), "counts[1] is -1");
    assert_invalid(tenon_shares_create(5, 2, (const int64_t[]){3, 3}, &shares),
                   "counts has 6 samples");
    assert_null(shares);
    assert_null(tenon_shares_counts(NULL));
    assert_int_equal(tenon_shares_is_fixed(NULL), 0);
    assert_ok(tenon_shares_create(5, 2, NULL, &shares));
    assert_invalid(tenon_shares_record(NULL, (const double[]){1, 1}), "shares is NULL");
    assert_invalid(tenon_shares_record(shares, NULL), "seconds is NULL");
    const double wrong[] = {0, -1, NAN, INFINITY, 1e-308};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_invalid(tenon_shares_record(shares, (const double[]){1, wrong[i]}), "seconds[1] is");
    assert_true(tenon_shares_counts(shares)[0] == 3 && tenon_shares_counts(shares)[1] == 2);
    assert_ok(tenon_shares_record(shares, (const double[]){1, 1e-290}));
    assert_ok(tenon_shares_record(shares, (const double[]){1, 1e-290}));
    assert_true(tenon_shares_counts(shares)[0] == 0 && tenon_shares_counts(shares)[1] == 5);
    tenon_shares_destroy(shares);
    tenon_shares_destroy(NULL);
}
