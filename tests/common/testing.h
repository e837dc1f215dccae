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

/* A test as it registers itself. `set_up` and `tear_down` may be NULL. */
typedef struct test_entry {
    const char *name;
    void (*run)(void), (*set_up)(void), (*tear_down)(void);
    int line; /* of its definition: tests run in this order */
    struct test_entry *next;
} test_entry;
void test_register(test_entry *test);

/* Defines a test: `TEST(name) { ... }`, in the source file that has the program's other tests.
 * A constructor registers it before main. */
#define TEST(name) TEST_WITH(name, NULL, NULL)

/* A test with a function that runs before it and one that runs after it, also where it has failed;
 * each may be NULL. Where one fails, so does the test. */
#define TEST_WITH(name, before, after)                                                             \
    static void name(void);                                                                        \
    __attribute__((constructor)) static void register_##name(void)                                 \
    {                                                                                              \
        static test_entry entry = {#name, name, before, after, __LINE__, NULL};                    \
        test_register(&entry);                                                                     \
    }                                                                                              \
    static void name(void)

/* Runs the tests of the program, those alone that match the pattern TENON_TEST_FILTER where it is
 * set, and prints as cmocka does; returns how many failed. After a failed test the others run in a
 * new process, so that they find nothing of it. A program without a function main has one that
 * calls this. */
int test_run_group(void);

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
