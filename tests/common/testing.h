/* What every test program includes: cmocka with the headers that it wants first, and a seeded
 * source of random numbers. */
#ifndef TENON_TESTS_TESTING_H
#define TENON_TESTS_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

/* What Meson takes for "skipped". */
#define TEST_SKIPPED 77

/* How often a test looks, a millisecond apart, for what another thread is to do: long enough for
 * any machine, however busy. */
#define TEST_LOOKS 120000

/* splitmix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014). */
typedef struct test_random {
    uint64_t state;
} test_random;

static inline uint64_t test_next(test_random *random)
{
    uint64_t z = random->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* An integer in [low, high]. */
static inline int64_t test_between(test_random *random, int64_t low, int64_t high)
{
    return low + (int64_t)(test_next(random) % (uint64_t)(high - low + 1));
}

/* A real number in [low, high). */
static inline double test_real(test_random *random, double low, double high)
{
    return low + (high - low) * ((double)(test_next(random) >> 11) * 0x1p-53);
}

static inline bool test_one_in(test_random *random, int64_t n)
{
    return test_between(random, 1, n) == 1;
}

/* The seed of this run: TENON_TEST_SEED, or the time. Printed once, so that a run can be repeated.
 */
uint64_t test_seed(void);

/* A source of its own for a test, so that tests do not depend on which others ran. */
static inline test_random test_random_for(uint64_t stream)
{
    test_random random = {test_seed() ^ stream * UINT64_C(0xd1342543de82ef95)};
    test_next(&random);
    return random;
}

/* Runs a group of tests as cmocka does; returns how many failed. After a failed test the others run
 * in a new process, so that they find nothing of it. A test's own set-up and state are kept. */
int test_run_group(const char *name, const struct CMUnitTest *tests, size_t count,
                   CMFixtureFunction group_set_up, CMFixtureFunction group_tear_down);
#undef cmocka_run_group_tests
#define cmocka_run_group_tests(tests, group_set_up, group_tear_down)                               \
    cmocka_run_group_tests_name(#tests, tests, group_set_up, group_tear_down)
#undef cmocka_run_group_tests_name
#define cmocka_run_group_tests_name(name, tests, group_set_up, group_tear_down)                    \
    test_run_group(name, tests, sizeof(tests) / sizeof(tests)[0], group_set_up, group_tear_down)

/* A test that is skipped has not failed. */
void test_note_skip(void);
#undef skip
#define skip() (test_note_skip(), _skip(__FILE__, __LINE__))

#define assert_contains(text, part)                                                                \
    do {                                                                                           \
        if (strstr((text), (part)) == NULL)                                                        \
            fail_msg("\"%s\" does not contain \"%s\"", (text), (part));                            \
    } while (0)

#endif
