/* Values on which sorting is tested: random ones with many equal elements, NaN and both zeros. */
#ifndef TENON_TESTS_OPS_SORT_CASE_H
#define TENON_TESTS_OPS_SORT_CASE_H

#include "fixture.h"

typedef enum test_keys {
    TEST_KEYS_REAL,    /* as the operation's fill_valid writes them */
    TEST_KEYS_SPECIAL, /* one in four is NaN, infinite or a zero of either sign */
    TEST_KEYS_FEW,     /* one of three values */
    TEST_KEYS_EQUAL,
    TEST_KEYS_ASCENDING,
    TEST_KEYS_DESCENDING,
    TEST_KEYS_KINDS
} test_keys;

/* Writes such values to x, which has been filled with valid ones. */
void test_fill_keys(test_tensor *x, test_keys keys, test_random *random);

#endif
