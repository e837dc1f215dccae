/*
 * The quick set of tests. Most of a cold run is compilation. The quick set allows each solver only
 * a few builds, selected by the seed, and leaves calls that need other builds to the full run.
 * Programs that run in parallel share the selection through the folder TENON_TEST_QUICK; without it
 * every call runs.
 */
#ifndef TENON_TESTS_OPS_QUICK_H
#define TENON_TESTS_OPS_QUICK_H

#include "support.h"

/* Returns true in a run of the quick set. */
bool quick_is_on(void);

/* Returns true if the quick set includes this line; selects one in `of` at random. */
bool quick_draws(const char *line, uint32_t of);

/* Returns true if the quick set includes all builds that a call needs. A call that fails is
 * admitted, and its failure is reported by the test. */
bool quick_admits(const tn_operation *operation, const void *params,
                  const tenon_tensor *const *views);

/* Returns true if a test of every solver should try this one in the quick set: always if no call
 * has built it yet, otherwise at random. */
bool quick_tries(const char *solver);

/* Prints how many calls were left out. */
void quick_print(void);

#endif
