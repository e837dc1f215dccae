/*
 * The quick set of tests. Most of a cold run goes into compiling, so that a run of the quick set
 * lets each solver have a few builds, which the seed chooses, and leaves calls that need others to
 * the full run. Programs that run side by side share the choice by a folder, TENON_TEST_QUICK;
 * without it nothing is left out.
 */
#ifndef TENON_TESTS_OPS_QUICK_H
#define TENON_TESTS_OPS_QUICK_H

#include "support.h"

/* Whether this is the quick set. */
bool quick_is_on(void);

/* Whether the quick set has one of many lines: one in `of`, by chance. */
bool quick_draws(const char *line, uint32_t of);

/* Whether the quick set has all builds that a call needs. A call that fails is let through, to fail
 * where it is looked at. */
bool quick_admits(const tn_operation *operation, const void *params,
                  const tenon_tensor *const *views);

/* Whether a test of every solver tries this one in the quick set: where no call has built it yet,
 * and else by chance. */
bool quick_tries(const char *solver);

/* Says how many calls were left out. */
void quick_print(void);

void quick_close(void);

#endif
