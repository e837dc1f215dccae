/* Header of every test program: cmocka with the headers it requires, test registration, and a
 * seeded random number generator. */
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

/* Exit status that Meson reports as "skipped". */
#define TEST_SKIPPED 77

/* Number of times, one millisecond apart, that a test polls for an action of another thread: enough
 * for any machine under any load. */
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

/* Returns an integer in [low, high]. */
static inline int64_t test_between(test_random *random, int64_t low, int64_t high)
{
    return low + (int64_t)(test_next(random) % (uint64_t)(high - low + 1));
}

/* Returns a real number in [low, high). */
static inline double test_real(test_random *random, double low, double high)
{
    return low + (high - low) * ((double)(test_next(random) >> 11) * 0x1p-53);
}

static inline bool test_one_in(test_random *random, int64_t n)
{
    return test_between(random, 1, n) == 1;
}

/* Returns the seed of this run: TENON_TEST_SEED, or else the time. It is printed once, to make the
 * run repeatable. */
uint64_t test_seed(void);

/* Returns a test's own generator, so that its numbers do not depend on which other tests ran. */
static inline test_random test_random_for(uint64_t stream)
{
    test_random random = {test_seed() ^ stream * UINT64_C(0xd1342543de82ef95)};
    test_next(&random);
    return random;
}

/* A registered test. `set_up` and `tear_down` may be NULL. */
typedef struct test_entry {
    const char *name;
    void (*run)(void), (*set_up)(void), (*tear_down)(void);
    int line; /* line of its definition; tests run in this order */
    struct test_entry *next;
} test_entry;
void test_register(test_entry *test);

/* Defines a test: `TEST(name) { ... }`. All tests of a program are in one source file. A
 * constructor registers the test before main. */
#define TEST(name) TEST_WITH(name, NULL, NULL)

/* Defines a test with a function that runs before it and one that runs after it, even if it has
 * failed. Each may be NULL; if either fails, the test fails. */
#define TEST_WITH(name, before, after)                                                             \
    static void name(void);                                                                        \
    __attribute__((constructor)) static void register_##name(void)                                 \
    {                                                                                              \
        static test_entry entry = {#name, name, before, after, __LINE__, NULL};                    \
        test_register(&entry);                                                                     \
    }                                                                                              \
    static void name(void)

/* Runs the tests of the program, or those that match the pattern in TENON_TEST_FILTER if it is set,
 * and prints results like cmocka. Returns the number of failures. After a failed test the remaining
 * ones run in a new process, where its leftovers cannot affect them. A program without main of its
 * own links one that calls this function. */
int test_run_group(void);

/* Records that a skipped test has not failed. */
void test_note_skip(void);
#undef skip
#define skip() (test_note_skip(), _skip(__FILE__, __LINE__))

#define assert_contains(text, part)                                                                \
    do {                                                                                           \
        if (strstr((text), (part)) == NULL)                                                        \
            fail_msg("\"%s\" does not contain \"%s\"", (text), (part));                            \
    } while (0)

#endif
