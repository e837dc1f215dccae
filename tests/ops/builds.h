/*
 * The kernel builds that a call needs: found by a plan in a context like that of the tests, in
 * which nothing is built.
 */
#ifndef TENON_TESTS_OPS_BUILDS_H
#define TENON_TESTS_OPS_BUILDS_H

#include "support.h"

#define BUILDS_MOST 64 /* of a call; further ones are left out */

typedef struct call_builds {
    uint64_t keys[BUILDS_MOST]; /* one per source, options, kernel and work-group size */
    int count;
    char solver[TN_SOLVER_NAME_SIZE]; /* that the automatic choice selects */
} call_builds;

/* Finds the builds of a call. Views follow in the operation's order, NULL if absent. Returns false
 * if the call fails; the thread's error message is kept. */
bool builds_of_call(const tn_operation *operation, const void *params,
                    const tenon_tensor *const *views, call_builds *builds);

void builds_close(void);

#endif
